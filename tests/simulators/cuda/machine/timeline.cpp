/* SPDX-License-Identifier: MIT */

#include "tests/simulators/cuda/machine/machine.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace sim {

namespace {

constexpr int64_t copy_ns = 4000000, kernel_ns = 500000;

constexpr const char *names[] = {"none", "up", "run", "down"};

/* Each thread's own clock. */
__thread int64_t now_ns;

FILE *the_file()
{
    static FILE *const file = [] {
        const char *path = getenv("VRT_CUDA_SIM_TIMELINE");

        return path && *path ? fopen(path, "w") : nullptr;
    }();

    return file;
}

}

void timeline_submit(work *w)
{
    w->since_ns = now_ns;
}

void timeline_do(CUstream_st *stream, const work &w)
{
    int64_t begin_ns = std::max(w.since_ns, stream->until_ns), end_ns;

    if (w.wait)
        begin_ns = std::max(begin_ns, w.wait->at_ns);
    end_ns = begin_ns;
    if (w.on != engine::none) {
        int64_t *until_ns = &stream->owner->until_ns[size_t(w.on)];

        begin_ns = std::max(begin_ns, *until_ns);
        end_ns = begin_ns + (w.on == engine::run ? kernel_ns * int64_t(w.n) : copy_ns);
        *until_ns = end_ns;
        if (the_file()) {
            fprintf(the_file(), "%d %s %" PRId64 " %" PRId64 "\n", stream->owner->ordinal,
                    names[size_t(w.on)], begin_ns, end_ns);
            fflush(the_file());
        }
    }
    stream->until_ns = end_ns;
    if (w.signal)
        w.signal->at_ns = end_ns;
}

void timeline_wait(int64_t at_ns)
{
    now_ns = std::max(now_ns, at_ns);
}

}
