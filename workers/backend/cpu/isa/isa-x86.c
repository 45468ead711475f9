/* SPDX-License-Identifier: MIT */

/*
 * Which build of the kernels an x86 machine runs
 *
 * oneDNN is asked rather than the processor, so that its ONEDNN_MAX_CPU_ISA limits all of a
 * device alike: a fast machine can be tested as if it were a plain one.
 */

#include <dnnl.h>

#include "backend/cpu/isa/isa.h"

extern const struct vrt_cpu_isa vrt_cpu_base_isa_table;
extern const struct vrt_cpu_isa vrt_cpu_avx2_isa_table;
extern const struct vrt_cpu_isa vrt_cpu_avx512_isa_table;

extern const struct vrt_cpu_kernel vrt_cpu_avx512_bf16_op_linear;
extern const struct vrt_cpu_kernel vrt_cpu_avx512_bf16_op_geglu;
extern const struct vrt_cpu_kernel vrt_cpu_avx512_bf16_op_window_attention;
extern const struct vrt_cpu_kernel vrt_cpu_avx512_bf16_op_deform_conv2d;

const struct vrt_cpu_kernel *vrt_cpu_bf16_vectors(enum vrt_op_kind kind)
{
    static const struct vrt_cpu_kernel *const kernels[VRT_OP_KIND_COUNT] = {
        [VRT_OP_LINEAR] = &vrt_cpu_avx512_bf16_op_linear,
        [VRT_OP_GEGLU] = &vrt_cpu_avx512_bf16_op_geglu,
        [VRT_OP_WINDOW_ATTENTION] = &vrt_cpu_avx512_bf16_op_window_attention,
        [VRT_OP_DEFORM_CONV2D] = &vrt_cpu_avx512_bf16_op_deform_conv2d,
    };
    const int isa = (int)dnnl_get_effective_cpu_isa();

    return (isa & dnnl_cpu_isa_avx512_core_bf16) == dnnl_cpu_isa_avx512_core_bf16 ? kernels[kind]
                                                                                : NULL;
}

const struct vrt_cpu_isa *vrt_cpu_isa_best(void)
{
    const int isa = (int)dnnl_get_effective_cpu_isa();

    /* oneDNN numbers sets by the bits of those they contain. */
    if ((isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core)
        return &vrt_cpu_avx512_isa_table;
    if ((isa & dnnl_cpu_isa_avx2) == dnnl_cpu_isa_avx2 && __builtin_cpu_supports("fma") &&
        __builtin_cpu_supports("bmi2"))
        return &vrt_cpu_avx2_isa_table;
    return &vrt_cpu_base_isa_table;
}
