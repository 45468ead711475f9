/* SPDX-License-Identifier: MIT */
#pragma once

/* MTLBuffer: memory of a device, which the host sees unless it is private. */

#include "tests/simulators/mps/metal/device.h"
#include "tests/simulators/mps/metal/memory.h"

struct mtl_buffer {
    struct mtl_base base;
    struct mtl_device *device;
    struct mtl_memory memory;
    bool is_private;
};

extern const struct mtl_class mtl_buffer_class;

/* How long one may be. */
uint64_t mtl_buffer_limit(void);

/* A new buffer; NULL: there is no more memory. Dies of options that Metal doesn't know. */
struct mtl_buffer *mtl_buffer_new(struct mtl_device *device, uint64_t length, uint64_t options);
