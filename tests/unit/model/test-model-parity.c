/* SPDX-License-Identifier: MIT */
/*
 * Networks for pictures against what PyTorch computed with their original definitions:
 * tests/data/image. Weights and input follow from names.
 *
 * usage: test-model-parity DEVICE f32|f16|bf16 CASE...
 *     CASE  "compact-x2", "esrgan-x4", ...
 */

#include "tests/unit/test.h"

#include <unistd.h>

#include "tests/unit/environment.h"
#include "tests/unit/model/golden.h"
#include "tests/unit/model/model-fixture.h"
#include "tests/unit/model/weight-rule.h"

/* A sampled output that was computed elsewhere. */
struct play {
    struct vrt_checkpoint *golden;
    struct vrt_network *network;
    struct vrt_shape shape, out;
    float *x;
    struct golden_samples samples;
};

/* Adds every parameter that the golden file tells the shape of. */
static void add_parameters(struct fixture *f, const struct vrt_checkpoint *golden)
{
    for (int i = 0; i < vrt_checkpoint_n_tensors(golden); i++) {
        int dims[5], n_dims;
        const char *name = golden_nth_parameter(golden, i, dims, &n_dims);

        if (name)
            fixture_add(f, name, dims, n_dims);
    }
}

/* The network of the case, weights by rule. */
static struct vrt_network *make_network(const struct vrt_checkpoint *golden, const char *name)
{
    struct fixture f = { .seed = (uint64_t)golden_int(golden, "seed", 0) };

    if (strncmp(name, "swinir", 6) == 0 || strncmp(name, "span", 4) == 0 ||
        strncmp(name, "rife", 4) == 0 || strncmp(name, "basicvsr", 8) == 0) {
        f.has_norms = true;
        add_parameters(&f, golden);
    } else if (strncmp(name, "compact", 7) == 0) {
        fixture_add_compact(&f, &(struct fixture_compact){
            .channels = 3,
            .features = golden_int(golden, "config.feat", 0),
            .convs = golden_int(golden, "config.convs", 0),
            .scale = golden_int(golden, "config.upscale", 0),
            .act = 'p',
        });
    } else {
        fixture_add_esrgan(&f, &(struct fixture_esrgan){
            .naming = FIXTURE_NEW,
            .in = golden_int(golden, "config.scale", 0) == 2 ? 12 : 3,
            .out = 3,
            .features = golden_int(golden, "config.feat", 0),
            .blocks = golden_int(golden, "config.blocks", 0),
            .growth = golden_int(golden, "config.grow", 0),
            .ups = 2,
        });
    }
    struct vrt_network *network = fixture_network(&f);
    golden_check_params(golden, network);
    return network;
}

/* PyTorch's own file of the same network, if there is one, holds the same weights. */
static void check_file(const struct play *p, const char *name)
{
    char path[512];
    size_t n_params, n_wanted;
    const struct vrt_param *wanted = vrt_network_params(p->network, &n_wanted);

    snprintf(path, sizeof(path), "%s/image/%s.pth", VRT_TEST_DATA, name);
    if (access(path, R_OK) != 0)
        return;
    struct vrt_network *network = fixture_open_network(path);
    const struct vrt_param *params = vrt_network_params(network, &n_params);
    expect_int(n_params, n_wanted);
    for (size_t i = 0; i < n_params; i++) {
        size_t n = 1;

        expect_str(params[i].name, wanted[i].name);
        expect_int(params[i].n_dims, wanted[i].n_dims);
        for (int k = 0; k < params[i].n_dims; k++) {
            expect_int(params[i].dims[k], wanted[i].dims[k]);
            n *= (size_t)params[i].dims[k];
        }
        for (size_t k = 0; k < n; k++)
            expect_near(params[i].data[k], wanted[i].data[k], 1e-6);
    }
    vrt_network_unref(network);
}

static struct play open_play(const char *name)
{
    char path[64];
    int dims[4];

    snprintf(path, sizeof(path), "image/%s", name);
    struct play p = { .golden = golden_open(path) };
    for (int i = 0; i < 4; i++)
        dims[i] = golden_int(p.golden, "input_shape", i);
    p.shape = (struct vrt_shape){ .d = dims[0], .c = dims[1], .h = dims[2], .w = dims[3] };
    p.x = rule_video((uint64_t)golden_int(p.golden, "seed", 0), dims);
    expect_true(p.x);
    p.samples = golden_read(p.golden, "output");
    expect_true(p.samples.count > 1000);
    p.network = make_network(p.golden, name);

    const struct vrt_network_info *info = vrt_network_info(p.network);
    expect_int(golden_int(p.golden, "shape.output", 1), info->out_channels);
    expect_int(golden_int(p.golden, "shape.output", 2), p.shape.h * info->scale);
    expect_int(golden_int(p.golden, "shape.output", 3), p.shape.w * info->scale);
    p.out = vrt_network_out_shape(p.network, p.shape);
    if (info->any_times)
        p.out.d = golden_int(p.golden, "shape.output", 0);
    expect_int((vrt_shape_count(p.out) + p.samples.stride - 1) / p.samples.stride, p.samples.count);
    return p;
}

static void close_play(struct play *p)
{
    vrt_network_unref(p->network);
    vrt_checkpoint_free(p->golden);
    free(p->x);
    free(p->samples.values);
}

static float *run(const struct play *p, const char *device, enum vrt_dtype dtype)
{
    return fixture_run_network_to(p->network, device, dtype, &(struct fixture_run){
        .in = p->shape, .out = p->out, .x = p->x });
}

/* PSNR of the samples; their peak is 1, or the largest where random weights make more of it. Prints
 * the largest difference too. */
static double compare(const struct play *p, const char *device, enum vrt_dtype dtype,
                      double *ret_relative)
{
    const struct golden_samples *samples = &p->samples;
    float *y = run(p, device, dtype);
    double worst = 0, largest = 0, sum = 0;

    for (int k = 0; k < samples->count; k++) {
        double wanted = samples->values[k];
        double difference = fabs(y[(size_t)k * (size_t)samples->stride] - wanted);

        if (!(difference < 1e30))
            test_fail("sample %d is not a number", k);
        worst = fmax(worst, difference);
        largest = fmax(largest, fabs(wanted));
        sum += difference * difference;
    }
    free(y);
    *ret_relative = worst / largest;
    const double peak = fmax(1, largest);
    double psnr = -10 * log10(sum / samples->count / (peak * peak) + 1e-30);
    fprintf(stderr, "  %s %s: %.2g relative, %.1f dB\n", device, vrt_dtype_name(dtype),
            *ret_relative, psnr);
    return psnr;
}

/*
 * PyTorch's own sums are f32 in another order: 1e-5 of the largest value is ten times what two
 * correct implementations on a CPU were seen to differ by.
 */
static double f32_tolerance(const char *device)
{
    return strncmp(device, "cpu:", 4) == 0 || strncmp(device, "ref:", 4) == 0 ? 1e-5 : 1e-4;
}

static void check(const struct play *p, const char *device, enum vrt_dtype dtype)
{
    double relative;

    if (!test_looks_at_results()) {
        free(run(p, device, dtype));
        return;
    }
    const double psnr = compare(p, device, dtype, &relative);
    if (dtype == VRT_DTYPE_F32) {
        expect_true(relative < f32_tolerance(device));
    } else {
        expect_true(relative < 2e-2);
        expect_true(psnr > (dtype == VRT_DTYPE_F16 ? 65 : 50));
    }
}

int main(int argc, char **argv)
{
    enum vrt_dtype dtype;

    if (argc < 4 || !fixture_dtype(argv[2], &dtype))
        test_fail("usage: test-model-parity DEVICE f32|f16|bf16 CASE...");
    if (!fixture_has_device(argv[1]))
        test_skip("this machine has no such device");
    if (!fixture_computes_in(argv[1], dtype))
        test_skip("the device doesn't compute in this type");
    for (int i = 3; i < argc; i++) {
        struct play p = open_play(argv[i]);

        fprintf(stderr, "%s: %s\n", argv[i], vrt_network_info(p.network)->description);
        if (VRT_TEST_PTH)
            check_file(&p, argv[i]);
        check(&p, argv[1], dtype);
        close_play(&p);
    }
    return 0;
}
