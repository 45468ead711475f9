/* SPDX-License-Identifier: MIT */
#pragma once

/* Runs of up to four elements that follow each other, as f32: from any element on, whatever its
 * address is. Types are floats'; stored may be all. */

#include "backend/kernels/view.h"

/* Elements at .. at + 3, of which there are n: the others aren't read, and are 0. */
static inline float4 load_run(const GLOBAL char *data, int dtype, long at, int n)
{
    float4 x = float4(0.0f);

    if (n >= 4)
        return load4(data, dtype, at);
#pragma unroll
    for (int k = 0; k < 3; k++)
        if (k < n)
            x[k] = load(data, dtype, at + k);
    return x;
}

/* The first n elements of x, rounded as store() does. */
static inline void store_run(GLOBAL char *data, int dtype, long at, int n, float4 x)
{
    if (n >= 4 && dtype == VRT_DTYPE_F32) {
        *(GLOBAL packed_float4 *)(data + 4 * at) = x;
    } else if (n >= 4 && dtype == VRT_DTYPE_F16) {
        *(GLOBAL packed_half4 *)(data + 2 * at) = half4(x);
    } else if (n >= 4 && dtype == VRT_DTYPE_BF16) {
        *(GLOBAL packed_ushort4 *)(data + 2 * at) =
            ushort4(bf16_of(x.x), bf16_of(x.y), bf16_of(x.z), bf16_of(x.w));
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (k < n)
                store(data, dtype, at + k, x[k]);
    }
}
