/* SPDX-License-Identifier: MIT */
/*
 * BasicVSR++ as a graph
 *
 *   every frame -> features; every pair of neighbours -> flows both ways
 *   four times through the clip, from frame to frame: what was made of the last frame and of the
 *   one before it, aligned with this one by flow and a deformable convolution; with this frame's
 *   features and what the passes before made of it -> what is made of this frame
 *   during the last pass, all of a frame -> its pixels
 *
 * What is kept of the whole clip are its features, those of three passes and the flows; nothing
 * else lives longer than two frames. Flows and offsets are f32, and so is what they are made of.
 */

#include "base/macro.h"
#include "model/architecture.h"
#include "model/basicvsr.h"
#include "model/parts/layers.h"
#include "model/parts/spynet.h"

#define SLOPE 0.1f                  /* as in basicvsr_plusplus_net.py */
#define MAX_RESIDUE 10.0f           /* how far offsets may differ from the flow */
#define RGB 3
#define XY 2

struct builder {
    const struct vrt_basicvsr *net;
    struct vrt_graph *graph;
    enum vrt_dtype dtype;
    struct vrt_tensor in;           /* the clip, [D,H,W,3] */

    /* [D,h,w,C]: of the frames, then of all branches but the last. */
    struct vrt_tensor features[VRT_BASICVSR_BRANCHES];

    /* f32 [2*(D-1),h,w,2], as SpyNet's. */
    struct vrt_tensor flows;
};

/* What a branch has made of a frame, and of the one that it came from; the last ones do not exist
 * at a clip's end. */
struct trail {
    struct vrt_tensor last, before;
};

static struct vrt_tensor new_tensor(const struct builder *b, enum vrt_dtype dtype,
                                    const struct vrt_tensor *like, int channels)
{
    struct vrt_shape shape = like->shape;

    shape.c = channels;
    return vrt_graph_tensor(b->graph, dtype, shape);
}

/* The 3x3 convolution whose weight is param `weight`. */
static void conv(const struct builder *b, const struct vrt_tensor *x, int weight,
                 enum vrt_activation activation, const struct vrt_tensor *residual,
                 const struct vrt_tensor *out)
{
    vrt_layer_conv(b->graph, x, &(struct vrt_op_conv2d){
        .kernel = 3, .weight = weight, .bias = weight + 1, .activation = activation,
        .slope = SLOPE, .slopes = -1, .scale = 1,
    }, residual, out);
}

/* A convolution and `n` residual blocks, from param `first` on. */
static struct vrt_tensor blocks(const struct builder *b, const struct vrt_tensor *x, int first,
                                int n)
{
    const int c = b->net->features;
    struct vrt_tensor y = new_tensor(b, VRT_DTYPE_F32, x, c);

    conv(b, x, first, VRT_ACTIVATION_LEAKY_RELU, NULL, &y);
    for (int i = 0; i < n; i++) {
        const struct vrt_tensor rounded = vrt_layer_convert(b->graph, &y, b->dtype);
        const struct vrt_tensor inner = new_tensor(b, b->dtype, x, c);
        const struct vrt_tensor sum = new_tensor(b, VRT_DTYPE_F32, x, c);

        first += 2;
        conv(b, &rounded, first, VRT_ACTIVATION_RELU, NULL, &inner);
        first += 2;
        conv(b, &inner, first, VRT_ACTIVATION_NONE, &y, &sum);
        y = sum;
    }
    return y;
}

/* Squares of 2 become channels, and those become `c` of them. */
static struct vrt_tensor halve(const struct builder *b, const struct vrt_tensor *x, int weight,
                               int c)
{
    const struct vrt_shape shape = { x->shape.d, x->shape.h / 2, x->shape.w / 2, 4 * x->shape.c };
    const struct vrt_tensor folded = vrt_graph_tensor(b->graph, b->dtype, shape);
    const struct vrt_tensor out = new_tensor(b, b->dtype, &folded, c);

    vrt_layer_unshuffle(b->graph, x, 2, &folded);
    conv(b, &folded, weight, VRT_ACTIVATION_LEAKY_RELU, NULL, &out);
    return out;
}

/* The features of some frames. */
static void extract(const struct builder *b, const struct vrt_tensor *frames,
                    const struct vrt_tensor *out)
{
    const struct vrt_basicvsr *net = b->net;
    struct vrt_tensor x = vrt_layer_convert(b->graph, frames, b->dtype);

    if (net->keeps_size) {
        x = halve(b, &x, net->halve, net->features);
        x = halve(b, &x, net->halve + 2, net->features);
    }
    x = blocks(b, &x, net->extract, VRT_BASICVSR_END_BLOCKS);
    vrt_layer_copy(b->graph, &x, out);
}

/* The clip as flows are estimated from it, of the size of the features. */
static struct vrt_tensor reduce(const struct builder *b)
{
    const int by = VRT_BASICVSR_REDUCTION;
    const struct vrt_shape shape = { b->in.shape.d, b->in.shape.h / by, b->in.shape.w / by,
                                     RGB * by * by };

    if (!b->net->keeps_size)
        return b->in;
    const struct vrt_tensor folded = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
    const struct vrt_tensor out = new_tensor(b, VRT_DTYPE_F32, &folded, RGB);
    vrt_layer_unshuffle(b->graph, &b->in, by, &folded);
    vrt_layer_conv(b->graph, &folded, &(struct vrt_op_conv2d){
        .kernel = 1, .weight = b->net->reduce, .bias = -1, .slopes = -1, .scale = 1,
    }, NULL, &out);
    return out;
}

static void estimate_flows(struct builder *b)
{
    const struct vrt_tensor rgb = reduce(b);
    struct vrt_tensor pictures[VRT_SPYNET_LEVELS], flow = VRT_TENSOR_NONE;

    vrt_spynet_pictures(b->graph, &rgb, pictures);
    for (int l = 0; l < VRT_SPYNET_LEVELS; l++)
        flow = vrt_spynet_estimate(b->graph, b->net->flow, l, &pictures[l], l ? &flow : NULL);
    if (flow.shape.h == rgb.shape.h && flow.shape.w == rgb.shape.w) {
        b->flows = flow;
        return;
    }
    b->flows = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, (struct vrt_shape){
        flow.shape.d, rgb.shape.h, rgb.shape.w, XY });
    vrt_spynet_resize(b->graph, &flow, &b->flows);
}

/* The flow from frame `at` to the one that was before it on the way. */
static struct vrt_tensor flow_of(const struct builder *b, int at, bool forward)
{
    const int n_pairs = b->in.shape.d - 1;

    return vrt_tensor_frames(&b->flows, forward ? n_pairs + at - 1 : at, 1);
}

/* The flow on to the frame before that: where the first leads, and from there on. */
static struct vrt_tensor flow_further(const struct builder *b, const struct vrt_tensor *flow,
                                      const struct vrt_tensor *next)
{
    const struct vrt_tensor step = new_tensor(b, VRT_DTYPE_F32, flow, XY);
    const struct vrt_tensor out = new_tensor(b, VRT_DTYPE_F32, flow, XY);

    vrt_layer_warp(b->graph, next, flow, VRT_WARP_BILINEAR, &step);
    vrt_layer_add(b->graph, &step, 1, flow, &out);
    return out;
}

/* The flow to nowhere. */
static struct vrt_tensor no_flow(const struct builder *b, const struct vrt_tensor *like)
{
    const struct vrt_tensor out = new_tensor(b, VRT_DTYPE_F32, like, XY);

    vrt_layer_fill(b->graph, 0, &out);
    return out;
}

/* `x` as the flow moves it, or zeros where it doesn't exist. */
static void move(const struct builder *b, const struct vrt_tensor *x,
                 const struct vrt_tensor *flow, const struct vrt_tensor *out)
{
    if (vrt_tensor_exists(x))
        vrt_layer_warp(b->graph, x, flow, VRT_WARP_BILINEAR, out);
    else
        vrt_layer_fill(b->graph, 0, out);
}

/* Offsets and masks, f32 [1,h,w,27*G], from both of the trail's features as the flows move them,
 * those of the frame, and the flows. */
static struct vrt_tensor estimate_offsets(const struct builder *b, int k,
                                          const struct trail *trail,
                                          const struct vrt_tensor *frame,
                                          const struct vrt_tensor flows[2])
{
    const struct vrt_basicvsr *net = b->net;
    const int c = net->features, n_out = 27 * net->offset_groups;
    struct vrt_op op = {
        .kind = VRT_OP_FLOW_OFFSETS, .n_in = 3,
        .flow_offsets = { .max_residue = MAX_RESIDUE, .offset_groups = net->offset_groups },
    };
    struct vrt_tensor x = new_tensor(b, VRT_DTYPE_F32, frame, 3 * c + 2 * XY);
    struct vrt_tensor to = vrt_tensor_channels(&x, 0, c);

    move(b, &trail->last, &flows[0], &to);
    to = vrt_tensor_channels(&x, c, c);
    vrt_layer_copy(b->graph, frame, &to);
    to = vrt_tensor_channels(&x, 2 * c, c);
    move(b, &trail->before, &flows[1], &to);
    for (int i = 0; i < 2; i++) {
        to = vrt_tensor_channels(&x, 3 * c + i * XY, XY);
        vrt_layer_copy(b->graph, &flows[i], &to);
    }
    for (int i = 0; i < VRT_BASICVSR_OFFSET_CONVS; i++) {
        const bool is_last = i + 1 == VRT_BASICVSR_OFFSET_CONVS;
        const struct vrt_tensor y = new_tensor(b, VRT_DTYPE_F32, frame, is_last ? n_out : c);

        conv(b, &x, net->branches[k].offsets + 2 * i,
             is_last ? VRT_ACTIVATION_NONE : VRT_ACTIVATION_LEAKY_RELU, NULL, &y);
        x = y;
    }
    op.in[0] = x;
    op.in[1] = flows[0];
    op.in[2] = flows[1];
    op.out = new_tensor(b, VRT_DTYPE_F32, frame, n_out);
    vrt_graph_append(b->graph, &op);
    return op.out;
}

/* What branch k made of the frames before it, aligned with frame `at`. */
static void align(const struct builder *b, int k, int at, const struct trail *trail,
                  const struct vrt_tensor *out)
{
    const bool forward = k % 2, has_before = vrt_tensor_exists(&trail->before);
    const int c = b->net->features, weight = b->net->branches[k].deform;
    const struct vrt_tensor frame = vrt_tensor_frames(&b->features[0], at, 1);
    const struct vrt_tensor flow = flow_of(b, at, forward);
    const struct vrt_tensor next = has_before ? flow_of(b, forward ? at - 1 : at + 1, forward) :
                                                VRT_TENSOR_NONE;
    const struct vrt_tensor flows[2] = { flow, has_before ? flow_further(b, &flow, &next) :
                                                            no_flow(b, &flow) };
    const struct vrt_tensor both = new_tensor(b, b->dtype, &frame, 2 * c);
    struct vrt_tensor to = vrt_tensor_channels(&both, 0, c);

    vrt_layer_copy(b->graph, &trail->last, &to);
    to = vrt_tensor_channels(&both, c, c);
    if (has_before)
        vrt_layer_copy(b->graph, &trail->before, &to);
    else
        vrt_layer_fill(b->graph, 0, &to);
    const struct vrt_op op = {
        .kind = VRT_OP_DEFORM_CONV2D,
        .n_in = 2,
        .in = { both, estimate_offsets(b, k, trail, &frame, flows) },
        .out = *out,
        .deform_conv2d = {
            .groups = 1, .offset_groups = b->net->offset_groups,
            .weight = weight, .bias = weight + 1,
        },
    };
    vrt_graph_append(b->graph, &op);
}

/* The features of frame `at` and what the first `n` branches made of it, side by side; room for
 * `more` channels behind. */
static struct vrt_tensor gather(const struct builder *b, int at, int n, int more)
{
    const int c = b->net->features;
    const struct vrt_tensor frame = vrt_tensor_frames(&b->features[0], at, 1);
    const struct vrt_tensor all = new_tensor(b, b->dtype, &frame, (1 + n) * c + more);

    for (int i = 0; i <= n; i++) {
        const struct vrt_tensor from = vrt_tensor_frames(&b->features[i], at, 1);
        const struct vrt_tensor to = vrt_tensor_channels(&all, i * c, c);
        vrt_layer_copy(b->graph, &from, &to);
    }
    return all;
}

/* Branch k comes to frame `at`. */
static void step(const struct builder *b, int k, int at, const struct trail *trail,
                 const struct vrt_tensor *out)
{
    const int c = b->net->features;
    const struct vrt_tensor all = gather(b, at, k, c);
    const struct vrt_tensor aligned = vrt_tensor_channels(&all, (1 + k) * c, c);

    if (vrt_tensor_exists(&trail->last))
        align(b, k, at, trail, &aligned);
    else
        vrt_layer_fill(b->graph, 0, &aligned);
    const struct vrt_tensor more = blocks(b, &all, b->net->branches[k].backbone, b->net->n_blocks);
    vrt_layer_add(b->graph, &aligned, 1, &more, out);
}

/* Twice as large, to `c` channels. */
static struct vrt_tensor enlarge(const struct builder *b, const struct vrt_tensor *x, int weight,
                                 int c)
{
    const struct vrt_tensor wide = new_tensor(b, b->dtype, x, 4 * c);
    const struct vrt_tensor out = vrt_graph_tensor(b->graph, b->dtype, (struct vrt_shape){
        x->shape.d, 2 * x->shape.h, 2 * x->shape.w, c });

    /* The activation comes after the shuffle, which only moves values. */
    conv(b, x, weight, VRT_ACTIVATION_LEAKY_RELU, NULL, &wide);
    vrt_layer_shuffle(b->graph, &wide, 2, NULL, &out);
    return out;
}

/* Frame `at` from all that was made of it, `last` by the last branch. */
static void reconstruct(const struct builder *b, int at, const struct vrt_tensor *last,
                        const struct vrt_tensor *out)
{
    const struct vrt_basicvsr *net = b->net;
    const int c = net->features, end = net->end_features;
    const struct vrt_tensor frame = vrt_tensor_frames(&b->in, at, 1);
    const struct vrt_tensor all = gather(b, at, VRT_BASICVSR_BRANCHES - 1, c);
    const struct vrt_tensor to = vrt_tensor_channels(&all, VRT_BASICVSR_BRANCHES * c, c);
    struct vrt_tensor base = frame;

    vrt_layer_copy(b->graph, last, &to);
    struct vrt_tensor x = blocks(b, &all, net->reconstruct, VRT_BASICVSR_END_BLOCKS);
    x = vrt_layer_convert(b->graph, &x, b->dtype);
    x = enlarge(b, &x, net->up, c);
    x = enlarge(b, &x, net->up + 2, end);
    const struct vrt_tensor y = new_tensor(b, b->dtype, &x, end);
    conv(b, &x, net->conv_hr, VRT_ACTIVATION_LEAKY_RELU, NULL, &y);
    if (!net->keeps_size) {
        base = new_tensor(b, VRT_DTYPE_F32, out, RGB);
        vrt_layer_resize(b->graph, &frame, VRT_RESIZE_BILINEAR, &base);
    }
    conv(b, &y, net->conv_last, VRT_ACTIVATION_NONE, &base, out);
}

/* Branch k goes through the clip; the last one makes the result's frames as it comes to them. */
static void propagate(struct builder *b, int k, const struct vrt_tensor *out)
{
    const bool is_last = k + 1 == VRT_BASICVSR_BRANCHES;
    const int n = b->in.shape.d;
    struct trail trail = { VRT_TENSOR_NONE, VRT_TENSOR_NONE };

    if (!is_last)
        b->features[k + 1] = new_tensor(b, b->dtype, &b->features[0], b->net->features);
    for (int i = 0; i < n && vrt_graph_status(b->graph) == 0; i++) {
        const int at = k % 2 ? i : n - 1 - i;
        const struct vrt_tensor frame = vrt_tensor_frames(&b->features[0], at, 1);
        const struct vrt_tensor made = is_last ? new_tensor(b, b->dtype, &frame, frame.shape.c) :
                                                 vrt_tensor_frames(&b->features[k + 1], at, 1);

        step(b, k, at, &trail, &made);
        if (is_last) {
            const struct vrt_tensor pixels = vrt_tensor_frames(out, at, 1);
            reconstruct(b, at, &made, &pixels);
        }
        trail = (struct trail){ made, trail.last };
    }
}

void vrt_basicvsr_build(const struct vrt_network *network, struct vrt_graph *graph,
                        const struct vrt_tensor *in, const struct vrt_tensor *out,
                        const struct vrt_network_use *use)
{
    struct builder b = { .net = &network->basicvsr, .graph = graph, .dtype = use->dtype,
                         .in = *in };
    const int by = b.net->keeps_size ? VRT_BASICVSR_REDUCTION : 1;
    const struct vrt_shape shape = { in->shape.d, in->shape.h / by, in->shape.w / by,
                                     b.net->features };
    const int chunk = vrt_layer_chunk(in->shape.h, in->shape.w);

    if (in->shape.d > 1)
        estimate_flows(&b);
    b.features[0] = vrt_graph_tensor(graph, b.dtype, shape);
    for (int i = 0, n; i < shape.d && vrt_graph_status(graph) == 0; i += n) {
        n = VRT_MIN(chunk, shape.d - i);
        const struct vrt_tensor frames = vrt_tensor_frames(in, i, n);
        const struct vrt_tensor features = vrt_tensor_frames(&b.features[0], i, n);
        extract(&b, &frames, &features);
    }
    for (int k = 0; k < VRT_BASICVSR_BRANCHES; k++)
        propagate(&b, k, out);
}
