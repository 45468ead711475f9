/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Memory of a device, as the host's pages
 *
 * It ends where a page does (but for what rounds its length up to 16), with pages that can't be
 * touched on both sides, wide enough to stop an index that is wrong.
 */

#include <stdbool.h>
#include <stddef.h>

struct mtl_memory {
    char *data;
    size_t n_bytes;
    char *pages;                        /* all of them */
    size_t n_page_bytes;
};

/* Makes it, of 0xff (the first 256 MiB: beyond that 0). Return: whether there is so much. */
bool mtl_memory_init(struct mtl_memory *memory, size_t n_bytes);

/* Gives it back; what was never made is left alone. */
void mtl_memory_done(struct mtl_memory *memory);
