/* SPDX-License-Identifier: MIT */
/*
 * RIFE as a graph
 *
 *   both frames -> features of each
 *   for each new frame, block by block: both frames and features as the flows so far move them,
 *   the time, the mask and the hints so far -> made smaller -> corrections of the flows, another
 *   mask, other hints -> made larger
 *   both frames, moved by the last flows, mixed by the last mask
 *
 * Flows, masks and hints are f32, as is what is mixed: a flow decides where samples are taken from.
 * What convolutions read is of the type that is asked for.
 */

#include "model/architecture.h"
#include "model/parts/layers.h"
#include "model/rife.h"

#define SLOPE 0.2f                  /* as of IFNet_HDv3.py */
#define RGB 3
#define FLOWS 4                     /* x and y of the flow to the first frame, then to the second */
#define MASK 4                      /* behind them, in what a block makes */
#define ENLARGED_BY 4               /* at a block's end, by one convolution */

struct builder {
    const struct vrt_rife *rife;
    struct vrt_graph *graph;
    enum vrt_dtype dtype;           /* of what convolutions read */
    struct vrt_tensor frames[2], features[2];   /* [1,H,W,C] */
    float time;                     /* of the new frame: 0 is the first frame's, 1 the second's */
};

/* f32, of the size of `like`. */
static struct vrt_tensor new_like(const struct builder *b, const struct vrt_tensor *like, int c)
{
    struct vrt_shape shape = like->shape;

    shape.c = c;
    return vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
}

/* What a convolution reads. */
static struct vrt_tensor new_input(const struct builder *b, int d, int h, int w, int c)
{
    return vrt_graph_tensor(b->graph, b->dtype, (struct vrt_shape){ d, h, w, c });
}

/* The convolution whose weight is param `weight`. */
static void conv(const struct builder *b, const struct vrt_tensor *x, int weight, bool is_active,
                 const struct vrt_tensor *out)
{
    vrt_layer_conv(b->graph, x, &(struct vrt_op_conv2d){
        .kernel = 3, .weight = weight, .bias = weight + 1,
        .activation = is_active ? VRT_ACTIVATION_LEAKY_RELU : VRT_ACTIVATION_NONE,
        .slope = SLOPE, .slopes = -1, .scale = 1,
    }, NULL, out);
}

/* One that halves the size, to `c` channels. */
static struct vrt_tensor halve(const struct builder *b, const struct vrt_tensor *x, int weight,
                               int c)
{
    const int d = x->shape.d, h = x->shape.h / 2, w = x->shape.w / 2;
    const struct vrt_tensor folded = new_input(b, d, h, w, 4 * x->shape.c);
    const struct vrt_tensor out = new_input(b, d, h, w, c);

    vrt_layer_unshuffle(b->graph, x, 2, &folded);
    conv(b, &folded, weight, true, &out);
    return out;
}

/* One that makes the size that of `out`, `by` times as large. */
static void enlarge(const struct builder *b, const struct vrt_tensor *x, int weight, int by,
                    const struct vrt_tensor *out)
{
    struct vrt_shape shape = x->shape;

    shape.c = by * by * out->shape.c;
    const struct vrt_tensor folded = vrt_graph_tensor(b->graph, out->dtype, shape);
    conv(b, x, weight, false, &folded);
    vrt_layer_shuffle(b->graph, &folded, by, NULL, out);
}

/* The convolutions from param `weight` on, each with its activation, that keep x's shape. */
static struct vrt_tensor keep(const struct builder *b, struct vrt_tensor x, int weight, int n)
{
    for (int i = 0; i < n; i++) {
        const struct vrt_tensor y = vrt_graph_tensor(b->graph, b->dtype, x.shape);

        conv(b, &x, weight + 2 * i, true, &y);
        x = y;
    }
    return x;
}

/* The features of both frames. */
static struct vrt_tensor encode(const struct builder *b, const struct vrt_tensor *in)
{
    const int n_kept = VRT_RIFE_ENCODE_CONVS - 2;
    struct vrt_tensor x = halve(b, in, 0, b->rife->encode_features);

    x = keep(b, x, 2, n_kept);
    const struct vrt_tensor out =
        new_input(b, x.shape.d, in->shape.h, in->shape.w, b->rife->features);
    enlarge(b, &x, 2 * (1 + n_kept), 2, &out);
    return out;
}

/* The flow to frame i: x and y. */
static struct vrt_tensor flow_to(const struct vrt_tensor *flows, int i)
{
    return vrt_tensor_channels(flows, 2 * i, 2);
}

/* `x` moved by the flow to frame i. */
static void move(const struct builder *b, const struct vrt_tensor *x,
                 const struct vrt_tensor *flows, int i, const struct vrt_tensor *out)
{
    const struct vrt_tensor flow = flow_to(flows, i);

    vrt_layer_warp(b->graph, x, &flow, VRT_WARP_BILINEAR_BORDER, out);
}

/* `x` at the size of `out`. */
static void fit(const struct builder *b, const struct vrt_tensor *x, const struct vrt_tensor *out)
{
    if (vrt_shape_equal(x->shape, out->shape))
        vrt_layer_copy(b->graph, x, out);
    else
        vrt_layer_resize(b->graph, x, VRT_RESIZE_BILINEAR, out);
}

/* f32, itself where it is of that size. */
static struct vrt_tensor fitted(const struct builder *b, const struct vrt_tensor *x,
                                const struct vrt_tensor *like)
{
    if (x->shape.h == like->shape.h)
        return *x;

    const struct vrt_tensor out = new_like(b, like, x->shape.c);
    vrt_layer_resize(b->graph, x, VRT_RESIZE_BILINEAR, &out);
    return out;
}

/* The next `n` channels of `x`. */
static struct vrt_tensor next_channels(const struct vrt_tensor *x, int *first, int n)
{
    *first += n;
    return vrt_tensor_channels(x, *first - n, n);
}

/* Both frames and both frames' features at the size of `out`, moved by the flows where there are
 * any. */
static void gather_pictures(const struct builder *b, const struct vrt_tensor *flows,
                            const struct vrt_tensor *out)
{
    const int h = b->frames[0].shape.h, w = b->frames[0].shape.w;
    const bool is_smaller = out->shape.h < h;
    const struct vrt_tensor moved =
        flows && is_smaller ? new_input(b, 1, h, w, out->shape.c) : *out;
    int first = 0;

    for (int k = 0; k < 4; k++) {
        const struct vrt_tensor *x = k < 2 ? &b->frames[k] : &b->features[k - 2];
        const struct vrt_tensor to = next_channels(&moved, &first, x->shape.c);

        if (flows)
            move(b, x, flows, k % 2, &to);
        else
            fit(b, x, &to);
    }
    if (flows && is_smaller)
        fit(b, &moved, out);
}

/* What block i reads, at its size. `made` is what the block before it made, at the frames'; both
 * NULL: there is none. */
static struct vrt_tensor gather(const struct builder *b, const struct vrt_tensor *flows,
                                const struct vrt_tensor *made, int i)
{
    const int scale = b->rife->blocks[i].scale;
    const int h = b->frames[0].shape.h / scale, w = b->frames[0].shape.w / scale;
    const struct vrt_tensor out = new_input(b, 1, h, w, vrt_rife_in_channels(b->rife, i));
    int first = 0;

    const struct vrt_tensor pictures = next_channels(&out, &first, 2 * (RGB + b->rife->features));
    gather_pictures(b, flows, &pictures);
    const struct vrt_tensor time = next_channels(&out, &first, 1);
    vrt_layer_fill(b->graph, b->time, &time);
    if (!flows)
        return out;

    /* Mask and hints follow one another in both. */
    const struct vrt_tensor from = vrt_tensor_channels(made, MASK, 1 + b->rife->n_hints);
    const struct vrt_tensor to = next_channels(&out, &first, 1 + b->rife->n_hints);
    fit(b, &from, &to);
    const float by = 1 / (float)scale;
    const struct vrt_op_affine smaller = { .scale = { by, by, by, by } };
    const struct vrt_tensor last = next_channels(&out, &first, FLOWS);
    const struct vrt_tensor resized = fitted(b, flows, &out);
    vrt_layer_affine(b->graph, &resized, &smaller, &last);
    return out;
}

/* What block i makes, at the size of the frames: flows in pixels of its own size, a mask, hints. */
static struct vrt_tensor block(const struct builder *b, const struct vrt_tensor *flows,
                               const struct vrt_tensor *made, int i)
{
    const int features = b->rife->blocks[i].features;
    int weight = 2 * (VRT_RIFE_ENCODE_CONVS + i * VRT_RIFE_BLOCK_CONVS);
    struct vrt_tensor x = gather(b, flows, made, i);
    const struct vrt_tensor small = new_like(b, &x, b->rife->n_made);

    x = halve(b, &x, weight, features / 2);
    x = halve(b, &x, weight + 2, features);
    x = keep(b, x, weight + 4, VRT_RIFE_RES_CONVS);
    enlarge(b, &x, weight + 4 + 2 * VRT_RIFE_RES_CONVS, ENLARGED_BY, &small);
    return fitted(b, &small, &b->frames[0]);
}

/* The flows, corrected by what block i made. */
static struct vrt_tensor correct(const struct builder *b, const struct vrt_tensor *flows,
                                 const struct vrt_tensor *made, int i)
{
    const float scale = (float)b->rife->blocks[i].scale;
    const struct vrt_tensor more = vrt_tensor_channels(made, 0, FLOWS);
    const struct vrt_tensor out = new_like(b, made, FLOWS);

    if (flows)
        vrt_layer_add(b->graph, &more, scale, flows, &out);
    else
        vrt_layer_affine(b->graph, &more, &(struct vrt_op_affine){
            .scale = { scale, scale, scale, scale } }, &out);
    return out;
}

/* out = first * m + second * (1 - m), of both frames moved by the flows, m = sigmoid(mask). */
static void mix(const struct builder *b, const struct vrt_tensor *flows,
                const struct vrt_tensor *made, const struct vrt_tensor *out)
{
    const struct vrt_tensor mask = vrt_tensor_channels(made, MASK, 1);
    const struct vrt_tensor first = new_like(b, &mask, RGB);
    const struct vrt_tensor second = new_like(b, &mask, RGB);
    const struct vrt_tensor masks = new_like(b, &mask, RGB);
    const struct vrt_tensor difference = new_like(b, &mask, RGB);
    const struct vrt_tensor share = new_like(b, &mask, RGB);

    move(b, &b->frames[0], flows, 0, &first);
    move(b, &b->frames[1], flows, 1, &second);
    for (int c = 0; c < RGB; c++) {
        const struct vrt_tensor to = vrt_tensor_channels(&masks, c, 1);
        vrt_layer_copy(b->graph, &mask, &to);
    }
    vrt_layer_add(b->graph, &second, -1, &first, &difference);
    vrt_layer_gate(b->graph, &masks, &difference, NULL, &(struct vrt_op_gate){ .scale = 1 },
                   &share);
    vrt_layer_add(b->graph, &share, 1, &second, out);
}

void vrt_rife_build(const struct vrt_network *network, struct vrt_graph *graph,
                    const struct vrt_tensor *in, const struct vrt_tensor *out,
                    const struct vrt_network_use *use)
{
    const struct vrt_network_moments evenly = { 1, 1, out->shape.d + 1 };
    const struct vrt_network_moments moments = use->moments.of ? use->moments : evenly;
    struct builder b = { .rife = &network->rife, .graph = graph, .dtype = use->dtype };
    const struct vrt_tensor features = encode(&b, in);

    if (vrt_graph_status(graph) < 0)
        return;
    for (int i = 0; i < 2; i++) {
        b.frames[i] = vrt_tensor_frames(in, i, 1);
        b.features[i] = vrt_tensor_frames(&features, i, 1);
    }
    for (int k = 0; k < out->shape.d && vrt_graph_status(graph) == 0; k++) {
        struct vrt_tensor made = VRT_TENSOR_NONE, flows = VRT_TENSOR_NONE;
        const struct vrt_tensor frame = vrt_tensor_frames(out, k, 1);

        b.time = (float)(moments.first + k * moments.every) / (float)moments.of;
        for (int i = 0; i < b.rife->n_blocks; i++) {
            made = block(&b, i ? &flows : NULL, i ? &made : NULL, i);
            flows = correct(&b, i ? &flows : NULL, &made, i);
            if (vrt_graph_status(graph) < 0)
                return;
        }
        mix(&b, &flows, &made, &frame);
    }
}
