/* SPDX-License-Identifier: MIT */
/* workers/backend: tensors and their views, half-precision numbers, what an op may look like. */

#include "tests/unit/test.h"

#include <errno.h>
#include <stdint.h>

#include "backend/backend.h"
#include "backend/half.h"
#include "backend/op.h"

static void test_f16(void)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float x = vrt_f32_from_f16((uint16_t)bits);
        const uint16_t back = vrt_f16_from_f32(x);
        const int exponent = bits >> 10 & 31, fraction = bits & 1023;
        const double sign = bits & 0x8000 ? -1 : 1;
        if (exponent == 31 && fraction) {
            expect_true(isnan(x) && (back & 0x7c00) == 0x7c00 && (back & 0x3ff));
            continue;
        }
        expect_int(back, bits);
        if (exponent == 31)
            expect_true(isinf(x) && (x < 0) == (sign < 0));
        else
            expect_near(x, sign * (exponent ? ldexp(1024 + fraction, exponent - 25)
                                            : ldexp(fraction, -24)), 0);
    }
}

/* What lies between two neighbours goes to the nearer, what lies halfway to the even one. */
static void test_f16_rounding(void)
{
    for (uint32_t bits = 0; bits < 0x7bff; bits++) {
        const double a = (double)vrt_f32_from_f16((uint16_t)bits);
        const double b = (double)vrt_f32_from_f16((uint16_t)(bits + 1));
        const float middle = (float)((a + b) / 2);
        expect_int(vrt_f16_from_f32(middle), bits + (bits & 1));
        expect_int(vrt_f16_from_f32(nextafterf(middle, 0)), bits);
        expect_int(vrt_f16_from_f32(nextafterf(middle, INFINITY)), bits + 1);
        expect_int(vrt_f16_from_f32(-nextafterf(middle, INFINITY)), 0x8000 + bits + 1);
    }
    expect_int(vrt_f16_from_f32(65519.996f), 0x7bff);
    expect_int(vrt_f16_from_f32(65520), 0x7c00);
    expect_int(vrt_f16_from_f32(1e30f), 0x7c00);
    expect_int(vrt_f16_from_f32(-INFINITY), 0xfc00);
    expect_int(vrt_f16_from_f32(1e-30f), 0);
}

static void test_bf16(void)
{
    for (uint32_t bits = 0; bits < 0x10000; bits++) {
        const float x = vrt_f32_from_bf16((uint16_t)bits);
        const uint16_t back = vrt_bf16_from_f32(x);
        if ((bits & 0x7fff) > 0x7f80)
            expect_true(isnan(x) && (back & 0x7fff) > 0x7f80);
        else
            expect_int(back, bits);
    }
    for (uint32_t bits = 0; bits < 0x7f7f; bits++) {
        const float middle = vrt_f32_from_bits(bits << 16 | 0x8000);
        expect_int(vrt_bf16_from_f32(middle), bits + (bits & 1));
        expect_int(vrt_bf16_from_f32(vrt_f32_from_bits(bits << 16 | 0x7fff)), bits);
        expect_int(vrt_bf16_from_f32(vrt_f32_from_bits(bits << 16 | 0x8001)), bits + 1);
    }
    /* A NaN whose upper half alone would be infinity. */
    expect_true((vrt_bf16_from_f32(vrt_f32_from_bits(0x7f800001)) & 0x7fff) > 0x7f80);
}

static struct vrt_tensor whole(int storage)
{
    struct vrt_tensor t = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 4, 6, 8, 10 });

    t.storage = storage;
    return t;
}

static void test_views(void)
{
    const struct vrt_tensor t = whole(0);

    expect_true(vrt_tensor_is_dense(&t));
    expect_int(vrt_tensor_extent(&t), 4 * 6 * 8 * 10);
    struct vrt_tensor v = vrt_tensor_channels(&t, 3, 4);
    expect_int(v.offset, 3);
    expect_int(v.offset_bytes, 12);
    expect_true(!vrt_tensor_is_dense(&v));
    expect_int(vrt_tensor_extent(&v), 4 * 6 * 8 * 10 - 6);
    v = vrt_tensor_crop(&v, 1, 2, 3, 4);
    expect_int(v.offset, 3 + 80 + 20);
    v = vrt_tensor_frames(&v, 2, 1);
    expect_int(v.offset, 3 + 80 + 20 + 2 * 480);
    expect_int(vrt_tensor_extent(&v), 2 * 80 + 3 * 10 + 4);
    expect_true(vrt_shape_equal(v.shape, (struct vrt_shape){ 1, 3, 4, 4 }));
    v = vrt_tensor_frames(&t, 1, 2);
    expect_true(vrt_tensor_is_dense(&v));
}

/* Against all elements of both, one by one. */
static bool really_overlap(const struct vrt_tensor *a, const struct vrt_tensor *b)
{
    static unsigned char used[4 * 6 * 8 * 10];
    const struct vrt_tensor *both[] = { a, b };

    memset(used, 0, sizeof(used));
    for (int k = 0; k < 2; k++) {
        const struct vrt_tensor *t = both[k];
        for (int64_t i = 0; i < vrt_shape_count(t->shape); i++) {
            const int c = (int)(i % t->shape.c), w = (int)(i / t->shape.c % t->shape.w);
            const int64_t rows = i / t->shape.c / t->shape.w;
            const int64_t at = t->offset + rows / t->shape.h * t->stride_d +
                               rows % t->shape.h * t->stride_h + w * t->stride_w + c;
            if (k && used[at])
                return true;
            used[at] = 1;
        }
    }
    return false;
}

static void test_overlap(void)
{
    uint64_t random = 3;
    const struct vrt_tensor t = whole(0), other = whole(1), none = VRT_TENSOR_NONE;
    int n_overlapping = 0;

    expect_true(!vrt_tensor_overlaps(&t, &other));
    expect_true(!vrt_tensor_overlaps(&t, &none));
    for (int i = 0; i < 5000; i++) {
        struct vrt_tensor v[2];
        for (int k = 0; k < 2; k++) {
            int r[8];
            for (int m = 0; m < 8; m++) {
                random = random * 6364136223846793005u + 1442695040888963407u;
                r[m] = (int)(random >> 40 & 0xffff);
            }
            const int f = r[0] % 4, y = r[1] % 6, x = r[2] % 8, c = r[3] % 10;
            v[k] = vrt_tensor_frames(&t, f, 1 + r[4] % (4 - f));
            v[k] = vrt_tensor_crop(&v[k], y, x, 1 + r[5] % (6 - y), 1 + r[6] % (8 - x));
            v[k] = vrt_tensor_channels(&v[k], c, 1 + r[7] % (10 - c));
        }
        const bool overlap = really_overlap(&v[0], &v[1]);
        expect_int(vrt_tensor_overlaps(&v[0], &v[1]), overlap);
        n_overlapping += overlap;
    }
    expect_true(n_overlapping > 100 && n_overlapping < 4900);

    /* Unlike strides: extents decide. */
    struct vrt_tensor line = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, 3, 2 });
    line.storage = 0;
    line.offset = 1914;
    expect_true(vrt_tensor_overlaps(&line, &t));
    line.offset = 1920;
    expect_true(!vrt_tensor_overlaps(&line, &t));
}

static void test_tensor_check(void)
{
    struct vrt_tensor t = whole(0);

    expect_true(vrt_tensor_check(&t) == NULL);
    t.shape.h = 0;
    expect_contains(vrt_tensor_check(&t), "dimension");
    t = whole(0);
    t.shape.w = 1 << 21;
    expect_contains(vrt_tensor_check(&t), "dimension");
    t = whole(0);
    t.stride_w = 9;
    expect_contains(vrt_tensor_check(&t), "stride");
    t = whole(0);
    t.stride_d = INT64_MAX;
    expect_contains(vrt_tensor_check(&t), "stride");
    t = whole(0);
    t.offset = -1;
    expect_contains(vrt_tensor_check(&t), "offset");
    t = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1 << 20, 1 << 20, 1 << 20, 1 << 20 });
    expect_true(vrt_tensor_check(&t) != NULL);
    t = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1 << 16, 1 << 16, 1 << 4, 1 });
    expect_true(vrt_tensor_check(&t) == NULL);
}

/* An op of each kind that is right. */
static struct vrt_op good_op(enum vrt_op_kind kind)
{
    const struct vrt_shape shapes[][3] = {      /* in[0], in[1] (h 0: none), out */
        [VRT_OP_CONV2D] = { { 1, 4, 6, 8 }, { 1, 4, 6, 5 }, { 1, 4, 6, 5 } },
        [VRT_OP_DEPTH_TO_SPACE] = { { 1, 4, 6, 12 }, { 1, 4, 6, 3 }, { 1, 8, 12, 3 } },
        [VRT_OP_SPACE_TO_DEPTH] = { { 1, 8, 12, 3 }, { 0 }, { 1, 4, 6, 12 } },
        [VRT_OP_RESIZE] = { { 1, 4, 6, 8 }, { 0 }, { 1, 5, 5, 8 } },
        [VRT_OP_CONCAT] = { { 1, 4, 6, 8 }, { 1, 4, 6, 3 }, { 1, 4, 6, 11 } },
        [VRT_OP_ADD] = { { 1, 4, 6, 8 }, { 1, 4, 6, 8 }, { 1, 4, 6, 8 } },
        [VRT_OP_COPY] = { { 1, 4, 6, 8 }, { 0 }, { 1, 4, 6, 8 } },
        [VRT_OP_PAD] = { { 1, 4, 6, 8 }, { 0 }, { 1, 5, 9, 8 } },
        [VRT_OP_YUV_TO_RGB] = { { 1, 5, 7, 1 }, { 1, 3, 4, 1 }, { 1, 5, 7, 3 } },
        [VRT_OP_RGB_TO_YUV] = { { 1, 5, 7, 3 }, { 0 }, { 1, 5, 7, 1 } },
        [VRT_OP_RANGE] = { { 2, 4, 6, 8 }, { 0 }, { 2, 1, 1, 4 } },
    };
    struct vrt_op op = { .kind = kind, .n_in = shapes[kind][1].h ? 2 : 1 };

    op.in[0] = vrt_tensor_dense(VRT_DTYPE_F32, shapes[kind][0]);
    op.in[1] = vrt_tensor_dense(VRT_DTYPE_F32, shapes[kind][1]);
    op.out = vrt_tensor_dense(VRT_DTYPE_F32, shapes[kind][2]);
    if (kind == VRT_OP_CONV2D)
        op.conv2d = (struct vrt_op_conv2d){ .kernel = 3, .bias = -1, .scale = 1 };
    if (kind == VRT_OP_DEPTH_TO_SPACE || kind == VRT_OP_SPACE_TO_DEPTH)
        op.depth_to_space.r = 2;
    if (kind == VRT_OP_YUV_TO_RGB || kind == VRT_OP_RGB_TO_YUV)
        op.colour = (struct vrt_op_colour){ .layout = VRT_PLANES_YUV, .depth = 8, .shift_x = 1,
                                            .shift_y = 1 };
    if (kind == VRT_OP_YUV_TO_RGB) {
        op.n_in = 3;
        op.in[0].dtype = op.in[1].dtype = VRT_DTYPE_U8;
        op.in[2] = op.in[1];
    }
    if (kind == VRT_OP_RGB_TO_YUV) {
        op.out.dtype = VRT_DTYPE_U8;
        op.out_more[0] = vrt_tensor_dense(VRT_DTYPE_U8, (struct vrt_shape){ 1, 3, 4, 1 });
        op.out_more[1] = op.out_more[0];
        op.out_more[0].storage = 5;
        op.out_more[1].storage = 6;
    }
    for (int i = 0; i < op.n_in; i++)
        op.in[i].storage = i;
    op.out.storage = 4;
    return op;
}

static void test_good_ops(void)
{
    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
        struct vrt_op op = good_op((enum vrt_op_kind)kind);
        expect_int(vrt_op_check(&op), 0);
        expect_true(vrt_op_flops(&op) >= 0);
        expect_true(strcmp(vrt_op_kind_name(op.kind), "unknown") != 0);
        expect_int(vrt_op_n_out(&op), kind == VRT_OP_RGB_TO_YUV ? 3 : 1);
    }
    expect_str(vrt_op_kind_name(VRT_OP_KIND_COUNT), "unknown");
    struct vrt_op conv = good_op(VRT_OP_CONV2D);
    expect_int(vrt_op_flops(&conv), 2 * 4 * 6 * 5 * 8 * 9);
    struct vrt_op shuffle = good_op(VRT_OP_DEPTH_TO_SPACE);
    expect_int(vrt_op_flops(&shuffle), 8 * 12 * 3);
    shuffle.in[1] = VRT_TENSOR_NONE;
    expect_int(vrt_op_check(&shuffle), 0);
    expect_true(vrt_op_in(&shuffle, 1) == NULL);
    expect_int(vrt_op_flops(&shuffle), 0);
}

/* Each takes a good op and spoils it in one way. */
#define BAD(name, change)                       \
    static void bad_##name(struct vrt_op *op)   \
    {                                           \
        change;                                 \
    }

BAD(kind, op->kind = VRT_OP_KIND_COUNT)
BAD(no_input, op->n_in = 0)
BAD(many_inputs, op->n_in = VRT_OP_MAX_IN + 1)
BAD(absent_input, op->in[0] = VRT_TENSOR_NONE)
BAD(absent_output, op->out = VRT_TENSOR_NONE)
BAD(input_type, op->in[0].dtype = op->in[0].dtype == VRT_DTYPE_U8 ? VRT_DTYPE_F32 : VRT_DTYPE_U8)
BAD(input_no_type, op->in[0].dtype = VRT_DTYPE_COUNT)
BAD(output_no_type, op->out.dtype = VRT_DTYPE_COUNT)
BAD(input_size, op->in[0].shape.d = 0)
BAD(output_frames, op->out.shape.d += 1; op->out.stride_d = 100000)
BAD(output_channels, op->out.shape.c += 1; op->out.stride_w += 1; op->out.stride_h *= 2)
BAD(aliased, op->out.storage = 0)
BAD(kernel_even, op->conv2d.kernel = 4)
BAD(kernel_large, op->conv2d.kernel = 9)
BAD(residual, op->in[1].shape.c = 1)
BAD(weight, op->conv2d.weight = -1)
BAD(bias, op->conv2d.bias = -2)
BAD(slopes, op->conv2d.activation = VRT_ACTIVATION_PRELU; op->conv2d.slopes = -1)
BAD(activation, op->conv2d.activation = (enum vrt_activation)99)
BAD(r, op->depth_to_space.r = 3)
BAD(r_zero, op->depth_to_space.r = 0)
BAD(base, op->in[1].shape.w = 5)
BAD(mode, op->resize.mode = (enum vrt_resize_mode)7)
BAD(pad_mode, op->pad.mode = (enum vrt_pad_mode)7)
BAD(pad_top, op->pad.top = 2)
BAD(pad_left, op->pad.left = -1)
BAD(layout, op->colour.layout = (enum vrt_plane_layout)9)
BAD(matrix, op->colour.matrix = (enum vrt_yuv_matrix)9)
BAD(depth, op->colour.depth = 17)
BAD(depth_type, op->colour.depth = 10)
BAD(shift, op->colour.shift_x = 3)
BAD(gbr_shift, op->colour.layout = VRT_PLANES_GBR)
BAD(gray_planes, op->colour.layout = VRT_PLANES_GRAY; op->colour.shift_x = op->colour.shift_y = 0)
BAD(chroma_size, op->colour.shift_x = 0)
BAD(more_absent, op->out_more[1] = VRT_TENSOR_NONE)
BAD(more_aliased, op->out_more[1].storage = op->out_more[0].storage)
BAD(copy_type, op->out.dtype = VRT_DTYPE_U16)

static void test_bad_ops(void)
{
    static const struct {
        void (*spoil)(struct vrt_op *op);
        enum vrt_op_kind kind;          /* VRT_OP_KIND_COUNT: any */
    } bads[] = {
        { bad_kind, VRT_OP_KIND_COUNT },        { bad_no_input, VRT_OP_KIND_COUNT },
        { bad_many_inputs, VRT_OP_KIND_COUNT }, { bad_absent_input, VRT_OP_KIND_COUNT },
        { bad_absent_output, VRT_OP_KIND_COUNT }, { bad_input_type, VRT_OP_KIND_COUNT },
        { bad_input_no_type, VRT_OP_KIND_COUNT }, { bad_output_no_type, VRT_OP_KIND_COUNT },
        { bad_input_size, VRT_OP_KIND_COUNT },  { bad_output_frames, VRT_OP_KIND_COUNT },
        { bad_output_channels, VRT_OP_ADD },    { bad_output_channels, VRT_OP_CONCAT },
        { bad_output_channels, VRT_OP_RESIZE }, { bad_output_channels, VRT_OP_YUV_TO_RGB },
        { bad_output_channels, VRT_OP_PAD },    { bad_output_channels, VRT_OP_RANGE },
        { bad_aliased, VRT_OP_KIND_COUNT },     { bad_kernel_even, VRT_OP_CONV2D },
        { bad_kernel_large, VRT_OP_CONV2D },    { bad_residual, VRT_OP_CONV2D },
        { bad_weight, VRT_OP_CONV2D },          { bad_bias, VRT_OP_CONV2D },
        { bad_slopes, VRT_OP_CONV2D },          { bad_activation, VRT_OP_CONV2D },
        { bad_r, VRT_OP_DEPTH_TO_SPACE },       { bad_r_zero, VRT_OP_SPACE_TO_DEPTH },
        { bad_base, VRT_OP_DEPTH_TO_SPACE },    { bad_mode, VRT_OP_RESIZE },
        { bad_pad_mode, VRT_OP_PAD },           { bad_pad_top, VRT_OP_PAD },
        { bad_pad_left, VRT_OP_PAD },           { bad_layout, VRT_OP_YUV_TO_RGB },
        { bad_matrix, VRT_OP_RGB_TO_YUV },      { bad_depth, VRT_OP_RGB_TO_YUV },
        { bad_depth_type, VRT_OP_YUV_TO_RGB },  { bad_shift, VRT_OP_YUV_TO_RGB },
        { bad_gbr_shift, VRT_OP_YUV_TO_RGB },   { bad_gray_planes, VRT_OP_YUV_TO_RGB },
        { bad_chroma_size, VRT_OP_RGB_TO_YUV }, { bad_more_absent, VRT_OP_RGB_TO_YUV },
        { bad_more_aliased, VRT_OP_RGB_TO_YUV }, { bad_copy_type, VRT_OP_COPY },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(bads); i++)
        for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
            if (bads[i].kind != VRT_OP_KIND_COUNT && (int)bads[i].kind != kind)
                continue;
            struct vrt_op op = good_op((enum vrt_op_kind)kind);
            bads[i].spoil(&op);
            if (vrt_op_check(&op) != -EINVAL)
                test_fail("bads[%zu] of %s passed", i, vrt_op_kind_name((enum vrt_op_kind)kind));
        }
}

static void test_names(void)
{
    expect_str(vrt_dtype_name(VRT_DTYPE_BF16), "bf16");
    expect_str(vrt_dtype_name(VRT_DTYPE_COUNT), "unknown");
    expect_str(vrt_device_kind_name(VRT_DEVICE_MPS), "mps");
    expect_str(vrt_device_kind_name(VRT_DEVICE_KIND_COUNT), "unknown");
    expect_str(vrt_precision_name(VRT_PRECISION_AUTO), "auto");
    expect_str(vrt_precision_name(VRT_PRECISION_COUNT), "unknown");
    expect_contains(vrt_backend_strerror(VRT_BACKEND_E_NOMEM), "out of device memory");
    expect_contains(vrt_backend_strerror(VRT_BACKEND_E_LOST), "lost");
    expect_str(vrt_backend_strerror(99), "unknown outcome");
    expect_str(vrt_backend_strerror(-EINVAL), strerror(EINVAL));
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "f16", test_f16 },           { "f16-rounding", test_f16_rounding },
        { "bf16", test_bf16 },         { "views", test_views },
        { "overlap", test_overlap },   { "tensor-check", test_tensor_check },
        { "good-ops", test_good_ops }, { "bad-ops", test_bad_ops },
        { "names", test_names },
    };
    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
