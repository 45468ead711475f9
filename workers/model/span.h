/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * SPAN: blocks of convolutions whose result is multiplied with a function of itself (Wan et al.
 * 2023, arXiv:2311.12770), and SPANF3, its kin that learns that function
 *
 * Each convolution of a file is five, which training needs: 1x1, 3x3 and 1x1 one after the other,
 * past them another 1x1, and "eval_conv", the one that all of them make. The definitions compute
 * that one anew of the four, and so does load().
 */

#include "model/network.h"

/* Params, each weight with its bias after it: first; for each block three and, with SPANF3, its
 * attention; SPAN's after the blocks; the one that joins them; the last. */
struct vrt_span {
    int features, n_blocks;
    int unshuffle;                  /* side of the squares folded into channels first; 1: none */
    int up_scale;                   /* of the pixel shuffle at the end */
    bool is_f3;                     /* SPANF3 */
    bool is_normed;                 /* samples less their mean, times 255: SPAN without "no_norm" */
};

/* As vrt_architecture.build wants it. */
void vrt_span_build(const struct vrt_network *network, struct vrt_graph *graph,
                    const struct vrt_tensor *in, const struct vrt_tensor *out,
                    const struct vrt_network_use *use);
