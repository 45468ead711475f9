/* SPDX-License-Identifier: MIT */
#pragma once

/* Running launches: what CUDA has around its blocks. */

#include "tests/simulators/cuda/include/cuda_runtime.h"

#include <string>

namespace sim {

struct launch {
    std::shared_ptr<const vrt_sim_kernel> kernel;
    uint3 grid, block;
    size_t dynamic_shared_bytes;
    int compute_capability;         /* of the device: 75, 90, ... */
};

/* Runs all blocks. On failure `ret_why` has a sentence that names kernel, block and thread. */
cudaError_t run_launch(const launch &l, std::string *ret_why);

/* The compute capability of the launch that runs. */
int running_capability();

/* The kernel's name as a linker knows it, or where it is in which file. */
std::string kernel_name(const void *function);

}
