/* SPDX-License-Identifier: MIT */

/* Where the kernels are built once, for the machine's plain instruction set. */

#include "backend/cpu/isa/isa.h"

extern const struct vrt_cpu_isa vrt_cpu_base_isa_table;

const struct vrt_cpu_isa *vrt_cpu_isa_best(void)
{
    return &vrt_cpu_base_isa_table;
}

const struct vrt_cpu_kernel *vrt_cpu_bf16_vectors(enum vrt_op_kind kind)
{
    (void)kind;
    return NULL;
}
