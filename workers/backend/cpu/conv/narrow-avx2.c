/* SPDX-License-Identifier: MIT */

/* f32 with AVX2: 16 registers hold the sums of 4 columns. */

#include "backend/cpu/conv/narrow-f32.h"
#include "backend/cpu/conv/narrow-kernels.h"

static void run_tile(const struct vrt_narrow_tile *tile)
{
    vrt_narrow_f32(tile, 4);
}

const struct vrt_narrow_kernel vrt_narrow_avx2 = { run_tile, 4 };
