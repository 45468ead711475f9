/* SPDX-License-Identifier: MIT */

#include "tests/unit/model/vrt-fixture.h"

#include "tests/unit/test.h"
#include "tests/unit/model/weight-rule.h"

#define MAX_DIMS 5

struct adder {
    struct vrt_sizes_visitor visitor;
    struct fixture *f;
    const struct vrt_fixture *vrt;
};

static bool is_named(const char *wanted, const char *name)
{
    return wanted && strcmp(wanted, name) == 0;
}

/* Which row of the bias table each pair of a window's places uses, counted from its corner. */
static void add_index(struct adder *a, const struct fixture_tensor *tensor)
{
    const int n = tensor->dims[1], frames = n / 64;
    size_t n_values = (size_t)tensor->dims[0] * (size_t)n;
    int64_t *values = calloc(n_values, sizeof(*values));

    expect_true(values);
    for (int i = 0; i < n * n; i++) {
        int places[2][3], step[3];

        for (int k = 0; k < 2; k++) {
            int place = k ? i % n : i / n;

            places[k][0] = place / 64;
            places[k][1] = place / 8 % 8;
            places[k][2] = place % 8;
        }
        for (int k = 0; k < 3; k++)
            step[k] = places[0][k] - places[1][k] + (k ? 7 : frames - 1);
        values[i] = step[0] * 225 + step[1] * 15 + step[2];
    }
    if (is_named(a->vrt->changed, tensor->name))
        values[n_values - 1]++;
    fixture_add_data(a->f, "I64", tensor, values, n_values * sizeof(*values));
    free(values);
}

/* The sines of PyTorch's own way: positions to 2 pi, then divided by each feature's period. */
static float position(int y_or_x, int feature, int n_features)
{
    double angle = y_or_x / (8 + 1e-6) * 2 * acos(-1);
    double period = pow(10000, 2.0 * floor(feature / 2.0) / n_features);

    return (float)(feature % 2 == 0 ? sin(angle / period) : cos(angle / period));
}

static void add_floats(struct adder *a, enum vrt_sizes_kind kind,
                       const struct fixture_tensor *tensor)
{
    static const float mean[3] = { 0.485f, 0.456f, 0.406f }, std[3] = { 0.229f, 0.224f, 0.225f };
    const int c = tensor->dims[tensor->n_dims - 1];
    size_t n = 1;

    for (int i = 0; i < tensor->n_dims; i++)
        n *= (size_t)tensor->dims[i];
    float *values = calloc(n, sizeof(*values));
    expect_true(values);
    if (kind == VRT_SIZES_MEAN || kind == VRT_SIZES_STD) {
        memcpy(values, kind == VRT_SIZES_MEAN ? mean : std, sizeof(mean));
    } else if (kind == VRT_SIZES_POSITION) {
        for (int i = 0; i < 64; i++)
            for (int k = 0; k < c; k++)
                values[i * c + k] = position(k < c / 2 ? i / 8 + 1 : i % 8 + 1, k % (c / 2),
                                             c / 2);
    } else if (a->vrt->seed) {
        rule_fill_vrt(tensor->name, a->vrt->seed, tensor->dims, tensor->n_dims, a->vrt->flow_gain,
                      values);
    }
    if (is_named(a->vrt->changed, tensor->name))
        values[n - 1] += 0.1f;
    fixture_add_data(a->f, "F32", tensor, values, n * sizeof(*values));
    free(values);
}

static void add(struct vrt_sizes_visitor *visitor, enum vrt_sizes_kind kind, const char *name,
                const int *dims, int n_dims)
{
    struct adder *a = (struct adder *)visitor;
    int changed_dims[MAX_DIMS];
    const struct fixture_tensor tensor = { name, changed_dims, n_dims };

    if ((kind != VRT_SIZES_PARAM && a->vrt->no_buffers) || is_named(a->vrt->left_out, name))
        return;
    memcpy(changed_dims, dims, (size_t)n_dims * sizeof(*dims));
    if (is_named(a->vrt->misshapen, name))
        changed_dims[0]++;
    if (kind == VRT_SIZES_INDEX)
        add_index(a, &tensor);
    else
        add_floats(a, kind, &tensor);
}

void fixture_add_vrt(struct fixture *f, const struct vrt_fixture *vrt)
{
    struct adder adder = { .visitor.visit = add, .f = f, .vrt = vrt };

    vrt_sizes_visit(&vrt->sizes, &adder.visitor);
}
