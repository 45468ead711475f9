/* SPDX-License-Identifier: MIT */

/* The kernel looks at each write, where vrtd looks ten times a second. Of threads it counts only
 * those of all processes of a user together. */

#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "frames/process/child-impl.h"

/* Codecs make some threads for each processor, and some more: SVT-AV1 178 of large pictures. */
#define THREADS_MIN 256
#define THREADS_PER_PROCESSOR 8

bool vrt_child_has_too_many_threads(pid_t pid)
{
    struct stat st;
    char path[32];

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    /* A folder each, and two names of itself. */
    return stat(path, &st) == 0 &&
           (long)st.st_nlink - 2 > THREADS_MIN +
                                   THREADS_PER_PROCESSOR * sysconf(_SC_NPROCESSORS_CONF);
}

void vrt_child_limit_files(pid_t pid, int64_t bytes_max)
{
    struct rlimit limit;

    if (prlimit(pid, RLIMIT_FSIZE, NULL, &limit) < 0)
        return;
    limit.rlim_cur = VRT_MIN((rlim_t)bytes_max, limit.rlim_max);
    (void)prlimit(pid, RLIMIT_FSIZE, &limit, NULL);
}
