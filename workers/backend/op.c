/* SPDX-License-Identifier: MIT */

/* What every op is called, writes and costs. What it requires is in op-check.c. */

#include "backend/op.h"

#include "base/error.h"

/* Multiplications and additions for each element of the output; conv2d counts its own. */
static const struct {
    const char *name;
    int flops_per_element;
} kinds[] = {
    [VRT_OP_CONV2D] = { "conv2d", 0 },
    [VRT_OP_DEPTH_TO_SPACE] = { "depth_to_space", 1 },      /* the base is added */
    [VRT_OP_SPACE_TO_DEPTH] = { "space_to_depth", 0 },
    [VRT_OP_RESIZE] = { "resize", 7 },                      /* four samples, weighted */
    [VRT_OP_CONCAT] = { "concat", 0 },
    [VRT_OP_ADD] = { "add", 2 },
    [VRT_OP_COPY] = { "copy", 0 },
    [VRT_OP_PAD] = { "pad", 0 },
    [VRT_OP_YUV_TO_RGB] = { "yuv_to_rgb", 6 },              /* one row of the matrix, offsets */
    [VRT_OP_RGB_TO_YUV] = { "rgb_to_yuv", 6 },
    [VRT_OP_RANGE] = { "range", 0 },
};

_Static_assert(VRT_ARRAY_SIZE(kinds) == VRT_OP_KIND_COUNT, "every op has its line");

const struct vrt_tensor *vrt_op_in(const struct vrt_op *op, int i)
{
    if (i >= op->n_in || i >= VRT_OP_MAX_IN || !vrt_tensor_exists(&op->in[i]))
        return NULL;
    return &op->in[i];
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
    if (op->kind == VRT_OP_CONV2D)
        return 2 * vrt_shape_count(op->out.shape) * op->in[0].shape.c * op->conv2d.kernel *
               op->conv2d.kernel;
    for (int i = 0; i < vrt_op_n_out(op); i++)
        n += vrt_shape_count(vrt_op_out(op, i)->shape);
    return n * kinds[op->kind].flops_per_element;
}
