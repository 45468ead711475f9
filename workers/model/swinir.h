/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * SwinIR: residual groups of Swin transformer blocks at the input's size (Liang et al. 2021,
 * arXiv:2108.10257; Swin transformer: Liu et al. 2021, arXiv:2103.14030)
 */

#include "model/network.h"

#define VRT_SWINIR_GROUPS_MAX 16
#define VRT_SWINIR_BOTTLENECK 4     /* so many times fewer channels between three convolutions */

/* How the trunk becomes a picture; the names are those of its authors. */
enum vrt_swinir_tail {
    VRT_SWINIR_SAME_SIZE,           /* "": denoising, JPEG artefacts; added to the input */
    VRT_SWINIR_SHUFFLE,             /* "pixelshuffle": classical */
    VRT_SWINIR_SHUFFLE_DIRECT,      /* "pixelshuffledirect": lightweight */
    VRT_SWINIR_NEAREST,             /* "nearest+conv": real-world */
};

/* Params, in the order of computation, each with its bias after it: first; the norm of what goes
 * in; for each group its blocks (enum vrt_swinir_block_param), then its convolutions; the norm of
 * what comes out; the convolutions after the body; those of the tail. */
struct vrt_swinir {
    int features, hidden, window;
    int n_groups;
    struct {
        int n_blocks, heads;
    } groups[VRT_SWINIR_GROUPS_MAX];
    bool norms_input;               /* "patch_norm" */
    int n_convs;                    /* that end a group and the body: 1, or 3 in a bottleneck */
    enum vrt_swinir_tail tail;
    int tail_features;
    int n_up;                       /* enlargements in turn by up_scale */
    int up_scale;
    float range;                    /* of the samples that it was trained on: 1 or 255 */
};

enum vrt_swinir_block_param {
    VRT_SWINIR_NORM1 = 0,           /* each with its bias after it, but for the table */
    VRT_SWINIR_TABLE = 2,
    VRT_SWINIR_QKV = 3,
    VRT_SWINIR_PROJ = 5,
    VRT_SWINIR_NORM2 = 7,
    VRT_SWINIR_FC1 = 9,
    VRT_SWINIR_FC2 = 11,
    VRT_SWINIR_BLOCK_PARAMS = 13,
};

/* As vrt_architecture.build wants it. */
void vrt_swinir_build(const struct vrt_network *network, struct vrt_graph *graph,
                      const struct vrt_tensor *in, const struct vrt_tensor *out,
                      const struct vrt_network_use *use);
