/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The operations a device can be asked for
 *
 * Few and coarse, so that a backend is free to fuse inside one. What each computes is defined by
 * its plain version in backend/ref/; this page gives the shapes. Types: activations are f32, f16
 * or bf16, sums are f32 at least, and the result is rounded once, when it is stored. Inputs and
 * output never overlap, except where an op says so.
 *
 *     op              in[0..]                                  out
 *     conv2d          x [D,H,W,I], residual [D,H,W,O] or none  [D,H,W,O]
 *     depth_to_space  x [D,H,W,C*r*r], base [D,h,w,C] or none  [D,H*r,W*r,C]
 *     space_to_depth  x [D,H*r,W*r,C]                          [D,H,W,C*r*r]
 *     resize          x [D,H,W,C]                              [D,h,w,C]
 *     concat          n_in tensors [D,H,W,Ci]                  [D,H,W,sum of Ci]
 *     add             a, b [D,H,W,C]                           [D,H,W,C]      a*scale + b
 *     copy            x [D,H,W,C]                              [D,H,W,C]      f32, f16, bf16 into
 *                                                              each other; others into their own
 *     pad             x [D,H,W,C]                              [D,h,w,C]
 *     yuv_to_rgb      1 or 3 planes, u8 or u16                 [D,H,W,3]      in [0,1]
 *     rgb_to_yuv      rgb [D,H,W,3]                            up to 3 planes (out, out_more)
 *     range           x [D,H,W,C]                              f32 [D,1,1,4]
 */

#include "backend/tensor.h"

#define VRT_OP_MAX_IN 8

enum vrt_op_kind {
    VRT_OP_CONV2D,
    VRT_OP_DEPTH_TO_SPACE,
    VRT_OP_SPACE_TO_DEPTH,
    VRT_OP_RESIZE,
    VRT_OP_CONCAT,
    VRT_OP_ADD,
    VRT_OP_COPY,
    VRT_OP_PAD,
    VRT_OP_YUV_TO_RGB,
    VRT_OP_RGB_TO_YUV,
    VRT_OP_RANGE,
    VRT_OP_KIND_COUNT,
};

enum vrt_activation {
    VRT_ACTIVATION_NONE,
    VRT_ACTIVATION_RELU,
    VRT_ACTIVATION_LEAKY_RELU,      /* x < 0 ? slope*x : x */
    VRT_ACTIVATION_PRELU,           /* the same, one slope a channel */
};

/*
 * out = activation(x * weight + bias) * scale + residual, over each frame by itself, stride 1,
 * K x K taps (K = 1, 3, 5 or 7), zeros outside: the size stays. Params are indices into the
 * replica's (backend.h): weight [O,I,K,K], bias [O] or -1, slopes [O]. x has the replica's type;
 * residual and out may have another.
 */
struct vrt_op_conv2d {
    int kernel;                     /* K */
    int weight, bias;
    enum vrt_activation activation;
    float slope;                    /* leaky ReLU */
    int slopes;                     /* PReLU */
    float scale;                    /* 1 where nothing is scaled */
};

/*
 * Input channel c*r*r + i*r + j goes to channel c at row r*y+i, column r*x+j (as PyTorch's
 * pixel_shuffle); the base, if any, is enlarged to the output's size by repeating samples
 * (H*r a multiple of h, W*r of w) and added.
 */
struct vrt_op_depth_to_space {
    int r;
};

/* The inverse of depth_to_space. */
struct vrt_op_space_to_depth {
    int r;
};

enum vrt_resize_mode {
    VRT_RESIZE_NEAREST,             /* source index = floor(i * in / out) */
    VRT_RESIZE_BILINEAR,            /* source = (i + 0.5) * in / out - 0.5, clamped:
                                     * "align_corners false" */
};

struct vrt_op_resize {
    enum vrt_resize_mode mode;
};

struct vrt_op_add {
    float scale;
};

enum vrt_pad_mode {
    VRT_PAD_ZERO,
    VRT_PAD_REPLICATE,              /* the edge sample repeated */
    VRT_PAD_REFLECT,                /* mirrored, the edge not repeated; bounces where it must */
};

/* x stands at row `top`, column `left` of the output; the rest is made up by `mode`. */
struct vrt_op_pad {
    enum vrt_pad_mode mode;
    int top, left;
};

enum vrt_plane_layout {
    VRT_PLANES_GRAY,                /* one plane: Y */
    VRT_PLANES_YUV,                 /* Y, U, V; U and V smaller by the chroma shifts, rounded up */
    VRT_PLANES_GBR,                 /* G, B, R of the same size: no matrix */
};

enum vrt_yuv_matrix {
    VRT_MATRIX_BT601,
    VRT_MATRIX_BT709,
    VRT_MATRIX_BT2020,              /* non-constant luminance */
};

/* Where chroma samples sit between those of luma (ITU-T H.273, chroma sample location). */
enum vrt_chroma_site {
    VRT_CHROMA_LEFT,                /* columns cosited, rows halfway: MPEG-2, H.264, the default */
    VRT_CHROMA_CENTER,              /* halfway in both: MPEG-1, JPEG */
    VRT_CHROMA_TOP_LEFT,            /* cosited in both: BT.2020 discs */
};

/* Between planes of integer samples and RGB in [0,1]; "backend/colour.h" has the formulas. */
struct vrt_op_colour {
    enum vrt_plane_layout layout;
    enum vrt_yuv_matrix matrix;
    enum vrt_chroma_site site;
    bool full_range;
    int depth;                      /* bits of a sample, 8 to 16: u8 for 8, u16 above */
    int shift_x, shift_y;           /* log2 of luma's size over chroma's: 0, 1 or 2 */
};

/*
 * range gives, for each frame d: [d,0,0,0] the smallest finite value, 1 the largest (both 0 where
 * none is), 2 how many are not finite, 3 how many there are.
 */

struct vrt_op {
    enum vrt_op_kind kind;
    int n_in;
    struct vrt_tensor in[VRT_OP_MAX_IN];    /* an optional one that is absent: VRT_TENSOR_NONE */
    struct vrt_tensor out;
    struct vrt_tensor out_more[2];          /* rgb_to_yuv: the planes after the first */

    union {
        struct vrt_op_conv2d conv2d;
        struct vrt_op_depth_to_space depth_to_space;
        struct vrt_op_space_to_depth space_to_depth;
        struct vrt_op_resize resize;
        struct vrt_op_add add;
        struct vrt_op_pad pad;
        struct vrt_op_colour colour;
    };

    size_t workspace_offset_bytes;          /* in the arena, for all ops; filled by vrt_plan */
};

/* in[i], or NULL where the op has none such. */
const struct vrt_tensor *vrt_op_in(const struct vrt_op *op, int i);

/* How many tensors the op writes: 1, or its planes; that is out, then out_more. */
int vrt_op_n_out(const struct vrt_op *op);

/* Output i, with 0 <= i < vrt_op_n_out(). */
const struct vrt_tensor *vrt_op_out(const struct vrt_op *op, int i);

/* "conv2d", "depth_to_space", ...: as in logs, profiles and test names. */
const char *vrt_op_kind_name(enum vrt_op_kind kind);

/* Multiplications and additions, counted as two, that the op's definition asks for. */
int64_t vrt_op_flops(const struct vrt_op *op);

/*
 * Checks an op's shapes, types and attributes against the table above, params excepted.
 * Return: 0; -EINVAL if a caller of ours built it wrongly (the log says what).
 */
int vrt_op_check(const struct vrt_op *op);
