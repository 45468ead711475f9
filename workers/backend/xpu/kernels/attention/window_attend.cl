/* SPDX-License-Identifier: MIT */

/* Attention for heads of up to 32 channels. */

#define NAME window_attend
#define DIM VRT_XPU_ATTEND_DIM
#define IS_WIDE 0

#include "backend/xpu/kernels/attention/window_attend.clh"
