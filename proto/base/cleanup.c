/* SPDX-License-Identifier: MIT */

#include "base/cleanup.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

void vrt_freep(void *p)
{
    free(*(void **)p);
}

void vrt_closep(const int *fd)
{
    if (*fd < 0)
        return;
    int saved = errno;
    close(*fd);
    errno = saved;
}
