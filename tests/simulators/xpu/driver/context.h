/* SPDX-License-Identifier: MIT */
#pragma once

/* Contexts: to which devices what is made in one belongs. */

#include "tests/simulators/xpu/driver/device.h"

struct drv_context {
    struct drv_object object;
    struct drv_device **devices;        /* those it is for */
    uint32_t n_devices;                 /* 0: all */
};

/* Locked. NULL: no such context (drv_object_find()). */
struct drv_context *drv_context_find(ze_context_handle_t handle);

/*
 * Locked. The context, and the device where it is one of the context's, for a call that needs it.
 * Return: 0; INVALID_NULL_HANDLE; INVALID_ARGUMENT and misuse where the device is none of the
 * context's; DEVICE_LOST.
 */
ze_result_t drv_context_find_device(ze_context_handle_t handle, ze_device_handle_t device_handle,
                                    struct drv_context **ret_context,
                                    struct drv_device **ret_device);
