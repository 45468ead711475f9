/* SPDX-License-Identifier: MIT */

/* Attention for heads of up to 32 channels. */

#define NAME window_attend
#define DIM VRT_KERNEL_ATTEND_DIM
#define IS_WIDE 0

#include "backend/kernels/attention/window_attend.h"
