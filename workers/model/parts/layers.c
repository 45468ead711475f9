/* SPDX-License-Identifier: MIT */
/* One op per function. */

#include "model/parts/layers.h"

#include "base/macro.h"

/* Places of a chunk: 4 frames of 64 by 64, one of 128 by 128 or more. */
#define CHUNK_PLACES 16384

int vrt_layer_chunk(int h, int w)
{
    return (int)VRT_MAX(CHUNK_PLACES / ((int64_t)h * w), 1);
}

/*
 * Appends `like` with these tensors. `y` counts where it has two: NULL is the one that may be
 * absent.
 */
static void append(struct vrt_graph *graph, const struct vrt_op *like, const struct vrt_tensor *x,
                   const struct vrt_tensor *y, const struct vrt_tensor *out)
{
    struct vrt_op op = *like;

    op.in[0] = *x;
    if (op.n_in == 2)
        op.in[1] = y ? *y : VRT_TENSOR_NONE;
    op.out = *out;
    vrt_graph_append(graph, &op);
}

void vrt_layer_conv(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_op_conv2d *conv, const struct vrt_tensor *residual,
                    const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_CONV2D, .n_in = 2, .conv2d = *conv },
           x, residual, out);
}

void vrt_layer_linear(struct vrt_graph *graph, const struct vrt_tensor *x,
                      const struct vrt_op_linear *linear, const struct vrt_tensor *residual,
                      const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_LINEAR, .n_in = 2, .linear = *linear },
           x, residual, out);
}

void vrt_layer_norm(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_op_norm *norm, const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){
        .kind = VRT_OP_LAYERNORM, .n_in = 1, .layernorm = { .norm = *norm },
    }, x, NULL, out);
}

void vrt_layer_geglu(struct vrt_graph *graph, const struct vrt_tensor *x,
                     const struct vrt_op_geglu *geglu, const struct vrt_tensor *residual,
                     const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_GEGLU, .n_in = 2, .geglu = *geglu },
           x, residual, out);
}

void vrt_layer_shuffle(struct vrt_graph *graph, const struct vrt_tensor *x, int r,
                       const struct vrt_tensor *base, const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){
        .kind = VRT_OP_DEPTH_TO_SPACE, .n_in = 2, .depth_to_space = { .r = r },
    }, x, base, out);
}

void vrt_layer_unshuffle(struct vrt_graph *graph, const struct vrt_tensor *x, int r,
                         const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){
        .kind = VRT_OP_SPACE_TO_DEPTH, .n_in = 1, .space_to_depth = { .r = r },
    }, x, NULL, out);
}

void vrt_layer_fold(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){
        .kind = VRT_OP_SPACE_TO_DEPTH, .n_in = 1,
        .space_to_depth = { .r = 2, .order = VRT_SHUFFLE_BLOCKS },
    }, x, NULL, out);
}

void vrt_layer_unfold(struct vrt_graph *graph, const struct vrt_tensor *x,
                      const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){
        .kind = VRT_OP_DEPTH_TO_SPACE, .n_in = 1,
        .depth_to_space = { .r = 2, .order = VRT_SHUFFLE_BLOCKS },
    }, x, NULL, out);
}

void vrt_layer_resize(struct vrt_graph *graph, const struct vrt_tensor *x,
                      enum vrt_resize_mode mode, const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_RESIZE, .n_in = 1, .resize = { .mode = mode } },
           x, NULL, out);
}

void vrt_layer_warp(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *flow, enum vrt_warp_mode mode,
                    const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_WARP, .n_in = 2, .warp = { .mode = mode } },
           x, flow, out);
}

void vrt_layer_affine(struct vrt_graph *graph, const struct vrt_tensor *x,
                      const struct vrt_op_affine *affine, const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_AFFINE, .n_in = 1, .affine = *affine },
           x, NULL, out);
}

void vrt_layer_gate(struct vrt_graph *graph, const struct vrt_tensor *g, const struct vrt_tensor *x,
                    const struct vrt_tensor *y, const struct vrt_op_gate *gate,
                    const struct vrt_tensor *out)
{
    struct vrt_op op = { .kind = VRT_OP_GATE, .n_in = y ? 3 : 2, .in = { *g, *x }, .out = *out,
                         .gate = *gate };

    if (y)
        op.in[2] = *y;
    vrt_graph_append(graph, &op);
}

void vrt_layer_halve(struct vrt_graph *graph, const struct vrt_tensor *x,
                     const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_AVGPOOL2, .n_in = 1 }, x, NULL, out);
}

void vrt_layer_mean(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_MEAN, .n_in = 1 }, x, NULL, out);
}

void vrt_layer_fill(struct vrt_graph *graph, float value, const struct vrt_tensor *out)
{
    struct vrt_op op = { .kind = VRT_OP_FILL, .out = *out, .fill = { .value = value } };

    vrt_graph_append(graph, &op);
}

void vrt_layer_add(struct vrt_graph *graph, const struct vrt_tensor *a, float scale,
                   const struct vrt_tensor *b, const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_ADD, .n_in = 2, .add = { .scale = scale } },
           a, b, out);
}

void vrt_layer_copy(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_COPY, .n_in = 1 }, x, NULL, out);
}

void vrt_layer_pad(struct vrt_graph *graph, const struct vrt_tensor *x,
                   const struct vrt_op_pad *pad, const struct vrt_tensor *out)
{
    append(graph, &(struct vrt_op){ .kind = VRT_OP_PAD, .n_in = 1, .pad = *pad }, x, NULL, out);
}

struct vrt_tensor vrt_layer_convert(struct vrt_graph *graph, const struct vrt_tensor *x,
                                    enum vrt_dtype dtype)
{
    if (x->dtype == dtype)
        return *x;

    struct vrt_tensor out = vrt_graph_tensor(graph, dtype, x->shape);
    vrt_layer_copy(graph, x, &out);
    return out;
}
