/* SPDX-License-Identifier: MIT */
#pragma once

/* The header Range (RFC 9110, section 14.1). Pure. Thread: any. */

#include <stdbool.h>
#include <stdint.h>

struct vrt_range {
    int64_t first, end;         /* bytes of the whole, from first to before end */
    bool is_part;               /* else it is all of it */
};

/*
 * What "bytes=0-99", "bytes=100-" or "bytes=-100" means of `size` bytes. One that isn't understood,
 * asks for several ranges, or is "", means all of it. Return: whether anything is in it.
 */
bool vrt_range_parse(const char *text, int64_t size, struct vrt_range *ret_range);
