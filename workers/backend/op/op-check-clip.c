/* SPDX-License-Identifier: MIT */

/* What the ops of video transformers require: attention and its like, warping and deforming. */

#include "backend/op/op-check.h"

#include <math.h>

/* A window's places: scores of one head over a whole window still fit a cache. */
#define MAX_WINDOW 1024
#define MAX_HEADS 64
#define MAX_GROUPS 64

static const char *check_norm(const struct vrt_op_norm *norm)
{
    if (norm->weight < -1 || (norm->weight >= 0 && norm->bias < 0))
        return "a norm's param has a negative index";
    return NULL;
}

/* x and an optional residual of the output's shape. */
static const char *check_by_place(const struct vrt_op *op, const struct vrt_op_norm *norm)
{
    const struct vrt_tensor *residual = vrt_op_in(op, 1);

    if (!vrt_op_same_places(op->in[0].shape, op->out.shape))
        return "the output's size is not the input's";
    if (residual && !vrt_shape_equal(residual->shape, op->out.shape))
        return "the residual's shape is not the output's";
    return check_norm(norm);
}

const char *vrt_op_check_linear(const struct vrt_op *op)
{
    const struct vrt_op_linear *linear = &op->linear;

    if (linear->weight < 0 || linear->bias < -1)
        return "a param's index is negative";
    if (linear->activation != VRT_ACTIVATION_NONE && linear->activation != VRT_ACTIVATION_GELU)
        return "its activation is neither none nor GELU";
    return check_by_place(op, &linear->norm);
}

const char *vrt_op_check_layernorm(const struct vrt_op *op)
{
    if (op->layernorm.norm.weight < 0)
        return "a param's index is negative";
    if (!vrt_shape_equal(op->in[0].shape, op->out.shape))
        return "an input's shape is not the output's";
    return check_norm(&op->layernorm.norm);
}

static const char *check_mutual(const struct vrt_op *op)
{
    const struct vrt_op_window_attention *a = &op->window_attention;
    const struct vrt_shape in = op->in[0].shape;

    if (a->window[0] != 2)
        return "a mutual window is not of 2 frames";
    if (in.d < 2 || in.h < a->window[1] || in.w < a->window[2])
        return "the clip is smaller than a mutual window";
    if (a->position < 0 || a->mutual_bias < -1)
        return "a param's index is negative";
    return NULL;
}

const char *vrt_op_check_window_attention(const struct vrt_op *op)
{
    const struct vrt_op_window_attention *a = &op->window_attention;

    if (!vrt_shape_equal(op->in[0].shape, op->out.shape))
        return "the output's shape is not the input's";
    if (!vrt_op_in_range(a->heads, 1, MAX_HEADS) || op->in[0].shape.c % a->heads)
        return "the channels are not a multiple of the heads";
    for (int i = 0; i < 3; i++)
        if (!vrt_op_in_range(a->window[i], 1, MAX_WINDOW))
            return "a window's side is out of range";
    if ((int64_t)a->window[0] * a->window[1] * a->window[2] > MAX_WINDOW)
        return "the window is too large";
    if (a->qkv < 0 || a->qkv_bias < -1 || a->bias_table < 0 || a->proj < 0 || a->proj_bias < -1 ||
        a->mutual < -1)
        return "a param's index is negative";
    const char *wrong = a->mutual >= 0 ? check_mutual(op) : NULL;
    return wrong ? wrong : check_norm(&a->norm);
}

const char *vrt_op_check_geglu(const struct vrt_op *op)
{
    const struct vrt_op_geglu *geglu = &op->geglu;

    if (!vrt_op_in_range(geglu->hidden, 1, 1 << 16))
        return "the hidden width is out of range";
    if (geglu->fc11 < 0 || geglu->fc12 < 0 || geglu->fc2 < 0 || geglu->fc11_bias < -1 ||
        geglu->fc12_bias < -1 || geglu->fc2_bias < -1)
        return "a param's index is negative";
    return check_by_place(op, &geglu->norm);
}

const char *vrt_op_check_deform_conv2d(const struct vrt_op *op)
{
    const struct vrt_op_deform_conv2d *deform = &op->deform_conv2d;
    const int c = op->in[0].shape.c;

    if (!vrt_op_same_places(op->in[0].shape, op->out.shape) ||
        !vrt_op_same_places(op->in[1].shape, op->out.shape))
        return "the sizes of inputs and output differ";
    if (!vrt_op_in_range(deform->groups, 1, MAX_GROUPS) || c % deform->groups ||
        op->out.shape.c % deform->groups)
        return "the channels are not a multiple of the groups";
    if (!vrt_op_in_range(deform->offset_groups, 1, MAX_GROUPS) || c % deform->offset_groups ||
        deform->offset_groups % deform->groups)
        return "the offsets' groups don't fit the channels or the groups";
    if (op->in[1].dtype != VRT_DTYPE_F32 || op->in[1].shape.c != 27 * deform->offset_groups)
        return "the offsets are not f32 [D,H,W,27*G]";
    return deform->weight < 0 || deform->bias < -1 ? "a param's index is negative" : NULL;
}

const char *vrt_op_check_flow_offsets(const struct vrt_op *op)
{
    const struct vrt_op_flow_offsets *offsets = &op->flow_offsets;
    const int n = op->n_in - 1;

    if (!vrt_op_in_range(offsets->offset_groups, 1, MAX_GROUPS) || offsets->offset_groups % n)
        return "the offsets' groups are not a multiple of the flows";
    if (!vrt_shape_equal(op->in[0].shape, op->out.shape) ||
        op->out.shape.c != 27 * offsets->offset_groups)
        return "input and output are not [D,H,W,27*G]";
    if (!isfinite(offsets->max_residue))
        return "the largest residue is not finite";
    for (int i = 1; i <= n; i++)
        if (!vrt_op_same_places(op->in[i].shape, op->out.shape) || op->in[i].shape.c != 2 ||
            op->in[i].dtype != VRT_DTYPE_F32)
            return "a flow is not f32 [D,H,W,2]";
    return NULL;
}

const char *vrt_op_check_warp(const struct vrt_op *op)
{
    const int times = op->warp.mode == VRT_WARP_NEAREST4 ? 4 : 1;

    if (!vrt_op_in_range((int)op->warp.mode, VRT_WARP_BILINEAR, VRT_WARP_NEAREST4))
        return "there is no such mode";
    if (!vrt_op_same_places(op->in[0].shape, op->out.shape) ||
        op->out.shape.c != (int64_t)op->in[0].shape.c * times)
        return "the output's shape doesn't fit the input's";
    if (!vrt_op_same_places(op->in[1].shape, op->out.shape) || op->in[1].shape.c != 2 ||
        op->in[1].dtype != VRT_DTYPE_F32)
        return "the flow is not f32 [D,H,W,2]";
    return NULL;
}
