/* SPDX-License-Identifier: MIT */
#pragma once

/* Kernels as nvcc compiles them, translated, in place of those of the C++ compiler. */

#include "tests/simulators/cuda/block/block.h"

namespace sim {

/*
 * Makes `l` a launch of the translated entry, where VRT_CUDA_SIM_PTX asks for those; else leaves it
 * as it is. Return: cudaSuccess, or what the launch fails with, and a sentence that says why.
 */
cudaError_t use_translated(launch *l, size_t most_shared_bytes, std::string *ret_why);

/* Forgets what the last launch touched. */
void begin_translated();

}
