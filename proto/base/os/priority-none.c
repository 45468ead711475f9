/* SPDX-License-Identifier: MIT */
/* Where a priority belongs to the process, not to a thread. */

#include "base/thread.h"

void vrt_thread_set_background(int nice)
{
    (void)nice;
}

void vrt_thread_set_responsive(void)
{
}

void vrt_thread_share_priority(pid_t process)
{
    (void)process;
}
