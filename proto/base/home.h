/* SPDX-License-Identifier: MIT */
#pragma once

/* Where a system's programs keep things, and where they are themselves. Thread: any. */

#include <stddef.h>

/* Folders below a user's home, each with a slash before it: constants. */
struct vrt_home {
    const char *cache;              /* what can be made again */
    const char *state;              /* what must last */
};

extern const struct vrt_home vrt_home;

/*
 * The file that this process runs from, an absolute path without links; a NUL byte ends it.
 * Return: its length, below `size`; 0: it isn't known, or too long.
 */
size_t vrt_program_path(char *buffer, size_t size);
