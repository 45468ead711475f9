/* SPDX-License-Identifier: MIT */
#pragma once

/* What embed.py makes of the kernels, for spirv.c. */

#include "backend/xpu/spirv.h"

extern const struct vrt_xpu_spirv vrt_xpu_modules[];
extern const size_t vrt_n_xpu_modules;
