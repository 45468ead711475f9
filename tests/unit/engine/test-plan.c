/* SPDX-License-Identifier: MIT */
/*
 * workers/engine/plan: known peaks, and what must hold for any graph: that no two storages whose
 * lives meet overlap, and that a run through the arena computes what one without sharing does.
 */

#include "tests/unit/test.h"

#include <errno.h>
#include <stdint.h>

#include "backend/backend-impl.h"
#include "backend/backend.h"
#include "engine/graph.h"
#include "engine/plan.h"

#define MAX_TENSORS 64

static uint64_t random_state;

/* SplitMix64. Return: 0 .. n - 1. */
static int random_below(int n)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int)((z ^ z >> 31) % (uint64_t)n);
}

struct setting {
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_graph *graph;
    struct vrt_plan *plan;
};

static void set_up(struct setting *s)
{
    *s = (struct setting){ 0 };
    expect_int(vrt_registry_new(&(struct vrt_registry_params){ 0 }, &s->registry, NULL), 0);
    expect_int(vrt_device_open(s->registry, vrt_registry_find(s->registry, "ref:0"), &s->device),
               0);
    expect_int(vrt_graph_new(&s->graph), 0);
}

static void tear_down(struct setting *s)
{
    vrt_plan_free(s->plan);
    vrt_graph_free(s->graph);
    vrt_device_close(s->device);
    vrt_registry_free(s->registry);
}

static struct vrt_tensor copied(struct vrt_graph *graph, struct vrt_tensor in,
                                struct vrt_tensor out)
{
    const struct vrt_op op = { .kind = VRT_OP_COPY, .n_in = 1, .in = { in }, .out = out };

    vrt_graph_append(graph, &op);
    return out;
}

static void test_chain(void)
{
    const struct vrt_shape shape = { 1, 8, 8, 64 };             /* 16 KiB of f32 */
    struct setting s;

    set_up(&s);
    struct vrt_tensor t = vrt_graph_input(s.graph, VRT_DTYPE_F32, shape);
    for (int i = 0; i < 9; i++)
        t = copied(s.graph, t, vrt_graph_tensor(s.graph, VRT_DTYPE_F32, shape));
    copied(s.graph, t, vrt_graph_output(s.graph, VRT_DTYPE_F32, shape));
    expect_int(vrt_plan_new(s.graph, s.device, &s.plan), 0);
    expect_int(vrt_plan_arena_bytes(s.plan), 2 * 16384);
    expect_int(vrt_plan_n_bindings(s.plan), 2);
    tear_down(&s);
}

/* Copies into slices [c, c + 32) of a storage of 192 channels, as a dense block's convs write. */
static void test_dense_blocks(void)
{
    const struct vrt_shape wide = { 1, 4, 4, 192 }, narrow = { 1, 4, 4, 32 };
    const struct vrt_shape shape = { 1, 4, 4, 64 };
    struct setting s;

    set_up(&s);
    struct vrt_tensor x = vrt_graph_input(s.graph, VRT_DTYPE_F32, shape);
    for (int block = 0; block < 5; block++) {
        struct vrt_tensor block_storage = vrt_graph_tensor(s.graph, VRT_DTYPE_F32, wide);
        copied(s.graph, x, vrt_tensor_channels(&block_storage, 0, 64));
        for (int c = 64; c < 192; c += 32)
            copied(s.graph, vrt_tensor_channels(&block_storage, c - 64, 32),
                   vrt_tensor_channels(&block_storage, c, 32));
        struct vrt_tensor t = vrt_graph_tensor(s.graph, VRT_DTYPE_F32, narrow);
        copied(s.graph, vrt_tensor_channels(&block_storage, 160, 32), t);
        x = vrt_graph_tensor(s.graph, VRT_DTYPE_F32, shape);
        copied(s.graph, t, vrt_tensor_channels(&x, 0, 32));
        copied(s.graph, vrt_tensor_channels(&block_storage, 0, 32),
               vrt_tensor_channels(&x, 32, 32));
    }
    copied(s.graph, x, vrt_graph_output(s.graph, VRT_DTYPE_F32, shape));
    expect_int(vrt_plan_new(s.graph, s.device, &s.plan), 0);
    /* At a block's end: its storage, the narrow tensor and the result. */
    expect_int(vrt_plan_arena_bytes(s.plan), 16 * 4 * (192 + 32 + 64));
    tear_down(&s);
}

static void test_workspace(void)
{
    const struct vrt_shape shape = { 1, 2, 2, 100 };
    struct setting s;
    size_t n;

    set_up(&s);
    struct vrt_tensor y = vrt_graph_tensor(s.graph, VRT_DTYPE_F32, shape);      /* 1,600 bytes */
    struct vrt_tensor x = vrt_graph_input(s.graph, VRT_DTYPE_F32, shape);
    const struct vrt_op conv = {
        .kind = VRT_OP_CONV2D,
        .n_in = 2,
        .in = { x, VRT_TENSOR_NONE },
        .out = y,
        .conv2d = { .kernel = 1, .weight = 0, .bias = -1, .scale = 1 },
    };
    vrt_graph_append(s.graph, &conv);
    copied(s.graph, y, vrt_graph_output(s.graph, VRT_DTYPE_F32, shape));
    expect_int(vrt_plan_new(s.graph, s.device, &s.plan), 0);
    expect_int(vrt_device_workspace_bytes(s.device, &conv), 800);
    expect_int(vrt_plan_arena_bytes(s.plan), 1792 + 1024);      /* each in units of 256 */
    const struct vrt_op *ops = vrt_plan_ops(s.plan, &n);
    expect_int(n, 2);
    expect_int(ops[0].out.offset_bytes, 0);
    expect_int(ops[0].workspace_offset_bytes, 1792);
    tear_down(&s);
}

/* A random shape that has `c` channels where c isn't 0. */
static struct vrt_shape random_shape(int c)
{
    return (struct vrt_shape){ 1 + random_below(2), 3, 2, c ? c : 1 << random_below(8) };
}

/* Appends a random op over random tensors already written. Return: its output. */
static struct vrt_tensor random_op(struct vrt_graph *graph, const struct vrt_tensor *known, int n)
{
    const struct vrt_tensor a = known[random_below(n)], b = known[random_below(n)];
    struct vrt_op op = { .n_in = 1, .in = { a, b } };
    struct vrt_shape shape = a.shape;

    if (vrt_shape_equal(a.shape, b.shape)) {
        op.kind = VRT_OP_ADD;
        op.n_in = 2;
        op.add.scale = 0.5f;
    } else if (a.shape.d == b.shape.d && a.shape.c + b.shape.c <= 256) {
        op.kind = VRT_OP_CONCAT;
        op.n_in = 2;
        shape.c = a.shape.c + b.shape.c;
    } else if (shape.c % 2 == 0) {
        op.kind = VRT_OP_COPY;
        op.in[0] = vrt_tensor_channels(&a, shape.c / 2, shape.c / 2);
        shape.c /= 2;
    } else {
        op.kind = VRT_OP_PAD;
        op.pad.mode = VRT_PAD_REPLICATE;
    }
    op.out = vrt_graph_tensor(graph, random_below(4) ? VRT_DTYPE_F32 : VRT_DTYPE_BF16, shape);
    vrt_graph_append(graph, &op);
    return op.out;
}

/* Ops over two inputs that end in an output of 1 channel for each of the last few tensors. */
static void build_random(struct vrt_graph *graph)
{
    struct vrt_tensor known[MAX_TENSORS];
    const int n_ops = 1 + random_below(MAX_TENSORS - 4);
    int n = 0;

    known[n++] = vrt_graph_input(graph, VRT_DTYPE_F32, random_shape(0));
    known[n++] = vrt_graph_input(graph, VRT_DTYPE_F32, random_shape(0));
    for (int i = 0; i < n_ops; i++) {
        /* Mostly recent ones, as in networks, so that the others die. */
        const int first = n > 5 && random_below(4) ? n - 5 : 0;
        known[n] = random_op(graph, &known[first], n - first);
        n++;
    }
    for (int i = 0; i < 2; i++) {
        const struct vrt_tensor view = vrt_tensor_channels(&known[n - 1 - i], 0, 1);
        copied(graph, view, vrt_graph_output(graph, VRT_DTYPE_F32, view.shape));
    }
    expect_int(vrt_graph_status(graph), 0);
}

struct life {
    int64_t first, last;
    size_t offset_bytes, size_bytes;
};

static void live(struct life *lives, const struct vrt_storage *storages,
                 const struct vrt_tensor *t, int64_t at)
{
    struct life *life = &lives[t->storage];
    const size_t begin = t->offset_bytes - (size_t)t->offset * vrt_dtype_size(t->dtype);

    if (storages[t->storage].role != VRT_STORAGE_INTERMEDIATE) {
        expect_int(t->slot, 1 + storages[t->storage].binding);
        expect_int(begin, 0);
        return;
    }
    expect_int(t->slot, VRT_SLOT_ARENA);
    if (life->first < 0) {
        life->first = at;
        life->offset_bytes = begin;
        life->size_bytes = storages[t->storage].size_bytes;
    }
    expect_int(life->offset_bytes, begin);
    life->last = at;
}

/* Return: the most bytes that live at any one op, in units of 256. */
static size_t check_lives(const struct life *lives, size_t n, size_t n_ops, size_t arena_bytes)
{
    size_t most = 0, end = 0;

    for (size_t i = 0; i < n; i++) {
        const struct life *a = &lives[i];
        if (a->first < 0)
            continue;
        expect_int(a->offset_bytes % 256, 0);
        end = VRT_MAX(end, a->offset_bytes + a->size_bytes);
        for (size_t k = 0; k < i; k++) {
            const struct life *b = &lives[k];
            if (b->first < 0 || a->last < b->first || b->last < a->first)
                continue;
            expect_true(a->offset_bytes + a->size_bytes <= b->offset_bytes ||
                        b->offset_bytes + b->size_bytes <= a->offset_bytes);
        }
    }
    expect_int((end + 255) / 256 * 256, arena_bytes);
    for (int64_t at = 0; at < (int64_t)n_ops; at++) {
        size_t sum = 0;
        for (size_t i = 0; i < n; i++)
            if (lives[i].first >= 0 && lives[i].first <= at && at <= lives[i].last)
                sum += (lives[i].size_bytes + 255) / 256 * 256;
        most = VRT_MAX(most, sum);
    }
    expect_true(most <= arena_bytes);
    return most;
}

/* Return: the arena's bytes over the lower bound. */
static double check_plan(const struct setting *s)
{
    struct life lives[2 * MAX_TENSORS];
    struct vrt_plan *again = NULL;
    size_t n_ops, n_again, n_storages;
    const struct vrt_op *ops = vrt_plan_ops(s->plan, &n_ops);
    const struct vrt_storage *storages = vrt_graph_storages(s->graph, &n_storages);

    for (size_t i = 0; i < n_storages; i++)
        lives[i] = (struct life){ .first = -1, .last = -1 };
    for (size_t at = 0; at < n_ops; at++) {
        for (int i = 0; i < ops[at].n_in; i++)
            live(lives, storages, &ops[at].in[i], (int64_t)at);
        live(lives, storages, &ops[at].out, (int64_t)at);
    }
    const size_t bytes = vrt_plan_arena_bytes(s->plan);
    const size_t bound = check_lives(lives, n_storages, n_ops, bytes);

    expect_int(vrt_plan_new(s->graph, s->device, &again), 0);
    const struct vrt_op *same = vrt_plan_ops(again, &n_again);
    expect_int(n_again, n_ops);
    for (size_t at = 0; at < n_ops; at++)
        expect_int(same[at].out.offset_bytes, ops[at].out.offset_bytes);
    vrt_plan_free(again);
    return bound ? (double)bytes / (double)bound : 1;
}

/* Runs `ops` in an arena of 0xff bytes, with small integers as inputs. Return: the outputs. */
static float *run(const struct setting *s, const struct vrt_op *ops, size_t n_ops,
                  size_t arena_bytes)
{
    struct vrt_program_params params = {
        .ops = ops,
        .n_ops = n_ops,
        .arena_bytes = arena_bytes,
        .n_bindings = 4,
    };
    const size_t size = 4 * MAX_TENSORS * 1024;         /* a quarter for each binding */
    struct vrt_program *program = NULL;
    struct vrt_buffer *buffer = NULL;
    float *data = malloc(size);

    expect_true(data != NULL);
    memset(data, 0xff, size);
    if (arena_bytes) {
        VRT_CLEANUP(vrt_freep) char *poison = malloc(arena_bytes);
        expect_true(poison != NULL);
        memset(poison, 0xff, arena_bytes);
        expect_int(vrt_buffer_new(s->device, arena_bytes, &params.arena), 0);
        expect_int(vrt_buffer_write(s->device, params.arena, 0, poison, arena_bytes), 0);
    }
    for (size_t i = 0; i < size / 8; i++)
        data[i] = (float)(i * 7 % 31);
    expect_int(vrt_buffer_new(s->device, size, &buffer), 0);
    expect_int(vrt_buffer_write(s->device, buffer, 0, data, size), 0);
    const struct vrt_binding bindings[] = {
        { buffer, 0 }, { buffer, size / 4 }, { buffer, size / 2 }, { buffer, size / 4 * 3 },
    };
    expect_int(vrt_program_new(s->device, &params, &program), 0);
    expect_int(vrt_program_submit(s->device, program, bindings), 0);
    expect_int(vrt_device_finish(s->device), 0);
    expect_int(vrt_buffer_read(s->device, buffer, size / 2, data, size / 2), 0);
    vrt_program_free(s->device, program);
    vrt_buffer_free(s->device, buffer);
    vrt_buffer_free(s->device, params.arena);
    return data;
}

/* The plan's ops, each storage moved to a place of its own, give the same outputs. */
static void check_run(const struct setting *s)
{
    size_t n_ops, n_storages, own_bytes = 0, offsets[2 * MAX_TENSORS];
    const struct vrt_op *ops = vrt_plan_ops(s->plan, &n_ops);
    const struct vrt_storage *storages = vrt_graph_storages(s->graph, &n_storages);
    VRT_CLEANUP(vrt_freep) struct vrt_op *apart = calloc(n_ops, sizeof(*apart));

    for (size_t i = 0; i < n_storages; i++) {
        offsets[i] = own_bytes;
        own_bytes += (storages[i].size_bytes + 255) / 256 * 256;
    }
    expect_true(apart != NULL);
    for (size_t at = 0; at < n_ops; at++) {
        apart[at] = ops[at];
        struct vrt_tensor *tensors[] = { &apart[at].in[0], &apart[at].in[1], &apart[at].out };
        for (size_t i = 0; i < VRT_ARRAY_SIZE(tensors); i++) {
            struct vrt_tensor *t = tensors[i];
            if (t->slot == VRT_SLOT_ARENA)
                t->offset_bytes = offsets[t->storage] + (size_t)t->offset *
                                                            vrt_dtype_size(t->dtype);
        }
    }
    VRT_CLEANUP(vrt_freep) float *shared = run(s, ops, n_ops, vrt_plan_arena_bytes(s->plan));
    VRT_CLEANUP(vrt_freep) float *own = run(s, apart, n_ops, own_bytes);
    expect_int(memcmp(shared, own, 4 * MAX_TENSORS * 512), 0);
}

static void test_random(void)
{
    double sum = 0, worst = 0;
    const int n = 300;

    for (int i = 0; i < n; i++) {
        struct setting s;
        random_state = (uint64_t)i;
        set_up(&s);
        build_random(s.graph);
        expect_int(vrt_plan_new(s.graph, s.device, &s.plan), 0);
        const double ratio = check_plan(&s);
        sum += ratio;
        worst = VRT_MAX(worst, ratio);
        check_run(&s);
        tear_down(&s);
    }
    fprintf(stderr, "arena over lower bound: %.4f on average, %.4f at worst\n", sum / n, worst);
    expect_near(sum / n, 1.0304, 0.0001);       /* what greedy placing loses on such */
}

static bool supports_nothing(const struct vrt_device *device, const struct vrt_op *op)
{
    (void)device;
    (void)op;
    return false;
}

/* A place's 8 channels to 8, by this weight. */
static struct vrt_op linear(struct vrt_graph *graph, int weight)
{
    const struct vrt_shape shape = { 1, 2, 2, 8 };

    return (struct vrt_op){
        .kind = VRT_OP_LINEAR,
        .n_in = 1,
        .in = { vrt_graph_input(graph, VRT_DTYPE_F32, shape) },
        .out = vrt_graph_output(graph, VRT_DTYPE_F32, shape),
        .weight_dtype = VRT_DTYPE_BF16,
        .linear = { .norm = { -1, -1 }, .weight = weight, .bias = -1 },
    };
}

/* The graph knows of which type an op's weights will be as long as it knows the params. */
static void test_weights(void)
{
    static const float values[64];
    static const struct vrt_param params[] = {
        { "shorter", 2, { 8, 8 }, values, VRT_PARAM_WEIGHT },
        { "exact", 2, { 8, 8 }, values, VRT_PARAM_WEIGHT_F32 },
    };
    struct setting s;
    size_t n;

    set_up(&s);
    for (int i = 0; i < 3; i++) {
        const struct vrt_op op = linear(s.graph, i % 2);
        vrt_graph_set_params(s.graph, i < 2 ? params : NULL, i < 2 ? 2 : 0, VRT_DTYPE_F16);
        vrt_graph_append(s.graph, &op);
    }
    const struct vrt_op *ops = vrt_graph_ops(s.graph, &n);
    expect_int(n, 3);
    expect_int(ops[0].weight_dtype, VRT_DTYPE_F16);
    expect_int(ops[1].weight_dtype, VRT_DTYPE_F32);
    expect_true(!ops[0].is_exact && ops[1].is_exact);
    expect_int(ops[2].weight_dtype, VRT_DTYPE_BF16);    /* as it was */
    expect_int(vrt_graph_status(s.graph), 0);

    const struct vrt_op op = linear(s.graph, 2);
    vrt_graph_set_params(s.graph, params, 2, VRT_DTYPE_F16);
    vrt_graph_append(s.graph, &op);
    expect_int(vrt_graph_status(s.graph), -EINVAL);
    tear_down(&s);
}

static void test_refusals(void)
{
    const struct vrt_backend_ops nothing = { .supports = supports_nothing };
    const struct vrt_device_info info = { .name = "nothing:0" };
    const struct vrt_device unable = { .ops = &nothing, .info = &info };
    const struct vrt_shape shape = { 1, 1, 1, 1 };
    struct setting s;

    set_up(&s);
    expect_int(vrt_plan_new(s.graph, s.device, &s.plan), -EINVAL);      /* no ops */
    struct vrt_tensor in = vrt_graph_input(s.graph, VRT_DTYPE_F32, shape);
    struct vrt_tensor out = vrt_graph_output(s.graph, VRT_DTYPE_F32, shape);
    copied(s.graph, in, vrt_graph_tensor(s.graph, VRT_DTYPE_F32, shape));
    expect_int(vrt_plan_new(s.graph, s.device, &s.plan), -EINVAL);      /* out is not written */
    copied(s.graph, in, out);
    expect_int(vrt_plan_new(s.graph, &unable, &s.plan), -EINVAL);
    expect_str(vrt_plan_lacks(s.graph, &unable), "copy");
    expect_true(!vrt_plan_lacks(s.graph, s.device));
    expect_true(s.plan == NULL);
    expect_int(vrt_plan_new(s.graph, s.device, &s.plan), 0);
    expect_int(vrt_plan_arena_bytes(s.plan), 256);
    copied(s.graph, in, in);
    s.plan = vrt_plan_free(s.plan);
    expect_int(vrt_plan_new(s.graph, s.device, &s.plan), -EINVAL);      /* the graph's own status */
    tear_down(&s);
}

TEST_MAIN(
    { "chain", test_chain },         { "dense-blocks", test_dense_blocks },
    { "workspace", test_workspace }, { "random", test_random },
    { "refusals", test_refusals },   { "weights", test_weights },
)
