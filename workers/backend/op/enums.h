/* SPDX-License-Identifier: MIT */
#pragma once

/* What ops are told by a name, for the host's code and for kernels in any language. */

enum vrt_dtype {
    VRT_DTYPE_F32,
    VRT_DTYPE_F16,
    VRT_DTYPE_BF16,
    VRT_DTYPE_U8,               /* samples of video planes */
    VRT_DTYPE_U16,
    VRT_DTYPE_COUNT,
};

enum vrt_activation {
    VRT_ACTIVATION_NONE,
    VRT_ACTIVATION_RELU,
    VRT_ACTIVATION_LEAKY_RELU,      /* x < 0 ? slope*x : x */
    VRT_ACTIVATION_PRELU,           /* the same, one slope a channel; conv2d only */
    VRT_ACTIVATION_GELU,            /* x * (1 + erf(x / sqrt 2)) / 2; linear only */
};

enum vrt_warp_mode {
    VRT_WARP_BILINEAR,              /* zeros outside */
    VRT_WARP_BILINEAR_BORDER,       /* positions clamped to the picture */
    VRT_WARP_NEAREST4,              /* zeros outside; four samples, C channels each, at rows and
                                     * columns (floor y, floor x), (ceil y, floor x),
                                     * (floor y, ceil x), (ceil y, ceil x) */
};

enum vrt_shuffle_order {
    VRT_SHUFFLE_PIXELS,             /* channel c*r*r + i*r + j: as PyTorch's pixel_shuffle */
    VRT_SHUFFLE_BLOCKS,             /* channel (j*r + i)*C + c */
};

enum vrt_resize_mode {
    VRT_RESIZE_NEAREST,             /* source index = floor(i * in / out) */
    VRT_RESIZE_BILINEAR,            /* source = (in / out) * (i + 0.5) - 0.5, clamped:
                                     * "align_corners false" */
    VRT_RESIZE_BILINEAR_CORNERS,    /* source = i * (in - 1) / (out - 1), 0 where
                                     * there is one output: "align_corners true" */
    VRT_RESIZE_BICUBIC,             /* as BILINEAR, between four, the edge repeated */
};

enum vrt_pad_mode {
    VRT_PAD_ZERO,
    VRT_PAD_REPLICATE,              /* the edge sample repeated */
    VRT_PAD_REFLECT,                /* mirrored, the edge not repeated; bounces where it must */
    VRT_PAD_MIRROR,                 /* mirrored, the edge repeated; bounces where it must */
};

enum vrt_plane_layout {
    VRT_PLANES_GRAY,                /* one plane: Y */
    VRT_PLANES_YUV,                 /* Y, U, V; U and V smaller by the chroma shifts, rounded up */
    VRT_PLANES_GBR,                 /* G, B, R of the same size: no matrix */
};

/* Added to the variance in every norm. */
#define VRT_NORM_EPSILON 1e-5f
