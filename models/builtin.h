/* SPDX-License-Identifier: MIT */
#pragma once

/* The models inside the binary, each the bytes of a .safetensors file: see models/README.md. */

#include <stddef.h>

struct vrt_builtin_model {
    const char *name;
    const void *data;       /* aligned to 64 bytes */
    size_t size_bytes;
};

/* Model `i` of them, the default first; NULL past the last. Static storage. Thread: any. */
const struct vrt_builtin_model *vrt_builtin_model_at(size_t i);

/* The model of this name, or NULL. Static storage. Thread: any. */
const struct vrt_builtin_model *vrt_builtin_model_find(const char *name);
