/* SPDX-License-Identifier: MIT */

/* Which ops are left to NVIDIA's libraries. */

#include "backend/cuda/libraries/library.h"
#include "tests/unit/test.h"

#define OURS VRT_CUDA_LIBRARY_NONE
#define LT VRT_CUDA_LIBRARY_CUBLASLT
#define DNN VRT_CUDA_LIBRARY_CUDNN

/* One that there is, in the arena. */
static struct vrt_tensor placed(struct vrt_tensor t)
{
    t.storage = 0;
    t.slot = VRT_SLOT_ARENA;
    return t;
}

static struct vrt_tensor tensor(enum vrt_dtype dtype, int c)
{
    return placed(vrt_tensor_dense(dtype, (struct vrt_shape){ 2, 20, 30, c }));
}

/* As networks have it: of an f32 trunk, with weights of 16 bits. */
static struct vrt_op linear(void)
{
    return (struct vrt_op){
        .kind = VRT_OP_LINEAR,
        .n_in = 2,
        .in = { tensor(VRT_DTYPE_F32, 64), tensor(VRT_DTYPE_F32, 96) },
        .out = tensor(VRT_DTYPE_F32, 96),
        .linear = { .norm = { -1, -1 }, .weight = 0, .bias = 1 },
    };
}

static struct vrt_op conv2d(void)
{
    return (struct vrt_op){
        .kind = VRT_OP_CONV2D,
        .n_in = 2,
        .in = { tensor(VRT_DTYPE_F16, 64), VRT_TENSOR_NONE },
        .out = tensor(VRT_DTYPE_F16, 32),
        .conv2d = { .kernel = 3, .weight = 0, .bias = 1, .slopes = -1, .scale = 1 },
    };
}

static const struct vrt_cuda_library_rules all = { VRT_CUDA_LIBRARIES_ALL, 80, false };
static const struct vrt_cuda_library_rules all_tf32 = { VRT_CUDA_LIBRARIES_ALL, 80, true };

/* Whose the op is with weights of this type, by these rules. */
static enum vrt_cuda_library by(const struct vrt_cuda_library_rules *rules, const struct vrt_op *op,
                                enum vrt_dtype dtype)
{
    struct vrt_op typed = *op;

    typed.weight_dtype = dtype;
    const enum vrt_cuda_library library = vrt_cuda_library_of(rules, &typed, false);
    /* A plan never gives less than an op needs; of strict weights none is a library's. */
    expect_true(library == OURS || library == vrt_cuda_library_may(rules, &typed));
    expect_int(vrt_cuda_library_of(rules, &typed, true), OURS);
    return library;
}

static enum vrt_cuda_library of(const struct vrt_op *op, enum vrt_dtype dtype)
{
    return by(&all, op, dtype);
}

static void test_cards(void)
{
    static const struct {
        enum vrt_cuda_libraries_wanted wanted;
        int capability;
        bool is_wanted;
    } cases[] = {
        { VRT_CUDA_LIBRARIES_OFF, 90, false },   { VRT_CUDA_LIBRARIES_ALL, 75, true },
        { VRT_CUDA_LIBRARIES_ALL, 120, true },   { VRT_CUDA_LIBRARIES_AUTO, 75, false },
        { VRT_CUDA_LIBRARIES_AUTO, 89, false },  { VRT_CUDA_LIBRARIES_AUTO, 90, true },
        { VRT_CUDA_LIBRARIES_AUTO, 100, true },  { VRT_CUDA_LIBRARIES_AUTO, 103, true },
        { VRT_CUDA_LIBRARIES_AUTO, 110, true },  { VRT_CUDA_LIBRARIES_AUTO, 120, false },
    };
    const struct vrt_op op = linear();

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_cuda_library_rules rules = { cases[i].wanted, cases[i].capability, false };
        expect_int(vrt_cuda_library_is_wanted(&rules), cases[i].is_wanted);
        if (!cases[i].is_wanted)
            expect_int(by(&rules, &op, VRT_DTYPE_F16), OURS);
    }
}

/* What is small is ours, unless all is wanted. */
static void test_sizes(void)
{
    const struct vrt_cuda_library_rules rules = { VRT_CUDA_LIBRARIES_AUTO, 90, false };
    static const struct {
        int h, w;
        enum vrt_cuda_library linear, conv2d;
    } cases[] = {
        { 20, 30, OURS, OURS }, { 180, 320, LT, OURS }, { 720, 1280, LT, DNN },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_op ops[] = { linear(), conv2d() };
        for (int k = 0; k < 2; k++) {
            const struct vrt_shape shape = { 1, cases[i].h, cases[i].w, 64 };
            ops[k].in[0] = placed(vrt_tensor_dense(VRT_DTYPE_F16, shape));
            ops[k].in[1] = VRT_TENSOR_NONE;
            ops[k].out = placed(vrt_tensor_dense(VRT_DTYPE_F32, shape));
            expect_int(by(&rules, &ops[k], VRT_DTYPE_F16),
                       k ? cases[i].conv2d : cases[i].linear);
            expect_int(of(&ops[k], VRT_DTYPE_F16), k ? DNN : LT);
        }
    }
}

static void test_linear_types(void)
{
    struct vrt_op op = linear();

    expect_int(of(&op, VRT_DTYPE_F16), LT);
    expect_int(of(&op, VRT_DTYPE_BF16), LT);
    /* Products of f32, for which TF32 must be allowed: or a plan has no scratch for them. */
    expect_int(of(&op, VRT_DTYPE_F32), OURS);
    expect_int(by(&all_tf32, &op, VRT_DTYPE_F32), LT);
    /* The library's bias has the type of the result: ours would be rounded. */
    op.in[1] = op.out = tensor(VRT_DTYPE_F16, 96);
    expect_int(of(&op, VRT_DTYPE_F16), OURS);
    op.linear.bias = -1;
    expect_int(of(&op, VRT_DTYPE_F16), LT);
    expect_int(of(&op, VRT_DTYPE_BF16), OURS);
    expect_int(by(&all_tf32, &op, VRT_DTYPE_F32), OURS);
    op.in[1] = tensor(VRT_DTYPE_F32, 96);
    expect_int(of(&op, VRT_DTYPE_F16), OURS);
}

static void test_linear_rows(void)
{
    struct vrt_op op = linear();
    const struct vrt_tensor wide = vrt_tensor_dense(VRT_DTYPE_F32,
                                                    (struct vrt_shape){ 2, 24, 40, 128 });
    const struct vrt_tensor crop = vrt_tensor_crop(&wide, 0, 0, 20, 30);

    /* Channels of a larger tensor are rows at a distance; a part of its rows is no matrix. */
    op.out = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 2, 20, 30, 128 });
    op.out = vrt_tensor_channels(&op.out, 16, 96);
    expect_int(of(&op, VRT_DTYPE_F16), LT);
    op.out = vrt_tensor_channels(&crop, 0, 96);
    expect_int(of(&op, VRT_DTYPE_F16), OURS);
    op = linear();
    op.in[1] = placed(vrt_tensor_channels(&crop, 0, 96));
    expect_int(of(&op, VRT_DTYPE_F16), OURS);
    /* Rows that are made anyway may come from anywhere. */
    op = linear();
    op.in[0] = vrt_tensor_channels(&crop, 0, 64);
    expect_int(of(&op, VRT_DTYPE_F16), LT);
    expect_int(by(&all_tf32, &op, VRT_DTYPE_F32), OURS);
    op.linear.norm = (struct vrt_op_norm){ 2, 3 };
    expect_int(by(&all_tf32, &op, VRT_DTYPE_F32), LT);
    /* The exact one isn't the library's. */
    op = linear();
    op.linear.activation = VRT_ACTIVATION_GELU;
    expect_int(of(&op, VRT_DTYPE_F16), OURS);
}

static void test_conv2d(void)
{
    struct vrt_op op = conv2d();

    expect_int(of(&op, VRT_DTYPE_F16), DNN);
    op.in[1] = op.out = tensor(VRT_DTYPE_F32, 32);
    expect_int(of(&op, VRT_DTYPE_F16), DNN);
    op.in[0] = tensor(VRT_DTYPE_F32, 64);
    expect_int(by(&all_tf32, &op, VRT_DTYPE_F32), OURS);
    /* The library's filters have no gaps. */
    op.in[0] = tensor(VRT_DTYPE_F16, 60);
    expect_int(of(&op, VRT_DTYPE_F16), OURS);
    /* A run of channels is read as any other where each place's begins at 16 bytes. */
    op.in[0] = tensor(VRT_DTYPE_F16, 96);
    op.in[0] = placed(vrt_tensor_channels(&op.in[0], 32, 64));
    expect_int(of(&op, VRT_DTYPE_F16), DNN);
    op.in[0] = tensor(VRT_DTYPE_F16, 83);
    op.in[0] = placed(vrt_tensor_channels(&op.in[0], 16, 64));
    expect_int(of(&op, VRT_DTYPE_F16), OURS);
}

/* Each tensor in turn. */
static void test_bound_tensors_are_ours(void)
{
    for (int i = 0; i < 3; i++) {
        struct vrt_op op = linear(), conv = conv2d();
        (i < 2 ? &op.in[i] : &op.out)->slot = 1;
        expect_int(of(&op, VRT_DTYPE_F16), OURS);
        if (i == 1)     /* which it has none of */
            continue;
        (i < 2 ? &conv.in[i] : &conv.out)->slot = 1;
        expect_int(of(&conv, VRT_DTYPE_F16), OURS);
    }
}

static void test_other_ops(void)
{
    struct vrt_op op = linear();

    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
        op.kind = (enum vrt_op_kind)kind;
        if (kind != VRT_OP_LINEAR && kind != VRT_OP_CONV2D)
            expect_int(of(&op, VRT_DTYPE_F16), OURS);
    }
}

TEST_MAIN(
    { "cards", test_cards },
    { "sizes", test_sizes },
    { "linear_types", test_linear_types },
    { "linear_rows", test_linear_rows },
    { "conv2d", test_conv2d },
    { "bound_tensors_are_ours", test_bound_tensors_are_ours },
    { "other_ops", test_other_ops },
)
