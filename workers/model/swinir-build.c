/* SPDX-License-Identifier: MIT */
/*
 * SwinIR as a graph
 *
 *   samples less their mean -> first -> norm -> groups of blocks, each + its input -> norm ->
 *   convolution + first -> tail -> plus the mean
 *
 * What blocks and groups add up stays f32, whatever the type of the weights.
 */

#include "model/architecture.h"
#include "model/parts/layers.h"

#define BOTTLENECK_SLOPE 0.2f       /* as of network_swinir.py, between three convolutions, */
#define NEAREST_SLOPE 0.2f          /* after enlargements by repeating samples, */
#define TAIL_SLOPE 0.01f            /* and PyTorch's own, before the enlargement */

/* Of the pictures that it was trained on (DIV2K). */
static const float colour_mean[3] = { 0.4488f, 0.4371f, 0.4040f };

struct builder {
    const struct vrt_swinir *swinir;
    struct vrt_graph *graph;
    enum vrt_dtype dtype;           /* of what convolutions read */
    int next;                       /* the next param */
};

static struct vrt_tensor new_tensor(const struct builder *b, enum vrt_dtype dtype,
                                    const struct vrt_tensor *like, int channels)
{
    struct vrt_shape shape = like->shape;

    shape.c = channels;
    return vrt_graph_tensor(b->graph, dtype, shape);
}

/* A convolution with the next params, of x converted as it has to be. */
static struct vrt_tensor conv(struct builder *b, const struct vrt_tensor *x, int channels,
                              int kernel, float slope, const struct vrt_tensor *residual,
                              enum vrt_dtype dtype)
{
    const struct vrt_op_conv2d op = {
        .kernel = kernel, .weight = b->next, .bias = b->next + 1,
        .activation = slope > 0 ? VRT_ACTIVATION_LEAKY_RELU : VRT_ACTIVATION_NONE,
        .slope = slope, .slopes = -1, .scale = 1,
    };
    const struct vrt_tensor in = vrt_layer_convert(b->graph, x, b->dtype);
    const struct vrt_tensor out = new_tensor(b, dtype, x, channels);

    b->next += 2;
    vrt_layer_conv(b->graph, &in, &op, residual, &out);
    return out;
}

/* The convolutions that end a group or the body, plus the residual: f32. */
static struct vrt_tensor convs(struct builder *b, const struct vrt_tensor *x,
                               const struct vrt_tensor *residual)
{
    const int channels = x->shape.c, fewer = channels / VRT_SWINIR_BOTTLENECK;

    if (b->swinir->n_convs == 1)
        return conv(b, x, channels, 3, 0, residual, VRT_DTYPE_F32);
    struct vrt_tensor y = conv(b, x, fewer, 3, BOTTLENECK_SLOPE, NULL, b->dtype);
    y = conv(b, &y, fewer, 1, BOTTLENECK_SLOPE, NULL, b->dtype);
    return conv(b, &y, channels, 3, 0, residual, VRT_DTYPE_F32);
}

static struct vrt_tensor norm(struct builder *b, const struct vrt_tensor *x, enum vrt_dtype dtype)
{
    const struct vrt_tensor out = new_tensor(b, dtype, x, x->shape.c);

    vrt_layer_norm(b->graph, x, &(struct vrt_op_norm){ b->next, b->next + 1 }, &out);
    b->next += 2;
    return out;
}

/* x + attention(norm1(x)), to which mlp(norm2(...)) is added; every second one is shifted. */
static struct vrt_tensor block(struct builder *b, const struct vrt_tensor *x, int heads, int i)
{
    const int p = b->next, c = x->shape.c, window = b->swinir->window;
    struct vrt_op attention = {
        .kind = VRT_OP_WINDOW_ATTENTION,
        .n_in = 1,
        .in = { *x },
        .out = new_tensor(b, VRT_DTYPE_F32, x, c),
        .window_attention = {
            .heads = heads,
            .window = { 1, window, window },
            .shifted = i % 2 == 1,
            .norm = { p + VRT_SWINIR_NORM1, p + VRT_SWINIR_NORM1 + 1 },
            .qkv = p + VRT_SWINIR_QKV,
            .qkv_bias = p + VRT_SWINIR_QKV + 1,
            .bias_table = p + VRT_SWINIR_TABLE,
            .mutual = -1, .mutual_bias = -1, .position = -1,
            .proj = p + VRT_SWINIR_PROJ,
            .proj_bias = p + VRT_SWINIR_PROJ + 1,
        },
    };
    const struct vrt_op_linear fc1 = {
        .norm = { p + VRT_SWINIR_NORM2, p + VRT_SWINIR_NORM2 + 1 },
        .weight = p + VRT_SWINIR_FC1, .bias = p + VRT_SWINIR_FC1 + 1,
        .activation = VRT_ACTIVATION_GELU,
    };
    const struct vrt_op_linear fc2 = {
        .norm = { -1, -1 }, .weight = p + VRT_SWINIR_FC2, .bias = p + VRT_SWINIR_FC2 + 1,
    };

    b->next += VRT_SWINIR_BLOCK_PARAMS;
    vrt_graph_append(b->graph, &attention);
    const struct vrt_tensor wide = new_tensor(b, b->dtype, x, b->swinir->hidden);
    const struct vrt_tensor out = new_tensor(b, VRT_DTYPE_F32, x, c);
    vrt_layer_linear(b->graph, &attention.out, &fc1, NULL, &wide);
    vrt_layer_linear(b->graph, &wide, &fc2, &attention.out, &out);
    return out;
}

/* Everything between the first convolution and the tail. */
static struct vrt_tensor body(struct builder *b, const struct vrt_tensor *first)
{
    const struct vrt_swinir *swinir = b->swinir;
    struct vrt_tensor x = swinir->norms_input ? norm(b, first, VRT_DTYPE_F32) : *first;

    for (int i = 0; i < swinir->n_groups && vrt_graph_status(b->graph) == 0; i++) {
        struct vrt_tensor y = x;

        for (int k = 0; k < swinir->groups[i].n_blocks; k++)
            y = block(b, &y, swinir->groups[i].heads, k);
        x = convs(b, &y, &x);
    }
    x = norm(b, &x, b->dtype);
    return convs(b, &x, first);
}

static struct vrt_tensor shuffle(struct builder *b, const struct vrt_tensor *x,
                                 enum vrt_dtype dtype)
{
    const int r = b->swinir->up_scale;
    struct vrt_shape shape = x->shape;

    shape.h *= r;
    shape.w *= r;
    shape.c /= r * r;
    const struct vrt_tensor out = vrt_graph_tensor(b->graph, dtype, shape);
    vrt_layer_shuffle(b->graph, x, r, NULL, &out);
    return out;
}

/* A convolution of x with every sample repeated. */
static struct vrt_tensor enlarge(struct builder *b, const struct vrt_tensor *x)
{
    struct vrt_shape shape = x->shape;

    shape.h *= 2;
    shape.w *= 2;
    const struct vrt_tensor wide = vrt_graph_tensor(b->graph, b->dtype, shape);
    vrt_layer_resize(b->graph, x, VRT_RESIZE_NEAREST, &wide);
    return conv(b, &wide, x->shape.c, 3, NEAREST_SLOPE, NULL, b->dtype);
}

/* What the body found -> a picture, f32; `in` is what went in. */
static struct vrt_tensor tail(struct builder *b, struct vrt_tensor x, const struct vrt_tensor *in)
{
    const struct vrt_swinir *swinir = b->swinir;
    const int channels = in->shape.c, square = swinir->up_scale * swinir->up_scale;

    if (swinir->tail == VRT_SWINIR_SAME_SIZE)
        return conv(b, &x, channels, 3, 0, in, VRT_DTYPE_F32);
    if (swinir->tail == VRT_SWINIR_SHUFFLE_DIRECT) {
        x = conv(b, &x, square * channels, 3, 0, NULL, VRT_DTYPE_F32);
        return shuffle(b, &x, VRT_DTYPE_F32);
    }
    x = conv(b, &x, swinir->tail_features, 3, TAIL_SLOPE, NULL, b->dtype);
    for (int i = 0; i < swinir->n_up; i++) {
        if (swinir->tail == VRT_SWINIR_NEAREST) {
            x = enlarge(b, &x);
        } else {
            x = conv(b, &x, square * swinir->tail_features, 3, 0, NULL, b->dtype);
            x = shuffle(b, &x, b->dtype);
        }
    }
    if (swinir->tail == VRT_SWINIR_NEAREST)
        x = conv(b, &x, swinir->tail_features, 3, NEAREST_SLOPE, NULL, b->dtype);
    return conv(b, &x, channels, 3, 0, NULL, VRT_DTYPE_F32);
}

/* Samples less the mean, in the range that it was trained on; or, `back`, the way back. */
static struct vrt_op_affine normalisation(const struct vrt_swinir *swinir, int channels, bool back)
{
    struct vrt_op_affine affine = { 0 };

    for (int c = 0; c < channels; c++) {
        const float mean = channels == 3 ? colour_mean[c] : 0;

        affine.scale[c] = back ? 1 / swinir->range : swinir->range;
        affine.shift[c] = back ? mean : -mean * swinir->range;
    }
    return affine;
}

void vrt_swinir_build(const struct vrt_network *network, struct vrt_graph *graph,
                      const struct vrt_tensor *in, const struct vrt_tensor *out,
                      const struct vrt_network_use *use)
{
    const struct vrt_swinir *swinir = &network->swinir;
    const int channels = in->shape.c;
    const struct vrt_op_affine there = normalisation(swinir, channels, false);
    const struct vrt_op_affine back = normalisation(swinir, channels, true);
    struct builder b = { .swinir = swinir, .graph = graph, .dtype = use->dtype };
    struct vrt_tensor x = new_tensor(&b, VRT_DTYPE_F32, in, channels);

    vrt_layer_affine(graph, in, &there, &x);
    const struct vrt_tensor first = conv(&b, &x, swinir->features, 3, 0, NULL, VRT_DTYPE_F32);
    const struct vrt_tensor found = body(&b, &first);
    const struct vrt_tensor picture = tail(&b, found, &x);
    vrt_layer_affine(graph, &picture, &back, out);
}
