/* SPDX-License-Identifier: MIT */
/* workers/engine/executor: whoever waits for a long graph is asked in the middle of it. */

#include "tests/unit/test.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/backend.h"
#include "engine/graph-executor.h"
#include "engine/graph.h"
#include "tests/unit/environment.h"

/* Three convolutions of 26 GFLOP each, more than a part's 50 together, that change nothing. */
#define SIDE 148
#define CHANNELS 256
#define TAPS 9
#define N_VALUES ((size_t)SIDE * SIDE * CHANNELS)
#define N_CONVS 3

struct waiter {
    int n_asked, n_allowed;
};

static bool go_on(void *ctx)
{
    struct waiter *waiter = ctx;

    return waiter->n_asked++ < waiter->n_allowed;
}

static struct vrt_replica *new_replica(struct vrt_device *device)
{
    struct vrt_replica *replica = NULL;
    float *weight = calloc((size_t)CHANNELS * CHANNELS * TAPS, sizeof(*weight));
    const struct vrt_param param = {
        .name = "weight", .n_dims = 4, .dims = { CHANNELS, CHANNELS, 3, 3 }, .data = weight,
    };

    expect_true(weight != NULL);
    for (size_t c = 0; c < CHANNELS; c++)
        weight[(c * CHANNELS + c) * TAPS + TAPS / 2] = 1;
    expect_int(vrt_replica_new(device, &param, 1, VRT_DTYPE_F32, &replica), 0);
    free(weight);
    return replica;
}

static struct vrt_graph *new_graph(void)
{
    const struct vrt_shape shape = { 1, SIDE, SIDE, CHANNELS };
    struct vrt_graph *graph = NULL;

    expect_int(vrt_graph_new(&graph), 0);
    struct vrt_tensor x = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor end = vrt_graph_output(graph, VRT_DTYPE_F32, shape);
    for (int i = 0; i < N_CONVS; i++) {
        struct vrt_op op = {
            .kind = VRT_OP_CONV2D, .n_in = 1, .in = { x },
            .conv2d = { .kernel = 3, .weight = 0, .bias = -1, .slopes = -1, .scale = 1 },
        };
        op.out = i < N_CONVS - 1 ? vrt_graph_tensor(graph, VRT_DTYPE_F32, shape) : end;
        x = op.out;
        vrt_graph_append(graph, &op);
    }
    expect_int(vrt_graph_status(graph), 0);
    return graph;
}

static void run(struct vrt_device *device, struct vrt_graph_executor *executor)
{
    VRT_CLEANUP(vrt_freep) float *values = malloc(N_VALUES * sizeof(float));
    struct waiter waiter = { 0 };
    const struct vrt_graph_executor_watch watch = { go_on, &waiter, NULL };
    struct vrt_buffer *buffer = NULL;

    expect_true(values != NULL);
    for (size_t i = 0; i < N_VALUES; i++)
        values[i] = (float)(i % 1009) / 1024;
    expect_int(vrt_buffer_new(device, 2 * N_VALUES * sizeof(float), &buffer), 0);
    expect_int(vrt_buffer_write(device, buffer, 0, values, N_VALUES * sizeof(float)), 0);
    const struct vrt_binding bindings[] = { { buffer, 0 }, { buffer, N_VALUES * sizeof(float) } };

    expect_int(vrt_graph_executor_submit_watched(executor, bindings, &watch), -ECANCELED);
    expect_int(vrt_device_finish(device), 0);
    expect_int(waiter.n_asked, 1);

    waiter = (struct waiter){ .n_allowed = N_CONVS };
    expect_int(vrt_graph_executor_submit_watched(executor, bindings, &watch), 0);
    expect_int(vrt_device_finish(device), 0);
    expect_int(waiter.n_asked, 1);
    expect_int(vrt_buffer_read(device, buffer, N_VALUES * sizeof(float), values,
                               N_VALUES * sizeof(float)), 0);
    for (size_t i = 0; i < N_VALUES; i++)
        if (values[i] != (float)(i % 1009) / 1024)
            expect_near(values[i], (float)(i % 1009) / 1024, 1e-6);
    vrt_buffer_free(device, buffer);
}

static void test_parts(void)
{
    const struct vrt_registry_params params = { .values = TEST_CPUS(1, 2) };
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    VRT_CLEANUP(vrt_device_closep) struct vrt_device *device = NULL;
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    struct vrt_graph_executor *executor = NULL;
    struct vrt_arena arena = { 0 };
    struct vrt_error error = { 0 };

    expect_int(vrt_registry_new(&params, &registry, &error), 0);
    const struct vrt_device_info *info = vrt_registry_find(registry, "cpu:0");
    if (!info)
        test_skip("the plain device would take minutes");
    expect_int(vrt_device_open(registry, info, &device), 0);
    struct vrt_replica *replica = new_replica(device);
    graph = new_graph();
    expect_int(vrt_graph_executor_new_all(device, replica, &graph, 1, &arena, &executor), 0);
    run(device, executor);
    vrt_graph_executor_free(executor);
    vrt_arena_done(device, &arena);
    vrt_replica_free(device, replica);
}

TEST_MAIN(
    { "parts", test_parts },
)
