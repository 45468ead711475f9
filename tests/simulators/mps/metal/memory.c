/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/metal/memory.h"

#include <string.h>
#include <sys/mman.h>

#include "base/macro.h"

#define ALIGNMENT_BYTES 16u
#define PAGE_BYTES 4096u
#define GUARD_BYTES ((size_t)1 << 20)
#define MAX_POISONED_BYTES ((size_t)256 << 20)

static size_t round_up(size_t n, size_t unit)
{
    return (n + unit - 1) / unit * unit;
}

bool mtl_memory_init(struct mtl_memory *memory, size_t n_bytes)
{
    const size_t length = round_up(n_bytes, PAGE_BYTES), all = length + 2 * GUARD_BYTES;
    char *pages = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (pages == MAP_FAILED)
        return false;
    if (mprotect(pages + GUARD_BYTES, length, PROT_READ | PROT_WRITE) != 0) {
        munmap(pages, all);
        return false;
    }
    *memory = (struct mtl_memory){
        .data = pages + GUARD_BYTES + length - round_up(n_bytes, ALIGNMENT_BYTES),
        .n_bytes = n_bytes,
        .pages = pages,
        .n_page_bytes = all,
    };
    memset(memory->data, 0xff, VRT_MIN(n_bytes, MAX_POISONED_BYTES));
    return true;
}

void mtl_memory_done(struct mtl_memory *memory)
{
    if (memory->pages)
        munmap(memory->pages, memory->n_page_bytes);
    *memory = (struct mtl_memory){ 0 };
}
