/* SPDX-License-Identifier: MIT */

#include "backend/fault/corrupt.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend-impl.h"
#include "backend/op/colour.h"
#include "backend/op/half.h"

/* Garbage is of this size: no picture, but finite in f16 too. */
#define GARBAGE 6e4

/* One output being overwritten. */
struct target {
    const struct vrt_op *op;
    int i;                      /* output i of the op */
    const struct vrt_fault_event *event;
    uint64_t random;
};

/* SplitMix64. Return: in [-1,1). */
static double random_value(struct target *target)
{
    uint64_t z = target->random += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1;
}

/* The four values that `range` gives for a frame of `n` corrupted elements. */
static double range_value(const struct target *target, int c, double n)
{
    const bool nan = target->event->effect == VRT_FAULT_CORRUPT_NAN;
    const bool garbage = target->event->effect == VRT_FAULT_CORRUPT_GARBAGE;
    const double values[4] = { garbage ? -GARBAGE : 0, garbage ? GARBAGE : 0, nan ? n : 0, n };

    return values[c];
}

/* The sample of a black picture, of plane `i`. */
static double black_sample(const struct target *target)
{
    const struct vrt_colour colour = vrt_colour_of(&target->op->colour);
    const bool chroma = target->i > 0 && target->op->colour.layout == VRT_PLANES_YUV;

    return chroma ? colour.c_offset : colour.y_offset;
}

/* What element (.., c) of the output becomes; integers are in [0, max]. */
static double corrupted(struct target *target, int c, double max)
{
    const struct vrt_shape in = target->op->in[0].shape;

    if (target->op->kind == VRT_OP_RANGE)
        return range_value(target, c, (double)in.h * in.w * in.c);
    switch (target->event->effect) {
    case VRT_FAULT_CORRUPT_NAN:
        return max > 0 ? max : NAN;
    case VRT_FAULT_CORRUPT_GARBAGE:
        return max > 0 ? floor((random_value(target) + 1) / 2 * max)
                       : random_value(target) * GARBAGE;
    case VRT_FAULT_BLACK:
        return target->op->kind == VRT_OP_RGB_TO_YUV ? black_sample(target) : 0;
    default:
        return 0;
    }
}

static void store(unsigned char *dst, enum vrt_dtype dtype, double x)
{
    const float f = (float)x;
    uint16_t bits = 0;

    switch (dtype) {
    case VRT_DTYPE_F32: memcpy(dst, &f, sizeof(f)); return;
    case VRT_DTYPE_U8: *dst = (unsigned char)x; return;
    case VRT_DTYPE_F16: bits = vrt_f16_from_f32(f); break;
    case VRT_DTYPE_BF16: bits = vrt_bf16_from_f32(f); break;
    default: bits = (uint16_t)x; break;
    }
    memcpy(dst, &bits, sizeof(bits));
}

/* Writes one run of adjacent channels after the other: the only places that are the view's. */
static int overwrite(struct vrt_device *inner, struct target *target,
                     const struct vrt_binding *binding)
{
    const struct vrt_tensor *t = vrt_op_out(target->op, target->i);
    const size_t element = vrt_dtype_size(t->dtype), run = (size_t)t->shape.c * element;
    const double max = t->dtype == VRT_DTYPE_U8 ? 255 : t->dtype == VRT_DTYPE_U16 ? 65535 : 0;
    const double largest = target->op->kind == VRT_OP_RGB_TO_YUV
                               ? (double)((1 << target->op->colour.depth) - 1)
                               : max;
    VRT_CLEANUP(vrt_freep) unsigned char *values = malloc(run * (size_t)t->shape.w);
    int r = 0;

    if (!values)
        return vrt_raise(-ENOMEM);
    for (int d = 0; !r && d < t->shape.d; d++)
    for (int h = 0; !r && h < t->shape.h; h++) {
        const int64_t row = d * t->stride_d + h * t->stride_h;
        const size_t at = binding->offset_bytes + t->offset_bytes + (size_t)row * element;
        const bool dense = t->stride_w == t->shape.c;
        for (int k = 0; k < t->shape.w * t->shape.c; k++)
            store(values + (size_t)k * element, t->dtype,
                  corrupted(target, k % t->shape.c, largest));
        for (int w = 0; !r && !dense && w < t->shape.w; w++)
            r = inner->ops->buffer_write(inner, binding->buffer,
                                         at + (size_t)(w * t->stride_w) * element,
                                         values + (size_t)w * run, run);
        if (dense)
            r = inner->ops->buffer_write(inner, binding->buffer, at, values,
                                         run * (size_t)t->shape.w);
    }
    return r;
}

int vrt_fault_corrupt(struct vrt_device *inner, const struct vrt_program *program,
                      const struct vrt_binding *bindings, const struct vrt_fault_event *event)
{
    int r = 0;

    for (size_t k = 0; k < program->n_ops; k++)
        for (int i = 0; !r && i < vrt_op_n_out(&program->ops[k]); i++) {
            const struct vrt_tensor *out = vrt_op_out(&program->ops[k], i);
            struct target target = { &program->ops[k], i, event, event->seed + k };
            if (out->slot != VRT_SLOT_ARENA)
                r = overwrite(inner, &target, &bindings[out->slot - 1]);
        }
    return r;
}
