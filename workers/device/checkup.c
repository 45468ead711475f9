/* SPDX-License-Identifier: MIT */

#include "workers/device/checkup.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "backend/kind.h"
#include "engine/graph-executor.h"
#include "engine/graph.h"
#include "model/parts/layers.h"
#include "model/test-picture.h"

/* Of the convolution, whose sums are exact: no multiples of anything, so that edges of tiles are
 * met; and few channels, because Winograd's algorithm, which the built-in network shows, rounds. */
#define H 19
#define W 37
#define I 9
#define O 13
#define K 3

#define REFERENCE "ref:0"
#define PROCESSOR "cpu:0"

/* The convolution's parts, and what it shall be. */
struct sums {
    float x[H * W * I];             /* (H,W,I) */
    float weight[O * I * K * K];    /* (O,I,K,K) */
    float bias[O];
    float wanted[H * W * O], got[H * W * O];    /* (H,W,O) */
};

int vrt_checkup_new(struct vrt_network *network, struct vrt_checkup **ret_checkup)
{
    struct vrt_checkup *checkup = calloc(1, sizeof(*checkup));

    if (!checkup)
        return vrt_raise(-ENOMEM);
    checkup->network = vrt_network_ref(network);
    checkup->kernel_result = checkup->weights_result = VRT_CHECKUP_E_NOT_TRIED;
    *ret_checkup = checkup;
    return 0;
}

struct vrt_checkup *vrt_checkup_free(struct vrt_checkup *checkup)
{
    if (!checkup)
        return NULL;
    for (size_t i = 0; i < checkup->n_runs; i++)
        free(checkup->runs[i].out);
    vrt_network_unref(checkup->network);
    free(checkup);
    return NULL;
}

/* Integers from -4 to 4: exact in every type, as are their products, and sums of 81 of those. */
static void draw(float *numbers, size_t n, uint32_t seed)
{
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        numbers[i] = (float)((int)((seed >> 24) % 9) - 4);
    }
}

/* One element of the result, by the definition of the op with a ReLU. */
static float convolve(const struct sums *sums, int y, int x, int o)
{
    float sum = sums->bias[o];

    for (int i = 0; i < I; i++)
        for (int ky = 0; ky < K; ky++)
            for (int kx = 0; kx < K; kx++) {
                int row = y + ky - K / 2, column = x + kx - K / 2;
                if (row >= 0 && row < H && column >= 0 && column < W)
                    sum += sums->x[(row * W + column) * I + i] *
                           sums->weight[((o * I + i) * K + ky) * K + kx];
            }
    return fmaxf(sum, 0);
}

static void sums_init(struct sums *sums)
{
    draw(sums->x, VRT_ARRAY_SIZE(sums->x), 1);
    draw(sums->weight, VRT_ARRAY_SIZE(sums->weight), 2);
    draw(sums->bias, VRT_ARRAY_SIZE(sums->bias), 3);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int o = 0; o < O; o++)
                sums->wanted[(y * W + x) * O + o] = convolve(sums, y, x, o);
}

static int make_graph(struct vrt_graph **ret_graph)
{
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    const struct vrt_op_conv2d conv = {
        .kernel = K,
        .weight = 0,
        .bias = 1,
        .activation = VRT_ACTIVATION_RELU,
        .scale = 1,
    };
    int r = vrt_graph_new(&graph);

    if (r != 0)
        return vrt_fold(r);
    struct vrt_tensor x = vrt_graph_input(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, H, W, I });
    struct vrt_tensor y = vrt_graph_output(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, H, W, O });
    vrt_layer_conv(graph, &x, &conv, NULL, &y);
    r = vrt_graph_status(graph);
    if (r != 0)
        return vrt_fold(r);
    *ret_graph = VRT_STEAL(graph);
    return 0;
}

/* With everything made: x there, and the result back. */
static int submit(struct vrt_device *device, struct vrt_graph_executor *executor,
                  struct vrt_buffer *const buffers[2], struct sums *sums)
{
    const struct vrt_binding bindings[2] = { { buffers[0], 0 }, { buffers[1], 0 } };
    int r = vrt_buffer_write(device, buffers[0], 0, sums->x, sizeof(sums->x));

    if (r != 0)
        return r;
    r = vrt_graph_executor_submit(executor, bindings);
    if (r != 0)
        return r;
    r = vrt_device_finish(device);
    if (r != 0)
        return r;
    return vrt_buffer_read(device, buffers[1], 0, sums->got, sizeof(sums->got));
}

static int compute(struct vrt_device *device, struct vrt_replica *replica, struct sums *sums)
{
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    struct vrt_buffer *buffers[2] = { NULL, NULL };
    struct vrt_graph_executor *executor = NULL;
    struct vrt_arena arena = { 0 };
    int r = make_graph(&graph);

    if (r == 0)
        r = vrt_graph_executor_new_all(device, replica, &graph, 1, &arena, &executor);
    if (r == 0)
        r = vrt_buffer_new(device, sizeof(sums->x), &buffers[0]);
    if (r == 0)
        r = vrt_buffer_new(device, sizeof(sums->got), &buffers[1]);
    if (r == 0)
        r = submit(device, executor, buffers, sums);
    vrt_graph_executor_free(executor);
    vrt_arena_done(device, &arena);
    vrt_buffer_free(device, buffers[0]);
    vrt_buffer_free(device, buffers[1]);
    return r;
}

int vrt_checkup_run_kernel(struct vrt_device *device, double *ret_max_error)
{
    VRT_CLEANUP(vrt_freep) struct sums *sums = malloc(sizeof(*sums));
    struct vrt_replica *replica = NULL;

    if (!sums)
        return vrt_raise(-ENOMEM);
    sums_init(sums);
    const struct vrt_param params[] = {
        { .name = "weight", .n_dims = 4, .dims = { O, I, K, K }, .data = sums->weight,
          .use = VRT_PARAM_WEIGHT },
        { .name = "bias", .n_dims = 1, .dims = { O }, .data = sums->bias,
          .use = VRT_PARAM_TABLE },
    };
    int r = vrt_replica_new(device, params, VRT_ARRAY_SIZE(params), VRT_DTYPE_F32, &replica);
    if (r == 0)
        r = compute(device, replica, sums);
    vrt_replica_free(device, replica);
    if (r != 0)
        return vrt_fold(r);
    double error = vrt_test_picture_max_error(sums->got, sums->wanted, VRT_ARRAY_SIZE(sums->got));
    if (error > 0) {
        *ret_max_error = error;
        return VRT_CHECKUP_E_WRONG;
    }
    return 0;
}

int vrt_checkup_refer(const struct vrt_network *network, bool by_processor, float *out)
{
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    struct vrt_device *device = NULL;
    struct vrt_replica *replica = NULL;
    size_t n_params;
    const enum vrt_device_role role = by_processor ? VRT_DEVICE_HOST : VRT_DEVICE_REFERENCE;
    const struct vrt_registry_params registry_params = { .leave_out = ~(1u << role) };
    int r = vrt_registry_new(&registry_params, &registry, NULL);

    if (r != 0)
        return vrt_fold(r);
    const struct vrt_device_info *info = vrt_registry_find(registry, by_processor ? PROCESSOR :
                                                                                    REFERENCE);
    r = info ? vrt_device_open(registry, info, &device) : vrt_raise(-ENODEV);
    if (r != 0)
        return vrt_fold(r);
    const struct vrt_param *params = vrt_network_params(network, &n_params);
    r = vrt_replica_new(device, params, n_params, VRT_DTYPE_F32, &replica);
    if (r == 0)
        r = vrt_test_picture_run(device, network, replica, VRT_DTYPE_F32, out);
    vrt_replica_free(device, replica);
    vrt_device_close(device);
    return vrt_fold(r);
}
