/* SPDX-License-Identifier: MIT */

/* Where no processor has AMX, or the compiler doesn't know it. */

#include "backend/cpu/isa/tiles.h"

const struct vrt_cpu_tiles *vrt_cpu_amx_tiles(void)
{
    return NULL;
}
