/* SPDX-License-Identifier: MIT */

/* What macOS tells is the path that the program was started by, which links may lead to. */

#include <limits.h>
#include <mach-o/dyld.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/home.h"

size_t vrt_program_path(char *buffer, size_t size)
{
    char started[PATH_MAX], found[PATH_MAX];
    uint32_t started_bytes = sizeof(started);

    if (_NSGetExecutablePath(started, &started_bytes) != 0 || !realpath(started, found))
        return 0;
    size_t n = strlen(found);
    if (n >= size)
        return 0;
    memcpy(buffer, found, n + 1);
    return n;
}
