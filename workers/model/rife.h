/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * RIFE, 4.15 to 4.26: optical flows from the time of a new frame to both of its neighbours, from
 * coarse to fine, and both neighbours moved by them and mixed (Huang et al. 2022, arXiv:2011.06294;
 * as its authors have gone on with it, github.com/hzwer/Practical-RIFE)
 *
 * Convolutions that halve the size, that double it and that are scaled and added to what went in
 * are brought into the form that conv2d has when they are read.
 */

#include "model/network.h"

#define VRT_RIFE_BLOCKS_MAX 5
#define VRT_RIFE_ENCODE_CONVS 4
#define VRT_RIFE_RES_CONVS 8        /* of a block, at a quarter of its size */
#define VRT_RIFE_BLOCK_CONVS (2 + VRT_RIFE_RES_CONVS + 1)

/* Params, each weight with its bias after it: those of encode; of each block two that halve the
 * size, those at that size, and one that enlarges it by 4. */
struct vrt_rife {
    int n_blocks;
    int encode_features;            /* inside of encode */
    int features;                   /* that it makes of a frame */
    int n_hints;                    /* channels that a block has from the one before, besides flows
                                     * and mask */
    int n_made;                     /* channels that a block makes: flows (4), the mask, more */
    struct {
        int features;
        int scale;                  /* by which pictures are smaller */
    } blocks[VRT_RIFE_BLOCKS_MAX];
};

/* Channels that block i reads: both frames, both frames' features, the time; from the second on
 * the mask, the hints and the flows. */
int vrt_rife_in_channels(const struct vrt_rife *rife, int i);

/* As vrt_architecture.build wants it. */
void vrt_rife_build(const struct vrt_network *network, struct vrt_graph *graph,
                    const struct vrt_tensor *in, const struct vrt_tensor *out,
                    const struct vrt_network_use *use);
