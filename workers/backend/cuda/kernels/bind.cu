/* SPDX-License-Identifier: MIT */

/* Where a program's bound tensors are this time: written ahead of each replay. */

#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/view.cuh"

static __global__ void bind(vrt_cuda_slots slots, char **to)
{
#pragma unroll
    for (int k = 0; k < VRT_CUDA_MAX_SLOTS; k++)    /* an index known to the compiler: no copy */
        to[k] = slots.at[k];
}

int vrt_cuda_bind(cudaStream_t stream, const vrt_cuda_slots *slots, char **to)
{
    return vrt_launch(bind, 1, 1, 0, stream, *slots, to);
}

/* All kernels are compiled for the same ones. */
int vrt_cuda_code(int *ret_code)
{
    cudaFuncAttributes attributes;
    const cudaError_t r = cudaFuncGetAttributes(&attributes, bind);

    if (r == cudaSuccess)
        *ret_code = attributes.ptxVersion;
    return (int)r;
}
