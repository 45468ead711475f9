/* SPDX-License-Identifier: MIT */

/* Where a program's bound tensors are this time: written ahead of each replay. */

#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/view.cuh"

static __global__ void bind(vrt_cuda_slots slots, char **to)
{
    to[threadIdx.x] = slots.at[threadIdx.x];
}

int vrt_cuda_bind(cudaStream_t stream, const vrt_cuda_slots *slots, char **to)
{
    return vrt_launch(bind, 1, VRT_CUDA_MAX_SLOTS, 0, stream, *slots, to);
}
