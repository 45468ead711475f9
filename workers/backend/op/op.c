/* SPDX-License-Identifier: MIT */

/* What every op is called, writes and costs. What it requires is in op-check.c. */

#include "backend/op/op.h"

#include "base/error.h"

static int64_t places_of(const struct vrt_tensor *t)
{
    return (int64_t)t->shape.d * t->shape.h * t->shape.w;
}

static int64_t conv2d_flops(const struct vrt_op *op)
{
    return 2 * vrt_shape_count(op->out.shape) * op->in[0].shape.c * op->conv2d.kernel *
           op->conv2d.kernel;
}

static int64_t linear_flops(const struct vrt_op *op)
{
    return 2 * vrt_shape_count(op->out.shape) * op->in[0].shape.c;
}

/* Of the clip as it is, without the windows' padding; norm and softmax are not counted. */
static int64_t window_attention_flops(const struct vrt_op *op)
{
    const int64_t c = op->in[0].shape.c;
    int window[3], shift[3];

    vrt_op_window(op, window, shift);
    const int64_t n = (int64_t)window[0] * window[1] * window[2];
    int64_t each = 3 * c * c + c * c + 2 * n * c;
    if (op->window_attention.mutual >= 0)
        each += 3 * c * c + c * c + n * c;
    return 2 * places_of(&op->out) * each;
}

static int64_t geglu_flops(const struct vrt_op *op)
{
    return 2 * places_of(&op->out) * op->geglu.hidden * (2 * op->in[0].shape.c + op->out.shape.c);
}

/* Nine bilinear samples of each input channel, and the convolution. */
static int64_t deform_conv2d_flops(const struct vrt_op *op)
{
    const int64_t taps = 9 * (int64_t)op->in[0].shape.c;

    return places_of(&op->out) * (8 * taps + 2 * taps / op->deform_conv2d.groups *
                                  op->out.shape.c);
}

/* Multiplications and additions for each element of the output, or a function that counts them. */
static const struct {
    const char *name;
    int flops_per_element;
    int64_t (*flops)(const struct vrt_op *op);
} kinds[] = {
    [VRT_OP_CONV2D] = { "conv2d", 0, conv2d_flops },
    [VRT_OP_LINEAR] = { "linear", 0, linear_flops },
    [VRT_OP_LAYERNORM] = { "layernorm", 7, NULL },          /* mean, variance, and its use */
    [VRT_OP_WINDOW_ATTENTION] = { "window_attention", 0, window_attention_flops },
    [VRT_OP_GEGLU] = { "geglu", 0, geglu_flops },
    [VRT_OP_DEFORM_CONV2D] = { "deform_conv2d", 0, deform_conv2d_flops },
    [VRT_OP_FLOW_OFFSETS] = { "flow_offsets", 2, NULL },
    [VRT_OP_WARP] = { "warp", 7, NULL },
    [VRT_OP_DEPTH_TO_SPACE] = { "depth_to_space", 1, NULL },    /* the base is added */
    [VRT_OP_SPACE_TO_DEPTH] = { "space_to_depth", 0, NULL },
    [VRT_OP_RESIZE] = { "resize", 7, NULL },                /* four samples, weighted */
    [VRT_OP_AVGPOOL2] = { "avgpool2", 4, NULL },
    [VRT_OP_CONCAT] = { "concat", 0, NULL },
    [VRT_OP_ADD] = { "add", 2, NULL },
    [VRT_OP_AFFINE] = { "affine", 2, NULL },
    [VRT_OP_GATE] = { "gate", 6, NULL },                    /* the sigmoid counted as three */
    [VRT_OP_BLEND] = { "blend", 3, NULL },
    [VRT_OP_MEAN] = { "mean", 0, NULL },
    [VRT_OP_FILL] = { "fill", 0, NULL },
    [VRT_OP_COPY] = { "copy", 0, NULL },
    [VRT_OP_PAD] = { "pad", 0, NULL },
    [VRT_OP_YUV_TO_RGB] = { "yuv_to_rgb", 6, NULL },        /* one row of the matrix, offsets */
    [VRT_OP_RGB_TO_YUV] = { "rgb_to_yuv", 6, NULL },
    [VRT_OP_RANGE] = { "range", 0, NULL },
};

_Static_assert(VRT_ARRAY_SIZE(kinds) == VRT_OP_KIND_COUNT, "every op has its line");

const struct vrt_tensor *vrt_op_in(const struct vrt_op *op, int i)
{
    if (i >= op->n_in || i >= VRT_OP_MAX_IN || !vrt_tensor_exists(&op->in[i]))
        return NULL;
    return &op->in[i];
}

void vrt_op_window(const struct vrt_op *op, int window[3], int shift[3])
{
    const struct vrt_op_window_attention *attention = &op->window_attention;
    const int size[3] = { op->in[0].shape.d, op->in[0].shape.h, op->in[0].shape.w };

    for (int i = 0; i < 3; i++) {
        const bool cut = size[i] <= attention->window[i];
        window[i] = cut ? size[i] : attention->window[i];
        shift[i] = cut || !attention->shifted ? 0 : attention->window[i] / 2;
    }
}

int vrt_op_n_out(const struct vrt_op *op)
{
    return op->kind == VRT_OP_RGB_TO_YUV && op->colour.layout != VRT_PLANES_GRAY ? 3 : 1;
}

const struct vrt_tensor *vrt_op_out(const struct vrt_op *op, int i)
{
    vrt_assert(i >= 0 && i < vrt_op_n_out(op));
    return i == 0 ? &op->out : &op->out_more[i - 1];
}

const char *vrt_op_kind_name(enum vrt_op_kind kind)
{
    return kind < VRT_OP_KIND_COUNT ? kinds[kind].name : "unknown";
}

int64_t vrt_op_flops(const struct vrt_op *op)
{
    int64_t n = 0;

    vrt_assert(op->kind < VRT_OP_KIND_COUNT);
    if (op->kind == VRT_OP_DEPTH_TO_SPACE && !vrt_op_in(op, 1))
        return 0;
    if (op->kind == VRT_OP_RESIZE && op->resize.mode == VRT_RESIZE_NEAREST)
        return 0;
    if (op->kind == VRT_OP_WARP && op->warp.mode == VRT_WARP_NEAREST4)
        return 0;
    if (kinds[op->kind].flops)
        return kinds[op->kind].flops(op);
    for (int i = 0; i < vrt_op_n_out(op); i++)
        n += vrt_shape_count(vrt_op_out(op, i)->shape);
    return n * kinds[op->kind].flops_per_element;
}
