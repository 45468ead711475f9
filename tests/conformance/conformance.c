/* SPDX-License-Identifier: MIT */

#include "tests/conformance/conformance.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/kind.h"
#include "backend/op/half.h"
#include "backend/op-params.h"
#include "tests/conformance/devices.h"
#include "tests/conformance/memory.h"
#include "tests/unit/environment.h"
#include "tests/unit/test.h"

const enum vrt_dtype conf_in_out[CONF_N_IN_OUT][2] = {
    { VRT_DTYPE_F32, VRT_DTYPE_F32 },  { VRT_DTYPE_BF16, VRT_DTYPE_BF16 },
    { VRT_DTYPE_F32, VRT_DTYPE_BF16 }, { VRT_DTYPE_BF16, VRT_DTYPE_F32 },
    { VRT_DTYPE_F16, VRT_DTYPE_F16 },
};

#define MAX_PARAMS 16
#define MAX_ARRAYS 256

/* Norms over less say nothing that the elements don't. */
#define MIN_ELEMENTS_OF_NORM 256

/* One case, on all devices. */
struct conf {
    const char *op_name;
    int i;
    struct conf_devices *devices;
    uint64_t random;
    struct conf_memory memory;
    struct vrt_param params[MAX_PARAMS];
    size_t n_params;
    enum vrt_dtype replica_dtype;
    void *arrays[MAX_ARRAYS];       /* freed when the case ends */
    int n_arrays;
    bool checked;                   /* conf_expect() was called */
};

/* What a guise made of a case: output i as [D,H,W,C]. */
struct result {
    double *outputs[3];
    bool supported;
};

const struct conf_tolerance conf_exact = { 0 };
const struct conf_tolerance conf_integers = { .off_by_one = 0.01 };

struct conf_tolerance conf_tolerance_of(enum vrt_dtype dtype)
{
    static const struct conf_tolerance tolerances[] = {
        [VRT_DTYPE_F32] = { .norm = 2e-6, .element = 1e-5 },
        [VRT_DTYPE_F16] = { .norm = 2e-4, .element = 0x1p-10 },
        [VRT_DTYPE_BF16] = { .norm = 1e-3, .element = 0x1p-7 },
    };

    expect_true(dtype < VRT_ARRAY_SIZE(tolerances));
    return tolerances[dtype];
}

float conf_rounded(float x, enum vrt_dtype dtype)
{
    if (dtype == VRT_DTYPE_F16)
        return vrt_f32_from_f16(vrt_f16_from_f32(x));
    return dtype == VRT_DTYPE_BF16 ? vrt_f32_from_bf16(vrt_bf16_from_f32(x)) : x;
}

/* SplitMix64. */
static uint64_t random_bits(struct conf *t)
{
    uint64_t z = t->random += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int conf_random(struct conf *t, int n)
{
    return (int)(random_bits(t) % (uint64_t)n);
}

static float random_float(struct conf *t, float range)
{
    return range * ((float)(random_bits(t) >> 40) * 0x1p-23f - 1);
}

static void *keep(struct conf *t, size_t n, size_t size)
{
    expect_true(t->n_arrays < MAX_ARRAYS);
    void *array = calloc(n + 1, size);
    expect_true(array != NULL);
    t->arrays[t->n_arrays++] = array;
    return array;
}

double *conf_array(struct conf *t, size_t n)
{
    return keep(t, n, sizeof(double));
}

struct conf_spec conf_dense(enum vrt_dtype dtype, int d, int h, int w, int c)
{
    return (struct conf_spec){ .dtype = dtype, .shape = { d, h, w, c } };
}

struct vrt_tensor conf_input(struct conf *t, struct conf_spec spec, float **ret_values)
{
    const size_t n = (size_t)vrt_shape_count(spec.shape);
    float *values = calloc(n, sizeof(float));
    const bool is_integer = spec.dtype == VRT_DTYPE_U8 || spec.dtype == VRT_DTYPE_U16;
    const int max = spec.max ? spec.max : spec.dtype == VRT_DTYPE_U8 ? 255 : 65535;

    expect_true(values != NULL);
    for (size_t i = 0; i < n; i++)
        values[i] = is_integer ? (float)conf_random(t, max + 1)
                               : conf_rounded(random_float(t, 1), spec.dtype);
    if (ret_values)
        *ret_values = values;
    return conf_memory_add(&t->memory, spec, values);
}

struct vrt_tensor conf_output(struct conf *t, struct conf_spec spec)
{
    return conf_memory_add(&t->memory, spec, NULL);
}

int conf_param(struct conf *t, enum vrt_param_use use, const int dims[4], float range,
               const float **ret_values)
{
    struct vrt_param *param = &t->params[t->n_params];
    size_t n = 1;

    expect_true(t->n_params < MAX_PARAMS);
    *param = (struct vrt_param){ .name = "param", .use = use };
    for (int i = 0; i < 4 && dims[i]; i++) {
        param->dims[param->n_dims++] = dims[i];
        n *= (size_t)dims[i];
    }
    const bool is_rounded = param->n_dims > 1 && (use == VRT_PARAM_WEIGHT ||
                                                  use == VRT_PARAM_WEIGHT_DEFORM);
    float *values = keep(t, n, sizeof(float));
    for (size_t i = 0; i < n; i++) {
        const float x = random_float(t, range);
        values[i] = is_rounded ? conf_rounded(x, t->replica_dtype) : x;
    }
    param->data = values;
    *ret_values = values;
    return (int)t->n_params++;
}

void conf_replica_dtype(struct conf *t, enum vrt_dtype dtype)
{
    expect_int(t->n_params, 0);
    t->replica_dtype = dtype;
}

bool conf_is_wanted(const struct conf *t)
{
    return t->devices->guises[0].selected;
}

static void report(struct conf *t, struct conf_guise *guise, const char *what)
{
    printf("%s[%d]@%s: %s\n", t->op_name, t->i, guise->label, what);
    guise->n_failed++;
}

/* Makes everything on the device, runs, reads back. Return: what the device answered. */
static int run_program(struct conf *t, struct vrt_device *device, const struct vrt_op *op,
                       unsigned char *const *images)
{
    struct vrt_buffer *buffers[CONF_N_IMAGES] = { NULL };
    struct vrt_binding bindings[CONF_MAX_TENSORS];
    struct vrt_replica *replica = NULL;
    struct vrt_program *program = NULL;
    int r = 0;

    for (int i = 0; !r && i < CONF_N_IMAGES; i++) {
        const struct conf_image *image = &t->memory.images[i];
        r = vrt_buffer_new(device, VRT_MAX(image->size_bytes, 1), &buffers[i]);
        if (!r)
            r = vrt_buffer_write(device, buffers[i], 0, image->data, image->size_bytes);
    }
    for (int i = 0; i < t->memory.n_bindings; i++)
        bindings[i] = (struct vrt_binding){ buffers[1], t->memory.binding_offsets[i] };
    if (!r && t->n_params)
        r = vrt_replica_new(device, t->params, t->n_params, t->replica_dtype, &replica);
    const struct vrt_program_params params = {
        .ops = op,
        .n_ops = 1,
        .replica = replica,
        .arena = buffers[0],
        .arena_bytes = t->memory.images[0].size_bytes,
        .n_bindings = t->memory.n_bindings,
    };
    if (!r)
        r = vrt_program_new(device, &params, &program);
    if (!r)
        r = vrt_program_submit(device, program, bindings);
    if (!r)
        r = vrt_device_finish(device);
    for (int i = 0; !r && i < CONF_N_IMAGES; i++)
        r = vrt_buffer_read(device, buffers[i], 0, images[i], t->memory.images[i].size_bytes);
    vrt_program_free(device, program);
    vrt_replica_free(device, replica);
    for (int i = 0; i < CONF_N_IMAGES; i++)
        vrt_buffer_free(device, buffers[i]);
    expect_int(vrt_device_used_bytes(device), 0);
    return r;
}

/* Decodes the outputs from images that were read back. */
static void take_outputs(struct conf *t, const struct vrt_op *op, unsigned char *const *images,
                         struct result *result)
{
    for (int i = 0; i < vrt_op_n_out(op); i++) {
        const struct vrt_tensor *out = vrt_op_out(op, i);
        const struct vrt_shape s = out->shape;
        double *values = conf_array(t, (size_t)vrt_shape_count(s));
        result->outputs[i] = values;
        for (int d = 0; d < s.d; d++)
        for (int y = 0; y < s.h; y++)
        for (int x = 0; x < s.w; x++)
        for (int c = 0; c < s.c; c++)
            *values++ = conf_memory_get(&t->memory, images, out, (int[4]){ d, y, x, c });
    }
}

/* Whether the device makes replicas of this type at all, of which weights of an op may be f32. */
static bool makes_replicas(struct conf *t, struct vrt_device *device)
{
    struct vrt_replica *replica = NULL;
    const int r = t->n_params ? vrt_replica_new(device, t->params, 0, t->replica_dtype, &replica)
                              : 0;

    vrt_replica_free(device, replica);
    return r != -EINVAL;
}

/* What a row, and whatever follows another thing in a workspace, may be rounded up by. */
#define MAX_UNUSED_BYTES 1024

/*
 * Whether a workspace is larger than what is written there: a plan counts all of it, and so users
 * would get smaller tiles than fit. Of the ops whose workspace is as large as the work, on devices
 * with a memory of their own; others have scratch for each of their threads.
 */
static bool wastes_workspace(const struct conf *t, const struct conf_guise *guise,
                             unsigned char *const *images, const struct vrt_op *op, size_t bytes)
{
    const struct vrt_device_info *info = vrt_device_info(guise->device);
    const struct vrt_device_kind *kind = vrt_device_kind_find(info->kind, strlen(info->kind));

    return (op->kind == VRT_OP_GEGLU || op->kind == VRT_OP_WINDOW_ATTENTION) &&
           kind->role == VRT_DEVICE_ACCELERATOR &&
           conf_memory_unused(&t->memory, images, op, bytes) > MAX_UNUSED_BYTES;
}

/* Return: whether the guise ran the op, and left alone what it should. */
static bool run_guise(struct conf *t, struct conf_guise *guise, const struct vrt_op *op,
                      struct result *ret_result)
{
    unsigned char *images[CONF_N_IMAGES] = { NULL };
    const size_t image_bytes = t->memory.images[0].size_bytes;
    struct vrt_op placed = *op;
    bool good = false;

    ret_result->supported =
        vrt_device_supports(guise->device, op) && makes_replicas(t, guise->device);
    if (!ret_result->supported)
        return false;
    const size_t workspace_bytes = vrt_device_workspace_bytes(guise->device, op);
    placed.workspace_offset_bytes = conf_memory_workspace(&t->memory, workspace_bytes);
    for (int i = 0; i < CONF_N_IMAGES; i++) {
        images[i] = calloc(1, t->memory.images[i].size_bytes + 1);
        expect_true(images[i] != NULL);
    }
    int r = run_program(t, guise->device, &placed, images);
    if (r) {
        report(t, guise, vrt_backend_strerror(r));
    } else if (!test_looks_at_results()) {
        good = true;
    } else if (!conf_memory_intact(&t->memory, images, &placed, workspace_bytes)) {
        report(t, guise, "it wrote where it may not");
    } else if (wastes_workspace(t, guise, images, &placed, workspace_bytes)) {
        report(t, guise, "its workspace is larger than what it uses");
    } else {
        take_outputs(t, op, images, ret_result);
        good = true;
    }
    for (int i = 0; i < CONF_N_IMAGES; i++)
        free(images[i]);
    t->memory.images[0].size_bytes = image_bytes;
    return good;
}

static bool element_fits(double got, double want, const struct conf_tolerance *tolerance)
{
    const double difference = fabs(got - want);

    if (tolerance->off_by_one > 0)
        return difference <= 1;
    return got == want || difference <= tolerance->element * fmax(1, fabs(want));
}

/* Return: whether output `i` is as it should be; if not, reports where. */
static bool output_fits(struct conf *t, struct conf_guise *guise, const struct vrt_tensor *out,
                        const double *got, const double *want, struct conf_tolerance tolerance)
{
    const struct vrt_shape s = out->shape;
    const int64_t n = vrt_shape_count(s);
    double error = 0, norm = 0;
    int64_t n_off = 0;
    char text[256];

    for (int64_t i = 0; i < n; i++) {
        const bool is_float = out->dtype <= VRT_DTYPE_BF16;
        const double w = is_float ? (double)conf_rounded((float)want[i], out->dtype) : want[i];
        if (!element_fits(got[i], w, &tolerance)) {
            snprintf(text, sizeof(text), "element (%d,%d,%d,%d) is %.9g, not %.9g",
                     (int)(i / s.c / s.w / s.h), (int)(i / s.c / s.w % s.h), (int)(i / s.c % s.w),
                     (int)(i % s.c), got[i], w);
            report(t, guise, text);
            return false;
        }
        n_off += got[i] != w;
        error += (got[i] - w) * (got[i] - w);
        norm += w * w;
    }
    /* A few may be off even of a few: one in a hundred is a share only among many. */
    if (tolerance.off_by_one > 0 && (double)n_off > 2 + tolerance.off_by_one * (double)n) {
        snprintf(text, sizeof(text), "%lld of %lld samples are off by one", (long long)n_off,
                 (long long)n);
        report(t, guise, text);
        return false;
    }
    if (tolerance.norm > 0 && n >= MIN_ELEMENTS_OF_NORM && error > norm * tolerance.norm *
                                                                       tolerance.norm) {
        snprintf(text, sizeof(text), "the error's norm is %.3g of the output's, over %.3g",
                 sqrt(error / norm), tolerance.norm);
        report(t, guise, text);
        return false;
    }
    return true;
}

static bool result_is_same(const struct vrt_op *op, const struct result *a, const struct result *b)
{
    if (a->supported != b->supported)
        return false;
    for (int i = 0; a->supported && i < vrt_op_n_out(op); i++) {
        const size_t n = (size_t)vrt_shape_count(vrt_op_out(op, i)->shape);
        if (memcmp(a->outputs[i], b->outputs[i], n * sizeof(double)) != 0)
            return false;
    }
    return true;
}

struct guise_run {
    struct conf *t;
    struct conf_guise *guise;
    const struct vrt_op *op;
    struct result *ret_result;
    bool good;
};

static void do_run_guise(void *context)
{
    struct guise_run *run = context;

    run->good = run_guise(run->t, run->guise, run->op, run->ret_result);
}

/* Holds guise `g` against what it has to be. */
static void judge(struct conf *t, int g, const struct vrt_op *op, const struct result *results,
                  const double *const *want, struct conf_tolerance tolerance)
{
    struct conf_guise *guise = &t->devices->guises[g];
    const double *const *wanted = g == 0 ? want : (const double *const *)results[0].outputs;

    if (g == 0 && !conf_is_wanted(t))
        return;
    if (guise->plain != g) {
        if (!result_is_same(op, &results[g], &results[guise->plain]))
            report(t, guise, "its output is not bit-identical to the device's without guise");
        return;
    }
    for (int i = 0; i < vrt_op_n_out(op); i++)
        if (!output_fits(t, guise, vrt_op_out(op, i), results[g].outputs[i], wanted[i],
                         tolerance))
            return;
}

void conf_expect(struct conf *t, const struct vrt_op *untyped, const double *const *want,
                 struct conf_tolerance tolerance)
{
    struct result results[CONF_MAX_GUISES] = { 0 };
    struct vrt_op typed = *untyped;
    const struct vrt_op *const op = &typed;
    const char *wrong = vrt_op_find_weights(&typed, t->params, t->n_params, t->replica_dtype);

    if (wrong)
        test_fail("%s[%d]: %s", t->op_name, t->i, wrong);
    expect_int(vrt_op_check(op), 0);
    expect_true(!t->checked);
    t->checked = true;
    conf_memory_fill(&t->memory);
    for (int g = 0; g < t->devices->n; g++) {
        struct conf_guise *guise = &t->devices->guises[g];
        if (!conf_devices_needed(t->devices, g))
            continue;
        struct guise_run run = { t, guise, op, &results[g], false };
        conf_guise_do(guise, do_run_guise, &run);
        const bool good = run.good;
        guise->n_ran += good;
        guise->n_unsupported += !results[g].supported;
        if (good && test_looks_at_results() && (g == 0 || results[0].outputs[0]) &&
            (guise->plain == g || results[guise->plain].outputs[0]))
            judge(t, g, op, results, want, tolerance);
    }
}

static void run_case(struct conf *t, conf_run_fn run)
{
    run(t, t->i);
    expect_true(t->checked);
    conf_memory_done(&t->memory);
    for (int i = 0; i < t->n_arrays; i++)
        free(t->arrays[i]);
}

/* Return: the exit status. */
static int summarise(const struct conf_devices *devices, const char *op_name)
{
    int n_ran = 0, n_failed = 0;

    for (int g = 0; g < devices->n; g++) {
        const struct conf_guise *guise = &devices->guises[g];
        n_failed += guise->n_failed;
        if (!guise->selected)
            continue;
        n_ran += guise->n_ran;
        printf("%s@%s: %d ran, %d not supported, %d failed\n", op_name, guise->label,
               guise->n_ran, guise->n_unsupported, guise->n_failed);
    }
    if (!n_ran && !n_failed)
        printf("skipped: nothing ran\n");
    return n_failed ? 1 : n_ran ? 0 : 77;
}

/* "conv2d[3]@cpu:0", or any part of it. */
struct filter {
    char op[32];
    int i;                          /* -1: all */
    const char *device;
};

static struct filter parse_filter(const char *text)
{
    struct filter filter = { .i = -1, .device = "" };
    const size_t n = strcspn(text, "[@");
    const char *rest = text + n;
    char *end;

    snprintf(filter.op, sizeof(filter.op), "%.*s", (int)n, text);
    if (*rest == '[') {
        filter.i = (int)strtol(rest + 1, &end, 10);
        rest = *end == ']' ? end + 1 : end;
    }
    if (*rest == '@')
        filter.device = rest + 1;
    else if (*rest)
        test_fail("\"%s\" is not like \"conv2d[3]@cpu:0\"", text);
    return filter;
}

bool conf_is_large(void)
{
    return getenv("VRT_CONF_LARGE") != NULL;
}

int conf_main(int argc, char **argv, const char *op_name, conf_run_fn run, int n_cases)
{
    static struct conf_devices devices;
    struct filter filter = parse_filter("");
    uint64_t seed = 1;
    bool is_plain = false;
    int every = 1;

    for (int a = 1; a < argc; a++) {
        if (strcmp(argv[a], "--seed") == 0 && a + 1 < argc)
            seed = strtoull(argv[++a], NULL, 0);
        else if (strcmp(argv[a], "--every") == 0 && a + 1 < argc)
            every = (int)strtol(argv[++a], NULL, 10);
        else if (strcmp(argv[a], "--plain") == 0)
            is_plain = true;
        else
            filter = parse_filter(argv[a]);
    }
    if (filter.op[0] && strcmp(filter.op, op_name) != 0)
        test_skip("this program tests another op");
    expect_true(every > 0);
    conf_devices_open(&devices);
    if (!conf_devices_select(&devices, filter.device, is_plain))
        n_cases = 0;
    for (int i = 0; i < n_cases; i++) {
        struct conf t = {
            .op_name = op_name,
            .i = i,
            .devices = &devices,
            .random = seed * 1000003u + (uint64_t)i,
        };
        if (filter.i < 0 ? i % every == 0 : filter.i == i)
            run_case(&t, run);
    }
    conf_devices_close(&devices);
    return summarise(&devices, op_name);
}
