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
    static const struct {
        enum vrt_op_kind kind;
        int64_t flops;
    } costs[] = {
        { VRT_OP_CONV2D, 2 * 4 * 6 * 5 * 8 * 9 }, { VRT_OP_DEPTH_TO_SPACE, 8 * 12 * 3 },
        { VRT_OP_LINEAR, 2 * 4 * 6 * 5 * 8 }, { VRT_OP_GEGLU, 2 * 4 * 6 * (2 * 8 * 16 + 16 * 5) },
    };

    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
        struct vrt_op op = good_op((enum vrt_op_kind)kind);
        expect_int(vrt_op_check(&op), 0);
        expect_true(vrt_op_flops(&op) >= 0);
        expect_true(strcmp(vrt_op_kind_name(op.kind), "unknown") != 0);
        expect_int(vrt_op_n_out(&op), kind == VRT_OP_RGB_TO_YUV ? 3 : 1);
    }
    expect_str(vrt_op_kind_name(VRT_OP_KIND_COUNT), "unknown");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(costs); i++) {
        const struct vrt_op op = good_op(costs[i].kind);
        expect_int(vrt_op_flops(&op), costs[i].flops);
    }
    struct vrt_op shuffle = good_op(VRT_OP_DEPTH_TO_SPACE);
    shuffle.in[1] = VRT_TENSOR_NONE;
    expect_int(vrt_op_check(&shuffle), 0);
    expect_true(vrt_op_in(&shuffle, 1) == NULL);
    expect_int(vrt_op_flops(&shuffle), 0);
}

/* Windows are cut to the clip and then not shifted, each dimension by itself. */
static void test_window(void)
{
    static const int wants[2][3] = { { 0, 0, 0 }, { 0, 0, 2 } };
    struct vrt_op op = good_op(VRT_OP_WINDOW_ATTENTION);
    int window[3], shift[3];

    op.window_attention.window[0] = 4;      /* of a clip [3,4,6] */
    op.window_attention.window[1] = 4;
    op.window_attention.window[2] = 5;
    for (int is_shifted = 0; is_shifted < 2; is_shifted++) {
        op.window_attention.shifted = is_shifted;
        vrt_op_window(&op, window, shift);
        for (int k = 0; k < 3; k++) {
            expect_int(window[k], 3 + k);
            expect_int(shift[k], wants[is_shifted][k]);
        }
    }
}

/* What op.h says of each op's params, the op being good_op(): all of them, in their order. */
static void test_params(void)
{
    enum { WEIGHT = VRT_PARAM_WEIGHT, TABLE = VRT_PARAM_TABLE, DEFORM = VRT_PARAM_WEIGHT_DEFORM };
    static const struct {
        const char *name;           /* NULL: there is no other */
        int use, dims[4];
    } wants[VRT_OP_KIND_COUNT][VRT_OP_MAX_PARAMS] = {
        [VRT_OP_CONV2D] = { { "weight", WEIGHT, { 5, 8, 3, 3 } } },
        [VRT_OP_LINEAR] = { { "norm's weight", WEIGHT, { 8 } }, { "norm's bias", WEIGHT, { 8 } },
            { "weight", WEIGHT, { 5, 8 } }, { "bias", WEIGHT, { 5 } } },
        [VRT_OP_LAYERNORM] = { { "norm's weight", WEIGHT, { 8 } },
            { "norm's bias", WEIGHT, { 8 } } },
        [VRT_OP_WINDOW_ATTENTION] = { { "qkv", WEIGHT, { 24, 8 } }, { "qkv bias", WEIGHT, { 24 } },
            { "bias table", TABLE, { 75, 2 } }, { "mutual qkv", WEIGHT, { 24, 8 } },
            { "mutual qkv bias", WEIGHT, { 24 } }, { "position", TABLE, { 9, 8 } },
            { "proj", WEIGHT, { 8, 16 } }, { "proj bias", WEIGHT, { 8 } } },
        [VRT_OP_GEGLU] = { { "norm's weight", WEIGHT, { 8 } }, { "norm's bias", WEIGHT, { 8 } },
            { "fc11", WEIGHT, { 16, 8 } }, { "fc11 bias", WEIGHT, { 16 } },
            { "fc12", WEIGHT, { 16, 8 } }, { "fc12 bias", WEIGHT, { 16 } },
            { "fc2", WEIGHT, { 5, 16 } }, { "fc2 bias", WEIGHT, { 5 } } },
        [VRT_OP_DEFORM_CONV2D] = { { "weight", DEFORM, { 6, 4, 3, 3 } },
            { "bias", WEIGHT, { 6 } } },
    };
    struct vrt_op_param params[VRT_OP_MAX_PARAMS];
    struct vrt_op op;

    for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
        op = good_op((enum vrt_op_kind)kind);
        const int n = vrt_op_params(&op, params);
        expect_true(!wants[kind][n].name);
        for (int i = 0; i < n; i++) {
            expect_str(params[i].name, wants[kind][i].name ? wants[kind][i].name : "none");
            expect_int(params[i].use, wants[kind][i].use);
            for (int k = 0; k < 4; k++)
                expect_int(k < params[i].n_dims ? params[i].dims[k] : 0, wants[kind][i].dims[k]);
        }
    }

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

/* Each takes a good op of one of these kinds and spoils it in one way. */
#define K(kind) (1u << VRT_OP_##kind)
#define ANY (~K(FILL))              /* fill has no input that could be wrong */

#define BADS(bad) \
    bad(kind, ANY, op->kind = VRT_OP_KIND_COUNT) \
    bad(no_input, ANY, op->n_in = 0) \
    bad(many_inputs, ANY, op->n_in = VRT_OP_MAX_IN + 1) \
    bad(absent_input, ANY, op->in[0] = VRT_TENSOR_NONE) \
    bad(weight_type, ANY, op->weight_dtype = VRT_DTYPE_U8) \
    bad(weight_no_type, ANY, op->weight_dtype = VRT_DTYPE_COUNT) \
    bad(weight_other_type, K(CONV2D), op->weight_dtype = VRT_DTYPE_F16) \
    bad(absent_output, ANY | K(FILL), op->out = VRT_TENSOR_NONE) \
    bad(input_type, ANY, \
        op->in[0].dtype = op->in[0].dtype == VRT_DTYPE_U8 ? VRT_DTYPE_F32 : VRT_DTYPE_U8) \
    bad(input_no_type, ANY, op->in[0].dtype = VRT_DTYPE_COUNT) \
    bad(output_no_type, ANY | K(FILL), op->out.dtype = VRT_DTYPE_COUNT) \
    bad(input_size, ANY, op->in[0].shape.d = 0) \
    bad(output_frames, ANY, op->out.shape.d += 1; op->out.stride_d = 100000) \
    bad(output_channels, K(ADD) | K(CONCAT) | K(RESIZE) | K(YUV_TO_RGB) | K(PAD) | K(RANGE) | \
        K(LAYERNORM) | K(WINDOW_ATTENTION) | K(AVGPOOL2), \
        op->out.shape.c += 1; op->out.stride_w += 1; op->out.stride_h *= 2) \
    bad(aliased, ANY, op->out.storage = 0) \
    bad(kernel_even, K(CONV2D), op->conv2d.kernel = 4) \
    bad(kernel_large, K(CONV2D), op->conv2d.kernel = 9) \
    bad(residual, K(CONV2D) | K(LINEAR) | K(GEGLU), op->in[1].shape.c = 1) \
    bad(weight, K(CONV2D), op->conv2d.weight = -1) \
    bad(bias, K(CONV2D), op->conv2d.bias = -2) \
    bad(slopes, K(CONV2D), op->conv2d.activation = VRT_ACTIVATION_PRELU; op->conv2d.slopes = -1) \
    bad(activation, K(CONV2D), op->conv2d.activation = (enum vrt_activation)99) \
    bad(r, K(DEPTH_TO_SPACE), op->depth_to_space.r = 3) \
    bad(r_zero, K(SPACE_TO_DEPTH), op->depth_to_space.r = 0) \
    bad(order, K(DEPTH_TO_SPACE) | K(SPACE_TO_DEPTH), \
        op->depth_to_space.order = (enum vrt_shuffle_order)2) \
    bad(base, K(DEPTH_TO_SPACE), op->in[1].shape.w = 5) \
    bad(mode, K(RESIZE), op->resize.mode = (enum vrt_resize_mode)7) \
    bad(pad_mode, K(PAD), op->pad.mode = (enum vrt_pad_mode)7) \
    bad(pad_top, K(PAD), op->pad.top = 2) \
    bad(pad_left, K(PAD), op->pad.left = -1) \
    bad(layout, K(YUV_TO_RGB), op->colour.layout = (enum vrt_plane_layout)9) \
    bad(matrix, K(RGB_TO_YUV), op->colour.matrix = (enum vrt_yuv_matrix)9) \
    bad(depth, K(RGB_TO_YUV), op->colour.depth = 17) \
    bad(depth_type, K(YUV_TO_RGB), op->colour.depth = 10) \
    bad(shift, K(YUV_TO_RGB), op->colour.shift_x = 3) \
    bad(gbr_shift, K(YUV_TO_RGB), op->colour.layout = VRT_PLANES_GBR) \
    bad(gray_planes, K(YUV_TO_RGB), \
        op->colour.layout = VRT_PLANES_GRAY; op->colour.shift_x = op->colour.shift_y = 0) \
    bad(chroma_size, K(RGB_TO_YUV), op->colour.shift_x = 0) \
    bad(more_absent, K(RGB_TO_YUV), op->out_more[1] = VRT_TENSOR_NONE) \
    bad(more_aliased, K(RGB_TO_YUV), op->out_more[1].storage = op->out_more[0].storage) \
    bad(copy_type, K(COPY), op->out.dtype = VRT_DTYPE_U16) \
    bad(norm, K(LINEAR), op->linear.norm.bias = -1) \
    bad(linear_weight, K(LINEAR), op->linear.weight = -1) \
    bad(linear_bias, K(LINEAR), op->linear.bias = -2) \
    bad(linear_activation, K(LINEAR), op->linear.activation = VRT_ACTIVATION_RELU) \
    bad(no_norm, K(LAYERNORM), op->layernorm.norm.weight = -1) \
    bad(heads, K(WINDOW_ATTENTION), op->window_attention.heads = 3) \
    bad(no_heads, K(WINDOW_ATTENTION), op->window_attention.heads = 0) \
    bad(window_zero, K(WINDOW_ATTENTION), op->window_attention.window[1] = 0) \
    bad(window_large, K(WINDOW_ATTENTION), \
        op->window_attention.window[1] = op->window_attention.window[2] = 32) \
    bad(qkv, K(WINDOW_ATTENTION), op->window_attention.qkv = -1) \
    bad(table, K(WINDOW_ATTENTION), op->window_attention.bias_table = -1) \
    bad(mutual, K(WINDOW_ATTENTION), op->window_attention.mutual = -2) \
    bad(mutual_frames, K(WINDOW_ATTENTION), op->window_attention.window[0] = 3) \
    bad(mutual_rows, K(WINDOW_ATTENTION), op->window_attention.window[1] = 5) \
    bad(position, K(WINDOW_ATTENTION), op->window_attention.position = -1) \
    bad(no_hidden, K(GEGLU), op->geglu.hidden = 0) \
    bad(fc12, K(GEGLU), op->geglu.fc12 = -1) \
    bad(fc2_bias, K(GEGLU), op->geglu.fc2_bias = -2) \
    bad(groups, K(DEFORM_CONV2D), op->deform_conv2d.groups = 4) \
    bad(no_groups, K(DEFORM_CONV2D), op->deform_conv2d.groups = 0) \
    bad(offset_groups, K(DEFORM_CONV2D), op->deform_conv2d.offset_groups = 2) \
    bad(offset_groups_odd, K(DEFORM_CONV2D), \
        op->deform_conv2d.offset_groups = 1; op->in[1].shape.c = 27) \
    bad(second_type, K(DEFORM_CONV2D) | K(FLOW_OFFSETS) | K(WARP) | K(BLEND), \
        op->in[1].dtype = VRT_DTYPE_BF16) \
    bad(second_channels, K(FLOW_OFFSETS) | K(WARP), op->in[1].shape.c -= 1) \
    bad(second_rows, K(DEFORM_CONV2D) | K(FLOW_OFFSETS) | K(WARP) | K(BLEND) | K(GATE), \
        op->in[1].shape.h -= 1) \
    bad(deform_weight, K(DEFORM_CONV2D), op->deform_conv2d.weight = -1) \
    bad(three_flows, K(FLOW_OFFSETS), \
        op->n_in = 4; op->in[2] = op->in[3] = op->in[1]; op->in[3].storage = 3) \
    bad(residue, K(FLOW_OFFSETS), op->flow_offsets.max_residue = HUGE_VALF) \
    bad(gate, K(GATE), op->gate.shift = HUGE_VALF) \
    bad(flow_groups, K(FLOW_OFFSETS), op->flow_offsets.offset_groups = 3) \
    bad(output_type, K(FLOW_OFFSETS) | K(MEAN), op->out.dtype = VRT_DTYPE_BF16) \
    bad(warp_mode, K(WARP), op->warp.mode = (enum vrt_warp_mode)3) \
    bad(warp_nearest4, K(WARP), op->warp.mode = VRT_WARP_NEAREST4) \
    bad(many_channels, K(AFFINE), \
        op->in[0] = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){ 1, 4, 6, 5 }); op->out = \
        op->in[0]; op->in[0].storage = 0; op->out.storage = 4) \
    bad(value, K(FILL), op->fill.value = NAN) \
    bad(an_input, K(FILL), op->n_in = 1; op->in[0] = op->out; op->in[0].storage = 0) \
    bad(broadcast_channels, K(ADD), op->in[0].shape = (struct vrt_shape){ 1, 1, 1, 7 }) \
    bad(broadcast_second, K(ADD), op->in[1].shape = (struct vrt_shape){ 1, 1, 1, 8 }) \
    bad(columns, K(BLEND), op->in[2].shape.w = 5) \
    bad(acc, K(BLEND), op->n_in = 4; op->in[3] = op->in[1]; op->in[3].storage = 3)

#define SPOIL(name, kinds, ...)                 \
    static void bad_##name(struct vrt_op *op)   \
    {                                           \
        __VA_ARGS__;                            \
    }
#define LIST(name, kinds, ...) { bad_##name, kinds, #name },

BADS(SPOIL)

static void test_bad_ops(void)
{
    static const struct {
        void (*spoil)(struct vrt_op *op);
        unsigned kinds;                 /* a set */
        const char *name;
    } bads[] = { BADS(LIST) };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(bads); i++)
        for (int kind = 0; kind < VRT_OP_KIND_COUNT; kind++) {
            if (!(bads[i].kinds >> kind & 1))
                continue;
            struct vrt_op op = good_op((enum vrt_op_kind)kind);
            bads[i].spoil(&op);
            if (vrt_op_check(&op) != -EINVAL)
                test_fail("%s with a bad %s passed", vrt_op_kind_name((enum vrt_op_kind)kind),
                          bads[i].name);
        }
}

TEST_MAIN(
    { "good-ops", test_good_ops }, { "bad-ops", test_bad_ops },
    { "window", test_window },     { "params", test_params },
    { "weights", test_weights },
)
