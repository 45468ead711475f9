/* SPDX-License-Identifier: MIT */

/* f32 with AVX-512VL: 32 registers hold the sums of 8 columns. */

#include "backend/cpu/conv/narrow-f32.h"
#include "backend/cpu/conv/narrow-kernels.h"

static void run_tile(const struct vrt_narrow_tile *tile)
{
    vrt_narrow_f32(tile, 8);
}

const struct vrt_narrow_kernel vrt_narrow_avx512 = { run_tile, 8 };
