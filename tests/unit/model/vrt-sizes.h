/* SPDX-License-Identifier: MIT */
#pragma once

/* The tensors of a VRT checkpoint, by the sizes that its authors state theirs by. */

#include <stdbool.h>

#define VRT_SIZES_STAGES 7

struct vrt_sizes {
    int features, tail_features, heads;
    int depths[VRT_SIZES_STAGES];   /* blocks of each stage, three quarters of them mutual */
    int n_tail, tail_depth;
    int n_single;                   /* the last so many groups of the tail see single frames */
    int window_frames;
    int distances;                  /* half of "pa_frames" */
    int offset_groups;
    int n_up;                       /* doublings: 2 for x4 */
    bool noise;
    int frames;                     /* that are fused into one; 0: none */
};

enum vrt_sizes_kind {
    VRT_SIZES_PARAM,
    VRT_SIZES_INDEX,                /* buffers: relative_position_index, int64 */
    VRT_SIZES_POSITION,             /* position_bias */
    VRT_SIZES_MEAN,                 /* spynet.mean and .std */
    VRT_SIZES_STD,
};

/* Shown one tensor after the other. */
struct vrt_sizes_visitor {
    void (*visit)(struct vrt_sizes_visitor *visitor, enum vrt_sizes_kind kind, const char *name,
                  const int *dims, int n_dims);
};

/* The sizes of the published network `number`, 1 to 9. */
struct vrt_sizes vrt_sizes_published(int number);

/* Those of the smallest that has every part, of which some tests make others: x2. */
struct vrt_sizes vrt_sizes_small(void);

/* The smallest that makes a frame between two of four. */
struct vrt_sizes vrt_sizes_small_between(void);

/* Calls the visitor for every tensor, buffers included. */
void vrt_sizes_visit(const struct vrt_sizes *sizes, struct vrt_sizes_visitor *visitor);
