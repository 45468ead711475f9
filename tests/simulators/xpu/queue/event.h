/* SPDX-License-Identifier: MIT */
#pragma once

/* Events, and the pools they are from. */

#include "tests/simulators/xpu/memory/context.h"

struct drv_event_pool {
    struct drv_object object;
    struct drv_context *context;
    ze_event_pool_flags_t flags;
    uint32_t n_events;
    bool *is_taken;                     /* of each index */
};

struct drv_event {
    struct drv_object object;
    struct drv_event_pool *pool;
    uint32_t index;
    bool is_signaled;
    struct drv_device *device;          /* that is to signal it, or did; NULL: the host alone */
    unsigned life;                      /* of the device then */
};

/* Locked. NULL: no such event (drv_object_find()). */
struct drv_event *drv_event_find(ze_event_handle_t handle);

/* Locked. A command that will signal the event was given to the device. */
void drv_event_expect(struct drv_event *event, struct drv_device *device);

/* Locked. A command on a device signals it; it was none of ours, or wasn't reset: misuse. */
void drv_event_signal(ze_event_handle_t handle);
