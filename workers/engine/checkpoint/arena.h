/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Memory that is freed all at once, and that a hostile file cannot make grow past a budget.
 *
 * Values read from a file may refer to each other in any way, in circles too: an arena frees them
 * without following references.
 */

#include <stdbool.h>
#include <stddef.h>

struct vrt_cp_arena_chunk;

/* Embedded by value. Thread: one at a time. */
struct vrt_cp_arena {
    struct vrt_cp_arena_chunk *chunks;     /* newest first */
    size_t left_bytes;                  /* of the budget */
    bool is_exhausted;                  /* something was refused for the budget's sake */
    bool lacks_memory;                  /* ... since the system had none */
};

/* An empty arena that will hand out at most `budget_bytes`. */
void vrt_cp_arena_init(struct vrt_cp_arena *arena, size_t budget_bytes);

/* Frees everything that came from it; a zero-filled one is fine. */
void vrt_cp_arena_done(struct vrt_cp_arena *arena);

/*
 * `n` items of `item_bytes` each, aligned to 64 bytes where they are 4 KiB or
 * more in sum, else to 16; not initialised, never NULL for n = 0.
 * Return: NULL where the budget is spent (is_exhausted is set then) or there is no memory
 * (lacks_memory).
 */
void *vrt_cp_arena_alloc(struct vrt_cp_arena *arena, size_t n, size_t item_bytes);
