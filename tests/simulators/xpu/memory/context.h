/* SPDX-License-Identifier: MIT */
#pragma once

/* Contexts, each of all devices. */

#include "tests/simulators/xpu/devices/device.h"

struct drv_context {
    struct drv_object object;
};

/* Locked. NULL: no such context (drv_object_find()). */
struct drv_context *drv_context_find(ze_context_handle_t handle);

/*
 * Locked. The context and the device, for a call that needs both.
 * Return: 0; INVALID_NULL_HANDLE; DEVICE_LOST.
 */
ze_result_t drv_context_find_device(ze_context_handle_t handle, ze_device_handle_t device_handle,
                                    struct drv_context **ret_context,
                                    struct drv_device **ret_device);
