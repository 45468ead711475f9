/* SPDX-License-Identifier: MIT */

/* Convolutions of bf16. */

#include "backend/cuda/kernels/conv/conv-mma.cuh"

template int vrt::conv_launch<__nv_bfloat16>(const vrt_cuda_call *call, const vrt::product &p);
