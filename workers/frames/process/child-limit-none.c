/* SPDX-License-Identifier: MIT */

#include "frames/process/child-impl.h"

void vrt_child_limit_files(pid_t pid, int64_t bytes_max)
{
    (void)pid, (void)bytes_max;
}
