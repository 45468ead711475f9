/* SPDX-License-Identifier: MIT */
/* Ops: what each costs and is called, and that wrongly built ones are refused. */

#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "backend/op-params.h"
#include "backend/op/op.h"
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
        [VRT_OP_GATE] = { { 1, 4, 6, 8 }, { 1, 4, 6, 8 }, { 1, 4, 6, 8 } },
        [VRT_OP_BLEND] = { { 1, 4, 6, 8 }, { 1, 4, 1, 1 }, { 1, 4, 6, 8 } },
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
    if (kind == VRT_OP_BLEND) {
        op.n_in = 3;
        op.in[2] = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, 6, 1 });
    }
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
    struct vrt_op linear = good_op(VRT_OP_LINEAR);
    expect_int(vrt_op_flops(&linear), 2 * 4 * 6 * 5 * 8);
    struct vrt_op geglu = good_op(VRT_OP_GEGLU);
    expect_int(vrt_op_flops(&geglu), 2 * 4 * 6 * (2 * 8 * 16 + 16 * 5));
}

/* Windows are cut to the clip and then not shifted, each dimension by itself. */
static void test_window(void)
{
    struct vrt_op op = good_op(VRT_OP_WINDOW_ATTENTION);
    int window[3], shift[3];

    op.window_attention.window[0] = 4;      /* of a clip [3,4,6] */
    op.window_attention.window[1] = 4;
    op.window_attention.window[2] = 5;
    op.window_attention.shifted = true;
    vrt_op_window(&op, window, shift);
    expect_int(window[0], 3);
    expect_int(shift[0], 0);
    expect_int(window[1], 4);
    expect_int(shift[1], 0);
    expect_int(window[2], 5);
    expect_int(shift[2], 2);
    op.window_attention.shifted = false;
    vrt_op_window(&op, window, shift);
    expect_int(window[2], 5);
    expect_int(shift[2], 0);
}

/* What op.h says of each op's params, the op being good_op(): all of them, in their order. */
static void test_params(void)
{
    static const struct {
        enum vrt_op_kind kind;
        const char *name;
        enum vrt_param_use use;
        int dims[4];
    } wants[] = {
        { VRT_OP_CONV2D, "weight", VRT_PARAM_WEIGHT, { 5, 8, 3, 3 } },
        { VRT_OP_LINEAR, "norm's weight", VRT_PARAM_WEIGHT, { 8 } },
        { VRT_OP_LINEAR, "norm's bias", VRT_PARAM_WEIGHT, { 8 } },
        { VRT_OP_LINEAR, "weight", VRT_PARAM_WEIGHT, { 5, 8 } },
        { VRT_OP_LINEAR, "bias", VRT_PARAM_WEIGHT, { 5 } },
        { VRT_OP_LAYERNORM, "norm's weight", VRT_PARAM_WEIGHT, { 8 } },
        { VRT_OP_LAYERNORM, "norm's bias", VRT_PARAM_WEIGHT, { 8 } },
        { VRT_OP_WINDOW_ATTENTION, "qkv", VRT_PARAM_WEIGHT, { 24, 8 } },
        { VRT_OP_WINDOW_ATTENTION, "qkv bias", VRT_PARAM_WEIGHT, { 24 } },
        { VRT_OP_WINDOW_ATTENTION, "bias table", VRT_PARAM_TABLE, { 75, 2 } },
        { VRT_OP_WINDOW_ATTENTION, "mutual qkv", VRT_PARAM_WEIGHT, { 24, 8 } },
        { VRT_OP_WINDOW_ATTENTION, "mutual qkv bias", VRT_PARAM_WEIGHT, { 24 } },
        { VRT_OP_WINDOW_ATTENTION, "position", VRT_PARAM_TABLE, { 9, 8 } },
        { VRT_OP_WINDOW_ATTENTION, "proj", VRT_PARAM_WEIGHT, { 8, 16 } },
        { VRT_OP_WINDOW_ATTENTION, "proj bias", VRT_PARAM_WEIGHT, { 8 } },
        { VRT_OP_GEGLU, "norm's weight", VRT_PARAM_WEIGHT, { 8 } },
        { VRT_OP_GEGLU, "norm's bias", VRT_PARAM_WEIGHT, { 8 } },
        { VRT_OP_GEGLU, "fc11", VRT_PARAM_WEIGHT, { 16, 8 } },
        { VRT_OP_GEGLU, "fc11 bias", VRT_PARAM_WEIGHT, { 16 } },
        { VRT_OP_GEGLU, "fc12", VRT_PARAM_WEIGHT, { 16, 8 } },
        { VRT_OP_GEGLU, "fc12 bias", VRT_PARAM_WEIGHT, { 16 } },
        { VRT_OP_GEGLU, "fc2", VRT_PARAM_WEIGHT, { 5, 16 } },
        { VRT_OP_GEGLU, "fc2 bias", VRT_PARAM_WEIGHT, { 5 } },
        { VRT_OP_DEFORM_CONV2D, "weight", VRT_PARAM_WEIGHT_DEFORM, { 6, 4, 3, 3 } },
        { VRT_OP_DEFORM_CONV2D, "bias", VRT_PARAM_WEIGHT, { 6 } },
    };
    struct vrt_op_param params[VRT_OP_MAX_PARAMS];
    struct vrt_op op;
    size_t n_wanted = 0;

    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
        op = good_op((enum vrt_op_kind)kind);
        const int n = vrt_op_params(&op, params);
        for (int i = 0; i < n; i++, n_wanted++) {
            expect_true(n_wanted < VRT_ARRAY_SIZE(wants));
            expect_int(kind, wants[n_wanted].kind);
            expect_str(params[i].name, wants[n_wanted].name);
            expect_int(params[i].use, wants[n_wanted].use);
            for (int k = 0; k < 4; k++)
                expect_int(k < params[i].n_dims ? params[i].dims[k] : 0, wants[n_wanted].dims[k]);
        }
    }
    expect_int(n_wanted, VRT_ARRAY_SIZE(wants));

    /* Without what an op may do without, and with what one may need. */
    op = good_op(VRT_OP_WINDOW_ATTENTION);
    op.window_attention.mutual = -1;
    op.window_attention.qkv_bias = op.window_attention.proj_bias = -1;
    expect_int(vrt_op_params(&op, params), 3);
    expect_int(params[2].dims[1], 8);
    op = good_op(VRT_OP_CONV2D);
    op.conv2d.activation = VRT_ACTIVATION_PRELU;
    expect_int(vrt_op_params(&op, params), 2);
    expect_str(params[1].name, "slopes");
    expect_int(params[1].dims[0], 5);
}

/* An op's weights are all of one type; of each op but these it is f32, for it has none. */
static void test_weights(void)
{
    static const struct {
        enum vrt_op_kind kind;
        int n;
    } wants[] = {
        { VRT_OP_CONV2D, 1 }, { VRT_OP_LINEAR, 1 },        { VRT_OP_WINDOW_ATTENTION, 3 },
        { VRT_OP_GEGLU, 3 },  { VRT_OP_DEFORM_CONV2D, 1 }, { VRT_OP_LAYERNORM, 0 },
        { VRT_OP_BLEND, 0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(wants); i++) {
        struct vrt_param params[VRT_OP_MAX_WEIGHTS];
        struct vrt_op op = good_op(wants[i].kind);
        int indices[VRT_OP_MAX_WEIGHTS];

        for (int k = 0; k < VRT_OP_MAX_WEIGHTS; k++)
            params[k] = (struct vrt_param){ .n_dims = 2, .use = VRT_PARAM_WEIGHT };
        if (op.kind == VRT_OP_WINDOW_ATTENTION) {
            op.window_attention.qkv = 2;
            op.window_attention.proj = 1;
        }
        if (op.kind == VRT_OP_GEGLU) {
            op.geglu.fc12 = 1;
            op.geglu.fc2 = 2;
        }
        expect_int(vrt_op_weights(&op, indices), wants[i].n);
        expect_true(!vrt_op_find_weights(&op, params, 3, VRT_DTYPE_F16));
        expect_int(op.weight_dtype, wants[i].n ? VRT_DTYPE_F16 : VRT_DTYPE_F32);
        expect_true(!op.is_exact);

        /* One after the other is kept as f32, and then none is there at all. */
        for (int k = 0; k < wants[i].n; k++) {
            params[indices[k]].use = VRT_PARAM_WEIGHT_F32;
            const bool is_mixed = k + 1 < wants[i].n;
            expect_int(vrt_op_find_weights(&op, params, 3, VRT_DTYPE_F16) != NULL, is_mixed);
            expect_int(op.weight_dtype, is_mixed ? VRT_DTYPE_F16 : VRT_DTYPE_F32);
            expect_int(op.is_exact, !is_mixed);
        }
        expect_int(vrt_op_find_weights(&op, params, 0, VRT_DTYPE_F16) != NULL, wants[i].n > 0);
    }
    struct vrt_op op = good_op(VRT_OP_WINDOW_ATTENTION);
    int indices[VRT_OP_MAX_WEIGHTS];
    op.window_attention.mutual = -1;
    expect_int(vrt_op_weights(&op, indices), 2);
}

/* Each takes a good op and spoils it in one way. */
#define BAD(name, ...)                          \
    static void bad_##name(struct vrt_op *op)   \
    {                                           \
        __VA_ARGS__;                            \
    }

BAD(kind, op->kind = VRT_OP_KIND_COUNT)
BAD(no_input, op->n_in = 0)
BAD(many_inputs, op->n_in = VRT_OP_MAX_IN + 1)
BAD(absent_input, op->in[0] = VRT_TENSOR_NONE)
BAD(weight_type, op->weight_dtype = VRT_DTYPE_U8)
BAD(weight_no_type, op->weight_dtype = VRT_DTYPE_COUNT)
BAD(weight_other_type, op->weight_dtype = VRT_DTYPE_F16)
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
BAD(order, op->depth_to_space.order = (enum vrt_shuffle_order)2)
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
BAD(norm, op->linear.norm.bias = -1)
BAD(linear_weight, op->linear.weight = -1)
BAD(linear_bias, op->linear.bias = -2)
BAD(linear_activation, op->linear.activation = VRT_ACTIVATION_RELU)
BAD(no_norm, op->layernorm.norm.weight = -1)
BAD(heads, op->window_attention.heads = 3)
BAD(no_heads, op->window_attention.heads = 0)
BAD(window_zero, op->window_attention.window[1] = 0)
BAD(window_large, op->window_attention.window[1] = op->window_attention.window[2] = 32)
BAD(qkv, op->window_attention.qkv = -1)
BAD(table, op->window_attention.bias_table = -1)
BAD(mutual, op->window_attention.mutual = -2)
BAD(mutual_frames, op->window_attention.window[0] = 3)
BAD(mutual_rows, op->window_attention.window[1] = 5)
BAD(position, op->window_attention.position = -1)
BAD(no_hidden, op->geglu.hidden = 0)
BAD(fc12, op->geglu.fc12 = -1)
BAD(fc2_bias, op->geglu.fc2_bias = -2)
BAD(groups, op->deform_conv2d.groups = 4)
BAD(no_groups, op->deform_conv2d.groups = 0)
BAD(offset_groups, op->deform_conv2d.offset_groups = 2)
BAD(offset_groups_odd, op->deform_conv2d.offset_groups = 1; op->in[1].shape.c = 27)
BAD(second_type, op->in[1].dtype = VRT_DTYPE_BF16)
BAD(second_channels, op->in[1].shape.c -= 1)
BAD(second_rows, op->in[1].shape.h -= 1)
BAD(deform_weight, op->deform_conv2d.weight = -1)
BAD(three_flows, op->n_in = 4; op->in[2] = op->in[3] = op->in[1]; op->in[3].storage = 3)
BAD(residue, op->flow_offsets.max_residue = HUGE_VALF)
BAD(gate, op->gate.shift = HUGE_VALF)
BAD(flow_groups, op->flow_offsets.offset_groups = 3)
BAD(output_type, op->out.dtype = VRT_DTYPE_BF16)
BAD(warp_mode, op->warp.mode = (enum vrt_warp_mode)3)
BAD(warp_nearest4, op->warp.mode = VRT_WARP_NEAREST4)
BAD(many_channels, op->in[0] = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 4, 6, 5 });
    op->out = op->in[0]; op->in[0].storage = 0; op->out.storage = 4)
BAD(value, op->fill.value = NAN)
BAD(an_input, op->n_in = 1; op->in[0] = op->out; op->in[0].storage = 0)
BAD(broadcast_channels, op->in[0].shape = (struct vrt_shape){ 1, 1, 1, 7 })
BAD(broadcast_second, op->in[1].shape = (struct vrt_shape){ 1, 1, 1, 8 })
BAD(columns, op->in[2].shape.w = 5)
BAD(acc, op->n_in = 4; op->in[3] = op->in[1]; op->in[3].storage = 3)

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
        { bad_weight_type, VRT_OP_KIND_COUNT }, { bad_weight_no_type, VRT_OP_KIND_COUNT },
        { bad_weight_other_type, VRT_OP_CONV2D },
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
        { bad_order, VRT_OP_DEPTH_TO_SPACE },   { bad_order, VRT_OP_SPACE_TO_DEPTH },
        { bad_norm, VRT_OP_LINEAR },            { bad_linear_weight, VRT_OP_LINEAR },
        { bad_linear_bias, VRT_OP_LINEAR },     { bad_linear_activation, VRT_OP_LINEAR },
        { bad_residual, VRT_OP_LINEAR },        { bad_residual, VRT_OP_GEGLU },
        { bad_no_norm, VRT_OP_LAYERNORM },      { bad_output_channels, VRT_OP_LAYERNORM },
        { bad_heads, VRT_OP_WINDOW_ATTENTION }, { bad_no_heads, VRT_OP_WINDOW_ATTENTION },
        { bad_window_zero, VRT_OP_WINDOW_ATTENTION },
        { bad_window_large, VRT_OP_WINDOW_ATTENTION },
        { bad_qkv, VRT_OP_WINDOW_ATTENTION },   { bad_table, VRT_OP_WINDOW_ATTENTION },
        { bad_mutual, VRT_OP_WINDOW_ATTENTION }, { bad_mutual_rows, VRT_OP_WINDOW_ATTENTION },
        { bad_mutual_frames, VRT_OP_WINDOW_ATTENTION },
        { bad_position, VRT_OP_WINDOW_ATTENTION },
        { bad_output_channels, VRT_OP_WINDOW_ATTENTION },
        { bad_no_hidden, VRT_OP_GEGLU },        { bad_fc12, VRT_OP_GEGLU },
        { bad_fc2_bias, VRT_OP_GEGLU },         { bad_groups, VRT_OP_DEFORM_CONV2D },
        { bad_no_groups, VRT_OP_DEFORM_CONV2D }, { bad_offset_groups, VRT_OP_DEFORM_CONV2D },
        { bad_offset_groups_odd, VRT_OP_DEFORM_CONV2D },
        { bad_second_type, VRT_OP_DEFORM_CONV2D }, { bad_second_type, VRT_OP_FLOW_OFFSETS },
        { bad_second_type, VRT_OP_WARP },       { bad_second_type, VRT_OP_BLEND },
        { bad_second_channels, VRT_OP_FLOW_OFFSETS }, { bad_second_channels, VRT_OP_WARP },
        { bad_second_rows, VRT_OP_DEFORM_CONV2D }, { bad_second_rows, VRT_OP_FLOW_OFFSETS },
        { bad_second_rows, VRT_OP_WARP },       { bad_second_rows, VRT_OP_BLEND },
        { bad_deform_weight, VRT_OP_DEFORM_CONV2D }, { bad_three_flows, VRT_OP_FLOW_OFFSETS },
        { bad_residue, VRT_OP_FLOW_OFFSETS },   { bad_flow_groups, VRT_OP_FLOW_OFFSETS },
        { bad_output_type, VRT_OP_FLOW_OFFSETS }, { bad_output_type, VRT_OP_MEAN },
        { bad_warp_mode, VRT_OP_WARP },         { bad_warp_nearest4, VRT_OP_WARP },
        { bad_output_channels, VRT_OP_AVGPOOL2 }, { bad_many_channels, VRT_OP_AFFINE },
        { bad_value, VRT_OP_FILL },             { bad_an_input, VRT_OP_FILL },
        { bad_absent_output, VRT_OP_FILL },     { bad_output_no_type, VRT_OP_FILL },
        { bad_broadcast_channels, VRT_OP_ADD }, { bad_broadcast_second, VRT_OP_ADD },
        { bad_columns, VRT_OP_BLEND },          { bad_acc, VRT_OP_BLEND },
        { bad_second_rows, VRT_OP_GATE },       { bad_gate, VRT_OP_GATE },
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

TEST_MAIN(
    { "good-ops", test_good_ops },
    { "bad-ops", test_bad_ops },
    { "window", test_window },
    { "params", test_params },
    { "weights", test_weights },
)
