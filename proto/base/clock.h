/* SPDX-License-Identifier: MIT */
#pragma once

/* Clocks, in nanoseconds. */

#include <stdint.h>

#define VRT_NS_PER_S 1000000000LL
#define VRT_NS_PER_MS 1000000LL

/* Monotonic time: for durations and deadlines; it does not jump with the wall clock. */
int64_t vrt_clock_now_ns(void);

/* Wall time since 1970-01-01 UTC: for people only. */
int64_t vrt_clock_wall_ns(void);

/* CPU time of the calling thread. */
int64_t vrt_clock_thread_cpu_ns(void);

/* CPU time of the whole process, user and system. */
int64_t vrt_clock_process_cpu_ns(void);
