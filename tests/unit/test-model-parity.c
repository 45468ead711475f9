/* SPDX-License-Identifier: MIT */
/*
 * Whole networks against what PyTorch computed with their original definitions: tests/data/image,
 * weights, inputs and outputs by the rules that model-fixture.c has too.
 */

#include "tests/unit/test.h"

#include <jansson.h>

#include "tests/unit/model-fixture.h"
#include "tests/unit/weight-rule.h"

static int get_int(const json_t *object, const char *key)
{
    expect_true(json_is_integer(json_object_get(object, key)));
    return (int)json_integer_value(json_object_get(object, key));
}

static struct vrt_shape get_shape(const json_t *object, const char *key)
{
    const json_t *array = json_object_get(object, key);
    int dims[4];

    expect_int(json_array_size(array), 4);
    for (size_t i = 0; i < 4; i++)
        dims[i] = (int)json_integer_value(json_array_get(array, i));
    return (struct vrt_shape){ .d = dims[0], .c = dims[1], .h = dims[2], .w = dims[3] };
}

/* The file's weights are those of the rule: what is compared is what was meant. */
static void check_params(const struct vrt_network *network, uint64_t seed)
{
    size_t n_params;
    const struct vrt_param *params = vrt_network_params(network, &n_params);
    static float values[1 << 20];

    for (size_t i = 0; i < n_params; i++) {
        size_t n = 1;

        for (int k = 0; k < params[i].n_dims; k++)
            n *= (size_t)params[i].dims[k];
        expect_true(n <= sizeof(values) / sizeof(values[0]));
        fixture_fill(params[i].name, seed, params[i].dims, params[i].n_dims, values);
        for (size_t k = 0; k < n; k++)
            expect_near(params[i].data[k], values[k], 1e-6);
    }
}

/* A sampled output that was computed elsewhere. */
struct golden {
    struct vrt_network *network;
    struct vrt_shape shape;
    float *x, *samples;
    int stride, count;
};

static struct golden open_golden(const char *name)
{
    struct golden g;
    char path[512];
    json_error_t error;

    snprintf(path, sizeof(path), "%s/image/%s.json", VRT_TEST_DATA, name);
    json_t *json = json_load_file(path, 0, &error);
    if (!json)
        test_fail("%s: %s", path, error.text);
    g.shape = get_shape(json, "input_shape_NCHW");
    g.stride = get_int(json, "stride");
    g.count = get_int(json, "count");
    g.x = rule_video((uint64_t)get_int(json, "seed"),
                     (int[]){ g.shape.d, g.shape.c, g.shape.h, g.shape.w });
    expect_true(g.x);
    g.samples = malloc((size_t)g.count * sizeof(*g.samples));
    expect_true(g.samples && g.count > 1000);

    snprintf(path, sizeof(path), "%s/image/%s.f32", VRT_TEST_DATA, name);
    FILE *file = fopen(path, "rb");
    expect_true(file);
    expect_int(fread(g.samples, sizeof(*g.samples), (size_t)g.count, file), g.count);
    fclose(file);

    snprintf(path, sizeof(path), "%s/image/%s.pth", VRT_TEST_DATA, name);
    g.network = fixture_open_network(path);
    check_params(g.network, (uint64_t)get_int(json, "seed"));

    struct vrt_shape out = get_shape(json, "output_shape_NCHW");
    const struct vrt_network_info *info = vrt_network_info(g.network);
    expect_int(out.h, g.shape.h * info->scale);
    expect_int(out.w, g.shape.w * info->scale);
    expect_int(out.c, info->out_channels);
    expect_int((vrt_shape_count(out) + g.stride - 1) / g.stride, g.count);
    json_decref(json);
    return g;
}

/* PSNR of the samples, for values whose peak is 1. Prints the largest difference too. */
static double compare(const struct golden *g, const char *device, enum vrt_dtype dtype,
                      double *ret_relative)
{
    float *y = fixture_run_network(g->network, device, dtype, g->shape, g->x);
    double worst = 0, largest = 0, sum = 0;

    for (int k = 0; k < g->count; k++) {
        double wanted = g->samples[k], difference = fabs(y[(size_t)k * (size_t)g->stride] - wanted);

        if (!(difference < 1e30))
            test_fail("sample %d is not a number", k);
        worst = fmax(worst, difference);
        largest = fmax(largest, fabs(wanted));
        sum += difference * difference;
    }
    free(y);
    *ret_relative = worst / largest;
    double psnr = -10 * log10(sum / g->count + 1e-30);
    fprintf(stderr, "  %s %s: %.2g relative, %.1f dB\n", device, vrt_dtype_name(dtype),
            *ret_relative, psnr);
    return psnr;
}

/*
 * PyTorch's own sums are f32 in another order: 1e-5 of the largest value is ten times what two
 * correct implementations were seen to differ by.
 */
static void check_golden(const char *name)
{
    static const char *const devices[] = { "ref:0", "cpu:0" };
    struct golden g = open_golden(name);
    double relative;

    fprintf(stderr, "  %s: %s\n", name, vrt_network_info(g.network)->description);
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        if (!fixture_has_device(devices[i])) {
            fprintf(stderr, "  no device %s\n", devices[i]);
            continue;
        }
        compare(&g, devices[i], VRT_DTYPE_F32, &relative);
        expect_true(relative < 1e-5);
        expect_true(compare(&g, devices[i], VRT_DTYPE_BF16, &relative) > 50);
    }
    expect_true(compare(&g, "ref:0", VRT_DTYPE_F16, &relative) > 65);
    vrt_network_unref(g.network);
    free(g.x);
    free(g.samples);
}

static void test_compact_x2(void)
{
    check_golden("compact-x2");
}

static void test_compact_x4(void)
{
    check_golden("compact-x4");
}

static void test_esrgan_x2(void)
{
    check_golden("esrgan-x2");
}

static void test_esrgan_x4(void)
{
    check_golden("esrgan-x4");
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "compact-x2", test_compact_x2 },
        { "compact-x4", test_compact_x4 },
        { "esrgan-x2", test_esrgan_x2 },
        { "esrgan-x4", test_esrgan_x4 },
    };

    return test_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
