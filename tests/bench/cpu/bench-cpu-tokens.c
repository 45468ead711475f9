/* SPDX-License-Identifier: MIT */

/*
 * The CPU device's attention, gated and plain linear layers, at the sizes of a full VRT
 *
 * usage: bench-cpu-tokens [THREADS [ROUNDS [CASE]]]
 *
 * A case is one op on 6 frames of 64 by 64, f32 and bf16; medians are printed, and GFLOP/s of what
 * the op's definition asks for. What the machine's best products reach, bench-gemm prints.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "engine/graph-executor.h"

#define MAX_PARAMS 12
#define MAX_ROUNDS 1000

struct bench_case {
    const char *name;
    enum vrt_op_kind kind;
    int c, hidden, out_c;
    int window[3];
    bool mutual, shifted;
};

static const struct bench_case cases[] = {
    { "attention, 180 channels, 6x8x8", VRT_OP_WINDOW_ATTENTION, 180, 0, 180, { 6, 8, 8 } },
    { "the same, shifted", VRT_OP_WINDOW_ATTENTION, 180, 0, 180, { 6, 8, 8 }, .shifted = true },
    { "attention, 180 channels, 1x8x8", VRT_OP_WINDOW_ATTENTION, 180, 0, 180, { 1, 8, 8 } },
    { "attention, 120 channels, 6x8x8", VRT_OP_WINDOW_ATTENTION, 120, 0, 120, { 6, 8, 8 } },
    { "mutual attention, 120, 2x8x8", VRT_OP_WINDOW_ATTENTION, 120, 0, 120, { 2, 8, 8 }, true },
    { "geglu, 180 channels", VRT_OP_GEGLU, 180, 360, 180 },
    { "geglu, 120 channels", VRT_OP_GEGLU, 120, 240, 120 },
    { "geglu of the fusion, 360 to 120", VRT_OP_GEGLU, 360, 360, 120 },
    { "linear, 180 to 180", VRT_OP_LINEAR, 180, 0, 180 },
};

struct bench {
    const struct bench_case *test;
    enum vrt_dtype dtype;
    struct vrt_param params[MAX_PARAMS];
    int n_params;
    float *values;
    struct vrt_op op;
    struct vrt_device *device;
    struct vrt_replica *replica;
    struct vrt_graph_executor *executor;
    struct vrt_arena arena;
    struct vrt_buffer *in, *out;
};

/* Return: its index. */
static int add_param(struct bench *b, int rows, int columns, enum vrt_param_use use)
{
    b->params[b->n_params] = (struct vrt_param){
        .name = "param",
        .use = use,
        .n_dims = columns ? 2 : 1,
        .dims = { rows, columns },
        .data = b->values,
    };
    return b->n_params++;
}

static int matrix(struct bench *b, int rows, int columns)
{
    return add_param(b, rows, columns, VRT_PARAM_WEIGHT);
}

static int vector(struct bench *b, int n)
{
    return add_param(b, n, 0, VRT_PARAM_WEIGHT);
}

static void make_attention(struct bench *b)
{
    const struct bench_case *t = b->test;
    const int *w = t->window, c = t->c;

    b->op.window_attention = (struct vrt_op_window_attention){
        .heads = 6,
        .window = { w[0], w[1], w[2] },
        .shifted = t->shifted,
        .norm = { vector(b, c), vector(b, c) },
        .qkv = matrix(b, 3 * c, c),
        .qkv_bias = vector(b, 3 * c),
        .bias_table = add_param(b, (2 * w[0] - 1) * (2 * w[1] - 1) * (2 * w[2] - 1), 6,
                                VRT_PARAM_TABLE),
        .mutual = t->mutual ? matrix(b, 3 * c, c) : -1,
        .mutual_bias = t->mutual ? vector(b, 3 * c) : -1,
        .position = t->mutual ? add_param(b, w[1] * w[2], c, VRT_PARAM_TABLE) : -1,
        .proj = matrix(b, c, t->mutual ? 2 * c : c),
        .proj_bias = vector(b, c),
    };
}

static void make_op(struct bench *b)
{
    const struct bench_case *t = b->test;
    const struct vrt_op_norm norm = { vector(b, t->c), vector(b, t->c) };

    b->op.kind = t->kind;
    if (t->kind == VRT_OP_LINEAR)
        b->op.linear = (struct vrt_op_linear){ .norm = norm, .weight = matrix(b, t->out_c, t->c),
                                               .bias = vector(b, t->out_c) };
    else if (t->kind == VRT_OP_GEGLU)
        b->op.geglu = (struct vrt_op_geglu){
            .norm = norm, .hidden = t->hidden,
            .fc11 = matrix(b, t->hidden, t->c), .fc11_bias = vector(b, t->hidden),
            .fc12 = matrix(b, t->hidden, t->c), .fc12_bias = vector(b, t->hidden),
            .fc2 = matrix(b, t->out_c, t->hidden), .fc2_bias = vector(b, t->out_c),
        };
    else
        make_attention(b);
}

static int prepare(struct bench *b)
{
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    const struct vrt_shape in = { 6, 64, 64, b->test->c }, out = { 6, 64, 64, b->test->out_c };
    const size_t n = 6 * 64 * 64 * 360, n_values = 1 << 20;
    int r;

    b->values = malloc((n_values > n ? n_values : n) * sizeof(float));
    if (!b->values)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; i < (n_values > n ? n_values : n); i++)
        b->values[i] = (float)(i * 7919 % 1000) * 1e-4f - 0.05f;
    make_op(b);
    r = vrt_replica_new(b->device, b->params, (size_t)b->n_params, b->dtype, &b->replica);
    if (!r)
        r = vrt_graph_new(&graph);
    if (r)
        return r;
    b->op.n_in = 1;
    b->op.in[0] = vrt_graph_input(graph, VRT_DTYPE_F32, in);
    b->op.out = vrt_graph_output(graph, VRT_DTYPE_F32, out);
    if (b->test->kind == VRT_OP_GEGLU && b->test->c == b->test->out_c) {
        b->op.n_in = 2;
        b->op.in[1] = b->op.in[0];
    }
    vrt_graph_set_params(graph, b->params, (size_t)b->n_params, b->dtype);
    vrt_graph_append(graph, &b->op);
    r = vrt_graph_executor_new_all(b->device, b->replica, &graph, 1, &b->arena, &b->executor);
    if (!r)
        r = vrt_buffer_new(b->device, (size_t)vrt_shape_count(in) * 4, &b->in);
    if (!r)
        r = vrt_buffer_new(b->device, (size_t)vrt_shape_count(out) * 4, &b->out);
    if (!r)
        r = vrt_buffer_write(b->device, b->in, 0, b->values, (size_t)vrt_shape_count(in) * 4);
    return r;
}

static void finish(struct bench *b)
{
    vrt_graph_executor_free(b->executor);
    vrt_arena_done(b->device, &b->arena);
    vrt_replica_free(b->device, b->replica);
    vrt_buffer_free(b->device, b->in);
    vrt_buffer_free(b->device, b->out);
    free(b->values);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static int measure(struct bench *b, int n_rounds)
{
    const struct vrt_binding bindings[2] = { { b->in, 0 }, { b->out, 0 } };
    double times[MAX_ROUNDS];

    for (int i = -1; i < n_rounds; i++) {
        const int64_t start = vrt_clock_now_ns();
        int r = vrt_graph_executor_submit(b->executor, bindings);
        if (!r)
            r = vrt_device_finish(b->device);
        if (r)
            return r;
        if (i >= 0)
            times[i] = (double)(vrt_clock_now_ns() - start);
    }
    qsort(times, (size_t)n_rounds, sizeof(times[0]), by_size);
    printf("%-36s %-5s %8.2f ms %8.1f GFLOP/s\n", b->test->name, vrt_dtype_name(b->dtype),
           times[n_rounds / 2] * 1e-6, (double)vrt_op_flops(&b->op) / times[n_rounds / 2]);
    return 0;
}

static int number(int argc, char **argv, int i, int otherwise)
{
    return argc > i ? (int)strtol(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const int n_threads = number(argc, argv, 1, 2), n_rounds = number(argc, argv, 2, 9);
    const int only = number(argc, argv, 3, -1);
    const struct vrt_registry_params params = { .cpu_threads = n_threads };
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    struct vrt_device *device = NULL;
    int r;

    if (n_rounds < 1 || n_rounds > MAX_ROUNDS)
        return 2;
    r = vrt_registry_new(&params, &registry, NULL);
    if (!r)
        r = vrt_device_open(registry, vrt_registry_find(registry, "cpu:0"), &device);
    for (int i = 0; !r && i < 2 * (int)VRT_ARRAY_SIZE(cases); i++) {
        struct bench b = { .test = &cases[i / 2], .device = device,
                           .dtype = i % 2 ? VRT_DTYPE_BF16 : VRT_DTYPE_F32 };

        if (only >= 0 && only != i / 2)
            continue;
        if (b.dtype == VRT_DTYPE_BF16 && !vrt_device_info(device)->native_bf16)
            continue;
        r = prepare(&b);
        if (!r)
            r = measure(&b, n_rounds);
        finish(&b);
    }
    vrt_device_close(device);
    if (r)
        fprintf(stderr, "it failed: %s\n", vrt_backend_strerror(r));
    return r ? 1 : 0;
}
