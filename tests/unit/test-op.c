/* SPDX-License-Identifier: MIT */
/* Ops: what each costs and is called, and that wrongly built ones are refused. */

#include "tests/unit/test.h"

#include <errno.h>
#include <string.h>

#include "backend/op.h"
#include "base/macro.h"

/* Those that zeros are no good for. */
static void set_attributes(struct vrt_op *op)
{
    switch (op->kind) {
    case VRT_OP_CONV2D:
        op->conv2d = (struct vrt_op_conv2d){ .kernel = 3, .bias = -1, .scale = 1 };
        break;
    case VRT_OP_WINDOW_ATTENTION:
        op->window_attention = (struct vrt_op_window_attention){
            .heads = 2, .window = { 2, 3, 3 }, .norm = { -1, -1 }, .mutual = 0,
        };
        break;
    case VRT_OP_GEGLU:
        op->geglu.hidden = 16;
        break;
    case VRT_OP_DEFORM_CONV2D:
        op->deform_conv2d = (struct vrt_op_deform_conv2d){ .groups = 2, .offset_groups = 4 };
        break;
    case VRT_OP_FLOW_OFFSETS:
        op->flow_offsets = (struct vrt_op_flow_offsets){ .max_residue = 10, .offset_groups = 4 };
        break;
    case VRT_OP_DEPTH_TO_SPACE:
    case VRT_OP_SPACE_TO_DEPTH:
        op->depth_to_space.r = 2;
        break;
    case VRT_OP_YUV_TO_RGB:
    case VRT_OP_RGB_TO_YUV:
        op->colour = (struct vrt_op_colour){ .layout = VRT_PLANES_YUV, .depth = 8, .shift_x = 1,
                                             .shift_y = 1 };
        break;
    default:
        break;
    }
}

/* An op of each kind that is right. */
static struct vrt_op good_op(enum vrt_op_kind kind)
{
    const struct vrt_shape shapes[][3] = {      /* in[0], in[1] (h 0: none), out */
        [VRT_OP_CONV2D] = { { 1, 4, 6, 8 }, { 1, 4, 6, 5 }, { 1, 4, 6, 5 } },
        [VRT_OP_LINEAR] = { { 1, 4, 6, 8 }, { 1, 4, 6, 5 }, { 1, 4, 6, 5 } },
        [VRT_OP_LAYERNORM] = { { 1, 4, 6, 8 }, { 0 }, { 1, 4, 6, 8 } },
        [VRT_OP_WINDOW_ATTENTION] = { { 3, 4, 6, 8 }, { 0 }, { 3, 4, 6, 8 } },
        [VRT_OP_GEGLU] = { { 1, 4, 6, 8 }, { 1, 4, 6, 5 }, { 1, 4, 6, 5 } },
        [VRT_OP_DEFORM_CONV2D] = { { 1, 4, 6, 8 }, { 1, 4, 6, 108 }, { 1, 4, 6, 6 } },
        [VRT_OP_FLOW_OFFSETS] = { { 1, 4, 6, 108 }, { 1, 4, 6, 2 }, { 1, 4, 6, 108 } },
        [VRT_OP_WARP] = { { 1, 4, 6, 8 }, { 1, 4, 6, 2 }, { 1, 4, 6, 8 } },
        [VRT_OP_DEPTH_TO_SPACE] = { { 1, 4, 6, 12 }, { 1, 4, 6, 3 }, { 1, 8, 12, 3 } },
        [VRT_OP_SPACE_TO_DEPTH] = { { 1, 8, 12, 3 }, { 0 }, { 1, 4, 6, 12 } },
        [VRT_OP_RESIZE] = { { 1, 4, 6, 8 }, { 0 }, { 1, 5, 5, 8 } },
        [VRT_OP_AVGPOOL2] = { { 1, 4, 6, 8 }, { 0 }, { 1, 2, 3, 8 } },
        [VRT_OP_CONCAT] = { { 1, 4, 6, 8 }, { 1, 4, 6, 3 }, { 1, 4, 6, 11 } },
        [VRT_OP_ADD] = { { 1, 4, 6, 8 }, { 1, 4, 6, 8 }, { 1, 4, 6, 8 } },
        [VRT_OP_AFFINE] = { { 1, 4, 6, 4 }, { 0 }, { 1, 4, 6, 4 } },
        [VRT_OP_MEAN] = { { 2, 4, 6, 8 }, { 0 }, { 1, 1, 1, 8 } },
        [VRT_OP_FILL] = { { 0 }, { 0 }, { 1, 4, 6, 8 } },
        [VRT_OP_COPY] = { { 1, 4, 6, 8 }, { 0 }, { 1, 4, 6, 8 } },
        [VRT_OP_PAD] = { { 1, 4, 6, 8 }, { 0 }, { 1, 5, 9, 8 } },
        [VRT_OP_YUV_TO_RGB] = { { 1, 5, 7, 1 }, { 1, 3, 4, 1 }, { 1, 5, 7, 3 } },
        [VRT_OP_RGB_TO_YUV] = { { 1, 5, 7, 3 }, { 0 }, { 1, 5, 7, 1 } },
        [VRT_OP_RANGE] = { { 2, 4, 6, 8 }, { 0 }, { 2, 1, 1, 4 } },
    };
    struct vrt_op op = { .kind = kind };

    for (int i = 0; i < 2; i++) {
        op.in[i] = vrt_tensor_dense(VRT_DTYPE_F32, shapes[kind][i]);
        op.n_in += shapes[kind][i].h > 0;
    }
    op.out = vrt_tensor_dense(VRT_DTYPE_F32, shapes[kind][2]);
    set_attributes(&op);
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
            /* fill has no input that could be wrong. */
            if (bads[i].kind != VRT_OP_KIND_COUNT ? (int)bads[i].kind != kind
                                                  : kind == VRT_OP_FILL)
                continue;
            struct vrt_op op = good_op((enum vrt_op_kind)kind);
            bads[i].spoil(&op);
            if (vrt_op_check(&op) != -EINVAL)
                test_fail("bads[%zu] of %s passed", i, vrt_op_kind_name((enum vrt_op_kind)kind));
        }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "good-ops", test_good_ops },
        { "bad-ops", test_bad_ops },
    };
    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
