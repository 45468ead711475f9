/* SPDX-License-Identifier: MIT */
#pragma once

/* The ops of one instruction set's build, one file each: what kernels.c gathers in its table. */

#include "base/macro.h"
#include "backend/cpu/isa/isa.h"

#define vrt_cpu_isa_table VRT_CPU_NAME(isa_table)
#define vrt_cpu_op_conv2d VRT_CPU_NAME(op_conv2d)
#define vrt_cpu_op_layernorm VRT_CPU_NAME(op_layernorm)
#define vrt_cpu_op_deform_conv2d VRT_CPU_NAME(f32_op_deform_conv2d)
#define vrt_cpu_op_flow_offsets VRT_CPU_NAME(op_flow_offsets)
#define vrt_cpu_op_warp VRT_CPU_NAME(op_warp)
#define vrt_cpu_op_linear VRT_CPU_NAME(f32_op_linear)
#define vrt_cpu_op_geglu VRT_CPU_NAME(f32_op_geglu)
#define vrt_cpu_op_window_attention VRT_CPU_NAME(f32_op_window_attention)
#define vrt_cpu_op_depth_to_space VRT_CPU_NAME(op_depth_to_space)
#define vrt_cpu_op_space_to_depth VRT_CPU_NAME(op_space_to_depth)
#define vrt_cpu_op_resize VRT_CPU_NAME(op_resize)
#define vrt_cpu_op_avgpool2 VRT_CPU_NAME(op_avgpool2)
#define vrt_cpu_op_concat VRT_CPU_NAME(op_concat)
#define vrt_cpu_op_add VRT_CPU_NAME(op_add)
#define vrt_cpu_op_affine VRT_CPU_NAME(op_affine)
#define vrt_cpu_op_mean VRT_CPU_NAME(op_mean)
#define vrt_cpu_op_fill VRT_CPU_NAME(op_fill)
#define vrt_cpu_op_gate VRT_CPU_NAME(op_gate)
#define vrt_cpu_op_blend VRT_CPU_NAME(op_blend)
#define vrt_cpu_op_copy VRT_CPU_NAME(op_copy)
#define vrt_cpu_op_pad VRT_CPU_NAME(op_pad)
#define vrt_cpu_op_yuv_to_rgb VRT_CPU_NAME(op_yuv_to_rgb)
#define vrt_cpu_op_rgb_to_yuv VRT_CPU_NAME(op_rgb_to_yuv)
#define vrt_cpu_op_range VRT_CPU_NAME(op_range)
#define vrt_cpu_conv_epilogue VRT_CPU_NAME(conv_epilogue)
#define vrt_cpu_conv_epilogue_scratch_bytes VRT_CPU_NAME(conv_epilogue_scratch_bytes)
#define vrt_cpu_conv_gather VRT_CPU_NAME(conv_gather)

extern const struct vrt_cpu_isa vrt_cpu_isa_table;

extern const struct vrt_cpu_kernel vrt_cpu_op_conv2d;
extern const struct vrt_cpu_kernel vrt_cpu_op_layernorm;
extern const struct vrt_cpu_kernel vrt_cpu_op_deform_conv2d;
extern const struct vrt_cpu_kernel vrt_cpu_op_flow_offsets;
extern const struct vrt_cpu_kernel vrt_cpu_op_warp;
extern const struct vrt_cpu_kernel vrt_cpu_op_linear;
extern const struct vrt_cpu_kernel vrt_cpu_op_geglu;
extern const struct vrt_cpu_kernel vrt_cpu_op_window_attention;
extern const struct vrt_cpu_kernel vrt_cpu_op_depth_to_space;
extern const struct vrt_cpu_kernel vrt_cpu_op_space_to_depth;
extern const struct vrt_cpu_kernel vrt_cpu_op_resize;
extern const struct vrt_cpu_kernel vrt_cpu_op_avgpool2;
extern const struct vrt_cpu_kernel vrt_cpu_op_concat;
extern const struct vrt_cpu_kernel vrt_cpu_op_add;
extern const struct vrt_cpu_kernel vrt_cpu_op_affine;
extern const struct vrt_cpu_kernel vrt_cpu_op_mean;
extern const struct vrt_cpu_kernel vrt_cpu_op_fill;
extern const struct vrt_cpu_kernel vrt_cpu_op_gate;
extern const struct vrt_cpu_kernel vrt_cpu_op_blend;
extern const struct vrt_cpu_kernel vrt_cpu_op_copy;
extern const struct vrt_cpu_kernel vrt_cpu_op_pad;
extern const struct vrt_cpu_kernel vrt_cpu_op_yuv_to_rgb;
extern const struct vrt_cpu_kernel vrt_cpu_op_rgb_to_yuv;
extern const struct vrt_cpu_kernel vrt_cpu_op_range;

/* The parts of conv2d around oneDNN: see the members of struct vrt_cpu_isa. */
void vrt_cpu_conv_epilogue(const struct vrt_cpu_epilogue *e, const int first[3], int n);
size_t vrt_cpu_conv_epilogue_scratch_bytes(int channels);
void vrt_cpu_conv_gather(const struct vrt_tensor *t, const void *base, const int at[3], int n,
                         void *dst);
