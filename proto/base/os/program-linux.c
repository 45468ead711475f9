/* SPDX-License-Identifier: MIT */

/* The kernel's word for it. */

#include <unistd.h>

#include "base/home.h"

size_t vrt_program_path(char *buffer, size_t size)
{
    ssize_t n = readlink("/proc/self/exe", buffer, size);

    if (n <= 0 || (size_t)n >= size)
        return 0;
    buffer[n] = '\0';
    return (size_t)n;
}
