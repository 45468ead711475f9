/* SPDX-License-Identifier: MIT */

/* Deformable convolutions whose samples are rounded to f16. */

#include "backend/cuda/kernels/deform/deform-mma.cuh"

template int vrt::deform_launch<__half>(const vrt_cuda_call *call, const vrt::product &p);
