/* SPDX-License-Identifier: MIT */
#pragma once

/* depth_to_space and space_to_depth: where channels of the large tensor are in the small one */

#include "backend/cuda/kernels/packet.cuh"

namespace vrt {

struct shuffle {
    vrt_divisor r;
    vrt_shuffle_order order;
};

/* What belongs to a run of the large tensor's channels: places of the small one, `step` apart. */
struct counterpart {
    int64_t at;
    int step;
};

/* Of run `r` of a tensor with n channels. */
static __device__ __forceinline__ counterpart counterpart_of(const shuffle &s, const view &small,
                                                             const run &r, int n)
{
    const int side = (int)s.r.divisor, h = vrt_divide(r.h, &s.r), w = vrt_divide(r.w, &s.r);
    const int i = vrt_remainder(r.h, h, &s.r), j = vrt_remainder(r.w, w, &s.r);
    const int64_t at = view_at(small, r.d, h, w);

    if (s.order == VRT_SHUFFLE_PIXELS)
        return { at + (r.c * side + i) * side + j, side * side };
    return { at + (j * side + i) * n + r.c, 1 };
}

}
