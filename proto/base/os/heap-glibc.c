/* SPDX-License-Identifier: MIT */

#include <malloc.h>

#include "base/heap.h"

#define LARGE_BYTES (128 * 1024)    /* as by default, at first; setting it keeps it from growing */

void vrt_heap_return_large(void)
{
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
}

void vrt_heap_give_back(void)
{
    malloc_trim(0);
}
