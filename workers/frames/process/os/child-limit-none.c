/* SPDX-License-Identifier: MIT */

#include "frames/process/child-impl.h"

bool vrt_child_has_too_many_threads(pid_t pid)
{
    (void)pid;
    return false;
}

void vrt_child_limit_files(pid_t pid, int64_t bytes_max)
{
    (void)pid, (void)bytes_max;
}
