/* SPDX-License-Identifier: MIT */
#pragma once

/* Fences: signaled by a queue that is done with what it was given with the fence. */

#include "tests/simulators/xpu/driver/object.h"

struct drv_queue;

struct drv_fence {
    struct drv_object object;
    struct drv_queue *queue;
    bool is_signaled;
    bool is_busy;                       /* given to the queue, which isn't there yet */
};

/* Locked. NULL: no such fence (drv_object_find()). */
struct drv_fence *drv_fence_find(ze_fence_handle_t handle);
