/* SPDX-License-Identifier: MIT */

/* Deformable convolutions whose samples are rounded to bf16. */

#include "backend/cuda/kernels/deform/deform-mma.cuh"

template int vrt::deform_launch<__nv_bfloat16>(const vrt_cuda_call *call, const vrt::product &p);
