/* SPDX-License-Identifier: MIT */
#pragma once

/* The loops of the instruction sets, a file each, compiled with its flags. */

#include "backend/cpu/conv/narrow.h"

extern const struct vrt_narrow_kernel vrt_narrow_avx2;              /* f32 */
extern const struct vrt_narrow_kernel vrt_narrow_avx512;            /* f32, by its 32 registers */
extern const struct vrt_narrow_kernel vrt_narrow_avx512_bf16;       /* bf16 */
