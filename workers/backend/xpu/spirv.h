/* SPDX-License-Identifier: MIT */
#pragma once

/* The kernels as SPIR-V, in the program itself. */

#include <stddef.h>

struct vrt_xpu_spirv {
    const char *name;               /* of the file in kernels/, without ".cl" */
    const unsigned char *data;      /* aligned to 64 bytes */
    size_t size_bytes;
};

/* Return: the module of this name, or NULL. */
const struct vrt_xpu_spirv *vrt_xpu_spirv_find(const char *name);
