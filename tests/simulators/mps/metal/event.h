/* SPDX-License-Identifier: MIT */
#pragma once

/* MTLEvent: a number that only grows. */

#include "tests/simulators/mps/metal/device.h"

struct mtl_event {
    struct mtl_base base;
    struct mtl_device *device;
    uint64_t value;                     /* under the lock */
};

extern const struct mtl_class mtl_event_class;

/* A new one, at 0. */
struct mtl_event *mtl_event_new(struct mtl_device *device);

/* The event that is meant; dies where it is none, or of another device. */
struct mtl_event *mtl_event_find(mtl_object handle, const struct mtl_device *device);

/* Sets the number, which must grow. */
void mtl_event_signal(struct mtl_event *event, uint64_t value);
