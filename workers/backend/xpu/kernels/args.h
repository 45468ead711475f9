/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What kernels are given: by the host in C, to OpenCL C
 *
 * A kernel's first argument is its struct here, by value; the addresses that go with it follow, in
 * the order that the kernel's file gives. All members have the same size and place in both.
 */

#include <stdint.h>

/* A tensor but for where it is. `c` is 0 where an optional one is absent. */
struct vrt_xpu_view {
    int64_t stride_d, stride_h, stride_w;   /* elements */
    int32_t d, h, w, c;
    int32_t dtype;                  /* enum vrt_dtype */
    int32_t unused;
};

/* add, affine, avgpool2, blend, concat, copy, depth_to_space, fill, pad, resize, space_to_depth,
 * flow_offsets, warp: what each makes of `mode` and the numbers, its file says. */
struct vrt_xpu_elements {
    struct vrt_xpu_view out, in[4];
    int32_t mode, i[3];
    float f[8];
};

struct vrt_xpu_flow_offsets {
    struct vrt_xpu_view out, in, flows[7];
    int32_t groups, channels_each;
    float max_residue;
    int32_t unused;
};

struct vrt_xpu_checksum {
    int64_t n_words;
};

/* Items of a group of range. */
#define VRT_XPU_RANGE_ITEMS 128

/* range, mean: and by how many groups. */
struct vrt_xpu_range {
    struct vrt_xpu_view out, in;
    int32_t n_groups, unused;
};

/* yuv_to_rgb: struct vrt_colour_matrix, and which planes there are. */
struct vrt_xpu_colour {
    struct vrt_xpu_view rgb, planes[3];
    int32_t layout, shift_x, shift_y, cosited_x, cosited_y;
    float y_scale, y_offset, c_offset;
    float matrix[4];                /* rv, gu, gv, bu */
};

/* Along one axis: struct vrt_colour_filter, for chroma of 2^log2_r luma samples. */
struct vrt_xpu_filter {
    int32_t log2_r, first, n;
    float weights[7];
};

/* rgb_to_yuv, for one plane; line: struct vrt_colour_line. */
struct vrt_xpu_plane {
    struct vrt_xpu_view rgb, plane;
    struct vrt_xpu_filter down, across;
    float line[4], max;
    int32_t unused;
};
