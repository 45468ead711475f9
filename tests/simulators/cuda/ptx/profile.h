/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How well the accesses of a warp fit together, by instruction
 *
 * With VRT_CUDA_SIM_PROFILE=FILE the machine counts, of each access of translated kernels, the
 * sectors of 32 bytes that a warp's request touches in global memory, or the turns that the 32
 * banks of shared memory take for it, and beside these the fewest that it could take. At its
 * end the process adds a line for each instruction to FILE, with tabs between:
 *     kernel  opcode  file:line  space  requests  taken  needed
 * requests is 0 for an instruction of a launched kernel that was never come to.
 *
 * A request is what the lanes of a warp do in the n-th time that each comes to the instruction in a
 * block: where lanes go round a loop in different numbers, that may differ from a card's.
 */

#include "tests/simulators/cuda/ptx/machine.h"

#include <string>

namespace sim {

/* The kernel whose accesses come now, for those that are counted. */
void profile_begin_launch(const std::string &kernel, const vrt_ptx_entry *entry);

/* The block that ran is done: what its lanes noted is put together. */
void profile_end_block();

/* Whether anything is counted. */
bool profile_is_on();

}
