/* SPDX-License-Identifier: MIT */

#include "engine/checkpoint/arena.h"

#include <stdint.h>
#include <stdlib.h>

#include "base/macro.h"

#define ALIGNMENT 64               /* bytes: of a cache line, and AVX-512 */
#define ROUND 16                    /* bytes: any type of C is aligned */
#define CHUNK_BYTES (64 * 1024)
#define LARGE_BYTES 4096            /* has memory of its own */

struct vrt_cp_arena_chunk {
    struct vrt_cp_arena_chunk *next;
    size_t used_bytes, size_bytes;
    _Alignas(ALIGNMENT) unsigned char data[];
};

void vrt_cp_arena_init(struct vrt_cp_arena *arena, size_t budget_bytes)
{
    *arena = (struct vrt_cp_arena){ .left_bytes = budget_bytes };
}

void vrt_cp_arena_done(struct vrt_cp_arena *arena)
{
    while (arena->chunks) {
        struct vrt_cp_arena_chunk *next = arena->chunks->next;

        free(arena->chunks);
        arena->chunks = next;
    }
}

/* A chunk of its own for what is large: the one in front keeps its room for the small. */
static struct vrt_cp_arena_chunk *chunk_new(struct vrt_cp_arena *arena, size_t size_bytes)
{
    bool is_large = size_bytes >= LARGE_BYTES;
    struct vrt_cp_arena_chunk *chunk, **place = &arena->chunks;
    size_t total = sizeof(*chunk) + (is_large ? size_bytes : CHUNK_BYTES);

    chunk = aligned_alloc(ALIGNMENT, (total + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1));
    if (!chunk)
        return NULL;
    chunk->used_bytes = 0;
    chunk->size_bytes = is_large ? size_bytes : CHUNK_BYTES;
    if (is_large && *place)
        place = &(*place)->next;
    chunk->next = *place;
    *place = chunk;
    return chunk;
}

void *vrt_cp_arena_alloc(struct vrt_cp_arena *arena, size_t n, size_t item_bytes)
{
    struct vrt_cp_arena_chunk *chunk = arena->chunks;
    size_t size;

    if (__builtin_mul_overflow(n, item_bytes, &size) || size > arena->left_bytes) {
        arena->is_exhausted = true;
        return NULL;
    }
    size = (size + ROUND - 1) & ~(size_t)(ROUND - 1);
    if (size >= LARGE_BYTES || !chunk || size > chunk->size_bytes - chunk->used_bytes)
        chunk = chunk_new(arena, size);
    if (!chunk) {
        arena->lacks_memory = true;
        return NULL;
    }
    arena->left_bytes -= VRT_MIN(size, arena->left_bytes);

    void *p = chunk->data + chunk->used_bytes;

    chunk->used_bytes += size;
    return p;
}
