/* SPDX-License-Identifier: MIT */
/*
 * workers/backend, workers/engine: whatever allocation fails, of the host's or of the device's,
 * the work is refused, nothing is left behind, and nothing crashes. (That nothing leaks of the
 * host's is for the build with AddressSanitizer to say.)
 */

#include "tests/unit/test.h"

#include <errno.h>

#include "backend/backend.h"
#include "engine/graph-executor.h"
#include "engine/graph.h"
#include "tests/unit/engine/nomem.h"

#define N_GRAPHS 3

/* A chain of convolutions, long enough that the graph's arrays grow. */
static void build(struct vrt_graph *graph, int size)
{
    const struct vrt_shape shape = { 1, size, 3, 4 };
    struct vrt_tensor x = vrt_graph_input(graph, VRT_DTYPE_F32, shape);

    for (int i = 0; i < 40; i++) {
        struct vrt_op op = {
            .kind = VRT_OP_CONV2D,
            .n_in = 1,
            .in = { x },
            .conv2d = { .kernel = 1, .weight = 0, .bias = 1, .scale = 1 },
        };
        op.out = i < 39 ? vrt_graph_tensor(graph, VRT_DTYPE_F32, shape)
                        : vrt_graph_output(graph, VRT_DTYPE_F32, shape);
        vrt_graph_append(graph, &op);
        x = op.out;
    }
}

/* Return: 0, outcome or -errno of whatever failed. */
static int run_on(struct vrt_device *device, struct vrt_graph *const *graphs)
{
    const float data[16] = { 1 };
    const struct vrt_param params[] = { { "w", 4, { 4, 4, 1, 1 }, data }, { "b", 1, { 4 }, data } };
    struct vrt_graph_executor *executors[N_GRAPHS];
    struct vrt_replica *replica = NULL;
    struct vrt_buffer *buffer = NULL;
    struct vrt_arena arena = { 0 };
    bool made = false;

    int r = vrt_buffer_new(device, 4096, &buffer);
    if (!r)
        r = vrt_replica_new(device, params, 2, VRT_DTYPE_F32, &replica);
    if (!r) {
        r = vrt_graph_executor_new_all(device, replica, graphs, N_GRAPHS, &arena, executors);
        made = r == 0;
    }
    for (int i = 0; !r && i < N_GRAPHS; i++) {
        const struct vrt_binding bindings[] = { { buffer, 0 }, { buffer, 2048 } };
        r = vrt_graph_executor_submit(executors[i], bindings);
    }
    if (!r)
        r = vrt_device_finish(device);
    for (int i = 0; made && i < N_GRAPHS; i++)
        vrt_graph_executor_free(executors[i]);
    vrt_arena_done(device, &arena);
    vrt_replica_free(device, replica);
    vrt_buffer_free(device, buffer);
    expect_int(vrt_device_used_bytes(device), 0);
    return r;
}

static int run_all(const char *schedule)
{
    const struct vrt_registry_params params = { .fault = schedule };
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    VRT_CLEANUP(vrt_device_closep) struct vrt_device *device = NULL;
    struct vrt_graph *graphs[N_GRAPHS] = { NULL };
    struct vrt_error error = { 0 };

    int r = vrt_registry_new(&params, &registry, &error);
    expect_int(error.message[0] != '\0', r != 0);
    if (!r)
        r = vrt_device_open(registry, vrt_registry_find(registry, "ref:0"), &device);
    for (int i = 0; !r && i < N_GRAPHS; i++) {
        r = vrt_graph_new(&graphs[i]);
        if (!r) {
            build(graphs[i], 1 + i);
            r = vrt_graph_status(graphs[i]);
        }
    }
    if (!r)
        r = run_on(device, graphs);
    for (int i = 0; i < N_GRAPHS; i++)
        vrt_graph_free(graphs[i]);
    return r;
}

/* Each allocation in turn. One that only a backend's listing of its devices needed is survived. */
static void test_host(void)
{
    int n_refused = 0;

    for (int n = 1; n < 1000; n++) {
        nomem_begin(n);
        int r = run_all("");
        if (!nomem_end()) {
            expect_int(r, 0);
            expect_true(n_refused > 20);
            return;
        }
        expect_true(r == -ENOMEM || r == VRT_BACKEND_E_NOMEM || r == 0);
        n_refused += r != 0;
    }
    test_fail("there is no end to the allocations");
}

static void test_device(void)
{
    static const struct {
        const char *schedule;
        int r;
    } schedules[] = {
        { "alloc:1 nomem", VRT_BACKEND_E_NOMEM },   { "alloc:2 nomem", VRT_BACKEND_E_NOMEM },
        { "alloc:3 nomem", 0 },                     { "replica:1 nomem", VRT_BACKEND_E_NOMEM },
        { "program:1 nomem", VRT_BACKEND_E_NOMEM }, { "program:3 nomem", VRT_BACKEND_E_NOMEM },
        { "program:2 lost", VRT_BACKEND_E_LOST },   { "submit:3 fail", VRT_BACKEND_E_FAILED },
        { "open:1 nomem", VRT_BACKEND_E_NOMEM },    { "finish:1 lost", VRT_BACKEND_E_LOST },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(schedules); i++)
        expect_int(run_all(schedules[i].schedule), schedules[i].r);
}

TEST_MAIN(
    { "host", test_host },
    { "device", test_device },
)
