/* SPDX-License-Identifier: MIT */
/* Words and times, as the messages spell them. */

#include "fields.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

const char *vrt_name_of(const char *const *names, int value)
{
    for (int i = 0; names[i]; i++)
        if (i == value)
            return names[i];
    return "unknown";
}

int vrt_name_find(const char *const *names, const char *word)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], word) == 0)
            return i;
    return VRT_UNKNOWN;
}

const char *vrt_time_print(int64_t wall_ns, char *buffer, size_t size)
{
    time_t seconds = (time_t)(wall_ns / VRT_NS_PER_S);
    int ms = (int)(wall_ns % VRT_NS_PER_S / VRT_NS_PER_MS);
    struct tm tm;

    /* All that 64 bits of nanoseconds reach are years of four digits. */
    gmtime_r(&seconds, &tm);
    size_t n = strftime(buffer, size, "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(buffer + n, size - n, ".%03dZ", ms);
    return buffer;
}

int vrt_time_parse(const char *text, int64_t *ret_wall_ns)
{
    struct tm tm = { 0 };
    int64_t fraction_ns = 0, unit_ns = VRT_NS_PER_S;
    const char *s = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);

    if (!s)
        return -EINVAL;
    if (*s == '.') {
        for (s++; *s >= '0' && *s <= '9'; s++) {
            unit_ns /= 10;
            fraction_ns += (*s - '0') * unit_ns;
        }
    }
    if (strcmp(s, "Z") != 0 || tm.tm_year < 70 || tm.tm_year > 300)
        return -EINVAL;
    *ret_wall_ns = (int64_t)timegm(&tm) * VRT_NS_PER_S + fraction_ns;
    return 0;
}
