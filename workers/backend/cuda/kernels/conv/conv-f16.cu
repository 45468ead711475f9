/* SPDX-License-Identifier: MIT */

/* Convolutions of f16. */

#include "backend/cuda/kernels/conv/conv-mma.cuh"

template int vrt::conv_launch<__half>(const vrt_cuda_call *call, const vrt::product &p);
