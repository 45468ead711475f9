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
 * All of it is f32: a flow decides where samples are taken from.
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
    struct vrt_tensor frames[2], features[2];   /* [1,H,W,C] */
    float time;                     /* of the new frame: 0 is the first frame's, 1 the second's */
};

static struct vrt_tensor new_tensor(const struct builder *b, const struct vrt_tensor *like, int h,
                                    int w, int c)
{
    return vrt_graph_tensor(b->graph, VRT_DTYPE_F32, (struct vrt_shape){ like->shape.d, h, w, c });
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
    const int h = x->shape.h / 2, w = x->shape.w / 2;
    const struct vrt_tensor folded = new_tensor(b, x, h, w, 4 * x->shape.c);
    const struct vrt_tensor out = new_tensor(b, x, h, w, c);

    vrt_layer_unshuffle(b->graph, x, 2, &folded);
    conv(b, &folded, weight, true, &out);
    return out;
}

/* One that makes the size `by` times as large, to `c` channels. */
static struct vrt_tensor enlarge(const struct builder *b, const struct vrt_tensor *x, int weight,
                                 int by, int c)
{
    const int h = x->shape.h, w = x->shape.w;
    const struct vrt_tensor folded = new_tensor(b, x, h, w, by * by * c);
    const struct vrt_tensor out = new_tensor(b, x, by * h, by * w, c);

    conv(b, x, weight, false, &folded);
    vrt_layer_shuffle(b->graph, &folded, by, NULL, &out);
    return out;
}

/* The features of both frames. */
static struct vrt_tensor encode(const struct builder *b, const struct vrt_tensor *in)
{
    const int f = b->rife->encode_features;
    struct vrt_tensor x = halve(b, in, 0, f);

    for (int i = 1; i < VRT_RIFE_ENCODE_CONVS - 1; i++) {
        const struct vrt_tensor y = new_tensor(b, &x, x.shape.h, x.shape.w, f);
        conv(b, &x, 2 * i, true, &y);
        x = y;
    }
    return enlarge(b, &x, 2 * (VRT_RIFE_ENCODE_CONVS - 1), 2, b->rife->features);
}

/* The flow to frame i: x and y. */
static struct vrt_tensor flow_to(const struct vrt_tensor *flows, int i)
{
    return vrt_tensor_channels(flows, 2 * i, 2);
}

/* `x` moved by the flow to frame i, or as it is where there are no flows yet. */
static void move(const struct builder *b, const struct vrt_tensor *x,
                 const struct vrt_tensor *flows, int i, const struct vrt_tensor *out)
{
    if (!flows) {
        vrt_layer_copy(b->graph, x, out);
        return;
    }
    const struct vrt_tensor flow = flow_to(flows, i);
    vrt_layer_warp(b->graph, x, &flow, VRT_WARP_BILINEAR_BORDER, out);
}

/* The next `n` channels of `x`. */
static struct vrt_tensor next_channels(const struct vrt_tensor *x, int *first, int n)
{
    *first += n;
    return vrt_tensor_channels(x, *first - n, n);
}

/* What block i reads, at the size of the frames, but for the flows. `made` is what the block before
 * it made; both NULL: there is none. */
static struct vrt_tensor gather(const struct builder *b, const struct vrt_tensor *flows,
                                const struct vrt_tensor *made, int i)
{
    const struct vrt_tensor *like = &b->frames[0];
    const int n = vrt_rife_in_channels(b->rife, i) - (flows ? FLOWS : 0);
    const struct vrt_tensor all = new_tensor(b, like, like->shape.h, like->shape.w, n);
    int first = 0;

    for (int k = 0; k < 2; k++) {
        const struct vrt_tensor to = next_channels(&all, &first, RGB);
        move(b, &b->frames[k], flows, k, &to);
    }
    for (int k = 0; k < 2; k++) {
        const struct vrt_tensor to = next_channels(&all, &first, b->rife->features);
        move(b, &b->features[k], flows, k, &to);
    }
    const struct vrt_tensor time = next_channels(&all, &first, 1);
    vrt_layer_fill(b->graph, b->time, &time);
    if (made) {
        /* Mask and hints follow one another in both. */
        const struct vrt_tensor from = vrt_tensor_channels(made, MASK, 1 + b->rife->n_hints);
        const struct vrt_tensor to = next_channels(&all, &first, 1 + b->rife->n_hints);
        vrt_layer_copy(b->graph, &from, &to);
    }
    return all;
}

/* The same with the flows behind it, all made smaller by the block's scale. */
static struct vrt_tensor reduce(const struct builder *b, const struct vrt_tensor *all,
                                const struct vrt_tensor *flows, int i)
{
    const int scale = b->rife->blocks[i].scale, c = all->shape.c;
    const int h = all->shape.h / scale, w = all->shape.w / scale;
    const struct vrt_tensor out = new_tensor(b, all, h, w, c + (flows ? FLOWS : 0));
    const struct vrt_tensor others = vrt_tensor_channels(&out, 0, c);

    vrt_layer_resize(b->graph, all, VRT_RESIZE_BILINEAR, &others);
    if (!flows)
        return out;
    const float by = 1 / (float)scale;
    const struct vrt_op_affine smaller = { .scale = { by, by, by, by } };
    const struct vrt_tensor resized = new_tensor(b, all, h, w, FLOWS);
    const struct vrt_tensor last = vrt_tensor_channels(&out, c, FLOWS);
    vrt_layer_resize(b->graph, flows, VRT_RESIZE_BILINEAR, &resized);
    vrt_layer_affine(b->graph, &resized, &smaller, &last);
    return out;
}

/* What block i makes, at the size of the frames: flows in pixels of its own size, a mask, hints. */
static struct vrt_tensor block(const struct builder *b, const struct vrt_tensor *flows,
                               const struct vrt_tensor *made, int i)
{
    const struct vrt_tensor *like = &b->frames[0];
    const int features = b->rife->blocks[i].features;
    const struct vrt_tensor all = gather(b, flows, made, i);
    int weight = 2 * (VRT_RIFE_ENCODE_CONVS + i * VRT_RIFE_BLOCK_CONVS);
    struct vrt_tensor x = reduce(b, &all, flows, i);

    x = halve(b, &x, weight, features / 2);
    weight += 2;
    x = halve(b, &x, weight, features);
    for (int k = 0; k < VRT_RIFE_RES_CONVS; k++) {
        const struct vrt_tensor y = new_tensor(b, &x, x.shape.h, x.shape.w, features);

        weight += 2;
        conv(b, &x, weight, true, &y);
        x = y;
    }
    x = enlarge(b, &x, weight + 2, ENLARGED_BY, b->rife->n_made);
    const struct vrt_tensor out = new_tensor(b, &x, like->shape.h, like->shape.w, b->rife->n_made);
    vrt_layer_resize(b->graph, &x, VRT_RESIZE_BILINEAR, &out);
    return out;
}

/* The flows, corrected by what block i made. */
static struct vrt_tensor correct(const struct builder *b, const struct vrt_tensor *flows,
                                 const struct vrt_tensor *made, int i)
{
    const float scale = (float)b->rife->blocks[i].scale;
    const struct vrt_tensor more = vrt_tensor_channels(made, 0, FLOWS);
    const struct vrt_tensor out = new_tensor(b, made, made->shape.h, made->shape.w, FLOWS);

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
    const int h = mask.shape.h, w = mask.shape.w;
    const struct vrt_tensor first = new_tensor(b, &mask, h, w, RGB);
    const struct vrt_tensor second = new_tensor(b, &mask, h, w, RGB);
    const struct vrt_tensor masks = new_tensor(b, &mask, h, w, RGB);
    const struct vrt_tensor difference = new_tensor(b, &mask, h, w, RGB);
    const struct vrt_tensor share = new_tensor(b, &mask, h, w, RGB);

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
    struct builder b = { .rife = &network->rife, .graph = graph };
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
