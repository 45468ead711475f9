/* SPDX-License-Identifier: MIT */
#pragma once

/* Which thread of which block this is: set by the machine whenever it switches threads. */

#include "tests/simulators/cuda/include/sim/vectors.h"

#define VRT_SIM_TLS extern __thread __attribute__((tls_model("initial-exec")))

VRT_SIM_TLS uint3 threadIdx, blockIdx, blockDim, gridDim;

/* Of the block that runs: 128-byte aligned; NULL where its launch asked for none. */
VRT_SIM_TLS unsigned char *vrt_sim_dynamic_shared;

#undef VRT_SIM_TLS

constexpr int warpSize = 32;
