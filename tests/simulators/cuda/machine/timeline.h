/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a card would do when, if copies to it, copies from it and kernels each had an engine that
 * does one after the other, and the host took no time
 *
 * A copy takes 4 ms, a kernel 500 us. Work begins when it was submitted, what it waits for is done,
 * and its engine is free; who waits for it goes on when it is done. The file that
 * VRT_CUDA_SIM_TIMELINE names has a line for each piece of work, "device engine begin end", in
 * nanoseconds: tests/simulators/timeline.py. With the machine's lock.
 */

#include <cstdint>

struct CUstream_st;

namespace sim {

struct work;

enum class engine {
    none,                               /* takes no time */
    up,
    run,
    down,
    count,
};

/* The calling thread submits the work. */
void timeline_submit(work *w);

/* Its stream has done the work. */
void timeline_do(CUstream_st *stream, const work &w);

/* The calling thread has waited for what was done then. */
void timeline_wait(int64_t at_ns);

}
