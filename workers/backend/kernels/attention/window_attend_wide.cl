/* SPDX-License-Identifier: MIT */

/* Attention for heads of any number of channels. */

#define NAME window_attend_wide
#define DIM VRT_KERNEL_ATTEND_DIM
#define IS_WIDE 1

#include "backend/kernels/attention/window_attend.h"
