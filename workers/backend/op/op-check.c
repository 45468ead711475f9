/* SPDX-License-Identifier: MIT */

/*
 * What every op requires of its tensors and attributes
 *
 * The table at the end says how many tensors of which types an op takes; a function each says what
 * their shapes have to do with each other. A check returns NULL, or what is wrong.
 *
 * It is the one place that checks: backends compute with what passed here and look at nothing
 * again. So each limit is also a promise to them: no kernel and no shift is larger, and no op reads
 * what it writes. Whoever wants more of an op begins here and then goes through every backend.
 *
 * What is wrong is logged, not told to a user: it is a mistake where the graph is built.
 */

#include <errno.h>
#include <math.h>

#include "backend/op/op-check.h"
#include "backend/op/op.h"
#include "base/error.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "op"

#define F32 (1u << VRT_DTYPE_F32)
#define FLOATS (1u << VRT_DTYPE_F32 | 1u << VRT_DTYPE_F16 | 1u << VRT_DTYPE_BF16)
#define SAMPLES (1u << VRT_DTYPE_U8 | 1u << VRT_DTYPE_U16)

static const char *check_conv2d(const struct vrt_op *op)
{
    const struct vrt_op_conv2d *conv = &op->conv2d;
    const struct vrt_tensor *residual = vrt_op_in(op, 1);

    if (op->in[0].dtype != op->weight_dtype)
        return "the input's type is not the weight's";
    if (!vrt_op_in_range(conv->kernel, 1, 7) || conv->kernel % 2 == 0)
        return "the kernel is not 1, 3, 5 or 7";
    if (!vrt_op_same_places(op->in[0].shape, op->out.shape))
        return "the output's size is not the input's";
    if (residual && !vrt_shape_equal(residual->shape, op->out.shape))
        return "the residual's shape is not the output's";
    if (conv->weight < 0 || conv->bias < -1)
        return "a param's index is negative";
    if (!vrt_op_in_range((int)conv->activation, VRT_ACTIVATION_NONE, VRT_ACTIVATION_PRELU))
        return "there is no such activation";
    if (conv->activation == VRT_ACTIVATION_PRELU && conv->slopes < 0)
        return "a param's index is negative";
    return NULL;
}

/* For depth_to_space and space_to_depth: `small` has r*r times the channels of `large`. */
static const char *check_shuffle(struct vrt_shape small, struct vrt_shape large, int r,
                                 enum vrt_shuffle_order order)
{
    if (!vrt_op_in_range((int)order, VRT_SHUFFLE_PIXELS, VRT_SHUFFLE_BLOCKS))
        return "there is no such order";
    if (!vrt_op_in_range(r, 1, 16))
        return "r is not 1 to 16";
    if (large.d != small.d || large.h != (int64_t)small.h * r || large.w != (int64_t)small.w * r ||
        small.c != (int64_t)large.c * r * r)
        return "the shapes don't differ by r";
    return NULL;
}

static const char *check_depth_to_space(const struct vrt_op *op)
{
    const struct vrt_tensor *base = vrt_op_in(op, 1);
    const struct vrt_shape out = op->out.shape;

    if (base && (base->shape.d != out.d || base->shape.c != out.c || out.h % base->shape.h ||
                 out.w % base->shape.w))
        return "the output's size is not a multiple of the base's";
    return check_shuffle(op->in[0].shape, out, op->depth_to_space.r, op->depth_to_space.order);
}

static const char *check_space_to_depth(const struct vrt_op *op)
{
    return check_shuffle(op->out.shape, op->in[0].shape, op->space_to_depth.r,
                         op->space_to_depth.order);
}

static const char *check_resize(const struct vrt_op *op)
{
    if (!vrt_op_in_range((int)op->resize.mode, VRT_RESIZE_NEAREST, VRT_RESIZE_BICUBIC))
        return "there is no such mode";
    if (op->in[0].shape.d != op->out.shape.d || op->in[0].shape.c != op->out.shape.c)
        return "frames or channels differ between input and output";
    return NULL;
}

static const char *check_concat(const struct vrt_op *op)
{
    int64_t channels = 0;

    for (int i = 0; i < op->n_in; i++) {
        if (!vrt_op_same_places(op->in[i].shape, op->out.shape))
            return "an input's size is not the output's";
        channels += op->in[i].shape.c;
    }
    return channels != op->out.shape.c ? "the channels don't add up to the output's" : NULL;
}

static const char *check_same_shapes(const struct vrt_op *op)
{
    for (int i = 0; i < op->n_in; i++)
        if (!vrt_shape_equal(op->in[i].shape, op->out.shape))
            return "an input's shape is not the output's";
    return NULL;
}

static const char *check_add(const struct vrt_op *op)
{
    const struct vrt_shape a = op->in[0].shape, one = { 1, 1, 1, op->out.shape.c };

    if (!vrt_shape_equal(a, op->out.shape) && !vrt_shape_equal(a, one))
        return "the first input's shape is neither the output's nor [1,1,1,C]";
    return vrt_shape_equal(op->in[1].shape, op->out.shape) ? NULL
                                                           : "an input's shape is not the output's";
}

static const char *check_copy(const struct vrt_op *op)
{
    const bool converts = op->in[0].dtype != op->out.dtype;

    if (converts && ((1u << op->in[0].dtype | 1u << op->out.dtype) & ~FLOATS))
        return "it converts between f32, f16 and bf16 only";
    return check_same_shapes(op);
}

static const char *check_pad(const struct vrt_op *op)
{
    const struct vrt_shape in = op->in[0].shape, out = op->out.shape;

    if (!vrt_op_in_range((int)op->pad.mode, VRT_PAD_ZERO, VRT_PAD_MIRROR))
        return "there is no such mode";
    if (in.d != out.d || in.c != out.c)
        return "frames or channels differ between input and output";
    if (!vrt_op_in_range(op->pad.top, 0, out.h - in.h) ||
        !vrt_op_in_range(op->pad.left, 0, out.w - in.w))
        return "the input doesn't stand within the output";
    return NULL;
}

static const char *check_colour(const struct vrt_op_colour *colour)
{
    if (!vrt_op_in_range((int)colour->layout, VRT_PLANES_GRAY, VRT_PLANES_GBR) ||
        !vrt_op_in_range((int)colour->matrix, VRT_MATRIX_BT601, VRT_MATRIX_BT2020) ||
        !vrt_op_in_range((int)colour->site, VRT_CHROMA_LEFT, VRT_CHROMA_TOP_LEFT))
        return "there is no such layout, matrix or chroma site";
    if (!vrt_op_in_range(colour->depth, 8, 16))
        return "the depth is not 8 to 16 bits";
    if (!vrt_op_in_range(colour->shift_x, 0, 2) || !vrt_op_in_range(colour->shift_y, 0, 2))
        return "a chroma shift is not 0, 1 or 2";
    if (colour->layout != VRT_PLANES_YUV && (colour->shift_x || colour->shift_y))
        return "planes without chroma have chroma shifts";
    return NULL;
}

/* Plane `i` of those beside the picture `rgb`. */
static const char *check_plane(const struct vrt_op_colour *colour, const struct vrt_tensor *plane,
                               int i, struct vrt_shape rgb)
{
    const int shift_x = i ? colour->shift_x : 0, shift_y = i ? colour->shift_y : 0;
    const struct vrt_shape want = {
        .d = rgb.d,
        .h = (rgb.h + (1 << shift_y) - 1) >> shift_y,
        .w = (rgb.w + (1 << shift_x) - 1) >> shift_x,
        .c = 1,
    };

    if (plane->dtype != (colour->depth == 8 ? VRT_DTYPE_U8 : VRT_DTYPE_U16))
        return "a plane is not u8 for 8 bits, u16 for more";
    return vrt_shape_equal(plane->shape, want) ? NULL : "a plane's size doesn't fit the picture's";
}

static const char *check_yuv_to_rgb(const struct vrt_op *op)
{
    const char *wrong = check_colour(&op->colour);
    const int n_planes = op->colour.layout == VRT_PLANES_GRAY ? 1 : 3;

    if (!wrong && op->n_in != n_planes)
        return "there are not as many planes as the layout has";
    if (!wrong && op->out.shape.c != 3)
        return "the picture doesn't have 3 channels";
    for (int i = 0; !wrong && i < n_planes; i++)
        wrong = check_plane(&op->colour, &op->in[i], i, op->out.shape);
    return wrong;
}

static const char *check_rgb_to_yuv(const struct vrt_op *op)
{
    const char *wrong = check_colour(&op->colour);

    if (!wrong && op->in[0].shape.c != 3)
        return "the picture doesn't have 3 channels";
    for (int i = 0; !wrong && i < vrt_op_n_out(op); i++)
        wrong = check_plane(&op->colour, vrt_op_out(op, i), i, op->in[0].shape);
    return wrong;
}

static const char *check_avgpool2(const struct vrt_op *op)
{
    const struct vrt_shape in = op->in[0].shape, out = op->out.shape;

    return in.d == out.d && in.c == out.c && in.h == (int64_t)out.h * 2 &&
                   in.w == (int64_t)out.w * 2
               ? NULL
               : "the input is not twice as large as the output";
}

static const char *check_affine(const struct vrt_op *op)
{
    if (op->out.shape.c > VRT_AFFINE_MAX_CHANNELS)
        return "there are more channels than scales";
    return check_same_shapes(op);
}

static const char *check_gate(const struct vrt_op *op)
{
    if (!isfinite(op->gate.scale) || !isfinite(op->gate.shift))
        return "the scale or the shift is not finite";
    return check_same_shapes(op);
}

static const char *check_blend(const struct vrt_op *op)
{
    const struct vrt_shape out = op->out.shape;
    const struct vrt_shape rows = { 1, out.h, 1, 1 }, columns = { 1, 1, out.w, 1 };
    const struct vrt_tensor *acc = vrt_op_in(op, 3);

    if (!vrt_shape_equal(op->in[0].shape, out) || (acc && !vrt_shape_equal(acc->shape, out)))
        return "an input's shape is not the output's";
    if (!vrt_shape_equal(op->in[1].shape, rows) || !vrt_shape_equal(op->in[2].shape, columns))
        return "the weights are not [1,H,1,1] and [1,1,W,1]";
    if (op->in[1].dtype != VRT_DTYPE_F32 || op->in[2].dtype != VRT_DTYPE_F32)
        return "the weights are not f32";
    return NULL;
}

static const char *check_mean(const struct vrt_op *op)
{
    const struct vrt_shape want = { 1, 1, 1, op->in[0].shape.c };

    return vrt_shape_equal(op->out.shape, want) ? NULL : "the output is not [1,1,1,C]";
}

static const char *check_fill(const struct vrt_op *op)
{
    return isfinite(op->fill.value) ? NULL : "the value is not finite";
}

static const char *check_range(const struct vrt_op *op)
{
    const struct vrt_shape want = { op->in[0].shape.d, 1, 1, 4 };

    return vrt_shape_equal(op->out.shape, want) ? NULL : "the output is not [D,1,1,4]";
}

/* Inputs below n_required must exist; `ins` and `outs` are sets of dtypes. */
static const struct {
    int n_required, n_max;
    unsigned ins, outs;
    const char *(*check)(const struct vrt_op *op);
} rules[] = {
    [VRT_OP_CONV2D] = { 1, 2, FLOATS, FLOATS, check_conv2d },
    [VRT_OP_LINEAR] = { 1, 2, FLOATS, FLOATS, vrt_op_check_linear },
    [VRT_OP_LAYERNORM] = { 1, 1, FLOATS, FLOATS, vrt_op_check_layernorm },
    [VRT_OP_WINDOW_ATTENTION] = { 1, 1, FLOATS, FLOATS, vrt_op_check_window_attention },
    [VRT_OP_GEGLU] = { 1, 2, FLOATS, FLOATS, vrt_op_check_geglu },
    [VRT_OP_DEFORM_CONV2D] = { 2, 2, FLOATS, FLOATS, vrt_op_check_deform_conv2d },
    [VRT_OP_FLOW_OFFSETS] = { 2, VRT_OP_MAX_IN, FLOATS, F32, vrt_op_check_flow_offsets },
    [VRT_OP_WARP] = { 2, 2, FLOATS, FLOATS, vrt_op_check_warp },
    [VRT_OP_DEPTH_TO_SPACE] = { 1, 2, FLOATS, FLOATS, check_depth_to_space },
    [VRT_OP_SPACE_TO_DEPTH] = { 1, 1, FLOATS, FLOATS, check_space_to_depth },
    [VRT_OP_RESIZE] = { 1, 1, FLOATS, FLOATS, check_resize },
    [VRT_OP_AVGPOOL2] = { 1, 1, FLOATS, FLOATS, check_avgpool2 },
    [VRT_OP_CONCAT] = { 1, VRT_OP_MAX_IN, FLOATS, FLOATS, check_concat },
    [VRT_OP_ADD] = { 2, 2, FLOATS, FLOATS, check_add },
    [VRT_OP_AFFINE] = { 1, 1, FLOATS, FLOATS, check_affine },
    [VRT_OP_GATE] = { 2, 3, FLOATS, FLOATS, check_gate },
    [VRT_OP_BLEND] = { 3, 4, FLOATS, FLOATS, check_blend },
    [VRT_OP_MEAN] = { 1, 1, FLOATS, F32, check_mean },
    [VRT_OP_FILL] = { 0, 0, FLOATS, FLOATS, check_fill },
    [VRT_OP_COPY] = { 1, 1, FLOATS | SAMPLES, FLOATS | SAMPLES, check_copy },
    [VRT_OP_PAD] = { 1, 1, FLOATS, FLOATS, check_pad },
    [VRT_OP_YUV_TO_RGB] = { 1, 3, SAMPLES, FLOATS, check_yuv_to_rgb },
    [VRT_OP_RGB_TO_YUV] = { 1, 1, FLOATS, SAMPLES, check_rgb_to_yuv },
    [VRT_OP_RANGE] = { 1, 1, FLOATS, F32, check_range },
};

_Static_assert(VRT_ARRAY_SIZE(rules) == VRT_OP_KIND_COUNT, "every op has its rule");

static const char *check_weights(const struct vrt_op *op)
{
    return op->weight_dtype < VRT_DTYPE_COUNT && (FLOATS & 1u << op->weight_dtype)
               ? NULL
               : "the weights' type is none of f32, f16 and bf16";
}

static const char *check_inputs(const struct vrt_op *op)
{
    const char *wrong = NULL;
    /* Only where an input may be absent at all may one in the list be VRT_TENSOR_NONE. */
    const bool optional = op->kind == VRT_OP_CONV2D || op->kind == VRT_OP_DEPTH_TO_SPACE ||
                          op->kind == VRT_OP_LINEAR || op->kind == VRT_OP_GEGLU;

    if (!vrt_op_in_range(op->n_in, rules[op->kind].n_required, rules[op->kind].n_max))
        return "there are too few or too many inputs";
    for (int i = 0; !wrong && i < op->n_in; i++) {
        const struct vrt_tensor *in = vrt_op_in(op, i);
        if (!in && optional && i >= rules[op->kind].n_required)
            continue;
        if (!in)
            return "an input doesn't exist";
        if (in->dtype >= VRT_DTYPE_COUNT || !(rules[op->kind].ins & 1u << in->dtype))
            return "an input's type doesn't fit";
        wrong = vrt_tensor_check(in);
    }
    return wrong;
}

static const char *check_output(const struct vrt_op *op, int i)
{
    const struct vrt_tensor *out = vrt_op_out(op, i);

    if (!vrt_tensor_exists(out))
        return "an output doesn't exist";
    if (out->dtype >= VRT_DTYPE_COUNT || !(rules[op->kind].outs & 1u << out->dtype))
        return "an output's type doesn't fit";
    const char *wrong = vrt_tensor_check(out);
    if (wrong)
        return wrong;
    for (int k = 0; k < op->n_in; k++)
        if (vrt_op_in(op, k) && vrt_tensor_overlaps(vrt_op_in(op, k), out))
            return "an input overlaps an output";
    for (int k = 0; k < i; k++)
        if (vrt_tensor_overlaps(vrt_op_out(op, k), out))
            return "two outputs overlap";
    return NULL;
}

int vrt_op_check(const struct vrt_op *op)
{
    if (op->kind >= VRT_OP_KIND_COUNT) {
        vrt_log_error("there is no op number %d", (int)op->kind);
        return vrt_raise(-EINVAL);
    }
    const char *wrong = check_weights(op);
    if (!wrong)
        wrong = check_inputs(op);
    for (int i = 0; !wrong && i < vrt_op_n_out(op); i++)
        wrong = check_output(op, i);
    if (!wrong)
        wrong = rules[op->kind].check(op);
    if (wrong) {
        vrt_log_error("a wrongly built %s: %s", vrt_op_kind_name(op->kind), wrong);
        return vrt_raise(-EINVAL);
    }
    return 0;
}
