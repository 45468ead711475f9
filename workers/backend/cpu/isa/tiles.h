/* SPDX-License-Identifier: MIT */
#pragma once

/* Kernels whose products are computed by tiles ("backend/cpu/products/tiles/shapes.h"). */

#include "backend/cpu/isa/isa.h"

struct vrt_cpu_tiles {
    const char *name;           /* ", tiles": for whoever reads a device's class */
    size_t units;               /* of two bf16, that are read at once */
    /* Of weights that are bf16; and of those that are f32 in a replica of bf16 (vrt_op.is_exact),
     * by products of split numbers. NULL: none of this op. */
    const struct vrt_cpu_kernel *bf16[VRT_OP_KIND_COUNT], *split[VRT_OP_KIND_COUNT];
};

/*
 * Those that this process uses, the same for as long as it runs; NULL: none. VRT_CPU_TILES=plain in
 * the environment has it use the stand-in in C: for tests, for it is slow. Thread: any.
 */
const struct vrt_cpu_tiles *vrt_cpu_tiles(void);

/* Units of two bf16 that rows of n elements are filled up to: what kernels read at once. Thread:
 * any. */
size_t vrt_cpu_pairs(size_t n);

/* Those by AMX, if the processor has it, the system lets us use it, and oneDNN wasn't told to do
 * without. Return: NULL: they are not. */
const struct vrt_cpu_tiles *vrt_cpu_amx_tiles(void);
