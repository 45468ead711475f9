/* SPDX-License-Identifier: MIT */
/* workers/engine: graphs that were built wrongly, bindings, and executors that compute. */

#include "tests/unit/test.h"

#include <errno.h>

#include "backend/backend.h"
#include "engine/graph-executor.h"
#include "engine/graph.h"

static struct vrt_op add_op(struct vrt_tensor a, struct vrt_tensor b, struct vrt_tensor out)
{
    return (struct vrt_op){
        .kind = VRT_OP_ADD,
        .n_in = 2,
        .in = { a, b },
        .out = out,
        .add = { .scale = 2 },
    };
}

static struct vrt_device *open_ref(struct vrt_registry **ret_registry)
{
    struct vrt_error error = { 0 };
    struct vrt_device *device = NULL;

    expect_int(vrt_registry_new(&(struct vrt_registry_params){ 0 }, ret_registry, &error), 0);
    const struct vrt_device_info *info = vrt_registry_find(*ret_registry, "ref:0");
    expect_true(info != NULL);
    expect_str(info->kind, "ref");
    expect_int(vrt_device_open(*ret_registry, info, &device), 0);
    return device;
}

static void test_bindings(void)
{
    const struct vrt_shape shape = { 1, 2, 3, 4 };
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    size_t n;

    expect_int(vrt_graph_new(&graph), 0);
    struct vrt_tensor out = vrt_graph_output(graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor a = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor t = vrt_graph_tensor(graph, VRT_DTYPE_BF16, shape);
    struct vrt_tensor more = vrt_graph_output(graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor b = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    const struct vrt_storage *storages = vrt_graph_storages(graph, &n);
    expect_int(n, 5);
    expect_int(storages[a.storage].binding, 0);
    expect_int(storages[b.storage].binding, 1);
    expect_int(storages[out.storage].binding, 2);
    expect_int(storages[more.storage].binding, 3);
    expect_int(storages[t.storage].binding, -1);
    expect_int(storages[t.storage].size_bytes, 24 * 2);

    struct vrt_op op = add_op(a, b, out);
    vrt_graph_append(graph, &op);
    expect_int(vrt_graph_status(graph), 0);
    expect_int(vrt_graph_flops(graph), 48);
}

/* A program through the arena: out = 2 * (2 * a + b) + a, with a and out cut from larger ones. */
static void test_executor(void)
{
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    VRT_CLEANUP(vrt_device_closep) struct vrt_device *device = open_ref(&registry);
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    const struct vrt_shape shape = { 1, 2, 3, 4 }, frame_shape = { 1, 5, 7, 4 };
    const struct vrt_tensor frame = vrt_tensor_dense(VRT_DTYPE_F32, frame_shape);
    const struct vrt_tensor view = vrt_tensor_crop(&frame, 2, 3, 2, 3);
    struct vrt_graph_executor *executor = NULL;
    struct vrt_arena arena = { 0 };
    struct vrt_buffer *buffer = NULL;
    float data[140 + 24];

    expect_int(vrt_graph_new(&graph), 0);
    struct vrt_tensor a = vrt_graph_input_view(graph, &view);
    struct vrt_tensor b = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor out = vrt_graph_output_view(graph, &view);
    struct vrt_tensor t = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
    struct vrt_op first = add_op(a, b, t), second = add_op(t, a, out);
    vrt_graph_append(graph, &first);
    vrt_graph_append(graph, &second);
    expect_int(vrt_graph_executor_new_all(device, NULL, &graph, 1, &arena, &executor), 0);
    expect_int(arena.size_bytes, 256);
    expect_int(vrt_graph_executor_new_in(device, NULL, graph, &(struct vrt_arena){
        .size_bytes = 255 }, &executor), VRT_BACKEND_E_NOMEM);

    for (int i = 0; i < 164; i++)
        data[i] = (float)i;
    expect_int(vrt_buffer_new(device, 2 * sizeof(data), &buffer), 0);
    expect_int(vrt_device_used_bytes(device), 2 * sizeof(data) + 256);
    expect_int(vrt_buffer_write(device, buffer, 0, data, sizeof(data)), 0);
    expect_int(vrt_buffer_write(device, buffer, sizeof(data), data, sizeof(data)), 0);
    const size_t at = (size_t)view.offset * 4;
    const struct vrt_binding bindings[] = {
        { buffer, at }, { buffer, 140 * 4 }, { buffer, sizeof(data) + at },
    };
    struct vrt_op_times times = { .n_ops = { [VRT_OP_COPY] = 7 } };
    for (int run = 0; run < 3; run++) {
        float results[164];
        expect_int(vrt_buffer_write(device, buffer, sizeof(data), data, sizeof(data)), 0);
        /* At once, and op by op. */
        expect_int(run == 0 ? vrt_graph_executor_submit(executor, bindings) :
                   vrt_graph_executor_submit_timed(executor, bindings, &times), 0);
        expect_int(vrt_device_finish(device), 0);
        expect_int(vrt_buffer_read(device, buffer, sizeof(data), results, sizeof(results)), 0);
        for (int i = 0; i < 140; i++) {
            const int y = i / 28 - 2, x = i / 4 % 7 - 3;
            const bool inside = y >= 0 && y < 2 && x >= 0 && x < 3;
            const int k = 140 + (y * 3 + x) * 4 + i % 4;
            expect_near(results[i], inside ? 5 * i + 2 * k : i, 0);
        }
    }
    expect_int(times.n_ops[VRT_OP_ADD], 4);
    expect_int(times.flops[VRT_OP_ADD], 2 * vrt_graph_flops(graph));
    expect_true(times.ns[VRT_OP_ADD] > 0);
    expect_int(times.n_ops[VRT_OP_COPY], 7);
    expect_int(times.ns[VRT_OP_COPY], 0);
    vrt_graph_executor_free(executor);
    vrt_arena_done(device, &arena);
    vrt_buffer_free(device, buffer);
    expect_int(vrt_device_used_bytes(device), 0);
}

static void append_add(struct vrt_graph *graph, struct vrt_tensor a, struct vrt_tensor b,
                       struct vrt_tensor out)
{
    const struct vrt_op op = add_op(a, b, out);

    vrt_graph_append(graph, &op);
}

/* The first failure stays; what comes after it does nothing, and can be called all the same. */
static void test_wrong_graphs(void)
{
    enum { UNWRITTEN, TO_INPUT, FOREIGN, BEYOND, SHAPES, OVERLAP, TENSOR, N_WRONG };
    const struct vrt_shape shape = { 1, 2, 3, 4 };
    size_t n_ops, n_storages;

    for (int wrong = 0; wrong < N_WRONG; wrong++) {
        VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
        expect_int(vrt_graph_new(&graph), 0);
        struct vrt_tensor a = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
        struct vrt_tensor b = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
        struct vrt_tensor t = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
        struct vrt_tensor u = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
        struct vrt_tensor small = t;
        if (wrong == FOREIGN)
            small.storage = 99;
        if (wrong == BEYOND)
            small.offset = 1;
        if (wrong == SHAPES)
            small = vrt_tensor_channels(&t, 0, 3);
        if (wrong == UNWRITTEN)
            append_add(graph, u, a, t);
        else if (wrong == TO_INPUT)
            append_add(graph, a, a, b);
        else if (wrong == OVERLAP)
            append_add(graph, a, t, t);
        else if (wrong == TENSOR)
            vrt_graph_tensor(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, 0, 3, 4 });
        else
            append_add(graph, a, b, small);
        expect_int(vrt_graph_status(graph), -EINVAL);

        struct vrt_tensor late = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
        expect_true(!vrt_tensor_exists(&late));
        late = vrt_tensor_channels(&late, 1, 2);
        append_add(graph, a, b, t);
        vrt_graph_ops(graph, &n_ops);
        vrt_graph_storages(graph, &n_storages);
        expect_int(n_ops, 0);
        expect_int(n_storages, 4);
    }
}

/* Several executors share the largest one's arena; none of them is left where one can't be made. */
static void test_shared_arena(void)
{
    VRT_CLEANUP(vrt_registry_freep) struct vrt_registry *registry = NULL;
    VRT_CLEANUP(vrt_device_closep) struct vrt_device *device = open_ref(&registry);
    struct vrt_graph *graphs[3];
    struct vrt_graph_executor *executors[3];
    struct vrt_arena arena = { 0 };

    for (int i = 0; i < 3; i++) {
        const struct vrt_shape shape = { 1, 1, 1 + i, 64 };
        expect_int(vrt_graph_new(&graphs[i]), 0);
        struct vrt_tensor a = vrt_graph_input(graphs[i], VRT_DTYPE_F32, shape);
        struct vrt_tensor t = vrt_graph_tensor(graphs[i], VRT_DTYPE_F32, shape);
        append_add(graphs[i], a, a, t);
        append_add(graphs[i], t, a, vrt_graph_output(graphs[i], VRT_DTYPE_F32, shape));
    }
    expect_int(vrt_graph_executor_new_all(device, NULL, graphs, 3, &arena, executors), 0);
    expect_int(arena.size_bytes, 3 * 256);
    expect_int(vrt_device_used_bytes(device), 3 * 256);
    for (int i = 0; i < 3; i++)
        vrt_graph_executor_free(executors[i]);
    vrt_arena_done(device, &arena);
    expect_int(vrt_device_used_bytes(device), 0);

    append_add(graphs[1], VRT_TENSOR_NONE, VRT_TENSOR_NONE, VRT_TENSOR_NONE);
    expect_int(vrt_graph_executor_new_all(device, NULL, graphs, 3, &arena, executors), -EINVAL);
    expect_int(vrt_graph_executor_new_all(device, NULL, graphs, 0, &arena, executors), -EINVAL);
    expect_int(vrt_device_used_bytes(device), 0);
    for (int i = 0; i < 3; i++)
        vrt_graph_free(graphs[i]);
}

TEST_MAIN(
    { "bindings", test_bindings },
    { "executor", test_executor },
    { "wrong-graphs", test_wrong_graphs },
    { "shared-arena", test_shared_arena },
)
