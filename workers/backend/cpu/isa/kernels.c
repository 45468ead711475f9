/* SPDX-License-Identifier: MIT */

/* The table of one instruction set's build. */

#include "backend/cpu/isa/kernels.h"

#define STRING2(x) #x
#define STRING(x) STRING2(x)

const struct vrt_cpu_isa vrt_cpu_isa_table = {
    .name = STRING(VRT_CPU_ISA),
    .kernels = {
        [VRT_OP_CONV2D] = &vrt_cpu_op_conv2d,
        [VRT_OP_LAYERNORM] = &vrt_cpu_op_layernorm,
        [VRT_OP_DEFORM_CONV2D] = &vrt_cpu_op_deform_conv2d,
        [VRT_OP_FLOW_OFFSETS] = &vrt_cpu_op_flow_offsets,
        [VRT_OP_WARP] = &vrt_cpu_op_warp,
        [VRT_OP_LINEAR] = &vrt_cpu_op_linear,
        [VRT_OP_WINDOW_ATTENTION] = &vrt_cpu_op_window_attention,
        [VRT_OP_GEGLU] = &vrt_cpu_op_geglu,
        [VRT_OP_DEPTH_TO_SPACE] = &vrt_cpu_op_depth_to_space,
        [VRT_OP_SPACE_TO_DEPTH] = &vrt_cpu_op_space_to_depth,
        [VRT_OP_RESIZE] = &vrt_cpu_op_resize,
        [VRT_OP_AVGPOOL2] = &vrt_cpu_op_avgpool2,
        [VRT_OP_CONCAT] = &vrt_cpu_op_concat,
        [VRT_OP_ADD] = &vrt_cpu_op_add,
        [VRT_OP_AFFINE] = &vrt_cpu_op_affine,
        [VRT_OP_MEAN] = &vrt_cpu_op_mean,
        [VRT_OP_FILL] = &vrt_cpu_op_fill,
        [VRT_OP_GATE] = &vrt_cpu_op_gate,
        [VRT_OP_BLEND] = &vrt_cpu_op_blend,
        [VRT_OP_COPY] = &vrt_cpu_op_copy,
        [VRT_OP_PAD] = &vrt_cpu_op_pad,
        [VRT_OP_YUV_TO_RGB] = &vrt_cpu_op_yuv_to_rgb,
        [VRT_OP_RGB_TO_YUV] = &vrt_cpu_op_rgb_to_yuv,
        [VRT_OP_RANGE] = &vrt_cpu_op_range,
    },
    .epilogue = vrt_cpu_conv_epilogue,
    .epilogue_scratch_bytes = vrt_cpu_conv_epilogue_scratch_bytes,
    .gather = vrt_cpu_conv_gather,
};
