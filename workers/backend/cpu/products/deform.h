/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How the weights of a deform_conv2d are kept: a panel ("backend/cpu/products/product.h"), [rows of
 * 9 * I/groups, row], units of 4 bytes, tap by tap; each row the O outputs, and behind them zeros,
 * so that whole vectors may be read from any output on
 */

#include <stddef.h>

/* More than any kernel multiplies at once. */
#define VRT_CPU_DEFORM_SPARE 64

/* Units of a row. */
static inline size_t vrt_cpu_deform_row(int outputs)
{
    return ((size_t)outputs + VRT_CPU_DEFORM_SPARE + 15) / 16 * 16;
}
