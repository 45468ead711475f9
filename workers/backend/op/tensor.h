/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tensors: views of four dimensions into storage that somebody else owns
 *
 * Letters, here and everywhere: D frames, H rows, W columns, C channels. Activations are always
 * channels-last: element (d,h,w,c) stands, in elements from the view's start, at
 * d*stride_d + h*stride_h + w*stride_w + c. A view may cut rows, columns or a run of channels out
 * of a larger tensor; its channels are always adjacent.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/op/enums.h"

struct vrt_shape {
    int d, h, w, c;
};

struct vrt_tensor {
    enum vrt_dtype dtype;
    struct vrt_shape shape;
    int64_t stride_d, stride_h, stride_w;   /* in elements */
    int storage;                /* the graph's storage that this looks into; -1: no tensor */
    int64_t offset;             /* where the view begins in that storage, in elements */

    /* Filled by vrt_plan: where that is on a device. */
    int slot;                   /* which buffer of the program: VRT_SLOT_ARENA, or a binding */
    size_t offset_bytes;        /* of element (0,0,0,0) in that buffer */
};

/* "No tensor", for optional inputs. */
#define VRT_TENSOR_NONE ((struct vrt_tensor){ .storage = -1 })

/* Whether there is a tensor at all. */
static inline bool vrt_tensor_exists(const struct vrt_tensor *t)
{
    return t->storage >= 0;
}

/* Bytes of one element. */
size_t vrt_dtype_size(enum vrt_dtype dtype);

/* "f32", "bf16", ... */
const char *vrt_dtype_name(enum vrt_dtype dtype);

/* D*H*W*C. */
int64_t vrt_shape_count(struct vrt_shape shape);

/* Whether both have the same extent in every dimension. */
bool vrt_shape_equal(struct vrt_shape a, struct vrt_shape b);

/*
 * Whether dimensions and strides are such as a tensor can have, and so small that no size computed
 * from them overflows 63 bits, in bytes or in flops. Return: NULL, or what is wrong.
 */
const char *vrt_tensor_check(const struct vrt_tensor *t);

/* The dense tensor of this type and shape, in no storage. */
struct vrt_tensor vrt_tensor_dense(enum vrt_dtype dtype, struct vrt_shape shape);

/* Elements from the first to one past the last of the view. */
int64_t vrt_tensor_extent(const struct vrt_tensor *t);

/* The view of channels [first, first + count) of `t`. */
struct vrt_tensor vrt_tensor_channels(const struct vrt_tensor *t, int first, int count);

/* The view of rows [y, y + h) and columns [x, x + w) of `t`. */
struct vrt_tensor vrt_tensor_crop(const struct vrt_tensor *t, int y, int x, int h, int w);

/* The view of frames [first, first + count) of `t`. */
struct vrt_tensor vrt_tensor_frames(const struct vrt_tensor *t, int first, int count);

/* Whether both look into the same storage at a common element, as far as can be told from views
 * with unlike strides: there, whether their extents meet. */
bool vrt_tensor_overlaps(const struct vrt_tensor *a, const struct vrt_tensor *b);
