/* SPDX-License-Identifier: MIT */
/* One op per function. */

#include "model/layers.h"

void vrt_layer_conv(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_op_conv2d *conv, const struct vrt_tensor *residual,
                    const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_CONV2D,
        .n_in = 2,
        .in = { *x, residual ? *residual : VRT_TENSOR_NONE },
        .out = *out,
        .conv2d = *conv,
    });
}

void vrt_layer_linear(struct vrt_graph *graph, const struct vrt_tensor *x,
                      const struct vrt_op_linear *linear, const struct vrt_tensor *residual,
                      const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_LINEAR,
        .n_in = 2,
        .in = { *x, residual ? *residual : VRT_TENSOR_NONE },
        .out = *out,
        .linear = *linear,
    });
}

void vrt_layer_norm(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_op_norm *norm, const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_LAYERNORM,
        .n_in = 1,
        .in = { *x },
        .out = *out,
        .layernorm = { .norm = *norm },
    });
}

void vrt_layer_geglu(struct vrt_graph *graph, const struct vrt_tensor *x,
                     const struct vrt_op_geglu *geglu, const struct vrt_tensor *residual,
                     const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_GEGLU,
        .n_in = 2,
        .in = { *x, residual ? *residual : VRT_TENSOR_NONE },
        .out = *out,
        .geglu = *geglu,
    });
}

void vrt_layer_shuffle(struct vrt_graph *graph, const struct vrt_tensor *x, int r,
                       const struct vrt_tensor *base, const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_DEPTH_TO_SPACE,
        .n_in = 2,
        .in = { *x, base ? *base : VRT_TENSOR_NONE },
        .out = *out,
        .depth_to_space = { .r = r },
    });
}

void vrt_layer_unshuffle(struct vrt_graph *graph, const struct vrt_tensor *x, int r,
                         const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_SPACE_TO_DEPTH,
        .n_in = 1,
        .in = { *x },
        .out = *out,
        .space_to_depth = { .r = r },
    });
}

void vrt_layer_fold(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_SPACE_TO_DEPTH,
        .n_in = 1,
        .in = { *x },
        .out = *out,
        .space_to_depth = { .r = 2, .order = VRT_SHUFFLE_BLOCKS },
    });
}

void vrt_layer_unfold(struct vrt_graph *graph, const struct vrt_tensor *x,
                      const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_DEPTH_TO_SPACE,
        .n_in = 1,
        .in = { *x },
        .out = *out,
        .depth_to_space = { .r = 2, .order = VRT_SHUFFLE_BLOCKS },
    });
}

void vrt_layer_resize(struct vrt_graph *graph, const struct vrt_tensor *x,
                      enum vrt_resize_mode mode, const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_RESIZE,
        .n_in = 1,
        .in = { *x },
        .out = *out,
        .resize = { .mode = mode },
    });
}

void vrt_layer_warp(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *flow, enum vrt_warp_mode mode,
                    const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_WARP,
        .n_in = 2,
        .in = { *x, *flow },
        .out = *out,
        .warp = { .mode = mode },
    });
}

void vrt_layer_affine(struct vrt_graph *graph, const struct vrt_tensor *x,
                      const struct vrt_op_affine *affine, const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_AFFINE,
        .n_in = 1,
        .in = { *x },
        .out = *out,
        .affine = *affine,
    });
}

void vrt_layer_halve(struct vrt_graph *graph, const struct vrt_tensor *x,
                     const struct vrt_tensor *out)
{
    struct vrt_op op = { .kind = VRT_OP_AVGPOOL2, .n_in = 1, .in = { *x }, .out = *out };

    vrt_graph_append(graph, &op);
}

void vrt_layer_mean(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out)
{
    struct vrt_op op = { .kind = VRT_OP_MEAN, .n_in = 1, .in = { *x }, .out = *out };

    vrt_graph_append(graph, &op);
}

void vrt_layer_fill(struct vrt_graph *graph, float value, const struct vrt_tensor *out)
{
    struct vrt_op op = { .kind = VRT_OP_FILL, .out = *out, .fill = { .value = value } };

    vrt_graph_append(graph, &op);
}

void vrt_layer_add(struct vrt_graph *graph, const struct vrt_tensor *a, float scale,
                   const struct vrt_tensor *b, const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_ADD,
        .n_in = 2,
        .in = { *a, *b },
        .out = *out,
        .add = { .scale = scale },
    });
}

void vrt_layer_copy(struct vrt_graph *graph, const struct vrt_tensor *x,
                    const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_COPY,
        .n_in = 1,
        .in = { *x },
        .out = *out,
    });
}

void vrt_layer_pad(struct vrt_graph *graph, const struct vrt_tensor *x,
                   const struct vrt_op_pad *pad, const struct vrt_tensor *out)
{
    vrt_graph_append(graph, &(struct vrt_op){
        .kind = VRT_OP_PAD,
        .n_in = 1,
        .in = { *x },
        .out = *out,
        .pad = *pad,
    });
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
