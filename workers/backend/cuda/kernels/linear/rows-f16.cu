/* SPDX-License-Identifier: MIT */

/* Products of rows of f16. */

#include "backend/cuda/kernels/linear/rows-mma.cuh"

template int vrt::rows_launch<__half>(const vrt_cuda_call *call, const vrt::product &p);
