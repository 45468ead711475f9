/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Running the blocks of a grid, one at a time, on the calling host thread
 *
 * A block's threads are cut into warps of 32 lanes. They run until they wait for others; the first
 * of a block needs no stack of its own, so that a kernel without barriers is a loop of calls. The
 * order is that of the variable of the environment that `order_variable` names.
 */

#include "tests/simulators/block/threads.h"

#include <cstddef>
#include <string>

namespace sim {

struct place {
    unsigned x, y, z;
};

/* What is run: a kernel with its arguments, and what its machine does around it. */
class grid {
public:
    place n_blocks = {1, 1, 1}, n_threads = {1, 1, 1};
    const void *function = nullptr;     /* of the library whose thread-local storage is shared */
    size_t dynamic_shared_bytes = 0;

    /* What the machine calls things, in sentences. */
    const char *block_word = "block", *barrier_word = "the barrier";
    /* What run_grid() returns where threads can't go on, and where there is no memory. */
    int stuck_code = 1, memory_code = 1;
    /* All threads of a block come to each barrier, to the same, or the grid fails; else those do
     * that have not ended, and only those of a warp to the same. */
    bool is_uniform = false;

    virtual ~grid() = default;
    virtual std::string name() const = 0;

    /* Before all blocks, with where their dynamic shared memory is, or NULL. */
    virtual void begin(unsigned char *) {}

    /* Around each block, whose shared memory is 0xff when it begins. */
    virtual void begin_block(const place &block) = 0;
    virtual void end_block() {}

    /* The thread at this place goes on, or begins. */
    virtual void enter_thread(const place &thread) = 0;

    /* The thread that was entered, from beginning to end. */
    virtual void run_thread() = 0;
};

/* Runs all blocks. Return: 0, or what failed: a code of the grid or of vrt_sim_trap(), and
 * *ret_why has a sentence that names kernel, block and thread. */
int run_grid(grid *g, std::string *ret_why);

/* The grid that the calling host thread runs. */
grid *running_grid();

}
