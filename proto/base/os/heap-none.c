/* SPDX-License-Identifier: MIT */

/* vrt_heap_return_large() where the heap has no such setting. */

#include "base/heap.h"

void vrt_heap_return_large(void)
{
}
