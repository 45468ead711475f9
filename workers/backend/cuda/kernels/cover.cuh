/* SPDX-License-Identifier: MIT */
#pragma once

/* Kernels whose threads have a packet of channels each ("cover.h"), and their launch. */

#include "backend/cuda/kernels/cover.h"
#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/view.cuh"

namespace vrt {

/* A thread's packet: n channels from `c` on of place (d,h,w). */
struct run {
    int d, h, w, c, n;
};

/* What this thread has of a tensor of `c` channels. Return: whether it has something. */
static __device__ __forceinline__ bool run_find(const vrt_cuda_cover &cover, int c, run *ret_run)
{
    const vrt_cuda_item at = vrt_cuda_cover_find(&cover, (int)blockIdx.x, (int)threadIdx.x);
    const int first = at.packet * VRT_CUDA_PACKET;

    *ret_run = { at.d, at.h, at.w, first, min(VRT_CUDA_PACKET, c - first) };
    return at.exists;
}

/* Elements from (0,0,0,0) of `v` to the run's first. */
static __device__ __forceinline__ int64_t run_at(const view &v, const run &r)
{
    return view_at(v, r.d, r.h, r.w) + r.c;
}

/* How threads cover all channels of a tensor of this shape. */
static inline vrt_cuda_cover cover_of(const vrt_shape &shape)
{
    return vrt_cuda_cover_of(shape, vrt_cuda_n_packets(shape.c));
}

/* Enqueues kernel(cover, args...) on as many threads as the cover has items. Return: cudaError_t */
template <class... Wanted, class... Given>
static inline int cover_launch(void (*kernel)(vrt_cuda_cover, Wanted...),
                               const vrt_cuda_call *call, const vrt_cuda_cover &cover,
                               const Given &...args)
{
    return vrt_launch(kernel, dim3((unsigned)cover.n_blocks), dim3(VRT_CUDA_COVER_THREADS), 0,
                      call->stream, cover, args...);
}

}

/* A kernel that cover_launch() launches. */
#define VRT_COVER_KERNEL static __global__ void __launch_bounds__(VRT_CUDA_COVER_THREADS)
