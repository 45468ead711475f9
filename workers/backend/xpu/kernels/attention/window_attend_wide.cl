/* SPDX-License-Identifier: MIT */

/* Attention for heads of any number of channels. */

#define NAME window_attend_wide
#define DIM VRT_XPU_ATTEND_DIM
#define IS_WIDE 1

#include "backend/xpu/kernels/attention/window_attend.clh"
