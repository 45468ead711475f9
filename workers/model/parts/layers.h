/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Layers: one op each, appended to a graph, as architectures ask for them
 *
 * Tensors that exist already are passed as `out`. After a failure, which the graph remembers, any
 * of them does nothing.
 */

#include "engine/graph.h"

/* How many frames of h by w to compute at once: enough to be worth a kernel's while, and no more,
 * for what lies between two ops is as large. */
int vrt_layer_chunk(int h, int w);

/* out = activation(x * weight + bias) * scale + residual; residual may be NULL. */
void vrt_layer_conv(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_op_conv2d *conv, const struct vrt_tensor *residual,
                    const struct vrt_tensor *out);

/* out = activation(norm(x) * weight + bias) + residual at each place; residual may be NULL. */
void vrt_layer_linear(struct vrt_graph *graph, const struct vrt_tensor *x,
                      const struct vrt_op_linear *linear, const struct vrt_tensor *residual,
                      const struct vrt_tensor *out);

/* out = norm(x) */
void vrt_layer_norm(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_op_norm *norm, const struct vrt_tensor *out);

/* out = fc2(gelu(fc11(norm(x))) . fc12(norm(x))) + residual; residual may be NULL. */
void vrt_layer_geglu(struct vrt_graph *graph, const struct vrt_tensor *x,
                     const struct vrt_op_geglu *geglu, const struct vrt_tensor *residual,
                     const struct vrt_tensor *out);

/* The pixel shuffle by `r`, plus the enlarged `base` (NULL: none). */
void vrt_layer_shuffle(struct vrt_graph *graph, const struct vrt_tensor *x, int r,
                       const struct vrt_tensor *base, const struct vrt_tensor *out);

/* Its inverse. */
void vrt_layer_unshuffle(struct vrt_graph *graph, const struct vrt_tensor *x, int r,
                         const struct vrt_tensor *out);

/* Both for squares of 2, with a square's channels ordered by its columns, then rows. */
void vrt_layer_fold(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out);
void vrt_layer_unfold(struct vrt_graph *graph, const struct vrt_tensor *x,
                      const struct vrt_tensor *out);

/* Resizes to the size of `out`. */
void vrt_layer_resize(struct vrt_graph *graph, const struct vrt_tensor *x,
                      enum vrt_resize_mode mode, const struct vrt_tensor *out);

/* out = x at the places where `flow` leads. */
void vrt_layer_warp(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *flow, enum vrt_warp_mode mode,
                    const struct vrt_tensor *out);

/* out = x * scale + shift, channel by channel, of at most VRT_AFFINE_MAX_CHANNELS. */
void vrt_layer_affine(struct vrt_graph *graph, const struct vrt_tensor *x,
                      const struct vrt_op_affine *affine, const struct vrt_tensor *out);

/* out = (x + y) * (scale * sigmoid(g) + shift); y may be NULL. */
void vrt_layer_gate(struct vrt_graph *graph, const struct vrt_tensor *g, const struct vrt_tensor *x,
                    const struct vrt_tensor *y, const struct vrt_op_gate *gate,
                    const struct vrt_tensor *out);

/* Each square of 2 becomes its mean. */
void vrt_layer_halve(struct vrt_graph *graph, const struct vrt_tensor *x,
                     const struct vrt_tensor *out);

/* out, [1,1,1,C]: each channel's mean. */
void vrt_layer_mean(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out);

/* The same number everywhere. */
void vrt_layer_fill(struct vrt_graph *graph, float value, const struct vrt_tensor *out);

/* out = a * scale + b */
void vrt_layer_add(struct vrt_graph *graph, const struct vrt_tensor *a, float scale,
                   const struct vrt_tensor *b, const struct vrt_tensor *out);

/* Copies, converting to the type of `out`. */
void vrt_layer_copy(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out);

/* Extends to the size of `out`. */
void vrt_layer_pad(struct vrt_graph *graph, const struct vrt_tensor *x,
                   const struct vrt_op_pad *pad, const struct vrt_tensor *out);

/* `x` itself if it is of `dtype`, else a copy that is. */
struct vrt_tensor vrt_layer_convert(struct vrt_graph *graph, const struct vrt_tensor *x,
                                    enum vrt_dtype dtype);
