/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Layers: one op each, appended to a graph, as architectures ask for them
 *
 * Tensors that exist already are passed as `out`. After a failure, which the graph remembers, any
 * of them does nothing.
 */

#include "engine/graph.h"

/* out = activation(x * weight + bias) * scale + residual; residual may be NULL. */
void vrt_layer_conv(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_op_conv2d *conv, const struct vrt_tensor *residual,
                    const struct vrt_tensor *out);

/* The pixel shuffle by `r`, plus the enlarged `base` (NULL: none). */
void vrt_layer_shuffle(struct vrt_graph *graph, const struct vrt_tensor *x, int r,
                       const struct vrt_tensor *base, const struct vrt_tensor *out);

/* Its inverse. */
void vrt_layer_unshuffle(struct vrt_graph *graph, const struct vrt_tensor *x, int r,
                         const struct vrt_tensor *out);

/* Enlarges to the size of `out` by repeating samples. */
void vrt_layer_nearest(struct vrt_graph *graph, const struct vrt_tensor *x,
                       const struct vrt_tensor *out);

/* out = a * scale + b */
void vrt_layer_add(struct vrt_graph *graph, const struct vrt_tensor *a, float scale,
                   const struct vrt_tensor *b, const struct vrt_tensor *out);

/* Copies, converting to the type of `out`. */
void vrt_layer_copy(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out);

/* Extends to the right and downwards to the size of `out`. */
void vrt_layer_pad(struct vrt_graph *graph, const struct vrt_tensor *x, enum vrt_pad_mode mode,
                   const struct vrt_tensor *out);

/* `x` itself if it is of `dtype`, else a copy that is. */
struct vrt_tensor vrt_layer_convert(struct vrt_graph *graph, const struct vrt_tensor *x,
                                    enum vrt_dtype dtype);
