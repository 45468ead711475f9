/* SPDX-License-Identifier: MIT */

/*
 * What a card is asked by NVML, of libraries of several ages, and of some that don't answer
 *
 * usage: test-cuda-nvml FAKES_DIR
 */

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>

#include "backend/cuda/nvml.h"
#include "tests/unit/test.h"

#define ADDRESS "0000:01:00.0"

static const char *fakes_dir;

static const char *path_of(const char *fake, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s/libfake-%s.so", fakes_dir, fake);
    return buffer;
}

static struct vrt_device_sensors read_of(const char *fake)
{
    struct vrt_device_sensors sensors = VRT_DEVICE_SENSORS_UNKNOWN;
    struct vrt_error error = { 0 };
    struct vrt_cuda_nvml *nvml = NULL;
    char path[4096];

    void *library = dlopen(path_of(fake, path, sizeof(path)), RTLD_NOW | RTLD_LOCAL);
    expect_true(library != NULL);
    const int *n_started = dlsym(library, "fake_nvml_n_started");
    expect_int(vrt_cuda_nvml_open(path, ADDRESS, &nvml, &error), 0);
    expect_int(*n_started, 1);
    vrt_cuda_nvml_read(nvml, &sensors);
    vrt_cuda_nvml_close(nvml);
    expect_int(*n_started, 0);
    expect_true(sensors.are_known);

    /* A card that isn't there leaves nothing behind. */
    nvml = NULL;
    expect_int(vrt_cuda_nvml_open(path, "0000:02:00.0", &nvml, &error), -EIO);
    expect_contains(error.message, "finding card 0000:02:00.0 failed: ");
    expect_true(!nvml);
    expect_int(*n_started, 0);
    dlclose(library);
    return sensors;
}

static void test_new_driver(void)
{
    struct vrt_device_sensors sensors = read_of("nvml-new");

    expect_near(sensors.utilization_percent, 97, 0);
    expect_near(sensors.memory_utilization_percent, 0, 0);
    expect_near(sensors.temperature_celsius, 71, 0);
    expect_near(sensors.power_watts, 319.5, 1e-9);
    expect_near(sensors.power_limit_watts, 350, 0);
    expect_str(sensors.throttling, "temperature, power limit");
}

static void test_old_driver(void)
{
    struct vrt_device_sensors sensors = read_of("nvml-old");

    expect_near(sensors.temperature_celsius, 71, 0);
    /* It has nothing to do, which is no throttling. */
    expect_str(sensors.throttling, "none");
}

static void expect_nothing_known(const struct vrt_device_sensors *sensors)
{
    expect_true(isnan(sensors->utilization_percent));
    expect_true(isnan(sensors->memory_utilization_percent));
    expect_true(isnan(sensors->temperature_celsius));
    expect_true(isnan(sensors->power_watts));
    expect_true(isnan(sensors->power_limit_watts));
}

static void test_library_that_lacks_most(void)
{
    struct vrt_device_sensors sensors = read_of("nvml-short");

    expect_nothing_known(&sensors);
    expect_str(sensors.throttling, "");
}

static void test_nonsense(void)
{
    struct vrt_device_sensors sensors = read_of("nvml-nonsense");

    expect_nothing_known(&sensors);
    expect_str(sensors.throttling, "overheating, temperature, power brake, power limit, "
                                   "hardware slowdown, sync boost");
}

static void test_refusals(void)
{
    static const struct {
        const char *fake;
        int r;
        const char *says;
    } cases[] = {
        { "none-such", -ENOENT, "libfake-none-such.so" },
        { "nothing", -ENOSYS, "libfake-nothing.so lacks nvmlInit_v2" },
        { "nvml-silent", -EIO, "starting NVML failed: Driver Not Loaded (9)" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_cuda_nvml *nvml = NULL;
        struct vrt_error error = { 0 };
        char path[4096];
        path_of(cases[i].fake, path, sizeof(path));
        expect_int(vrt_cuda_nvml_open(path, ADDRESS, &nvml, &error), cases[i].r);
        expect_contains(error.message, cases[i].says);
        expect_true(!nvml);
        expect_int(vrt_cuda_nvml_open(path, ADDRESS, &nvml, NULL), cases[i].r);
    }
    expect_true(!vrt_cuda_nvml_close(NULL));
}

int main(int argc, char **argv)
{
    if (argc != 2)
        test_fail("usage: test-cuda-nvml FAKES_DIR");
    fakes_dir = argv[1];
    test_new_driver();
    test_old_driver();
    test_library_that_lacks_most();
    test_nonsense();
    test_refusals();
    return 0;
}
