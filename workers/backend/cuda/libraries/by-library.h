/* SPDX-License-Identifier: MIT */
#pragma once

/* Ops as the libraries are asked for them. Thread: that of the device. */

#include "backend/cuda/libraries/cublaslt.h"
#include "backend/cuda/libraries/cudnn.h"
#include "backend/cuda/kernels/kernels.h"

/* Whether cuBLASLt does this linear layer, which vrt_cuda_library_of() gives it. Return: 0;
 * cudaErrorMemoryAllocation. */
int vrt_cuda_cublaslt_can(struct vrt_cuda_cublaslt *cublaslt, const struct vrt_cuda_call *call,
                          bool *ret_can);

/* Enqueues one that it does; `scratch` is as in struct vrt_cuda_rows_data. Return: 0; -EIO: the
 * library refused; cudaError_t. */
int vrt_cuda_cublaslt_linear(struct vrt_cuda_cublaslt *cublaslt, const struct vrt_cuda_call *call,
                             char *scratch);

/* Whether cuDNN does this convolution, which vrt_cuda_library_of() gives it; as
 * vrt_cuda_cublaslt_can(). */
int vrt_cuda_cudnn_can(struct vrt_cuda_cudnn *cudnn, const struct vrt_cuda_call *call,
                       bool *ret_can);

/* Enqueues one that it does; as vrt_cuda_cublaslt_linear(). */
int vrt_cuda_cudnn_conv2d(struct vrt_cuda_cudnn *cudnn, const struct vrt_cuda_call *call,
                          char *scratch);

/* The largest power of two, `max` at most, that all of `bits` is a multiple of: addresses and steps
 * in bytes, or-ed together. */
static inline int64_t vrt_cuda_align_of(uint64_t bits, uint64_t max)
{
    bits |= max;
    return (int64_t)(bits & -bits);
}
