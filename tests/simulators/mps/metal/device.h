/* SPDX-License-Identifier: MIT */
#pragma once

/* MTLDevice: always the same objects, of which the simulator has a reference itself. */

#include "tests/simulators/mps/runtime/object.h"

struct mtl_device {
    struct mtl_base base;
    unsigned index;
    /* Under the lock: */
    uint64_t used_bytes;
    int gone;                           /* the error that all its work ends with; 0: it is there */
};

extern const struct mtl_class mtl_device_class;

/* Dies where a thing of one device is used with another. */
void mtl_device_expect(const struct mtl_device *device, const struct mtl_device *other,
                       const char *what);
