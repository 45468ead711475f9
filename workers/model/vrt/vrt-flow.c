/* SPDX-License-Identifier: MIT */
/* VRT's optical flow: SpyNet's, at each of the network's scales, and from it the flows to frames
 * further away. */

#include "model/parts/layers.h"
#include "model/parts/spynet.h"
#include "model/vrt.h"

/* A level's flows become those between neighbours at one of the network's own scales. */
static void take_up(struct vrt_vrt_builder *b, int scale, const struct vrt_tensor *flow,
                    const struct vrt_tensor *rgb)
{
    const int n_pairs = rgb->shape.d - 1, h = rgb->shape.h >> scale, w = rgb->shape.w >> scale;
    const bool same_size = flow->shape.h == h && flow->shape.w == w;

    for (int i = 0; i < VRT_VRT_DIRECTIONS; i++) {
        struct vrt_tensor pairs = vrt_tensor_frames(flow, i * n_pairs, n_pairs);

        if (same_size && b->vrt->distances == 1) {
            b->flows[i][scale] = pairs;
            continue;
        }
        b->flows[i][scale] = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, (struct vrt_shape){
            n_pairs, h, w, 2 * b->vrt->distances });
        struct vrt_tensor nearest = vrt_tensor_channels(&b->flows[i][scale], 0, 2);
        if (same_size)
            vrt_layer_copy(b->graph, &pairs, &nearest);
        else
            vrt_spynet_resize(b->graph, &pairs, &nearest);
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
    struct vrt_tensor pictures[VRT_SPYNET_LEVELS], flow = VRT_TENSOR_NONE;

    vrt_spynet_pictures(b->graph, rgb, pictures);
    for (int l = 0; l < VRT_SPYNET_LEVELS; l++) {
        const int scale = VRT_SPYNET_LEVELS - 1 - l;

        flow = vrt_spynet_estimate(b->graph, b->vrt->flow, l, &pictures[l], l ? &flow : NULL);
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
