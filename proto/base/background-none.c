/* SPDX-License-Identifier: MIT */
/* vrt_thread_set_background() where a priority belongs to the process, not to a thread. */

#include "base/thread.h"

void vrt_thread_set_background(int nice)
{
    (void)nice;
}
