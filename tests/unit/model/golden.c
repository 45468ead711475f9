/* SPDX-License-Identifier: MIT */

#include "tests/unit/model/golden.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/test.h"

#define SAMPLES "samples."
#define PARAMETER "parameter."
#define PARAMETER_SHAPE "parameter_shape."

struct vrt_checkpoint *golden_open(const char *name)
{
    struct vrt_checkpoint *golden;
    struct vrt_error error = { 0 };
    char path[512];

    snprintf(path, sizeof(path), "%s/%s.safetensors", VRT_TEST_DATA, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        test_fail("%s can't be opened", path);
    if (vrt_checkpoint_open(fd, path, NULL, &golden, &error) != 0)
        test_fail("%s", error.message);
    close(fd);
    return golden;
}

static const struct vrt_checkpoint_tensor *find(const struct vrt_checkpoint *golden,
                                                const char *prefix, const char *name)
{
    char key[256];

    snprintf(key, sizeof(key), "%s%s", prefix, name);
    const struct vrt_checkpoint_tensor *entry = vrt_checkpoint_find(golden, key);
    if (!entry)
        test_fail("there is no %s", key);
    expect_int(entry->n_dims, 1);
    return entry;
}

int golden_count(const struct vrt_checkpoint *golden, const char *key)
{
    return (int)find(golden, "", key)->n_elements;
}

int golden_int(const struct vrt_checkpoint *golden, const char *key, int i)
{
    const struct vrt_checkpoint_tensor *entry = find(golden, "", key);
    int value;

    expect_int(entry->dtype, VRT_CHECKPOINT_I32);
    expect_true(i < entry->n_elements);
    memcpy(&value, (const char *)entry->data + (size_t)i * sizeof(value), sizeof(value));
    return value;
}

const char *golden_nth_parameter(const struct vrt_checkpoint *golden, int i, int dims[5],
                                 int *ret_n_dims)
{
    const struct vrt_checkpoint_tensor *entry = vrt_checkpoint_tensor(golden, i);

    if (strncmp(entry->name, PARAMETER_SHAPE, strlen(PARAMETER_SHAPE)) != 0)
        return NULL;
    *ret_n_dims = golden_count(golden, entry->name);
    expect_true(*ret_n_dims <= 5);
    for (int k = 0; k < *ret_n_dims; k++)
        dims[k] = golden_int(golden, entry->name, k);
    return entry->name + strlen(PARAMETER_SHAPE);
}

const char *golden_nth_name(const struct vrt_checkpoint *golden, int i)
{
    const char *name = vrt_checkpoint_tensor(golden, i)->name;

    return strncmp(name, SAMPLES, strlen(SAMPLES)) == 0 ? name + strlen(SAMPLES) : NULL;
}

struct golden_samples golden_read(const struct vrt_checkpoint *golden, const char *name)
{
    const struct vrt_checkpoint_tensor *entry = find(golden, SAMPLES, name);
    struct golden_samples samples = { .count = (int)entry->n_elements };
    char key[256];

    snprintf(key, sizeof(key), "stride.%s", name);
    samples.stride = golden_int(golden, key, 0);
    samples.values = malloc((size_t)samples.count * sizeof(*samples.values));
    expect_true(samples.values && samples.count > 100 && samples.stride > 0);
    vrt_checkpoint_read_f32(entry, samples.values);
    return samples;
}

void golden_check_params(const struct vrt_checkpoint *golden, const struct vrt_network *network)
{
    int n_listed = 0, n_found = 0;
    size_t n_params;
    const struct vrt_param *params = vrt_network_params(network, &n_params);

    for (int i = 0; i < vrt_checkpoint_n_tensors(golden); i++)
        n_listed += strncmp(vrt_checkpoint_tensor(golden, i)->name, PARAMETER,
                            strlen(PARAMETER)) == 0;
    for (size_t i = 0; i < n_params; i++) {
        char key[256];
        size_t n = 1;
        float wanted[2];

        snprintf(key, sizeof(key), PARAMETER "%s", params[i].name);
        if (!vrt_checkpoint_find(golden, key))
            continue;
        const struct vrt_checkpoint_tensor *entry = find(golden, "", key);
        expect_int(entry->n_elements, 2);
        vrt_checkpoint_read_f32(entry, wanted);
        for (int k = 0; k < params[i].n_dims; k++)
            n *= (size_t)params[i].dims[k];
        expect_near(params[i].data[0], wanted[0], 1e-6);
        expect_near(params[i].data[n - 1], wanted[1], 1e-6);
        n_found++;
    }
    expect_int(n_found, n_listed);
}
