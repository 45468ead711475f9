/* SPDX-License-Identifier: MIT */

/* The kernel looks at each write, where vrtd looks ten times a second. */

#include <sys/resource.h>

#include "frames/process/child-impl.h"

void vrt_child_limit_files(pid_t pid, int64_t bytes_max)
{
    struct rlimit limit;

    if (prlimit(pid, RLIMIT_FSIZE, NULL, &limit) < 0)
        return;
    limit.rlim_cur = VRT_MIN((rlim_t)bytes_max, limit.rlim_max);
    (void)prlimit(pid, RLIMIT_FSIZE, &limit, NULL);
}
