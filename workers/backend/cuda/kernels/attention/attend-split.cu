/* SPDX-License-Identifier: MIT */

/* Attention within windows, in f32 split for tensor cores. */

#include "backend/cuda/kernels/attention/windows_split.cuh"

namespace vrt {

/* Blocks have as many queries as a frame of VRT's windows, which is all that mutual attention has
 * at a time, or twice that. */
int attend_split_launch(const vrt_cuda_call *call, attend *a, int n_windows)
{
    const int warps = a->is_mutual ? ATTEND_SPLIT_WARPS / 2 : ATTEND_SPLIT_WARPS;
    const unsigned blocks = attend_cut(a, n_windows, ATTEND_SPLIT_QUERIES * warps);

    return vrt_launch(a->dim <= 24 ? attend_split<3> : attend_split<4>, blocks, 32 * warps,
                      attend_split_shared_bytes(&a->windows, a->dim), call->stream, *a);
}

}
