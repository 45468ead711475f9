/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * VRT, between its own files: vrt.c finds its sizes, vrt-params.c takes its params, vrt-build.c
 * appends its ops with the help of vrt-flow.c, vrt-stage.c and vrt-align.c
 *
 * A layer is known by the index of its first param, its weight; its bias is the next one.
 *
 * Sizes of tensors are written [D,H,W,C] (backend/op/tensor.h). A clip of D frames has D-1 pairs of
 * neighbours: pair j is frames j and j+1. "Backward" is what frame j learns from those after it,
 * "forward" what frame j+1 learns from those before.
 */

#include "engine/graph.h"
#include "model/network.h"
#include "model/parts/params.h"

#define VRT_VRT_STAGES 7            /* those of the hourglass; after them come tail groups */
#define VRT_VRT_TAIL_MAX 16
#define VRT_VRT_WINDOW 8            /* rows and columns of every window */
#define VRT_VRT_DISTANCES 3         /* the furthest neighbour that frames are aligned with */
#define VRT_VRT_WARPED_TIMES 9      /* a picture, and four samples of it from each neighbour */
#define VRT_VRT_END_FEATURES 64     /* channels where pixels are made */
#define VRT_VRT_SCALES 4            /* of flows and stages: 1, 1/2, 1/4, 1/8 */

enum vrt_vrt_direction {
    VRT_VRT_BACKWARD,
    VRT_VRT_FORWARD,
    VRT_VRT_DIRECTIONS,
};

/* Transformer blocks one after the other, every other one shifted. */
struct vrt_vrt_group {
    int n_blocks, heads;
    int window_frames;
    bool mutual;                    /* pairs of frames attend to each other, too */
    int first;                      /* of n_blocks runs of params; vrt-params.c has their order */
};

struct vrt_vrt_stage {
    int reshape_norm;
    int reshape_linear;             /* -1: the stage has its neighbour's size, and none */
    struct vrt_vrt_group groups[2]; /* of pairs; of whole windows */
    int linears[2];                 /* after each of them */
    int deform;                     /* the rest only if there are distances */
    int offset_convs[4];
    int fuse[3];                    /* fc11, fc12, fc2 */
};

struct vrt_vrt {
    int features, tail_features;    /* channels of the stages; of the tail */
    int distances;                  /* how far away neighbours are aligned: 0 (none) to 3 */
    int offset_groups;
    int frames;                     /* that are fused into one; 0: each stays */
    int n_up;                       /* doublings at the end */
    int n_tail;

    int flow;                       /* SpyNet's */
    int conv_first;
    struct vrt_vrt_stage stages[VRT_VRT_STAGES];
    int tail_norm, tail_linear;
    struct {
        struct vrt_vrt_group group;
        int linear;
    } tail[VRT_VRT_TAIL_MAX];
    int norm, conv_after_body;
    int conv_before_upsample;       /* the next two only if n_up */
    int up;                         /* of n_up + 1 layers */
    int linear_fuse;                /* only if frames */
    int conv_last;
};

/* Where each param of a block stands from the block's first on. */
enum vrt_vrt_block_param {
    VRT_VRT_NORM1 = 0,
    VRT_VRT_TABLE = 2,
    VRT_VRT_QKV = 3,
    VRT_VRT_PROJ = 5,
    VRT_VRT_NORM2 = 7,
    VRT_VRT_FC11 = 9,
    VRT_VRT_FC12 = 11,
    VRT_VRT_FC2 = 13,
    VRT_VRT_BLOCK_PARAMS = 15,
    VRT_VRT_MUTUAL_QKV = 15,
    VRT_VRT_POSITION = 17,
    VRT_VRT_MUTUAL_BLOCK_PARAMS = 18,
};

/* The scale of stage i, as a power of a half: 0 for 1, 1 for 1/2, ... */
int vrt_vrt_stage_scale(int i);

/* Takes every param, in the order of computation, and fills in where they are. The network's sizes
 * are known and fit each other. Return: 0; -EINVAL if one is refused; -ENOMEM. */
int vrt_vrt_take(struct vrt_vrt *vrt, struct vrt_params *params,
                 const struct vrt_network_info *info) VRT_MUST_CHECK;

/* As vrt_architecture.build wants it. */
void vrt_vrt_build(const struct vrt_network *network, struct vrt_graph *graph,
                   const struct vrt_tensor *in, const struct vrt_tensor *out,
                   const struct vrt_network_use *use);

/* What the functions that append ops share. */
struct vrt_vrt_builder {
    const struct vrt_vrt *vrt;
    struct vrt_graph *graph;
    const struct vrt_network_use *use;

    /* Flows at each scale, f32 [D-1,h,w,2*distances]: channels 2k and 2k+1 of pair j lead from
     * frame j to frame j+1+k (backward), or from frame j+1 to frame j-k (forward); zeros where
     * there is no such frame. */
    struct vrt_tensor flows[VRT_VRT_DIRECTIONS][VRT_VRT_SCALES];
};

/* Shows `tensor` to who watches, if anybody does. */
void vrt_vrt_tap(const struct vrt_vrt_builder *b, const struct vrt_tensor *tensor,
                 const char *format, ...) VRT_PRINTF(3, 4);

/* Fills in the flows of the clip `rgb`, f32 [D,H,W,3]. */
void vrt_vrt_flows(struct vrt_vrt_builder *b, const struct vrt_tensor *rgb);

/* Stage i over x, f32 [D,h,w,C], plus `skip` of the result's shape (NULL: none). */
struct vrt_tensor vrt_vrt_stage(const struct vrt_vrt_builder *b, int i, const struct vrt_tensor *x,
                                const struct vrt_tensor *skip);

/* The stage after them: from `features` to `tail_features` channels. */
struct vrt_tensor vrt_vrt_tail(const struct vrt_vrt_builder *b, const struct vrt_tensor *x);

/*
 * What stage i's frames learn from their neighbours: of x [D,h,w,C], aligned with each frame and
 * added up, into out[], one tensor of that shape for each direction.
 */
void vrt_vrt_align(const struct vrt_vrt_builder *b, int i, const struct vrt_tensor *x,
                   const struct vrt_tensor out[VRT_VRT_DIRECTIONS]);
