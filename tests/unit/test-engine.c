/* SPDX-License-Identifier: MIT */
/* workers/engine: graphs that were built wrongly, bindings, and executors that compute. */

#include "tests/unit/test.h"

#include <errno.h>

#include "backend/backend.h"
#include "engine/executor.h"
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
    expect_int(info->kind, VRT_DEVICE_REF);
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
    struct vrt_tensor b = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    const struct vrt_storage *storages = vrt_graph_storages(graph, &n);
    expect_int(n, 4);
    expect_int(storages[a.storage].binding, 0);
    expect_int(storages[b.storage].binding, 1);
    expect_int(storages[out.storage].binding, 2);
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
    const struct vrt_shape shape = { 1, 2, 3, 4 };
    const struct vrt_shape frame_shape = { 1, 5, 7, 4 };
    const struct vrt_tensor frame = vrt_tensor_dense(VRT_DTYPE_F32, frame_shape);
    const struct vrt_tensor view = vrt_tensor_crop(&frame, 2, 3, 2, 3);
    struct vrt_executor *executor = NULL;
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
    expect_int(vrt_executor_new_all(device, NULL, &graph, 1, &arena, &executor), 0);
    expect_int(arena.size_bytes, 256);

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
    expect_int(vrt_executor_submit(executor, bindings), 0);
    expect_int(vrt_device_finish(device), 0);
    expect_int(vrt_buffer_read(device, buffer, sizeof(data), data, sizeof(data)), 0);
    for (int i = 0; i < 140; i++) {
        const int y = i / 28 - 2, x = i / 4 % 7 - 3;
        const bool inside = y >= 0 && y < 2 && x >= 0 && x < 3;
        const int k = 140 + (y * 3 + x) * 4 + i % 4;
        expect_near(data[i], inside ? 5 * i + 2 * k : i, 0);
    }
    vrt_executor_free(executor);
    vrt_arena_done(device, &arena);
    vrt_buffer_free(device, buffer);
    expect_int(vrt_device_used_bytes(device), 0);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "bindings", test_bindings },
        { "executor", test_executor },
    };
    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
