/* SPDX-License-Identifier: MIT */

/* Products of rows of bf16. */

#include "backend/cuda/kernels/linear/rows-mma.cuh"

template int vrt::rows_launch<__nv_bfloat16>(const vrt_cuda_call *call, const vrt::product &p);
