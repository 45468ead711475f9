/* SPDX-License-Identifier: MIT */

/* Where the heap has no such settings. */

#include "base/heap.h"

void vrt_heap_return_large(void)
{
}

void vrt_heap_give_back(void)
{
}
