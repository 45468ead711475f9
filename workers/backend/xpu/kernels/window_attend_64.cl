/* SPDX-License-Identifier: MIT */

/* Attention for heads of up to 64 channels. */

#define NAME window_attend_64
#define DIM 64

#include "backend/xpu/kernels/window_attend.clh"
