/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * BasicVSR++: features that wander through a whole clip, backward, forward, backward and forward
 * again, each time aligned with the frame that they come to (Chan et al. 2021, arXiv:2104.13371;
 * as mmagic has it, github.com/open-mmlab/mmagic)
 *
 * A layer is known by the index of its first param, its weight; its bias is the next one.
 */

#include "model/network.h"

#define VRT_BASICVSR_BRANCHES 4     /* backward_1, forward_1, backward_2, forward_2 */
#define VRT_BASICVSR_END_BLOCKS 5   /* residual blocks of feature extraction and reconstruction */
#define VRT_BASICVSR_OFFSET_CONVS 4
#define VRT_BASICVSR_REDUCTION 4    /* by which features of one that keeps the size are smaller */

struct vrt_basicvsr {
    int features;                   /* of a frame, and of each branch */
    int n_blocks;                   /* residual blocks of a branch */
    int offset_groups;
    int end_features;               /* where pixels are made */
    bool keeps_size;                /* else it enlarges by 4 */

    int flow;                       /* SpyNet's */
    int reduce;                     /* keeps_size: pictures become a quarter as wide, one weight */
    int halve;                      /* keeps_size: two layers of folded squares */
    int extract;                    /* a layer and blocks of two, as the next two are */
    struct {
        int offsets;                /* VRT_BASICVSR_OFFSET_CONVS layers */
        int deform;
        int backbone;
    } branches[VRT_BASICVSR_BRANCHES];
    int reconstruct;
    int up;                         /* two layers */
    int conv_hr, conv_last;
};

/* As vrt_architecture.build wants it. */
void vrt_basicvsr_build(const struct vrt_network *network, struct vrt_graph *graph,
                        const struct vrt_tensor *in, const struct vrt_tensor *out,
                        const struct vrt_network_use *use);
