/* SPDX-License-Identifier: MIT */
/*
 * SPAN and SPANF3 as a graph
 *
 *   first -> blocks -> (SPAN: a convolution) -> joined with what the first convolution, the first
 *   block and the last block's middle made -> last -> pixel shuffle
 *
 * A block adds its input to what three convolutions made of it, and multiplies the sum with a
 * function of the latter: SPAN with sigmoid(y) - 1/2, SPANF3 with the tanh of a 1x1 convolution.
 */

#include "model/architecture.h"
#include "model/layers.h"

#define RANGE 255

/* Of the pictures that SPAN was trained on (DIV2K). */
static const float colour_mean[3] = { 0.4488f, 0.4371f, 0.4040f };

/* What the joining convolution reads, in this order, as channels of one tensor. */
enum slot { FIRST, BODY, FIRST_BLOCK, MIDDLE, N_SLOTS };

struct builder {
    const struct vrt_span *span;
    struct vrt_graph *graph;
    enum vrt_dtype dtype;
    struct vrt_shape shape;         /* of features */
    struct vrt_tensor joined;
    int next;                       /* the next param */
};

static struct vrt_tensor new_tensor(const struct builder *b)
{
    return vrt_graph_tensor(b->graph, b->dtype, b->shape);
}

static struct vrt_tensor slot(const struct builder *b, enum slot i)
{
    return vrt_tensor_channels(&b->joined, (int)i * b->span->features, b->span->features);
}

/* A convolution with the next params. */
static void conv(struct builder *b, const struct vrt_tensor *x, const struct vrt_op_conv2d *like,
                 const struct vrt_tensor *out)
{
    struct vrt_op_conv2d op = *like;

    op.weight = b->next++;
    op.bias = b->next++;
    op.slopes = -1;
    op.scale = op.scale != 0 ? op.scale : 1;
    vrt_layer_conv(b->graph, x, &op, NULL, out);
}

/* A convolution and its activation: ReLU, or SPAN's SiLU. */
static void active(struct builder *b, const struct vrt_tensor *x, const struct vrt_tensor *out)
{
    if (b->span->is_f3) {
        conv(b, x, &(struct vrt_op_conv2d){ .kernel = 3, .activation = VRT_ACTIVATION_RELU }, out);
        return;
    }
    const struct vrt_tensor y = new_tensor(b);
    conv(b, x, &(struct vrt_op_conv2d){ .kernel = 3 }, &y);
    vrt_layer_gate(b->graph, &y, &y, NULL, &(struct vrt_op_gate){ .scale = 1 }, out);
}

/* (x + y) times what y says of it, y being what the three convolutions made. */
static void block(struct builder *b, const struct vrt_tensor *x, const struct vrt_tensor *middle,
                  const struct vrt_tensor *out)
{
    const struct vrt_tensor second = new_tensor(b), y = new_tensor(b);

    active(b, x, middle);
    active(b, middle, &second);
    conv(b, &second, &(struct vrt_op_conv2d){ .kernel = 3 }, &y);
    if (!b->span->is_f3) {
        vrt_layer_gate(b->graph, &y, &y, x, &(struct vrt_op_gate){ 1, -0.5f }, out);
        return;
    }
    /* tanh(z) = 2 sigmoid(2 z) - 1 */
    const struct vrt_tensor attention = new_tensor(b);
    conv(b, &y, &(struct vrt_op_conv2d){ .kernel = 1, .scale = 2 }, &attention);
    vrt_layer_gate(b->graph, &attention, &y, x, &(struct vrt_op_gate){ 2, -1 }, out);
}

static void body(struct builder *b)
{
    struct vrt_tensor x = slot(b, FIRST);

    for (int i = 0; i < b->span->n_blocks && vrt_graph_status(b->graph) == 0; i++) {
        const bool is_last = i + 1 == b->span->n_blocks;
        const struct vrt_tensor middle = is_last ? slot(b, MIDDLE) : new_tensor(b);
        const struct vrt_tensor out = i == 0 ? slot(b, FIRST_BLOCK)
                                      : is_last && b->span->is_f3 ? slot(b, BODY) : new_tensor(b);

        block(b, &x, &middle, &out);
        x = out;
    }
    const struct vrt_tensor last = slot(b, BODY);
    if (!b->span->is_f3)
        conv(b, &x, &(struct vrt_op_conv2d){ .kernel = 3 }, &last);
    else if (b->span->n_blocks == 1)
        vrt_layer_copy(b->graph, &x, &last);
}

/* What the first convolution reads, of its type. */
static struct vrt_tensor enter(const struct builder *b, const struct vrt_tensor *in)
{
    const int f = b->span->unshuffle;
    struct vrt_shape shape = b->shape;
    struct vrt_tensor x = *in;

    if (b->span->is_normed) {
        struct vrt_op_affine affine = { 0 };

        for (int c = 0; c < in->shape.c; c++) {
            affine.scale[c] = RANGE;
            affine.shift[c] = -colour_mean[c] * RANGE;
        }
        x = vrt_graph_tensor(b->graph, b->dtype, in->shape);
        vrt_layer_affine(b->graph, in, &affine, &x);
    }
    if (f > 1) {
        shape.c = in->shape.c * f * f;
        x = vrt_graph_tensor(b->graph, b->dtype, shape);
        vrt_layer_unshuffle(b->graph, in, f, &x);
    }
    return vrt_layer_convert(b->graph, &x, b->dtype);
}

void vrt_span_build(const struct vrt_network *network, struct vrt_graph *graph,
                    const struct vrt_tensor *in, const struct vrt_tensor *out,
                    const struct vrt_network_use *use)
{
    const struct vrt_span *span = &network->span;
    const int f = span->unshuffle, r = span->up_scale;
    const struct vrt_shape shape = { in->shape.d, in->shape.h / f, in->shape.w / f,
                                     span->features };
    struct vrt_shape wide = shape, last = shape;
    struct builder b = { .span = span, .graph = graph, .dtype = use->dtype, .shape = shape };

    wide.c = N_SLOTS * span->features;
    last.c = out->shape.c * r * r;
    b.joined = vrt_graph_tensor(graph, use->dtype, wide);
    if (vrt_graph_status(graph) < 0)
        return;
    const struct vrt_tensor x = enter(&b, in), first = slot(&b, FIRST);
    conv(&b, &x, &(struct vrt_op_conv2d){ .kernel = 3 }, &first);
    body(&b);
    const struct vrt_tensor y = new_tensor(&b);
    const struct vrt_tensor z = vrt_graph_tensor(graph, VRT_DTYPE_F32, last);
    conv(&b, &b.joined, &(struct vrt_op_conv2d){ .kernel = 1 }, &y);
    conv(&b, &y, &(struct vrt_op_conv2d){ .kernel = 3 }, &z);
    vrt_layer_shuffle(graph, &z, r, NULL, out);
}
