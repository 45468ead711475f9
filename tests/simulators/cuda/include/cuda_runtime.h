/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What nvcc gives device code and its launchers, for a C++ compiler
 *
 * A kernel is a function; a CUDA thread is a call of it, on a fiber once it has to wait for others.
 * `__shared__` variables are thread-local ones of the host: blocks of a host thread run one after
 * the other, so that one copy is enough. A module that has kernels must have no other thread-local
 * variables, for the machine fills all of them with 0xff before each block.
 */

#include "cuda_runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __constant__
#define __shared__ static __thread
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define __align__(n) __attribute__((aligned(n)))
#define __grid_constant__

#include "sim/vectors.h"

#include "sim/index.h"

#include "sim/launch.h"

#include "sim/math.h"

#include "sim/warp.h"
