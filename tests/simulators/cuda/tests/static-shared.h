/* SPDX-License-Identifier: MIT */
#pragma once

#include "tests/simulators/cuda/include/cuda_runtime_api.h"

/* Enqueues, on the default stream, a kernel that writes to out[0 .. n_blocks - 1] how many of 256
 * variables in static shared memory were NaN when the block began. */
cudaError_t static_shared_count_nan(int n_blocks, int *out);
