/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What kernels of XPU and MPS devices are given: by the host in C, to OpenCL C and Metal's language
 *
 * A kernel's first argument is its struct here; where the data is that goes with it follows, in the
 * order that the kernel's file gives. All members have the same size and place in all of them.
 */

#include <stdint.h>

/* A tensor but for where its data is. `c` is 0 where an optional one is absent. */
struct vrt_kernel_view {
    int64_t stride_d, stride_h, stride_w;   /* elements */
    int32_t d, h, w, c;
    int32_t dtype;                  /* enum vrt_dtype */
    int32_t first;                  /* elements of the data before element (0,0,0,0) */
};

/* add, affine, avgpool2, blend, concat, copy, depth_to_space, fill, gate, pad, resize,
 * space_to_depth, flow_offsets, warp: what each makes of `mode` and the numbers, its file says. */
struct vrt_kernel_elements {
    struct vrt_kernel_view out, in[4];
    int32_t mode, i[3];
    float f[8];
};

struct vrt_kernel_flow_offsets {
    struct vrt_kernel_view out, in, flows[7];
    int32_t groups, channels_each;
    float max_residue;
    int32_t unused;
};

/* Items of checksum, each of which adds up a part. */
#define VRT_KERNEL_CHECKSUM_ITEMS 4096

struct vrt_kernel_checksum {
    int64_t n_words;
};

/* Items of a group of range. */
#define VRT_KERNEL_RANGE_ITEMS 128

/* range, mean: and by how many groups. */
struct vrt_kernel_range {
    struct vrt_kernel_view out, in;
    int32_t n_groups, unused;
};

/* yuv_to_rgb: struct vrt_colour_matrix, and which planes there are. */
struct vrt_kernel_colour {
    struct vrt_kernel_view rgb, planes[3];
    int32_t layout, shift_x, shift_y, cosited_x, cosited_y;
    float y_scale, y_offset, c_offset;
    float matrix[4];                /* rv, gu, gv, bu */
};

/* Along one axis: struct vrt_colour_filter, for chroma of 2^log2_r luma samples. */
struct vrt_kernel_filter {
    int32_t log2_r, first, n;
    float weights[7];
};

/* rgb_to_yuv, for one plane; line: struct vrt_colour_line. */
struct vrt_kernel_plane {
    struct vrt_kernel_view rgb, plane;
    struct vrt_kernel_filter down, across;
    float line[4], max;
    int32_t unused;
};

/*
 * A group of items makes a tile of a product, four subgroups of it `wide` side by side: for how
 * many places and outputs; and how many factors are multiplied at a time.
 */
#define VRT_KERNEL_PRODUCT_ROWS(wide) (128 / (wide))
#define VRT_KERNEL_PRODUCT_COLUMNS(wide) (32 * (wide))
#define VRT_KERNEL_PRODUCT_DEPTH 16

/* How many stand side by side: factors that cost more, in work or registers, are fetched for more
 * outputs at a time. */
#define VRT_KERNEL_CONV2D_WIDE(weight_bytes) ((weight_bytes) == 4 ? 2 : 1)
#define VRT_KERNEL_LINEAR_WIDE 2
#define VRT_KERNEL_DEFORM_CONV2D_WIDE 4

/*
 * Weights: for each tap one slab of VRT_KERNEL_PRODUCT_DEPTH factors after the other, the last of
 * which has the last channels, with zeros for those that the one before it has already. A slab is
 * [DEPTH][row_elements] in f32, and [row_elements][DEPTH] in 16 bits.
 */
struct vrt_kernel_weights {
    int32_t taps, inner;            /* channels of a tap */
    int32_t row_elements;           /* outputs, rounded up */
    int32_t unused;
};

struct vrt_kernel_conv2d {
    struct vrt_kernel_view out, x, residual;
    struct vrt_kernel_weights weights;
    int32_t taps;                   /* along a side */
    int32_t has_bias, activation;
    float slope, scale;
    int32_t unused;
};

/* out = activation(norm(x) * weights + bias) * gate + residual, at the places of `out`. */
struct vrt_kernel_linear {
    struct vrt_kernel_view out, x, residual, gate;
    struct vrt_kernel_weights weights;
    int32_t has_norm, has_bias, activation;
    int32_t window_h, window_w, shift_h, shift_w;   /* window_w 0: no position is added */
    int32_t unused;
};

/* Items that share a place, and places of a group. */
#define VRT_KERNEL_NORM_LANES 16
#define VRT_KERNEL_NORM_PLACES 8

struct vrt_kernel_norm {
    struct vrt_kernel_view out, x;
    int32_t only_stats, unused;
};

struct vrt_kernel_deform_conv2d {
    struct vrt_kernel_view out, x, offsets;
    struct vrt_kernel_weights weights;
    int32_t groups, offset_groups;
    int32_t has_bias, unused;
};

/* Queries of a group, but where a kernel's name says it; channels of a head that isn't wide, to
 * which it is read whatever it has. */
#define VRT_KERNEL_ATTEND_QUERIES 64
#define VRT_KERNEL_ATTEND_DIM 32

/*
 * One attention, or the two meetings of a mutual one: in each, n queries of a window, from
 * queries[i] on, meet n keys, from keys[i] on; what comes of it goes to places rows[i] and on.
 * Arrays of three are by dimension: d, h, w.
 */
struct vrt_kernel_attend {
    int32_t size[3], shift[3];      /* of windows, cut to the clip */
    int32_t full[3];                /* of windows, not cut */
    int32_t padded[3];              /* the clip, padded to whole windows */
    int32_t seam[3];                /* where in the rolled clip the places begin that the roll
                                     * brought there; where nothing is shifted, its end */
    int32_t queries[2], keys[2], rows[2];
    int32_t along_h, along_w;       /* windows */
    int32_t n, c, heads, dim, has_table;
    int32_t meetings, parts;        /* parts: into which heads are divided that are wide */
    int32_t base;                   /* of two places' entry in the table: + code - code */
    int32_t width, column;          /* of the output's places: elements, and the first of c */
    int32_t dtype;                  /* of qkv and the output */
};
