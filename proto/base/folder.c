/* SPDX-License-Identifier: MIT */

#include "base/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYSTEM_CACHE "/var/cache/vrtd"

/* A variable that names a path; relative ones are ignored, as the XDG specification says. */
static const char *absolute(const char *name)
{
    const char *value = getenv(name);

    return value && value[0] == '/' ? value : NULL;
}

int vrt_folder_of_cache(char *buffer, size_t size)
{
    const char *given = absolute("CACHE_DIRECTORY");
    const char *cache = absolute("XDG_CACHE_HOME"), *home = absolute("HOME");
    int n;

    if (given)
        /* Several, where the unit names several: the first is ours. */
        n = snprintf(buffer, size, "%.*s", (int)strcspn(given, ":"), given);
    else if (cache || home)
        n = snprintf(buffer, size, "%s%s/vrtd", cache ? cache : home, cache ? "" : "/.cache");
    else if (geteuid() == 0)
        n = snprintf(buffer, size, "%s", SYSTEM_CACHE);
    else
        return -ENOENT;
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}
