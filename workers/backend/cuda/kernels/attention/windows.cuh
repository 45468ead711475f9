/* SPDX-License-Identifier: MIT */
#pragma once

/* "windows.h", for device code too. */

#include "backend/cuda/kernels/view.cuh"

#define VRT_WINDOWS_INLINE static __host__ __device__ __forceinline__
#include "backend/cuda/kernels/attention/windows.h"
