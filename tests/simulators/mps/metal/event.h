/* SPDX-License-Identifier: MIT */
#pragma once

/* MTLEvent and MTLSharedEvent: a number that only grows, and who waits for it. */

#include "tests/simulators/mps/metal/device.h"

struct mtl_event {
    struct mtl_base base;
    struct mtl_device *device;          /* NULL: a shared one, of all devices and the host */
    uint64_t value;                     /* under the lock */
};

extern const struct mtl_class mtl_event_class, mtl_shared_event_class;

/* New ones, at 0. */
struct mtl_event *mtl_event_new(struct mtl_device *device);
struct mtl_event *mtl_shared_event_new(void);

/* The event of either kind that is meant; dies where it is none, or of another device. */
struct mtl_event *mtl_event_find(mtl_object handle, const struct mtl_device *device);

/* Sets the number, which must grow. */
void mtl_event_signal(struct mtl_event *event, uint64_t value);

/* Locked. Waits until it is `value`, or mtl_wait()'s deadline is over. Return: whether it is. */
bool mtl_event_wait(const struct mtl_event *event, uint64_t value, int64_t deadline_ns);
