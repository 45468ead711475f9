/* SPDX-License-Identifier: MIT */

/*
 * usage: test-cuda-failures SCENARIO
 *
 * What becomes of a CUDA device that fails, on the simulated machine, whose environment says when:
 * VRT_CUDA_SIM_FAIL is read once a process, so that each scenario is one of its own.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "backend/backend.h"
#include "tests/unit/test.h"

#define N_FLOATS 1000

struct card {
    struct vrt_registry *registry;
    struct vrt_device *devices[2];      /* NULL: not open */
};

static int open_device(struct card *card, int i)
{
    size_t n;
    const struct vrt_device_info *const *infos = vrt_registry_devices(card->registry, &n);

    expect_true((size_t)i < n && infos[i]->kind == VRT_DEVICE_CUDA);
    return vrt_device_open(card->registry, infos[i], &card->devices[i]);
}

static void close_device(struct card *card, int i)
{
    card->devices[i] = vrt_device_close(card->devices[i]);
}

static struct card new_card(int n_workers)
{
    struct card card = { 0 };
    const struct vrt_registry_params params = { .cuda_workers = n_workers };

    expect_int(vrt_registry_new(&params, &card.registry, NULL), 0);
    for (int i = 0; i < n_workers; i++)
        expect_int(open_device(&card, i), 0);
    return card;
}

static void free_card(struct card *card)
{
    for (int i = 0; i < 2; i++)
        close_device(card, i);
    vrt_registry_free(card->registry);
}

static struct vrt_op fill_op(float value)
{
    struct vrt_op op = { .kind = VRT_OP_FILL, .fill = { value } };

    op.out = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, N_FLOATS, 1 });
    op.out.storage = 0;
    op.out.slot = 1;
    return op;
}

/* Fills a buffer of the device's and reads it back: uses all that can fail. */
static int compute(struct vrt_device *device)
{
    static float got[N_FLOATS];
    const struct vrt_op op = fill_op(7);
    const struct vrt_program_params params = { .ops = &op, .n_ops = 1, .n_bindings = 1 };
    struct vrt_program *program = NULL;
    struct vrt_binding binding = { NULL, 0 };
    int r = vrt_buffer_new(device, sizeof(got), &binding.buffer);

    memset(got, 0, sizeof(got));
    if (!r)
        r = vrt_buffer_write(device, binding.buffer, 0, got, sizeof(got));
    if (!r)
        r = vrt_program_new(device, &params, &program);
    if (!r)
        r = vrt_program_submit(device, program, &binding);
    if (!r)
        r = vrt_device_finish(device);
    if (!r)
        r = vrt_buffer_read(device, binding.buffer, 0, got, sizeof(got));
    vrt_program_free(device, program);
    vrt_buffer_free(device, binding.buffer);
    for (int i = 0; !r && i < N_FLOATS; i++)
        expect_true(got[i] == 7);
    return r;
}

/* Computes until it fails, at most 100 times. Return: how it failed. */
static int compute_until_failure(struct vrt_device *device)
{
    int r = 0;

    for (int i = 0; !r && i < 100; i++)
        r = compute(device);
    return r;
}

/* Full for a moment: nothing else is wrong with it. */
static void test_full(void)
{
    struct card card = new_card(1);

    expect_int(compute_until_failure(card.devices[0]), VRT_BACKEND_E_NOMEM);
    expect_int(compute(card.devices[0]), 0);
    expect_int(vrt_device_used_bytes(card.devices[0]), 0);
    free_card(&card);
}

/* A launch or a copy is refused: the next isn't. */
static void test_refused(void)
{
    struct card card = new_card(1);

    expect_int(compute_until_failure(card.devices[0]), VRT_BACKEND_E_FAILED);
    expect_int(compute(card.devices[0]), 0);
    free_card(&card);
}

/* An error that stays until the card is reset, which opening it again does. */
static void test_sticky(void)
{
    struct card card = new_card(1);

    expect_int(compute_until_failure(card.devices[0]), VRT_BACKEND_E_LOST);
    expect_int(compute(card.devices[0]), VRT_BACKEND_E_LOST);
    close_device(&card, 0);
    expect_int(open_device(&card, 0), 0);
    expect_int(compute(card.devices[0]), 0);
    free_card(&card);
}

/* The same where two workers share the card: it can't be reset under the other's feet. */
static void test_sticky_shared(void)
{
    struct card card = new_card(2);

    expect_int(compute(card.devices[1]), 0);
    expect_int(compute_until_failure(card.devices[0]), VRT_BACKEND_E_LOST);
    close_device(&card, 0);
    expect_int(open_device(&card, 0), VRT_BACKEND_E_LOST);
    expect_int(compute(card.devices[1]), VRT_BACKEND_E_LOST);
    close_device(&card, 1);
    for (int i = 0; i < 2; i++) {
        expect_int(open_device(&card, i), 0);
        expect_int(compute(card.devices[i]), 0);
    }
    free_card(&card);
}

/* A card that is gone stays so; whoever asks is told, and the process lives. */
static void test_gone(void)
{
    struct card card = new_card(1);

    expect_int(compute_until_failure(card.devices[0]), VRT_BACKEND_E_LOST);
    close_device(&card, 0);
    for (int i = 0; i < 3; i++) {
        expect_int(open_device(&card, 0), VRT_BACKEND_E_LOST);
        card.devices[0] = NULL;
    }
    free_card(&card);
}

struct recording {
    struct card *card;
    atomic_bool is_over;
    int result;
};

/* Records one program after the other. */
static void *record(void *ctx)
{
    enum { N_OPS = 100 };
    struct recording *recording = ctx;
    static struct vrt_op ops[N_OPS];
    const struct vrt_program_params params = { .ops = ops, .n_ops = N_OPS, .n_bindings = 1 };
    int r = open_device(recording->card, 0);

    for (int i = 0; i < N_OPS; i++)
        ops[i] = fill_op(7);
    while (!r && !atomic_load(&recording->is_over)) {
        struct vrt_program *program = NULL;
        r = vrt_program_new(recording->card->devices[0], &params, &program);
        vrt_program_free(recording->card->devices[0], program);
    }
    close_device(recording->card, 0);
    recording->result = r;
    return NULL;
}

/* What one device of a card records isn't spoilt by the other's being opened, or out of order. */
static void test_recording(void)
{
    const struct vrt_registry_params params = { .cuda_workers = 2 };
    struct card card = { 0 };
    struct recording recording = { .card = &card };
    pthread_t thread;
    int r = 0, n_failed = 0;

    expect_int(vrt_registry_new(&params, &card.registry, NULL), 0);
    expect_int(pthread_create(&thread, NULL, record, &recording), 0);
    for (int i = 0; !r && i < 40; i++) {
        r = open_device(&card, 1);
        if (!r)
            r = compute(card.devices[1]);
        if (r == VRT_BACKEND_E_FAILED && n_failed++ == 0)
            r = compute(card.devices[1]);
        close_device(&card, 1);
    }
    atomic_store(&recording.is_over, true);
    pthread_join(thread, NULL);
    expect_int(r, 0);
    expect_int(n_failed, 1);
    expect_int(recording.result, 0);
    free_card(&card);
}

/* A layer in the arena, as libraries take them: f16, 64 channels to 64. */
static struct vrt_op layer_op(enum vrt_op_kind kind)
{
    const struct vrt_shape shape = { 1, 4, 4, 64 };
    struct vrt_op op = { .kind = kind, .n_in = 1, .weight_dtype = VRT_DTYPE_F16 };

    op.in[0] = vrt_tensor_dense(VRT_DTYPE_F16, shape);
    op.out = vrt_tensor_dense(VRT_DTYPE_F16, shape);
    op.in[0].storage = 0;
    op.out.storage = 1;
    op.out.offset_bytes = 4096;
    op.workspace_offset_bytes = 8192;
    if (kind == VRT_OP_CONV2D)
        op.conv2d = (struct vrt_op_conv2d){ .kernel = 3, .weight = 0, .bias = -1, .scale = 1 };
    else
        op.linear = (struct vrt_op_linear){ .norm = { -1, -1 }, .weight = 1, .bias = -1 };
    return op;
}

/* Records it. */
static int record_layer(struct vrt_device *device, struct vrt_replica *replica,
                        enum vrt_op_kind kind)
{
    const struct vrt_op op = layer_op(kind);
    struct vrt_program_params params = {
        .ops = &op,
        .n_ops = 1,
        .replica = replica,
        .arena_bytes = op.workspace_offset_bytes + vrt_device_workspace_bytes(device, &op),
    };
    struct vrt_program *program = NULL;
    int r = vrt_buffer_new(device, params.arena_bytes, &params.arena);

    if (!r)
        r = vrt_program_new(device, &params, &program);
    vrt_program_free(device, program);
    vrt_buffer_free(device, params.arena);
    return r;
}

/* A library has no room to say how it does a layer, twice: that isn't that it doesn't know how, so
 * that it is asked again, and the device is told to be full. */
static void test_library_full(void)
{
    static const float numbers[64 * 64 * 9];
    static const struct vrt_param weights[] = {
        { "conv2d", 4, { 64, 64, 3, 3 }, numbers, VRT_PARAM_WEIGHT },
        { "linear", 2, { 64, 64 }, numbers, VRT_PARAM_WEIGHT },
    };
    static const enum vrt_op_kind kinds[] = { VRT_OP_CONV2D, VRT_OP_LINEAR };
    const struct vrt_registry_params params = { .cuda_libraries = VRT_CUDA_LIBRARIES_ALL };
    struct card card = { 0 };
    struct vrt_replica *replica;

    expect_int(vrt_registry_new(&params, &card.registry, NULL), 0);
    expect_int(open_device(&card, 0), 0);
    struct vrt_device *device = card.devices[0];
    expect_int(vrt_replica_new(device, weights, 2, VRT_DTYPE_F16, &replica), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(kinds); i++) {
        for (int n = 0; n < 2; n++)
            expect_int(record_layer(device, replica, kinds[i]), VRT_BACKEND_E_NOMEM);
        expect_int(record_layer(device, replica, kinds[i]), 0);
    }
    vrt_replica_free(device, replica);
    free_card(&card);
}

/* The driver starts and then finds no card. */
static void test_none(void)
{
    struct vrt_registry *registry;

    expect_int(vrt_registry_new(&(struct vrt_registry_params){ 0 }, &registry, NULL), 0);
    expect_true(!vrt_registry_find(registry, "cuda:0"));
    vrt_registry_free(registry);
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "full", test_full },
        { "refused", test_refused },
        { "sticky", test_sticky },
        { "sticky-shared", test_sticky_shared },
        { "gone", test_gone },
        { "recording", test_recording },
        { "library-full", test_library_full },
        { "none", test_none },
    };

    if (argc != 2)      /* each needs an environment of its own */
        test_fail("usage: test-cuda-failures SCENARIO");
    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
