/* SPDX-License-Identifier: MIT */

#include "backend/xpu/spirv.h"

#include <string.h>

#include "backend/xpu/spirv-data.h"

const struct vrt_xpu_spirv *vrt_xpu_spirv_find(const char *name)
{
    for (size_t i = 0; i < vrt_n_xpu_modules; i++)
        if (strcmp(vrt_xpu_modules[i].name, name) == 0)
            return &vrt_xpu_modules[i];
    return NULL;
}
