/* SPDX-License-Identifier: MIT */
#pragma once

/* oneDNN's side of the convolutions: what dnnl.c finds out, and conv2d.c uses. */

#include <dnnl.h>

#include "backend/cpu/conv2d.h"

struct vrt_dnnl {
    dnnl_engine_t engine;
    dnnl_stream_t *streams;         /* one a thread */
    int n_threads;
    bool has_bf16;
};

/* One call's shape: frames 1, stride 1. */
struct vrt_dnnl_shape {
    int in_c, out_c, k;
    int w, in_h, pad_top, pad_bottom;
    enum vrt_dtype dtype, out_dtype;        /* of input and weights; of the output */
    bool has_bias;
    bool has_activation;            /* fused: x < 0 ? slope * x : x */
    float slope;
};

struct vrt_conv_weights {
    struct vrt_dnnl *dnnl;
    dnnl_memory_t memory;           /* oneDNN owns the bytes */
};

/* Rows of the output of a call. */
static inline int vrt_dnnl_out_h(const struct vrt_dnnl_shape *shape)
{
    return shape->in_h + shape->pad_top + shape->pad_bottom - shape->k + 1;
}

/* "out of memory" or "some failure" of ours for a status of oneDNN's, logged with `what`. */
int vrt_dnnl_raise(dnnl_status_t status, const char *what);

/* oneDNN's name of a type. */
dnnl_data_type_t vrt_dnnl_type(enum vrt_dtype dtype);

/*
 * The best implementation for `shape` whose weights have the layout `weights` (NULL: any).
 * Return: 0; -ENOENT, where there is none but the slow reference, which is taken only for f32 in
 * any layout; -ENOMEM, -EIO.
 */
int vrt_dnnl_describe(struct vrt_dnnl *dnnl, const struct vrt_dnnl_shape *shape,
                      const dnnl_memory_desc_t *weights, dnnl_primitive_desc_t *ret_desc);

/* The layout that weights of this shape are kept in. Return: as vrt_dnnl_describe(). */
int vrt_dnnl_weights_layout(struct vrt_dnnl *dnnl, const struct vrt_dnnl_shape *shape,
                            dnnl_memory_desc_t *ret_layout);

/* For VRT_CLEANUP. */
void vrt_dnnl_descp(dnnl_primitive_desc_t *desc);

/*
 * The weights as the implementation `desc` wants them: a handle on them, or, where a rare shape
 * wants another layout, a copy. The caller destroys *ret_memory. Return: 0; -ENOMEM, -EIO.
 */
int vrt_conv_weights_fit(const struct vrt_conv_weights *weights, const_dnnl_primitive_desc_t desc,
                         dnnl_memory_t *ret_memory);
