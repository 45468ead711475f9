/* SPDX-License-Identifier: MIT */

#include "base/folder.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/home.h"

#define SYSTEM_CACHE "/var/cache/vrtd"

/* Meson makes it in each of its build folders, and nobody installs one. */
#define BUILD_MARK "/meson-info"

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
        n = snprintf(buffer, size, "%s%s/vrtd", cache ? cache : home,
                     cache ? "" : vrt_home.cache);
    else if (geteuid() == 0)
        n = snprintf(buffer, size, "%s", SYSTEM_CACHE);
    else
        return -ENOENT;
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

int vrt_folder_of_state(char *buffer, size_t size)
{
    const char *state = absolute("XDG_STATE_HOME"), *home = absolute("HOME");

    if (!state && !home)
        return -ENOENT;
    int n = snprintf(buffer, size, "%s%s/vrtd", state ? state : home,
                     state ? "" : vrt_home.state);
    return n < 0 || (size_t)n >= size ? -ENAMETOOLONG : 0;
}

/* The build folder that the program runs from: it lies one to four folders below. Return: its
 * length in `buffer`; 0: from none. */
static size_t find_build_folder(char *buffer, size_t size)
{
    if (size <= sizeof(BUILD_MARK) || vrt_program_path(buffer, size - sizeof(BUILD_MARK)) == 0)
        return 0;
    for (int up = 0; up < 5; up++) {
        char *slash = strrchr(buffer, '/');
        if (!slash)
            return 0;
        memcpy(slash, BUILD_MARK, sizeof(BUILD_MARK));
        bool is_it = access(buffer, F_OK) == 0;
        *slash = '\0';
        if (is_it)
            return (size_t)(slash - buffer);
    }
    return 0;
}

const char *vrt_folder_of_part(const char *built, const char *installed, char *buffer, size_t size)
{
    size_t n = find_build_folder(buffer, size);
    int length = n ? snprintf(buffer + n, size - n, "/%s", built) : -1;

    if (length > 0 && (size_t)length < size - n && access(buffer, F_OK) == 0)
        return buffer;
    length = snprintf(buffer, size, "%s", installed);
    return length < 0 || (size_t)length >= size ? installed : buffer;
}
