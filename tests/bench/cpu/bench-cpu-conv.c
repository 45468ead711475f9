/* SPDX-License-Identifier: MIT */

/*
 * The CPU device's convolutions against oneDNN's own
 *
 * usage: bench-cpu-conv [THREADS [ROUNDS [CASE]]]
 *
 * A case is a run of layers. Ours are one program on the device, submitted as in a video, bias,
 * PReLU or leaky ReLU and residual included. oneDNN's are the same convolutions one by one, in
 * layouts that it chooses freely and with its own threads, with bias and a leaky ReLU but without
 * anything else. Both run in turns; medians are printed, and the ratio of the rates, which count
 * the multiplications of direct convolutions: Winograd's algorithm does without most.
 */

#include <errno.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/graph-executor.h"
#include "tests/bench/cpu/onednn-conv.h"

#define MAX_LAYERS 32
#define MAX_ROUNDS 1000

struct layer {
    int in_c, out_c;
    enum vrt_activation activation;
    bool grows;                     /* reads the first in_c channels of a tensor, adds to it */
};

struct bench_case {
    const char *name;
    int h, w;
    int wide_c;                     /* channels of the tensor that layers grow; 0: none */
    struct layer first, middle, last;
    int n_middle;
};

static const struct bench_case cases[] = {
    { .name = "compact, 24 features, 8 convolutions", .h = 360, .w = 640, .n_middle = 8,
      .first = { 3, 24, VRT_ACTIVATION_PRELU }, .middle = { 24, 24, VRT_ACTIVATION_PRELU },
      .last = { 24, 12, VRT_ACTIVATION_NONE } },
    { .name = "compact, 64 features, 16 convolutions", .h = 360, .w = 640, .n_middle = 16,
      .first = { 3, 64, VRT_ACTIVATION_PRELU }, .middle = { 64, 64, VRT_ACTIVATION_PRELU },
      .last = { 64, 48, VRT_ACTIVATION_NONE } },
    { .name = "a convolution and a dense block, 64 features", .h = 270, .w = 480, .wide_c = 192,
      .n_middle = 4, .first = { 64, 64, VRT_ACTIVATION_NONE },
      .middle = { 64, 32, VRT_ACTIVATION_LEAKY_RELU, true },
      .last = { 192, 64, VRT_ACTIVATION_NONE } },
};

struct bench {
    const struct bench_case *test;
    enum vrt_dtype dtype;
    struct layer layers[MAX_LAYERS];
    int n_layers;
    double flops;

    struct vrt_device *device;
    struct vrt_replica *replica;
    struct vrt_graph_executor *executor;
    struct vrt_arena arena;
    struct vrt_buffer *in, *out;
    struct onednn_conv *theirs[MAX_LAYERS];
};

static void list_layers(struct bench *b)
{
    const struct bench_case *t = b->test;

    if (t->first.out_c)
        b->layers[b->n_layers++] = t->first;
    for (int i = 0; i < t->n_middle; i++) {
        struct layer layer = t->middle;

        layer.in_c += layer.grows ? i * layer.out_c : 0;
        b->layers[b->n_layers++] = layer;
    }
    b->layers[b->n_layers++] = t->last;
    for (int i = 0; i < b->n_layers; i++)
        b->flops += 2.0 * t->h * t->w * 9 * b->layers[i].in_c * b->layers[i].out_c;
}

/* Weights, biases and slopes of all layers, of small numbers. */
static int make_replica(struct bench *b)
{
    struct vrt_param params[3 * MAX_LAYERS];
    const size_t n = 9 * 192 * 192;
    float *values = malloc(n * sizeof(*values));
    int r;

    if (!values)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(i * 7919 % 1000) * 1e-5f;
    for (int i = 0; i < b->n_layers; i++) {
        const int o = b->layers[i].out_c;

        params[3 * i] = (struct vrt_param){ "weight", 4, { o, b->layers[i].in_c, 3, 3 }, values };
        params[3 * i + 1] = (struct vrt_param){ "bias", 1, { o }, values };
        params[3 * i + 2] = (struct vrt_param){ "slopes", 1, { o }, values };
    }
    r = vrt_replica_new(b->device, params, 3 * (size_t)b->n_layers, b->dtype, &b->replica);
    free(values);
    return r;
}

static struct vrt_op make_op(const struct bench *b, int i)
{
    const struct layer *layer = &b->layers[i];

    return (struct vrt_op){
        .kind = VRT_OP_CONV2D,
        .n_in = 1,
        .conv2d = {
            .kernel = 3, .weight = 3 * i, .bias = 3 * i + 1, .slopes = 3 * i + 2,
            .activation = layer->activation, .slope = 0.2f, .scale = 1,
        },
    };
}

static void build(const struct bench *b, struct vrt_graph *graph)
{
    const struct bench_case *t = b->test;
    const int last = b->n_layers - 1;
    const struct vrt_shape in_shape = { 1, t->h, t->w, b->layers[0].in_c };
    const struct vrt_shape out_shape = { 1, t->h, t->w, b->layers[last].out_c };
    const struct vrt_shape wide_shape = { 1, t->h, t->w, t->wide_c };
    const struct vrt_tensor out = vrt_graph_output(graph, b->dtype, out_shape);
    struct vrt_tensor x = vrt_graph_input(graph, b->dtype, in_shape), wide = VRT_TENSOR_NONE;

    if (t->wide_c)
        wide = vrt_graph_tensor(graph, b->dtype, wide_shape);
    for (int i = 0; i <= last; i++) {
        const struct layer *layer = &b->layers[i];
        const struct vrt_shape shape = { 1, t->h, t->w, layer->out_c };
        struct vrt_op op = make_op(b, i);

        op.weight_dtype = b->dtype;
        op.in[0] = t->wide_c && i > 0 ? vrt_tensor_channels(&wide, 0, layer->in_c) : x;
        if (i == last)
            op.out = out;
        else if (t->wide_c)
            op.out = vrt_tensor_channels(&wide, layer->grows ? layer->in_c : 0, layer->out_c);
        else
            op.out = vrt_graph_tensor(graph, b->dtype, shape);
        if (t->wide_c && i == last) {
            op.n_in = 2;
            op.in[1] = vrt_tensor_channels(&wide, 0, layer->out_c);
            op.conv2d.scale = 0.2f;
        }
        vrt_graph_append(graph, &op);
        x = op.out;
    }
}

static int fill(struct bench *b)
{
    const struct bench_case *t = b->test;
    const size_t c = (size_t)b->layers[0].in_c;
    const size_t pixels = (size_t)t->h * (size_t)t->w, element = vrt_dtype_size(b->dtype);
    const size_t out_c = (size_t)b->layers[b->n_layers - 1].out_c;
    int r;

    r = vrt_buffer_new(b->device, pixels * c * element, &b->in);
    if (!r)
        r = vrt_buffer_new(b->device, pixels * out_c * element, &b->out);
    if (r)
        return r;
    void *small = malloc(pixels * c * element);
    if (!small)
        return vrt_raise(-ENOMEM);
    memset(small, 0x3c, pixels * c * element);
    r = vrt_buffer_write(b->device, b->in, 0, small, pixels * c * element);
    free(small);
    return r;
}

static int prepare_ours(struct bench *b)
{
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    int r;

    r = make_replica(b);
    if (!r)
        r = vrt_graph_new(&graph);
    if (r)
        return r;
    build(b, graph);
    r = vrt_graph_executor_new_all(b->device, b->replica, &graph, 1, &b->arena, &b->executor);
    return r ? r : fill(b);
}

static int prepare_theirs(struct bench *b, int n_threads)
{
    omp_set_num_threads(n_threads);
    for (int i = 0; i < b->n_layers; i++) {
        const struct layer *layer = &b->layers[i];
        const struct onednn_conv_shape shape = {
            .in_c = layer->in_c, .out_c = layer->out_c, .k = 3, .h = b->test->h, .w = b->test->w,
            .bf16 = b->dtype == VRT_DTYPE_BF16,
            .has_activation = layer->activation != VRT_ACTIVATION_NONE,
        };

        b->theirs[i] = onednn_conv_new(&shape);
        if (!b->theirs[i])
            return vrt_raise(-EIO);
    }
    return 0;
}

static void bench_done(struct bench *b)
{
    for (int i = 0; i < b->n_layers; i++)
        onednn_conv_free(b->theirs[i]);
    vrt_graph_executor_free(b->executor);
    vrt_arena_done(b->device, &b->arena);
    vrt_buffer_free(b->device, b->in);
    vrt_buffer_free(b->device, b->out);
    vrt_replica_free(b->device, b->replica);
}

static int run_ours(struct bench *b, double *ret_s)
{
    const struct vrt_binding bindings[] = { { b->in, 0 }, { b->out, 0 } };

    omp_set_num_threads(1);         /* as the device left it */
    const int64_t start = vrt_clock_now_ns();
    int r = vrt_graph_executor_submit(b->executor, bindings);

    if (!r)
        r = vrt_device_finish(b->device);
    *ret_s = (double)(vrt_clock_now_ns() - start) / (double)VRT_NS_PER_S;
    return r;
}

static int run_theirs(struct bench *b, int n_threads, double *ret_s)
{
    omp_set_num_threads(n_threads);
    const int64_t start = vrt_clock_now_ns();

    for (int i = 0; i < b->n_layers; i++)
        if (!onednn_conv_run(b->theirs[i]))
            return vrt_raise(-EIO);
    *ret_s = (double)(vrt_clock_now_ns() - start) / (double)VRT_NS_PER_S;
    return 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), compare);
    return values[n / 2];
}

static int run_case(struct bench *b, int n_threads, int n_rounds)
{
    static double ours[MAX_ROUNDS], theirs[MAX_ROUNDS], ratios[MAX_ROUNDS];
    int r;

    omp_set_num_threads(1);
    list_layers(b);
    r = prepare_ours(b);
    if (!r)
        r = prepare_theirs(b, n_threads);
    for (int i = -1; !r && i < n_rounds; i++) {     /* the first is not counted */
        const int k = i < 0 ? 0 : i;

        r = run_ours(b, &ours[k]);
        if (!r)
            r = run_theirs(b, n_threads, &theirs[k]);
        ratios[k] = theirs[k] / ours[k];
    }
    if (!r)
        printf("| %s, %dx%d | %s | %.1f | %.1f | %.2f |\n", b->test->name, b->test->w, b->test->h,
               vrt_dtype_name(b->dtype), b->flops / median(ours, n_rounds) * 1e-9,
               b->flops / median(theirs, n_rounds) * 1e-9, median(ratios, n_rounds));
    bench_done(b);
    return r;
}

static int run_all(const struct vrt_registry *registry, int n_rounds, int only)
{
    const struct vrt_device_info *info = vrt_registry_find(registry, "cpu:0");
    struct vrt_device *device = NULL;
    int r = 0;

    if (!info) {
        printf("this program was built without the CPU device\n");
        return 77;
    }
    r = vrt_device_open(registry, info, &device);
    printf("%s\n\n| layers | type | GFLOP/s | oneDNN's own | ratio |\n| --- | --- | --- | --- | "
           "--- |\n", info->description);
    for (size_t i = 0; !r && i < 2 * sizeof(cases) / sizeof(cases[0]); i++) {
        struct bench b = {
            .test = &cases[i / 2], .dtype = i % 2 ? VRT_DTYPE_BF16 : VRT_DTYPE_F32,
            .device = device,
        };

        if ((only >= 0 && (size_t)only != i / 2) ||
            (b.dtype == VRT_DTYPE_BF16 && info->preferred_dtype != VRT_DTYPE_BF16))
            continue;
        r = run_case(&b, info->n_threads, n_rounds);
        fflush(stdout);
    }
    vrt_device_close(device);
    if (r)
        fprintf(stderr, "bench-cpu-conv: %s\n", vrt_backend_strerror(r));
    return r != 0;
}

int main(int argc, char **argv)
{
    const long n_threads = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    const struct vrt_registry_params params = {
        .values = VRT_BACKEND_VALUES({ "cpu", "threads", n_threads }),
    };
    const long n_rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 15;
    const int only = argc > 3 ? (int)strtol(argv[3], NULL, 10) : -1;
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    struct vrt_error error = { 0 };

    if (n_rounds < 1 || n_rounds > MAX_ROUNDS) {
        fprintf(stderr, "bench-cpu-conv: give 1 to %d rounds\n", MAX_ROUNDS);
        return 2;
    }
    if (vrt_registry_new(&params, &registry, &error)) {
        fprintf(stderr, "bench-cpu-conv: %s\n", error.message);
        return 1;
    }
    return run_all(registry, (int)n_rounds, only);
}
