/* SPDX-License-Identifier: MIT */

#include "daemon/api/web/range.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* The number at *text, which moves on behind it. Return: -1: there is none; one that is too large
 * is INT64_MAX. */
static int64_t read_number(const char **text)
{
    int64_t n = 0;

    if (**text < '0' || **text > '9')
        return -1;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        n = n > (INT64_MAX - 9) / 10 ? INT64_MAX : n * 10 + (**text - '0');
    return n;
}

bool vrt_range_parse(const char *text, int64_t size, struct vrt_range *ret_range)
{
    static const char unit[] = "bytes=";
    const bool is_bytes = strncasecmp(text, unit, sizeof(unit) - 1) == 0;
    const char *at = is_bytes ? text + sizeof(unit) - 1 : "";

    *ret_range = (struct vrt_range){ 0, size, false };
    int64_t first = read_number(&at);
    const bool has_dash = *at == '-';
    at += has_dash;
    int64_t last = read_number(&at);
    /* A last one before the first makes it a range that isn't one. */
    if (!has_dash || *at || (first < 0 && last < 0) || (first >= 0 && last >= 0 && last < first))
        return true;
    if (first < 0) {
        first = last < size ? size - last : 0;
        last = last > 0 ? size - 1 : -1;
    } else if (last < 0 || last >= size) {
        last = size - 1;
    }
    *ret_range = (struct vrt_range){ first, last + 1, true };
    return first <= last;
}
