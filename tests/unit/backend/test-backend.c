/* SPDX-License-Identifier: MIT */
/*
 * workers/backend: what the callers' functions check and count, on a device that answers as it is
 * told to, and on the reference device.
 */

#include "tests/unit/test.h"

#include <errno.h>

#include "backend/backend-impl.h"
#include "backend/staging.h"

/* A device that computes nothing, returns `answer`, and counts how often it was asked. */
struct told {
    struct vrt_device base;
    int answer;
    int n_calls, n_alive;
    size_t workspace_bytes;
    bool supports;
};

static struct told *told_of(const struct vrt_device *device)
{
    return vrt_container_of(device, struct told, base);
}

static int asked(struct vrt_device *device)
{
    told_of(device)->n_calls++;
    return told_of(device)->answer;
}

/* Buffers, replicas and programs are `size` bytes that begin with their base. */
static int make(struct vrt_device *device, size_t size, void *ret_object)
{
    int r = asked(device);

    if (r)
        return r;
    void *object = calloc(1, size);
    expect_true(object != NULL);
    memcpy(ret_object, &object, sizeof(object));
    told_of(device)->n_alive++;
    return 0;
}

static void unmake(struct vrt_device *device, void *object)
{
    told_of(device)->n_alive--;
    free(object);
}

static void told_close(struct vrt_device *device)
{
    told_of(device)->n_calls++;
}

static int told_buffer_new(struct vrt_device *device, size_t size_bytes,
                           struct vrt_buffer **ret_buffer)
{
    (void)size_bytes;
    return make(device, sizeof(**ret_buffer), ret_buffer);
}

static void told_buffer_free(struct vrt_device *device, struct vrt_buffer *buffer)
{
    unmake(device, buffer);
}

static int told_write(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                      const void *src, size_t size_bytes)
{
    (void)src;
    expect_true(size_bytes > 0 && offset_bytes + size_bytes <= dst->size_bytes);
    return asked(device);
}

static int told_read(struct vrt_device *device, const struct vrt_buffer *src, size_t offset_bytes,
                     void *dst, size_t size_bytes)
{
    (void)dst;
    expect_true(size_bytes > 0 && offset_bytes + size_bytes <= src->size_bytes);
    return asked(device);
}

static bool told_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    (void)op;
    return told_of(device)->supports;
}

static size_t told_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op)
{
    (void)op;
    return told_of(device)->workspace_bytes;
}

/* 1000 bytes in all. */
static int told_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                           struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    int r = asked(device);

    for (size_t i = 0; i < pack->n_params; i++)
        places[i] = (struct vrt_packed_place){ 8 * i, 1000 - 8 * i, NULL };
    if (r)
        return r;
    *ret_packed = calloc(1, sizeof(**ret_packed));
    (*ret_packed)->is_shared = true;
    return 0;
}

static int told_packed_fill(struct vrt_packed *packed, const struct vrt_pack *pack, size_t i)
{
    static const char zeros[1000];

    (void)pack;
    packed->places[i].data = zeros;
    return 0;
}

static void told_packed_free(struct vrt_packed *packed)
{
    free(packed);
}

static int told_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                              struct vrt_replica **ret_replica)
{
    (void)packed;
    return make(device, sizeof(**ret_replica), ret_replica);
}

static void told_replica_free(struct vrt_device *device, struct vrt_replica *replica)
{
    unmake(device, replica);
}

static int told_program_new(struct vrt_device *device, const struct vrt_program_params *params,
                            struct vrt_program **ret_program)
{
    (void)params;
    return make(device, sizeof(**ret_program), ret_program);
}

static void told_program_free(struct vrt_device *device, struct vrt_program *program)
{
    unmake(device, program);
}

static int told_submit(struct vrt_device *device, struct vrt_program *program,
                       const struct vrt_binding *bindings)
{
    (void)program;
    (void)bindings;
    return asked(device);
}

static const struct vrt_backend_ops told_ops = {
    .close = told_close,
    .buffer_new = told_buffer_new,
    .buffer_free = told_buffer_free,
    .buffer_write = told_write,
    .buffer_read = told_read,
    .supports = told_supports,
    .workspace_bytes = told_workspace_bytes,
    .packed_new = told_packed_new,
    .packed_fill = told_packed_fill,
    .packed_free = told_packed_free,
    .replica_begin = told_replica_begin,
    .replica_free = told_replica_free,
    .program_new = told_program_new,
    .program_free = told_program_free,
    .program_submit = told_submit,
    .finish = asked,
};

static const struct vrt_device_info told_info = { .name = "told:0" };

static struct told new_told(void)
{
    return (struct told){ .base = { .ops = &told_ops, .info = &told_info }, .supports = true };
}

static void test_buffers(void)
{
    struct told told = new_told();
    struct vrt_device *device = &told.base;
    struct vrt_buffer *buffer = NULL;
    char bytes[16] = "";

    expect_int(vrt_buffer_new(device, 0, &buffer), -EINVAL);
    expect_int(vrt_buffer_new(device, SIZE_MAX, &buffer), VRT_BACKEND_E_NOMEM);
    expect_int(told.n_calls, 0);
    told.answer = VRT_BACKEND_E_NOMEM;
    expect_int(vrt_buffer_new(device, 16, &buffer), VRT_BACKEND_E_NOMEM);
    expect_true(buffer == NULL);
    expect_int(vrt_device_used_bytes(device), 0);
    told.answer = 0;
    expect_int(vrt_buffer_new(device, 16, &buffer), 0);
    expect_int(vrt_device_used_bytes(device), 16);

    static const struct {
        size_t offset, size;
        int r;
    } spans[] = {
        { 0, 16, 0 }, { 16, 0, 0 }, { 4, 12, 0 }, { 4, 13, -EINVAL }, { 17, 0, -EINVAL },
        { SIZE_MAX, 2, -EINVAL }, { 2, SIZE_MAX, -EINVAL },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(spans); i++) {
        expect_int(vrt_buffer_write(device, buffer, spans[i].offset, bytes, spans[i].size),
                   spans[i].r);
        expect_int(vrt_buffer_read(device, buffer, spans[i].offset, bytes, spans[i].size),
                   spans[i].r);
    }
    told.answer = VRT_BACKEND_E_FAILED;
    expect_int(vrt_buffer_read(device, buffer, 0, bytes, 1), VRT_BACKEND_E_FAILED);
    expect_int(vrt_buffer_write(device, buffer, 0, bytes, 1), VRT_BACKEND_E_FAILED);
    told.answer = -EIO;
    expect_int(vrt_buffer_write(device, buffer, 0, bytes, 1), -EIO);
    expect_true(!vrt_buffer_free(device, buffer) && !vrt_buffer_free(device, NULL));
    expect_int(vrt_device_used_bytes(device), 0);
    expect_int(told.n_alive, 0);
    expect_true(!vrt_device_close(device) && !vrt_device_close(NULL));
}

/* What would exceed the limit is not made; what there was stays. */
static void test_limit(void)
{
    const float data[6] = { 0 };
    const struct vrt_param param = { "a", 2, { 2, 3 }, data };
    struct told told = new_told();
    struct vrt_device *device = &told.base;
    struct vrt_buffer *first = NULL, *second = NULL;
    struct vrt_replica *replica = NULL;

    vrt_device_limit_memory(device, 1000);
    expect_int(vrt_buffer_new(device, 1001, &first), VRT_BACKEND_E_NOMEM);
    expect_int(vrt_buffer_new(device, 1, &first), 0);
    expect_int(vrt_replica_new(device, &param, 1, VRT_DTYPE_F32, &replica), VRT_BACKEND_E_NOMEM);
    expect_int(told.n_alive, 1);
    expect_int(vrt_buffer_new(device, 999, &second), 0);
    expect_int(vrt_device_used_bytes(device), 1000);
    vrt_buffer_free(device, second);
    vrt_buffer_free(device, first);
    expect_int(vrt_replica_new(device, &param, 1, VRT_DTYPE_F32, &replica), 0);
    expect_int(vrt_buffer_new(device, 1, &first), VRT_BACKEND_E_NOMEM);
    /* A limit that comes late takes nothing away, and neither does its end. */
    vrt_device_limit_memory(device, 10);
    expect_int(vrt_buffer_new(device, 1, &first), VRT_BACKEND_E_NOMEM);
    vrt_device_limit_memory(device, 0);
    expect_int(vrt_buffer_new(device, 1, &first), 0);
    vrt_buffer_free(device, first);
    vrt_replica_free(device, replica);
    vrt_device_close(device);
}

static void test_replicas(void)
{
    const float data[6] = { 0 };
    const struct vrt_param good = { "a", 2, { 2, 3 }, data };
    struct told told = new_told();
    struct vrt_replica *replica = NULL;

    expect_int(vrt_replica_new(&told.base, &good, 1, VRT_DTYPE_U8, &replica), -EINVAL);
    expect_int(told.n_calls, 0);
    told.answer = VRT_BACKEND_E_NOMEM;
    expect_int(vrt_replica_new(&told.base, &good, 1, VRT_DTYPE_F32, &replica),
               VRT_BACKEND_E_NOMEM);
    told.answer = 0;
    expect_int(vrt_replica_new(&told.base, &good, 1, VRT_DTYPE_BF16, &replica), 0);
    expect_int(vrt_device_used_bytes(&told.base), 1000);
    vrt_replica_free(&told.base, replica);
    expect_int(vrt_device_used_bytes(&told.base), 0);
    expect_int(told.n_alive, 0);
}

/* x [1,2,3,4] to out [1,2,3,5], bound as 1 and 2, by weight 0, bias 1, slopes 2. */
static struct vrt_op conv_op(void)
{
    struct vrt_op op = {
        .kind = VRT_OP_CONV2D,
        .n_in = 1,
        .conv2d = { .kernel = 3, .weight = 0, .bias = 1, .slopes = 2,
                    .activation = VRT_ACTIVATION_PRELU, .scale = 1 },
    };

    op.in[0] = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 2, 3, 4 });
    op.in[0].storage = 0;
    op.in[0].slot = 1;
    op.out = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 2, 3, 5 });
    op.out.storage = 1;
    op.out.slot = 2;
    return op;
}

struct recipe {
    struct vrt_op op;
    struct vrt_program_params params;
};

/* What makes another recipe of a good one, and what becomes of it. */
#define CHANGES(change) \
    change(no_change, 0, (void)r) \
    change(no_ops, -EINVAL, r->params.n_ops = 0) \
    change(no_replica, -EINVAL, r->params.replica = NULL) \
    change(no_arena, -EINVAL, r->params.arena = NULL) \
    change(large_arena, -EINVAL, r->params.arena_bytes = 4097) \
    change(few_bindings, -EINVAL, r->params.n_bindings = 1) \
    change(less_than_none, -EINVAL, r->params.n_bindings = -1) \
    change(wrong_op, -EINVAL, r->op.conv2d.kernel = 2) \
    change(weight_index, -EINVAL, r->op.conv2d.weight = 3) \
    change(weight_shape, -EINVAL, r->op.conv2d.kernel = 5) \
    change(bias_shape, -EINVAL, r->op.conv2d.bias = 0) \
    change(slopes_index, -EINVAL, r->op.conv2d.slopes = 77) \
    change(input_type, -EINVAL, r->op.in[0].dtype = VRT_DTYPE_BF16) \
    change(negative_slot, -EINVAL, r->op.in[0].slot = -1) \
    change(odd_offset, -EINVAL, r->op.in[0].offset_bytes = 2) \
    change(huge_offset, -EINVAL, r->op.in[0].offset_bytes = SIZE_MAX - 3) \
    change(outside_arena, -EINVAL, place_in_arena(r, 4096 - 116)) \
    change(in_arena, 0, place_in_arena(r, 4096 - 120)) \
    change(workspace_outside, -EINVAL, r->op.workspace_offset_bytes = 4096 - 63) \
    change(workspace_far, -EINVAL, r->op.workspace_offset_bytes = SIZE_MAX) \
    change(workspace_inside, 0, r->op.workspace_offset_bytes = 4096 - 64)

#define CHANGE(name, outcome, ...) static void name(struct recipe *r) { __VA_ARGS__; }
#define LIST(name, outcome, ...) { name, outcome, #name },

/* All of it: no binding is needed then. */
static void place_in_arena(struct recipe *r, size_t offset_bytes)
{
    r->params.n_bindings = 0;
    r->op.out.slot = r->op.in[0].slot = VRT_SLOT_ARENA;
    r->op.out.offset_bytes = offset_bytes;
}

CHANGES(CHANGE)

static void test_programs(void)
{
    static const struct {
        void (*change)(struct recipe *recipe);
        int r;
        const char *name;
    } changes[] = { CHANGES(LIST) };
    const float data[180] = { 0 };
    const struct vrt_param params[] = {
        { "weight", 4, { 5, 4, 3, 3 }, data },
        { "bias", 1, { 5 }, data },
        { "slopes", 1, { 5 }, data },
    };
    struct told told = new_told();
    struct vrt_replica *replica = NULL;
    struct vrt_buffer *arena = NULL;

    told.workspace_bytes = 64;
    expect_int(vrt_replica_new(&told.base, params, 3, VRT_DTYPE_F32, &replica), 0);
    expect_int(vrt_buffer_new(&told.base, 4096, &arena), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(changes); i++) {
        struct vrt_program *program = NULL;
        struct recipe recipe = {
            .op = conv_op(),
            .params = { .n_ops = 1, .replica = replica, .arena = arena, .arena_bytes = 4096,
                        .n_bindings = 2 },
        };
        recipe.params.ops = &recipe.op;
        changes[i].change(&recipe);
        const int n_calls = told.n_calls;
        if (vrt_program_new(&told.base, &recipe.params, &program) != changes[i].r)
            test_fail("%s is not judged as it should be", changes[i].name);
        expect_int(told.n_calls - n_calls, changes[i].r == 0);
        vrt_program_free(&told.base, program);
    }

    struct vrt_op op = conv_op();
    struct vrt_program *program = NULL;
    const struct vrt_program_params good = { .ops = &op, .n_ops = 1, .replica = replica,
                                             .arena = arena, .arena_bytes = 4096, .n_bindings = 2 };
    told.supports = false;
    expect_int(vrt_program_new(&told.base, &good, &program), -EINVAL);
    told.supports = true;
    told.answer = VRT_BACKEND_E_FAILED;
    expect_int(vrt_program_new(&told.base, &good, &program), VRT_BACKEND_E_FAILED);
    expect_true(program == NULL);
    vrt_buffer_free(&told.base, arena);
    vrt_replica_free(&told.base, replica);
    expect_int(told.n_alive, 0);
    expect_int(vrt_device_used_bytes(&told.base), 0);
}

/* A param must be for what the op does with it, and of the type that the op says it has. */
static void test_uses(void)
{
    enum { F32 = VRT_DTYPE_F32, F16 = VRT_DTYPE_F16, BF16 = VRT_DTYPE_BF16 };
    enum { MATRIX = VRT_PARAM_WEIGHT, EXACT = VRT_PARAM_WEIGHT_F32,
           TABLE = VRT_PARAM_TABLE, DEFORM = VRT_PARAM_WEIGHT_DEFORM };
    static const struct {
        enum vrt_op_kind kind;
        int use, replica, op;       /* types: the replica's, and the weight's as the op says */
        int r;
        bool is_exact;              /* as the op says */
    } uses[] = {
        { VRT_OP_LINEAR, MATRIX, BF16, BF16, 0 },   { VRT_OP_LINEAR, MATRIX, BF16, F32, -EINVAL },
        { VRT_OP_LINEAR, MATRIX, F32, F16, -EINVAL }, { VRT_OP_LINEAR, EXACT, BF16, F32, 0, true },
        { VRT_OP_LINEAR, EXACT, BF16, F32, -EINVAL }, { VRT_OP_LINEAR, EXACT, F32, F32, 0 },
        { VRT_OP_LINEAR, EXACT, F32, F32, -EINVAL, true },
        { VRT_OP_LINEAR, EXACT, F16, F16, -EINVAL }, { VRT_OP_LINEAR, TABLE, F32, F32, -EINVAL },
        { VRT_OP_LINEAR, DEFORM, F32, F32, -EINVAL }, { VRT_OP_CONV2D, MATRIX, F32, F32, 0 },
        { VRT_OP_CONV2D, MATRIX, BF16, F32, -EINVAL }, { VRT_OP_CONV2D, EXACT, BF16, F32, 0, true },
        { VRT_OP_CONV2D, DEFORM, F32, F32, -EINVAL },
        { VRT_OP_CONV2D, MATRIX, BF16, BF16, -EINVAL },             /* x is f32 */
    };
    const float data[180] = { 0 };
    struct told told = new_told();

    for (size_t i = 0; i < VRT_ARRAY_SIZE(uses); i++) {
        const bool is_linear = uses[i].kind == VRT_OP_LINEAR;
        const struct vrt_param param = { "weight", is_linear ? 2 : 4, { 5, 4, 3, 3 }, data,
                                         (enum vrt_param_use)uses[i].use };
        struct vrt_op op = conv_op();
        struct vrt_program_params with = { .ops = &op, .n_ops = 1, .n_bindings = 2 };
        struct vrt_program *program = NULL;
        op.kind = uses[i].kind;
        op.weight_dtype = (enum vrt_dtype)uses[i].op;
        op.is_exact = uses[i].is_exact;
        op.conv2d = (struct vrt_op_conv2d){ .kernel = 3, .bias = -1, .scale = 1 };
        if (is_linear)
            op.linear = (struct vrt_op_linear){ .norm = { -1, -1 }, .bias = -1 };
        const enum vrt_dtype dtype = (enum vrt_dtype)uses[i].replica;
        expect_int(vrt_replica_new(&told.base, &param, 1, dtype, &with.replica), 0);
        if (vrt_program_new(&told.base, &with, &program) != uses[i].r)
            test_fail("uses[%zu] is judged wrongly", i);
        vrt_program_free(&told.base, program);
        vrt_replica_free(&told.base, with.replica);
    }
    expect_int(told.n_alive, 0);
}

static void test_submit(void)
{
    const float data[180] = { 0 };
    const struct vrt_param param = { "weight", 4, { 5, 4, 3, 3 }, data };
    struct told told = new_told();
    struct vrt_replica *replica = NULL;
    struct vrt_program *program = NULL;
    struct vrt_buffer *buffer = NULL;
    struct vrt_op op = conv_op();

    op.conv2d.bias = -1;
    op.conv2d.activation = VRT_ACTIVATION_NONE;
    op.out.offset_bytes = 8;
    expect_int(vrt_replica_new(&told.base, &param, 1, VRT_DTYPE_F32, &replica), 0);
    expect_int(vrt_buffer_new(&told.base, 256, &buffer), 0);
    const struct vrt_program_params params = { .ops = &op, .n_ops = 1, .replica = replica,
                                               .n_bindings = 3 };
    expect_int(vrt_program_new(&told.base, &params, &program), 0);

    /* x takes 96 bytes, out 8 + 120; binding 2 is looked into by nobody. */
    const struct {
        struct vrt_binding bindings[3];
        int r;
    } runs[] = {
        { { { buffer, 0 }, { buffer, 128 }, { NULL, 0 } }, 0 },
        { { { buffer, 160 }, { buffer, 0 }, { NULL, 99 } }, 0 },
        { { { buffer, 164 }, { buffer, 0 }, { NULL, 0 } }, -EINVAL },
        { { { buffer, 0 }, { buffer, 132 }, { NULL, 0 } }, -EINVAL },
        { { { buffer, 0 }, { buffer, SIZE_MAX - 7 }, { NULL, 0 } }, -EINVAL },
        { { { buffer, 2 }, { buffer, 128 }, { NULL, 0 } }, -EINVAL },
        { { { NULL, 0 }, { buffer, 128 }, { NULL, 0 } }, -EINVAL },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(runs); i++) {
        const int n_calls = told.n_calls;
        expect_int(vrt_program_submit(&told.base, program, runs[i].bindings), runs[i].r);
        expect_int(told.n_calls - n_calls, runs[i].r == 0);
    }
    told.answer = VRT_BACKEND_E_FAILED;
    expect_int(vrt_program_submit(&told.base, program, runs[0].bindings), VRT_BACKEND_E_FAILED);
    expect_int(vrt_device_finish(&told.base), VRT_BACKEND_E_FAILED);
    told.answer = 0;
    expect_int(vrt_device_finish(&told.base), 0);
    vrt_program_free(&told.base, program);
    vrt_replica_free(&told.base, replica);
    vrt_buffer_free(&told.base, buffer);
    expect_int(told.n_alive, 0);
}

/* Once a device said that it is lost, it is asked nothing more, but all can be freed. */
static void test_lost(void)
{
    const float data[1] = { 0 };
    const struct vrt_param param = { "p", 1, { 1 }, data };
    const struct vrt_program_params params = { .n_ops = 1 };
    struct told told = new_told();
    struct vrt_device *device = &told.base;
    struct vrt_memory_info memory;
    struct vrt_replica *replica = NULL;
    struct vrt_program *program = NULL;
    struct vrt_buffer *buffer = NULL, *more = NULL;
    char byte = 0;

    expect_int(vrt_buffer_new(device, 16, &buffer), 0);
    told.answer = VRT_BACKEND_E_LOST;
    expect_int(vrt_device_finish(device), VRT_BACKEND_E_LOST);
    told.answer = 0;
    told.n_calls = 0;
    expect_int(vrt_device_finish(device), VRT_BACKEND_E_LOST);
    expect_int(vrt_device_memory(device, &memory), VRT_BACKEND_E_LOST);
    expect_int(vrt_buffer_new(device, 16, &more), VRT_BACKEND_E_LOST);
    expect_int(vrt_buffer_write(device, buffer, 0, &byte, 1), VRT_BACKEND_E_LOST);
    expect_int(vrt_buffer_read(device, buffer, 0, &byte, 1), VRT_BACKEND_E_LOST);
    expect_int(vrt_replica_new(device, &param, 1, VRT_DTYPE_F32, &replica), VRT_BACKEND_E_LOST);
    expect_int(vrt_program_new(device, &params, &program), VRT_BACKEND_E_LOST);
    expect_int(vrt_program_submit(device, program, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_packed_new(device, NULL, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_replica_begin(device, NULL, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_replica_fill(device, NULL, NULL, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_replica_receive(device, NULL, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_replica_checksum(device, NULL, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_group_key_new(device, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_group_join(device, NULL, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_group_spread(device, NULL, NULL, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_group_finish(device, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_staging_new(device, 1, NULL), VRT_BACKEND_E_LOST);
    expect_int(vrt_staging_push(device, NULL, 1), VRT_BACKEND_E_LOST);
    expect_int(vrt_staging_wait(device, NULL), VRT_BACKEND_E_LOST);
    expect_int(told.n_calls, 0);
    vrt_buffer_free(device, buffer);
    expect_int(told.n_alive, 0);
    vrt_device_close(device);
    expect_int(told.n_calls, 1);
}

static int tell_memory(struct vrt_device *device, struct vrt_memory_info *ret_info)
{
    ret_info->total_bytes = 71;
    return asked(device);
}

static void tell_sensors(struct vrt_device *device, struct vrt_device_sensors *ret_sensors)
{
    (void)device;
    ret_sensors->are_known = true;
    ret_sensors->temperature_celsius = 71;
}

/* What a device tells of itself. */
static void test_told(void)
{
    struct told told = new_told();
    struct vrt_backend_ops with = *told.base.ops;
    struct vrt_device_sensors sensors = { .are_known = true };
    struct vrt_memory_info memory = { 0 };

    vrt_device_sensors(&told.base, &sensors);
    expect_true(!sensors.are_known && isnan(sensors.temperature_celsius));
    expect_int(vrt_device_memory(&told.base, &memory), 0);
    expect_int(memory.total_bytes, -1);
    expect_int(memory.free_bytes, -1);
    with.workspace_bytes = NULL;
    with.sensors = tell_sensors;
    with.memory = tell_memory;
    told.base.ops = &with;
    told.answer = VRT_BACKEND_E_FAILED;
    expect_int(vrt_device_memory(&told.base, &memory), VRT_BACKEND_E_FAILED);
    expect_int(memory.total_bytes, -1);
    told.answer = 0;
    expect_int(vrt_device_memory(&told.base, &memory), 0);
    expect_int(memory.total_bytes, 71);
    expect_int(vrt_device_workspace_bytes(&told.base, &(struct vrt_op){ .n_in = 0 }), 0);
    vrt_device_sensors(&told.base, &sensors);
    expect_true(sensors.are_known && isnan(sensors.power_watts));
    expect_near(sensors.temperature_celsius, 71, 0);
    told.base.lost = true;
    vrt_device_sensors(&told.base, &sensors);
    expect_true(!sensors.are_known);
}

TEST_MAIN(
    { "buffers", test_buffers },   { "limit", test_limit },   { "replicas", test_replicas },
    { "programs", test_programs }, { "submit", test_submit }, { "lost", test_lost },
    { "told", test_told },         { "uses", test_uses },
)
