/* SPDX-License-Identifier: MIT */
/* Linux's /proc tells the resident size and its peak; elsewhere both are unknown. */

#include "infer/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/heap.h"
#include "base/macro.h"

/* The value in kB of the line that begins with `key`, in bytes, or -1. */
static int64_t read_status(const char *key)
{
    FILE *file = fopen("/proc/self/status", "re");
    char line[256];
    int64_t value_bytes = -1;
    long long kb;

    if (!file)
        return -1;
    while (value_bytes < 0 && fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0 && sscanf(line + strlen(key), "%lld", &kb) == 1)
            value_bytes = kb * 1024;
    fclose(file);
    return value_bytes;
}

int64_t vrt_memory_mark(void)
{
    vrt_heap_give_back();   /* what is used again wouldn't be counted */
    /* "5" sets the peak back to the present size; where that isn't allowed, the peak before
     * counts too, and the growth comes out too large rather than too small. */
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t n = write(fd, "5", 1);

        (void)n;
        close(fd);
    }
    return read_status("VmRSS:");
}

int64_t vrt_memory_growth(int64_t mark_bytes)
{
    int64_t peak_bytes = read_status("VmHWM:");

    return mark_bytes < 0 || peak_bytes < 0 ? -1 : VRT_MAX(peak_bytes - mark_bytes, 0);
}
