/* SPDX-License-Identifier: MIT */

/*
 * vrt_thread_set_background() on Linux, where a priority is a thread's own
 *
 * The C library has no function for sched_setattr(2). Its field `runtime` is for normal threads
 * the slice, from Linux 6.12 on; older systems leave it unused.
 */

#include <sched.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

/* How long one of these threads may hold up another that wakes. */
#define SLICE_NS (VRT_NS_PER_MS / 2)

/* struct sched_attr, as far as its first version went. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

void vrt_thread_set_background(int nice)
{
    const int now = getpriority(PRIO_PROCESS, 0);
    const struct attributes attributes = {
        .size = sizeof(attributes),
        .policy = SCHED_BATCH,
        .nice = VRT_MAX(now, nice),
        .runtime = SLICE_NS,
    };

    /* What refuses this leaves the thread as it was, which costs nothing but latency. */
    if (syscall(SYS_sched_setattr, 0, &attributes, 0) < 0)
        setpriority(PRIO_PROCESS, 0, VRT_MAX(now, nice));
}
