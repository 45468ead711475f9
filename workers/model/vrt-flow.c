/* SPDX-License-Identifier: MIT */
/*
 * VRT's optical flow: SpyNet over every pair of neighbours both ways, and from it the flows to
 * frames further away
 *
 * SpyNet begins with the coarsest of six pictures, each half as large as the next, and at each
 * level corrects the enlarged flow of the one before. All of it is f32: a flow decides where
 * samples are taken from, and an error in it isn't one of brightness.
 *
 * Pairs of both directions are one tensor of 2*(D-1) frames, backward first.
 */

#include "base/macro.h"
#include "model/layers.h"
#include "model/vrt.h"

/* Sizes are enlarged to a multiple of it, so that each level has half the next one's size. */
#define MULTIPLE (1 << (VRT_VRT_FLOW_LEVELS - 1))

/* Channels of a level's input: a frame, its neighbour as the flow so far moves it, that flow. */
#define IN_CHANNELS 8
#define RGB_CHANNELS 3

/* The clip at every level, the coarsest first, as the network wants its colours. */
static void make_pictures(const struct vrt_vrt_builder *b, const struct vrt_tensor *rgb,
                          struct vrt_tensor pictures[VRT_VRT_FLOW_LEVELS])
{
    /* One after the other: what is near the mean keeps all its digits. */
    static const struct vrt_op_affine center = {
        .scale = { 1, 1, 1 }, .shift = { -0.485f, -0.456f, -0.406f },
    };
    static const struct vrt_op_affine stretch = {
        .scale = { 1 / 0.229f, 1 / 0.224f, 1 / 0.225f },
    };
    struct vrt_shape shape = rgb->shape;
    struct vrt_tensor x = *rgb;

    shape.h = (shape.h + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    shape.w = (shape.w + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    if (!vrt_shape_equal(shape, x.shape)) {
        x = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
        vrt_layer_resize(b->graph, rgb, VRT_RESIZE_BILINEAR, &x);
    }
    struct vrt_tensor centered = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
    vrt_layer_affine(b->graph, &x, &center, &centered);
    for (int l = VRT_VRT_FLOW_LEVELS - 1; l >= 0; l--) {
        pictures[l] = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
        if (l == VRT_VRT_FLOW_LEVELS - 1)
            vrt_layer_affine(b->graph, &centered, &stretch, &pictures[l]);
        else
            vrt_layer_halve(b->graph, &pictures[l + 1], &pictures[l]);
        shape.h /= 2;
        shape.w /= 2;
    }
}

/* A level's five convolutions over some pairs: `in` holds the flow so far, `out` becomes it. */
static void append_convs(const struct vrt_vrt_builder *b, int level, const struct vrt_tensor *in,
                         const struct vrt_tensor *out)
{
    static const int channels[VRT_VRT_FLOW_CONVS] = { 32, 64, 32, 16, 2 };
    const struct vrt_tensor before = vrt_tensor_channels(in, IN_CHANNELS - 2, 2);
    struct vrt_shape shape = in->shape;
    struct vrt_tensor x = *in;

    for (int i = 0; i < VRT_VRT_FLOW_CONVS; i++) {
        const bool is_last = i + 1 == VRT_VRT_FLOW_CONVS;
        const int weight = b->vrt->flow + 2 * (level * VRT_VRT_FLOW_CONVS + i);
        const struct vrt_op_conv2d conv = {
            .kernel = 7,
            .weight = weight,
            .bias = weight + 1,
            .activation = is_last ? VRT_ACTIVATION_NONE : VRT_ACTIVATION_RELU,
            .scale = 1,
        };

        shape.c = channels[i];
        struct vrt_tensor y = is_last ? *out : vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
        vrt_layer_conv(b->graph, &x, &conv, is_last ? &before : NULL, &y);
        x = y;
    }
}

/* The flows of one level, from those of the coarser one (NULL: there is none). */
static struct vrt_tensor estimate(const struct vrt_vrt_builder *b, int level,
                                  const struct vrt_tensor *picture,
                                  const struct vrt_tensor *coarser)
{
    const int n_pairs = picture->shape.d - 1, h = picture->shape.h, w = picture->shape.w;
    const struct vrt_shape shape = { 2 * n_pairs, h, w, 2 };
    struct vrt_tensor in = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, (struct vrt_shape){
        2 * n_pairs, h, w, IN_CHANNELS });
    struct vrt_tensor flow = vrt_tensor_channels(&in, IN_CHANNELS - 2, 2);

    if (coarser) {
        struct vrt_tensor large = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);

        vrt_layer_resize(b->graph, coarser, VRT_RESIZE_BILINEAR_CORNERS, &large);
        vrt_layer_affine(b->graph, &large, &(struct vrt_op_affine){ .scale = { 2, 2 } }, &flow);
    } else {
        vrt_layer_fill(b->graph, 0, &flow);
    }
    for (int i = 0; i < VRT_VRT_DIRECTIONS; i++) {
        const bool forward = i == VRT_VRT_FORWARD;
        struct vrt_tensor pairs = vrt_tensor_frames(&in, i * n_pairs, n_pairs);
        struct vrt_tensor frame = vrt_tensor_frames(picture, forward ? 1 : 0, n_pairs);
        struct vrt_tensor other = vrt_tensor_frames(picture, forward ? 0 : 1, n_pairs);
        struct vrt_tensor to_frame = vrt_tensor_channels(&pairs, 0, RGB_CHANNELS);
        struct vrt_tensor to_other = vrt_tensor_channels(&pairs, RGB_CHANNELS, RGB_CHANNELS);

        flow = vrt_tensor_channels(&pairs, IN_CHANNELS - 2, 2);
        vrt_layer_copy(b->graph, &frame, &to_frame);
        vrt_layer_warp(b->graph, &other, &flow, VRT_WARP_BILINEAR_BORDER, &to_other);
    }

    struct vrt_tensor out = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
    for (int i = 0, n; i < 2 * n_pairs; i += n) {
        n = VRT_MIN(vrt_vrt_chunk(h, w), 2 * n_pairs - i);
        struct vrt_tensor some_in = vrt_tensor_frames(&in, i, n);
        struct vrt_tensor some_out = vrt_tensor_frames(&out, i, n);
        append_convs(b, level, &some_in, &some_out);
    }
    return out;
}

/* A level's flows become those between neighbours at one of the network's own scales. */
static void take_up(struct vrt_vrt_builder *b, int scale, const struct vrt_tensor *flow,
                    const struct vrt_tensor *rgb)
{
    const int n_pairs = rgb->shape.d - 1, h = rgb->shape.h >> scale, w = rgb->shape.w >> scale;
    const bool same_size = flow->shape.h == h && flow->shape.w == w;
    const struct vrt_op_affine stretch = {
        .scale = { (float)w / (float)flow->shape.w, (float)h / (float)flow->shape.h },
    };

    for (int i = 0; i < VRT_VRT_DIRECTIONS; i++) {
        struct vrt_tensor pairs = vrt_tensor_frames(flow, i * n_pairs, n_pairs);

        if (same_size && b->vrt->distances == 1) {
            b->flows[i][scale] = pairs;
            continue;
        }
        b->flows[i][scale] = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, (struct vrt_shape){
            n_pairs, h, w, 2 * b->vrt->distances });
        struct vrt_tensor nearest = vrt_tensor_channels(&b->flows[i][scale], 0, 2);
        if (same_size) {
            vrt_layer_copy(b->graph, &pairs, &nearest);
            continue;
        }
        struct vrt_tensor resized = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, nearest.shape);
        vrt_layer_resize(b->graph, &pairs, VRT_RESIZE_BILINEAR, &resized);
        vrt_layer_affine(b->graph, &resized, &stretch, &nearest);
    }
}

/*
 * The flow to the frame k+1 away: the one to the frame k away, and, where that leads, the one from
 * there to its neighbour. The last k pairs (forward: the first) have no such frame.
 */
static void compose(const struct vrt_vrt_builder *b, const struct vrt_tensor *flows, bool forward,
                    int k)
{
    const int n = flows->shape.d - k;
    struct vrt_tensor have = vrt_tensor_frames(flows, forward ? k : 0, n);
    struct vrt_tensor lack = vrt_tensor_frames(flows, forward ? 0 : n, k);
    struct vrt_tensor there = vrt_tensor_frames(flows, forward ? 0 : k, n);
    struct vrt_tensor step = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, (struct vrt_shape){
        n, flows->shape.h, flows->shape.w, 2 });
    struct vrt_tensor before = vrt_tensor_channels(&have, 2 * (k - 1), 2);
    struct vrt_tensor sum = vrt_tensor_channels(&have, 2 * k, 2);

    there = vrt_tensor_channels(&there, 0, 2);
    lack = vrt_tensor_channels(&lack, 2 * k, 2);
    vrt_layer_warp(b->graph, &there, &before, VRT_WARP_BILINEAR, &step);
    vrt_layer_add(b->graph, &step, 1, &before, &sum);
    vrt_layer_fill(b->graph, 0, &lack);
}

static void tap_flows(const struct vrt_vrt_builder *b, int scale, bool forward)
{
    const struct vrt_tensor *flows = &b->flows[forward ? VRT_VRT_FORWARD : VRT_VRT_BACKWARD][scale];

    for (int k = 0; k < b->vrt->distances && b->use->taps; k++) {
        struct vrt_tensor flow = vrt_tensor_frames(flows, forward ? k : 0, flows->shape.d - k);

        flow = vrt_tensor_channels(&flow, 2 * k, 2);
        vrt_vrt_tap(b, &flow, "flow_%s.%d", forward ? "forward" : "backward",
                    VRT_VRT_SCALES * k + scale);
    }
}

void vrt_vrt_flows(struct vrt_vrt_builder *b, const struct vrt_tensor *rgb)
{
    struct vrt_tensor pictures[VRT_VRT_FLOW_LEVELS], flow = VRT_TENSOR_NONE;

    make_pictures(b, rgb, pictures);
    for (int l = 0; l < VRT_VRT_FLOW_LEVELS; l++) {
        const int scale = VRT_VRT_FLOW_LEVELS - 1 - l;

        flow = estimate(b, l, &pictures[l], l ? &flow : NULL);
        if (scale >= VRT_VRT_SCALES)
            continue;
        take_up(b, scale, &flow, rgb);
        for (int i = 0; i < VRT_VRT_DIRECTIONS; i++) {
            for (int k = 1; k < b->vrt->distances; k++)
                compose(b, &b->flows[i][scale], i == VRT_VRT_FORWARD, k);
            tap_flows(b, scale, i == VRT_VRT_FORWARD);
        }
    }
}
