/* SPDX-License-Identifier: MIT */
/*
 * VRT's alignment: features of up to three frames before or after, moved to where things are in
 * the frame between by flow, and by a deformable convolution whose offsets are estimated from what
 * the flow alone achieves
 *
 * A run of pairs at a time goes through, for the offsets take many times as much memory as the
 * features. Where a frame further away doesn't exist, zeros stand for it and the flow to it; where
 * even the nearest doesn't, the result is zero.
 */

#include "base/macro.h"
#include "model/parts/layers.h"
#include "model/vrt.h"

#define MAX_RESIDUE 10.0f           /* how far offsets may differ from the flow, at full size */
#define LEAKY_SLOPE 0.1f            /* as in network_vrt.py */
#define N_OFFSET_CONVS 4

/* Pairs [first, first + n) of one direction of stage i. */
struct run {
    const struct vrt_vrt_builder *b;
    int stage;
    bool forward;
    int first, n;
    const struct vrt_tensor *x;     /* the whole clip's features, [D,h,w,C] */
    struct vrt_tensor flows;        /* of these pairs: [n,h,w,2*distances] */
};

static struct vrt_tensor new_tensor(const struct run *run, int channels)
{
    return vrt_graph_tensor(run->b->graph, VRT_DTYPE_F32, (struct vrt_shape){
        run->n, run->x->shape.h, run->x->shape.w, channels });
}

/* Which pairs of the run have a frame k+1 away: `n` of them from `skip` on, whose frames begin with
 * number `frame`. */
struct neighbours {
    int skip, n, frame;
};

static struct neighbours find_neighbours(const struct run *run, int k)
{
    const int end = run->first + run->n;

    if (run->forward) {
        const int first = VRT_MAX(run->first, k);
        return (struct neighbours){ first - run->first, VRT_MAX(end - first, 0), first - k };
    }
    const int n = VRT_MIN(end, run->x->shape.d - 1 - k) - run->first;
    return (struct neighbours){ 0, VRT_MAX(n, 0), run->first + 1 + k };
}

/* Zeros in those frames of `out` that have no such neighbour. */
static void fill_rest(const struct run *run, const struct neighbours *found,
                      const struct vrt_tensor *out)
{
    const int n_rest = run->n - found->n;

    if (!n_rest)
        return;
    struct vrt_tensor rest = vrt_tensor_frames(out, found->skip ? 0 : found->n, n_rest);
    vrt_layer_fill(run->b->graph, 0, &rest);
}

/* The neighbours' features, those nearest first: [n,h,w,distances*C]. */
static struct vrt_tensor gather(const struct run *run)
{
    const int c = run->x->shape.c, distances = run->b->vrt->distances;
    struct neighbours found = find_neighbours(run, 0);

    if (distances == 1)
        return vrt_tensor_frames(run->x, found.frame, found.n);
    struct vrt_tensor all = new_tensor(run, distances * c);
    for (int k = 0; k < distances; k++) {
        struct vrt_tensor to = vrt_tensor_channels(&all, k * c, c);

        found = find_neighbours(run, k);
        fill_rest(run, &found, &to);
        if (!found.n)
            continue;
        struct vrt_tensor from = vrt_tensor_frames(run->x, found.frame, found.n);
        to = vrt_tensor_frames(&to, found.skip, found.n);
        vrt_layer_copy(run->b->graph, &from, &to);
    }
    return all;
}

/* What the offsets are estimated from: neighbours as the flows move them, the frame, the flows. */
static struct vrt_tensor make_evidence(const struct run *run)
{
    const int c = run->x->shape.c, distances = run->b->vrt->distances;
    struct vrt_graph *graph = run->b->graph;
    struct vrt_tensor all = new_tensor(run, c + distances * (c + 2));

    for (int k = 0; k < distances; k++) {
        struct neighbours found = find_neighbours(run, k);
        struct vrt_tensor to = vrt_tensor_channels(&all, k * c, c);

        fill_rest(run, &found, &to);
        if (!found.n)
            continue;
        struct vrt_tensor from = vrt_tensor_frames(run->x, found.frame, found.n);
        struct vrt_tensor flow = vrt_tensor_channels(&run->flows, 2 * k, 2);
        to = vrt_tensor_frames(&to, found.skip, found.n);
        flow = vrt_tensor_frames(&flow, found.skip, found.n);
        vrt_layer_warp(graph, &from, &flow, VRT_WARP_BILINEAR, &to);
    }

    struct vrt_tensor frame = vrt_tensor_frames(run->x, run->first + (run->forward ? 1 : 0),
                                                run->n);
    struct vrt_tensor to = vrt_tensor_channels(&all, distances * c, c);
    vrt_layer_copy(graph, &frame, &to);
    to = vrt_tensor_channels(&all, (distances + 1) * c, 2 * distances);
    vrt_layer_copy(graph, &run->flows, &to);
    return all;
}

/* Offsets and masks of the deformable convolution, f32 [n,h,w,27*G]. */
static struct vrt_tensor estimate_offsets(const struct run *run)
{
    const struct vrt_vrt *vrt = run->b->vrt;
    struct vrt_op op = {
        .kind = VRT_OP_FLOW_OFFSETS,
        .n_in = 1 + vrt->distances,
        .flow_offsets = {
            .max_residue = MAX_RESIDUE / (float)(1 << vrt_vrt_stage_scale(run->stage)),
            .offset_groups = vrt->offset_groups,
        },
    };
    struct vrt_tensor x = make_evidence(run);

    for (int i = 0; i < N_OFFSET_CONVS; i++) {
        const bool is_last = i + 1 == N_OFFSET_CONVS;
        const int weight = vrt->stages[run->stage].offset_convs[i];
        const struct vrt_op_conv2d conv = {
            .kernel = 3,
            .weight = weight,
            .bias = weight + 1,
            .activation = is_last ? VRT_ACTIVATION_NONE : VRT_ACTIVATION_LEAKY_RELU,
            .slope = LEAKY_SLOPE,
            .scale = 1,
        };
        struct vrt_tensor y = new_tensor(run, is_last ? 27 * vrt->offset_groups : vrt->features);

        vrt_layer_conv(run->b->graph, &x, &conv, NULL, &y);
        x = y;
    }
    op.in[0] = x;
    for (int k = 0; k < vrt->distances; k++)
        op.in[1 + k] = vrt_tensor_channels(&run->flows, 2 * k, 2);
    op.out = new_tensor(run, 27 * vrt->offset_groups);
    vrt_graph_append(run->b->graph, &op);
    return op.out;
}

/* Each neighbour is a group of the convolution by itself. */
static void append_run(const struct run *run, const struct vrt_tensor *out)
{
    const struct vrt_vrt *vrt = run->b->vrt;
    const int weight = vrt->stages[run->stage].deform;
    struct vrt_op op = {
        .kind = VRT_OP_DEFORM_CONV2D,
        .n_in = 2,
        .in = { gather(run), estimate_offsets(run) },
        .out = *out,
        .deform_conv2d = {
            .groups = vrt->distances,
            .offset_groups = vrt->offset_groups,
            .weight = weight,
            .bias = weight + 1,
        },
    };

    vrt_graph_append(run->b->graph, &op);
}

void vrt_vrt_align(const struct vrt_vrt_builder *b, int i, const struct vrt_tensor *x,
                   const struct vrt_tensor out[VRT_VRT_DIRECTIONS])
{
    const int n_pairs = x->shape.d - 1, chunk = vrt_layer_chunk(x->shape.h, x->shape.w);

    for (int k = 0; k < VRT_VRT_DIRECTIONS; k++) {
        const struct vrt_tensor *flows = &b->flows[k][vrt_vrt_stage_scale(i)];
        struct run run = { .b = b, .stage = i, .forward = k == VRT_VRT_FORWARD, .x = x };
        struct vrt_tensor alone = vrt_tensor_frames(&out[k], run.forward ? 0 : n_pairs, 1);

        vrt_layer_fill(b->graph, 0, &alone);
        for (run.first = 0; run.first < n_pairs; run.first += run.n) {
            run.n = VRT_MIN(chunk, n_pairs - run.first);
            run.flows = vrt_tensor_frames(flows, run.first, run.n);
            struct vrt_tensor to = vrt_tensor_frames(&out[k], run.first + (run.forward ? 1 : 0),
                                                     run.n);
            append_run(&run, &to);
        }
    }
}
