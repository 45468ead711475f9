/* SPDX-License-Identifier: MIT */
#pragma once

/* Clocks, in nanoseconds. */

#include <pthread.h>
#include <stdint.h>

#define VRT_NS_PER_S 1000000000LL
#define VRT_NS_PER_MS 1000000LL

/* Monotonic time: for durations and deadlines; it does not jump with the wall clock. */
int64_t vrt_clock_now_ns(void);

/* Wall time since 1970-01-01 UTC: for people only, because it jumps. */
int64_t vrt_clock_wall_ns(void);

/*
 * Waits for a change for `ns` at most. By the system's wall clock, because not every system offers
 * another here: should that jump, it takes longer or shorter, so moments are waited for, and who
 * waits longer looks at vrt_clock_now_ns().
 */
void vrt_clock_wait_moment(pthread_cond_t *changed, pthread_mutex_t *lock, int64_t ns);

/* For tests: how wrong the wall clock is. Zero-initialised is right. */
struct vrt_wall_error {
    int64_t offset_ns;
    int64_t jump_ns, period_ns;     /* wrong by so much more in every other period; 0: never */
};

/* Reads "OFFSET" or "OFFSET,JUMP,PERIOD", seconds, perhaps with a fraction. Return: 0, -EINVAL. */
int vrt_clock_parse_wall_error(const char *text, struct vrt_wall_error *ret_wrong);

/* From now on the wall clock is that wrong. Thread: any, while there is no other. */
void vrt_clock_set_wall_error(const struct vrt_wall_error *wrong);
