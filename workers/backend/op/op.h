/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The operations a device can be asked for
 *
 * Few and coarse, so that a backend is free to fuse inside one. What each computes is defined by
 * its plain version in backend/ref/, and docs/ops.md has the formulas; this page gives the shapes.
 * Types: activations are f32, f16 or bf16, sums are f32 at least, and the result is rounded once,
 * when it is stored. Inputs and output never overlap, except where an op says so.
 *
 * Weights have the replica's type, or f32 (backend.h: enum vrt_param_use); those of one op are all
 * of one type, which the op says (weight_dtype): what a device needs for it may depend on that.
 * What is multiplied with them is rounded to that type first, and inside an op what is multiplied
 * with each other likewise; norms, softmax, flows, offsets and coordinates are f32 whatever the
 * type.
 *
 *     op                in[0..]                                  out
 *     conv2d            x [D,H,W,I], residual [D,H,W,O] or none  [D,H,W,O]
 *     linear            x [D,H,W,I], residual [D,H,W,O] or none  [D,H,W,O]
 *     layernorm         x [D,H,W,C]                              [D,H,W,C]
 *     window_attention  x [D,H,W,C]                              [D,H,W,C]
 *     geglu             x [D,H,W,I], residual [D,H,W,O] or none  [D,H,W,O]
 *     deform_conv2d     x [D,H,W,I], offsets f32 [D,H,W,27*G]    [D,H,W,O]
 *     flow_offsets      o [D,H,W,27*G], n flows f32 [D,H,W,2]    f32 [D,H,W,27*G]
 *     warp              x [D,H,W,C], flow f32 [D,H,W,2]          [D,H,W,C]; nearest4: [D,H,W,4*C]
 *     depth_to_space    x [D,H,W,C*r*r], base [D,h,w,C] or none  [D,H*r,W*r,C]
 *     space_to_depth    x [D,H*r,W*r,C]                          [D,H,W,C*r*r]
 *     resize            x [D,H,W,C]                              [D,h,w,C]
 *     avgpool2          x [D,2*h,2*w,C]                          [D,h,w,C]
 *     concat            n_in tensors [D,H,W,Ci]                  [D,H,W,sum of Ci]
 *     add               a [D,H,W,C] or [1,1,1,C], b [D,H,W,C]    [D,H,W,C]    a*scale + b
 *     affine            x [D,H,W,C], C at most 4                 [D,H,W,C]    x*scale[c] + shift[c]
 *     gate              g, x, y or none, all [D,H,W,C]           [D,H,W,C]    (x + y) * (scale *
 *                                                                             sigmoid(g) + shift)
 *     blend             x [D,H,W,C], rows f32 [1,H,1,1],         [D,H,W,C]    acc + x*rows*columns;
 *                       columns f32 [1,1,W,1],                              acc and x may be bound
 *                       acc [D,H,W,C] or none                               to the output's place
 *     mean              x [D,H,W,C]                              f32 [1,1,1,C]  over D, H and W
 *     fill              none                                     [D,H,W,C]    the same everywhere
 *     copy              x [D,H,W,C]                              [D,H,W,C]    f32, f16, bf16 into
 *                                                                each other; others into their own
 *     pad               x [D,H,W,C]                              [D,h,w,C]
 *     yuv_to_rgb        1 or 3 planes, u8 or u16                 [D,H,W,3]    in [0,1]
 *     rgb_to_yuv        rgb [D,H,W,3]                            up to 3 planes (out, out_more)
 *     range             x [D,H,W,C]                              f32 [D,1,1,4]
 */

#include "backend/op/enums.h"
#include "backend/op/tensor.h"

#define VRT_OP_MAX_IN 8

enum vrt_op_kind {
    VRT_OP_CONV2D,
    VRT_OP_LINEAR,
    VRT_OP_LAYERNORM,
    VRT_OP_WINDOW_ATTENTION,
    VRT_OP_GEGLU,
    VRT_OP_DEFORM_CONV2D,
    VRT_OP_FLOW_OFFSETS,
    VRT_OP_WARP,
    VRT_OP_DEPTH_TO_SPACE,
    VRT_OP_SPACE_TO_DEPTH,
    VRT_OP_RESIZE,
    VRT_OP_AVGPOOL2,
    VRT_OP_CONCAT,
    VRT_OP_ADD,
    VRT_OP_AFFINE,
    VRT_OP_GATE,
    VRT_OP_BLEND,
    VRT_OP_MEAN,
    VRT_OP_FILL,
    VRT_OP_COPY,
    VRT_OP_PAD,
    VRT_OP_YUV_TO_RGB,
    VRT_OP_RGB_TO_YUV,
    VRT_OP_RANGE,
    VRT_OP_KIND_COUNT,
};

/*
 * out = activation(x * weight + bias) * scale + residual, over each frame by itself, stride 1,
 * K x K taps (K = 1, 3, 5 or 7), zeros outside: the size stays. Params are indices into the
 * replica's (backend.h): weight [O,I,K,K], bias [O] or -1, slopes [O]. x has the weight's type,
 * weight_dtype; residual and out may have another.
 */
struct vrt_op_conv2d {
    int kernel;                     /* K */
    int weight, bias;
    enum vrt_activation activation;
    float slope;                    /* leaky ReLU */
    int slopes;                     /* PReLU */
    float scale;                    /* 1 where nothing is scaled */
};

/* LayerNorm over the channels of each place: (x - mean) / sqrt(variance + epsilon) * weight + bias,
 * params [C] both; weight -1: no norm. */
struct vrt_op_norm {
    int weight, bias;
};

/* out = activation(norm(x) * weight^T + bias) + residual, at each place by itself. Params: weight
 * [O,I], bias [O] or -1. */
struct vrt_op_linear {
    struct vrt_op_norm norm;
    int weight, bias;
    enum vrt_activation activation; /* none or GELU */
};

/* out = norm(x). */
struct vrt_op_layernorm {
    struct vrt_op_norm norm;
};

/*
 * A transformer block's first half: out = x + attention(norm(x)), in windows of `window` places
 * (d, h, w) of the padded clip. Where the clip is no larger than the window, that is cut to the
 * clip and not shifted. docs/ops.md states the rest: padding, shift, mask, and how params are read.
 *
 * Params: qkv and mutual [3C,C], their biases [3C] or -1, proj [C,C], or [C,2C] with mutual,
 * its bias [C]; tables: bias_table [(2d-1)*(2h-1)*(2w-1), heads], position [h*w,C] (mutual).
 * With `mutual` (not -1) the window is 2 frames of h by w, and cut nowhere.
 */
struct vrt_op_window_attention {
    int heads;
    int window[3];
    bool shifted;                   /* by half a window */
    struct vrt_op_norm norm;
    int qkv, qkv_bias, bias_table;
    int mutual, mutual_bias, position;
    int proj, proj_bias;
};

/* out = (gelu(y * fc11^T) . (y * fc12^T)) * fc2^T + residual, y = norm(x), each product plus its
 * bias. Params: fc11 and fc12 [hidden,I], fc2 [O,hidden], biases [hidden], [hidden], [O] or -1. */
struct vrt_op_geglu {
    struct vrt_op_norm norm;
    int hidden;
    int fc11, fc11_bias, fc12, fc12_bias, fc2, fc2_bias;
};

/*
 * A modulated deformable 3x3 convolution: tap t of place (h,w) samples x at (h + t/3 - 1 + dy,
 * w + t%3 - 1 + dx), bilinearly, zeros outside, times mask. Offsets hold, for each of the G runs
 * of I/G channels and tap t: dy at [2*(9*g + t)], dx after it, the mask at [18*G + 9*g + t].
 * `groups` runs of I/groups channels each produce the O/groups outputs of the same run alone.
 * Params: weight [O,I/groups,3,3], bias [O] or -1.
 */
struct vrt_op_deform_conv2d {
    int groups, offset_groups;      /* offset_groups: G, a multiple of groups */
    int weight, bias;
};

/*
 * What deform_conv2d takes, from a convolution's result and the flows: out = max_residue * tanh(o)
 * + flow for the first 18*G channels, sigmoid(o) for the rest. Those 18*G are split in n equal
 * runs; to each pair of channels of run k the flow k is added, its y first (flow channels: x, y).
 */
struct vrt_op_flow_offsets {
    float max_residue;
    int offset_groups;              /* G, a multiple of n */
};

/* Each place (h,w) is taken from (h + flow[1], w + flow[0]) of its frame; nearest4 rounds that
 * position down and up, the others take it by way of "backend/op/position.h". */
struct vrt_op_warp {
    enum vrt_warp_mode mode;
};

/*
 * Input channel (c,i,j), by the order, goes to channel c at row r*y+i, column r*x+j; the base, if
 * any, is enlarged to the output's size by repeating samples (H*r a multiple of h, W*r of w) and
 * added.
 */
struct vrt_op_depth_to_space {
    int r;
    enum vrt_shuffle_order order;
};

/* The inverse of depth_to_space. */
struct vrt_op_space_to_depth {
    int r;
    enum vrt_shuffle_order order;
};

/* "backend/op/position.h" has the source's exact place. */
struct vrt_op_resize {
    enum vrt_resize_mode mode;
};

struct vrt_op_add {
    float scale;
};

#define VRT_AFFINE_MAX_CHANNELS 4

struct vrt_op_affine {
    float scale[VRT_AFFINE_MAX_CHANNELS], shift[VRT_AFFINE_MAX_CHANNELS];
};

/* out = (x + y) * (scale * sigmoid(g) + shift), y 0 where there is none. x = g, scale 1 and shift 0
 * make it SiLU; 2 and -1 make it tanh(g / 2). */
struct vrt_op_gate {
    float scale, shift;
};

/* out = acc + x * (rows[h] * columns[w]), or divided by that product; acc is 0 where there is
 * none. How pictures that overlap are added up, and their sum made a mean. */
struct vrt_op_blend {
    bool divides;
};

struct vrt_op_fill {
    float value;
};

/* x stands at row `top`, column `left` of the output; the rest is made up by `mode`. */
struct vrt_op_pad {
    enum vrt_pad_mode mode;
    int top, left;
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

/* Between planes of integer samples and RGB in [0,1]; "backend/op/colour.h" has the formulas. */
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

    /* Of its weights as the replica has them: f32, f16 or bf16; without weights it says nothing.
     * Filled by vrt_graph_append() where the graph knows them. */
    enum vrt_dtype weight_dtype;

    /* They are f32 in a replica of a shorter type, since their use says so: products may be off by
     * 1e-5 of their size, where that takes less time. Filled likewise. */
    bool is_exact;

    union {
        struct vrt_op_conv2d conv2d;
        struct vrt_op_linear linear;
        struct vrt_op_layernorm layernorm;
        struct vrt_op_window_attention window_attention;
        struct vrt_op_geglu geglu;
        struct vrt_op_deform_conv2d deform_conv2d;
        struct vrt_op_flow_offsets flow_offsets;
        struct vrt_op_warp warp;
        struct vrt_op_depth_to_space depth_to_space;
        struct vrt_op_space_to_depth space_to_depth;
        struct vrt_op_resize resize;
        struct vrt_op_add add;
        struct vrt_op_affine affine;
        struct vrt_op_gate gate;
        struct vrt_op_blend blend;
        struct vrt_op_fill fill;
        struct vrt_op_pad pad;
        struct vrt_op_colour colour;
    };

    size_t workspace_offset_bytes;          /* in the arena, for all ops; filled by vrt_plan */
};

/* in[i], or NULL where the op has none such. */
const struct vrt_tensor *vrt_op_in(const struct vrt_op *op, int i);

/* The window and shift that a window_attention works with, cut to its clip: d, h, w of each. */
void vrt_op_window(const struct vrt_op *op, int window[3], int shift[3]);

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
