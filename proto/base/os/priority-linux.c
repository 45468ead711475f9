/* SPDX-License-Identifier: MIT */

/*
 * What a thread is wanted for, on Linux, where a priority is a thread's own
 *
 * The C library has no function for sched_setattr(2). Its field `runtime` is for normal threads
 * the slice, from Linux 6.12 on; older systems leave it unused.
 */

#include <dirent.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"

/*
 * A thread that wakes comes before a running one whose slice is longer, and goes on until its own
 * slice is over; a switch then waits for the next tick, which may be 4 ms away. So a slice is as
 * long as an answer takes for threads that answer, and much longer for those that compute.
 */
#define RESPONSIVE_SLICE_NS (VRT_NS_PER_MS * 3 / 2)
#define BACKGROUND_SLICE_NS (VRT_NS_PER_MS * 10)

/* struct sched_attr, as far as its first version went. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

/* Of the calling thread. Return: 0; -1 where the system refuses it. */
static int set_attributes(int nice, int policy, int64_t slice_ns)
{
    const struct attributes attributes = {
        .size = sizeof(attributes),
        .policy = (uint32_t)policy,
        .nice = nice,
        .runtime = (uint64_t)slice_ns,
    };

    return (int)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

void vrt_thread_set_background(int nice)
{
    const int now = getpriority(PRIO_PROCESS, 0);

    /* What refuses this leaves the thread as it was, which costs nothing but latency. */
    if (set_attributes(VRT_MAX(now, nice), SCHED_BATCH, BACKGROUND_SLICE_NS) < 0)
        setpriority(PRIO_PROCESS, 0, VRT_MAX(now, nice));
}

void vrt_thread_set_responsive(void)
{
    (void)set_attributes(getpriority(PRIO_PROCESS, 0), SCHED_OTHER, RESPONSIVE_SLICE_NS);
}

/* Gives a thread the calling one's priority. */
static void share_with(pid_t thread)
{
    struct attributes mine = { .size = 0 };

    if (syscall(SYS_sched_getattr, 0, &mine, sizeof(mine), 0) < 0 ||
        syscall(SYS_sched_setattr, thread, &mine, 0) < 0)
        setpriority(PRIO_PROCESS, (id_t)thread, getpriority(PRIO_PROCESS, 0));
}

void vrt_thread_share_priority(pid_t process)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/task", (int)process);
    DIR *threads = opendir(path);
    if (!threads)
        share_with(process);
    for (const struct dirent *entry; threads && (entry = readdir(threads));)
        if (entry->d_name[0] != '.')
            share_with((pid_t)strtol(entry->d_name, NULL, 10));
    if (threads)
        closedir(threads);
}
