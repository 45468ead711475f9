/* SPDX-License-Identifier: MIT */
/*
 * Many ops in one program, as networks have them: planned into one arena, submitted several times
 * with other bindings before anything is waited for. Each device is held against the reference,
 * its other guises against itself, and a run against a repetition of it.
 */

#include <errno.h>
#include <stdint.h>

#include "engine/graph-executor.h"
#include "engine/graph.h"
#include "tests/conformance/devices.h"
#include "tests/unit/environment.h"
#include "tests/unit/test.h"

#define FEATURES 24
#define GROWTH 16
#define N_LAYERS 3
#define SCALE 2
#define N_RUNS 3
#define MAX_PARAMS 32

static const struct vrt_shape in_shape = { 1, 9, 13, 3 };
static const struct vrt_shape out_shape = { 1, 9 * SCALE, 13 * SCALE, 3 };

#define N_IN (9 * 13 * 3)
#define N_OUT (N_IN * SCALE * SCALE)

struct network {
    struct vrt_param params[MAX_PARAMS];
    int n_params;
    uint64_t random;
    struct vrt_graph *graph;
    enum vrt_dtype dtype;
};

static float random_value(struct network *net, float range)
{
    net->random = net->random * 6364136223846793005u + 1442695040888963407u;
    return range * ((float)(net->random >> 40) * 0x1p-23f - 1);
}

/* Return: the index of a new param. */
static int add_param(struct network *net, struct vrt_param param, float range)
{
    size_t n = 1;

    expect_true(net->n_params < MAX_PARAMS);
    for (int i = 0; i < param.n_dims; i++)
        n *= (size_t)param.dims[i];
    float *data = calloc(n, sizeof(float));
    expect_true(data != NULL);
    for (size_t i = 0; i < n; i++)
        data[i] = random_value(net, range);
    param.data = data;
    net->params[net->n_params] = param;
    return net->n_params++;
}

/* out = prelu(3x3 conv of x) * scale + residual (NULL: none). */
static void conv(struct network *net, const struct vrt_tensor *x, const struct vrt_tensor *out,
                 const struct vrt_tensor *residual, float scale)
{
    const int i = x->shape.c, o = out->shape.c;
    const struct vrt_param weight = { "w", 4, { o, i, 3, 3 }, NULL };
    const struct vrt_param vector = { "b", 1, { o }, NULL };
    struct vrt_op op = {
        .kind = VRT_OP_CONV2D,
        .n_in = 2,
        .in = { *x, residual ? *residual : VRT_TENSOR_NONE },
        .out = *out,
        .weight_dtype = net->dtype,
        .conv2d = { .kernel = 3, .activation = VRT_ACTIVATION_PRELU, .scale = scale },
    };

    op.conv2d.weight = add_param(net, weight, sqrtf(1 / (float)i));
    op.conv2d.bias = add_param(net, vector, 0.1f);
    op.conv2d.slopes = add_param(net, vector, 0.3f);
    vrt_graph_append(net->graph, &op);
}

static struct vrt_tensor features(struct network *net, int channels)
{
    struct vrt_shape shape = in_shape;

    shape.c = channels;
    return vrt_graph_tensor(net->graph, net->dtype, shape);
}

/* Into, and back out of, a dense block: layers that write into channels of one storage. */
static struct vrt_tensor dense_block(struct network *net, const struct vrt_tensor *x)
{
    struct vrt_tensor wide = features(net, FEATURES + N_LAYERS * GROWTH);
    struct vrt_tensor y = features(net, FEATURES);
    struct vrt_op op = { .kind = VRT_OP_COPY, .n_in = 1, .in = { *x } };

    op.out = vrt_tensor_channels(&wide, 0, FEATURES);
    vrt_graph_append(net->graph, &op);
    for (int i = 0; i < N_LAYERS; i++) {
        const int n = FEATURES + i * GROWTH;
        const struct vrt_tensor known = vrt_tensor_channels(&wide, 0, n);
        const struct vrt_tensor next = vrt_tensor_channels(&wide, n, GROWTH);
        conv(net, &known, &next, NULL, 1);
    }
    const struct vrt_tensor first = vrt_tensor_channels(&wide, 0, FEATURES);
    conv(net, &wide, &y, &first, 0.2f);
    return y;
}

static void build(struct network *net, enum vrt_dtype dtype)
{
    *net = (struct network){ .random = 11, .dtype = dtype };
    expect_int(vrt_graph_new(&net->graph), 0);
    const struct vrt_tensor in = vrt_graph_input(net->graph, VRT_DTYPE_F32, in_shape);
    struct vrt_tensor x = features(net, 3), y = features(net, FEATURES);
    struct vrt_op copy = { .kind = VRT_OP_COPY, .n_in = 1, .in = { in }, .out = x };
    vrt_graph_append(net->graph, &copy);
    conv(net, &x, &y, NULL, 1);
    y = dense_block(net, &y);
    y = dense_block(net, &y);
    x = features(net, 3 * SCALE * SCALE);
    conv(net, &y, &x, NULL, 1);
    struct vrt_op shuffle = {
        .kind = VRT_OP_DEPTH_TO_SPACE,
        .n_in = 2,
        .in = { x, in },
        .out = vrt_graph_output(net->graph, VRT_DTYPE_F32, out_shape),
        .depth_to_space = { .r = SCALE },
    };
    vrt_graph_append(net->graph, &shuffle);
    expect_int(vrt_graph_status(net->graph), 0);
}

static void network_done(struct network *net)
{
    for (int i = 0; i < net->n_params; i++)
        free((void *)(uintptr_t)net->params[i].data);
    vrt_graph_free(net->graph);
}

static bool supported(const struct vrt_device *device, const struct vrt_graph *graph)
{
    size_t n;
    const struct vrt_op *ops = vrt_graph_ops(graph, &n);
    bool all = true;

    for (size_t i = 0; i < n; i++)
        all = all && vrt_device_supports(device, &ops[i]);
    return all;
}

/* Runs pictures 0, 1 and 0 again, one behind the other. */
static void run(struct vrt_device *device, struct network *net, float outs[N_RUNS][N_OUT])
{
    struct vrt_graph_executor *executor = NULL;
    struct vrt_replica *replica = NULL;
    struct vrt_arena arena = { 0 };
    struct vrt_buffer *in = NULL, *out = NULL;
    float pictures[2][N_IN];

    net->random = 99;
    for (int i = 0; i < 2 * N_IN; i++)
        pictures[i / N_IN][i % N_IN] = random_value(net, 0.5f) + 0.5f;
    memset(outs, 0xff, N_RUNS * N_OUT * sizeof(float));
    expect_int(vrt_buffer_new(device, sizeof(pictures), &in), 0);
    expect_int(vrt_buffer_new(device, N_RUNS * N_OUT * sizeof(float), &out), 0);
    expect_int(vrt_buffer_write(device, in, 0, pictures, sizeof(pictures)), 0);
    expect_int(vrt_buffer_write(device, out, 0, outs, N_RUNS * N_OUT * sizeof(float)), 0);
    expect_int(vrt_replica_new(device, net->params, (size_t)net->n_params, net->dtype, &replica),
               0);
    expect_int(vrt_graph_executor_new_all(device, replica, &net->graph, 1, &arena, &executor), 0);
    for (int k = 0; k < N_RUNS; k++) {
        const struct vrt_binding bindings[] = {
            { in, (size_t)(k % 2) * N_IN * sizeof(float) },
            { out, (size_t)k * N_OUT * sizeof(float) },
        };
        expect_int(vrt_graph_executor_submit(executor, bindings), 0);
    }
    expect_int(vrt_device_finish(device), 0);
    expect_int(vrt_buffer_read(device, out, 0, outs, N_RUNS * N_OUT * sizeof(float)), 0);
    vrt_graph_executor_free(executor);
    vrt_arena_done(device, &arena);
    vrt_replica_free(device, replica);
    vrt_buffer_free(device, in);
    vrt_buffer_free(device, out);
    expect_int(vrt_device_used_bytes(device), 0);
}

/* Return: the norm of the difference over that of what both were expected to be. */
static double difference(const float *got, const float *want)
{
    double error = 0, norm = 0;

    for (int i = 0; i < N_OUT; i++) {
        error += (double)(got[i] - want[i]) * (double)(got[i] - want[i]);
        norm += (double)want[i] * (double)want[i];
    }
    return sqrt(error / norm);
}

/* f32: ten layers of sums in another order. bf16, f16: what is rounded after each layer differs by
 * 1e-7, so that few are rounded to the other side; were all, it would be some units in the last of
 * 8 or 11 bits, and half of one is allowed. */
static const struct {
    enum vrt_dtype dtype;
    double tolerance;
} kinds[] = {
    { VRT_DTYPE_F32, 3e-6 },
    { VRT_DTYPE_BF16, 0x1p-9 },
    { VRT_DTYPE_F16, 0x1p-12 },
};

static int judge(const struct conf_guise *guise, size_t kind, bool is_plain,
                 float outs[N_RUNS][N_OUT], float wanted[N_RUNS][N_OUT])
{
    const char *wrong = NULL;
    char text[96];

    if (memcmp(outs[0], outs[2], sizeof(outs[0])) != 0)
        wrong = "a repetition differs";
    else if (!is_plain && memcmp(outs, wanted, N_RUNS * sizeof(outs[0])) != 0)
        wrong = "not bit-identical to the device without guise";
    for (int k = 0; !wrong && k < 2; k++) {
        const double off = difference(outs[k], wanted[k]);
        if (off <= kinds[kind].tolerance)
            continue;
        snprintf(text, sizeof(text), "off by %.3g of the output, over %.3g", off,
                 kinds[kind].tolerance);
        wrong = text;
    }
    if (wrong)
        printf("sequence[%zu]@%s: %s\n", kind, guise->label, wrong);
    return wrong != NULL;
}

struct guise_run {
    struct vrt_device *device;
    struct network *net;
    float (*outs)[N_OUT];
};

static void do_run(void *context)
{
    const struct guise_run *it = context;

    run(it->device, it->net, it->outs);
}

int main(int argc, char **argv)
{
    static float outs[CONF_MAX_GUISES][N_RUNS][N_OUT];
    static struct conf_devices devices;
    int n_ran = 0, n_failed = 0;

    conf_devices_open(&devices);
    conf_devices_select(&devices, argc > 1 && argv[1][0] == '@' ? argv[1] + 1 : "", false);
    for (size_t kind = 0; kind < VRT_ARRAY_SIZE(kinds); kind++) {
        struct network net;
        build(&net, kinds[kind].dtype);
        for (int g = 0; g < devices.n; g++) {
            struct conf_guise *guise = &devices.guises[g];
            if (!conf_devices_needed(&devices, g) || !supported(guise->device, net.graph))
                continue;
            conf_guise_do(guise, do_run, &(struct guise_run){ guise->device, &net, outs[g] });
            const bool is_plain = guise->plain == g;
            n_ran += guise->selected;
            if (!test_looks_at_results())
                continue;
            n_failed += judge(guise, kind, is_plain, outs[g], outs[is_plain ? 0 : guise->plain]);
        }
        network_done(&net);
    }
    conf_devices_close(&devices);
    printf("%d sequences ran, %d failed\n", n_ran, n_failed);
    return n_failed ? 1 : n_ran ? 0 : 77;
}
