/* SPDX-License-Identifier: MIT */

/* Attention for heads of up to 32 channels. */

#define NAME window_attend_32
#define DIM 32

#include "backend/xpu/kernels/window_attend.clh"
