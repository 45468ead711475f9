/* SPDX-License-Identifier: MIT */

#include "base/clock.h"

#include <time.h>

static int64_t read_clock(clockid_t id)
{
    struct timespec t = { 0 };

    clock_gettime(id, &t);
    return t.tv_sec * VRT_NS_PER_S + t.tv_nsec;
}

int64_t vrt_clock_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

int64_t vrt_clock_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

int64_t vrt_clock_thread_cpu_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t vrt_clock_process_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
