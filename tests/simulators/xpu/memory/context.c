/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/memory/context.h"

#include <stdlib.h>

#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/driver/faults.h"

struct drv_context *drv_context_find(ze_context_handle_t handle)
{
    return drv_object_find(handle, DRV_CONTEXT);
}

ze_result_t drv_context_find_device(ze_context_handle_t handle, ze_device_handle_t device_handle,
                                    struct drv_context **ret_context,
                                    struct drv_device **ret_device)
{
    struct drv_context *context = drv_context_find(handle);
    struct drv_device *device = drv_device_find(device_handle);
    if (!context || !device)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    *ret_context = context;
    *ret_device = device;
    return drv_device_use(device);
}

ze_result_t drv_zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc,
                                ze_context_handle_t *ret_context)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    if (!drv_object_find(driver, DRV_DRIVER))
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!desc || !ret_context)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    struct drv_context *context = calloc(1, sizeof(*context));
    if (!context)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    drv_object_add(&context->object, DRV_CONTEXT, NULL);
    *ret_context = DRV_HANDLE(ze_context_handle_t, context);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeContextDestroy(ze_context_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_context *context = drv_context_find(handle);
    if (!context)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    ze_result_t r = drv_object_remove(&context->object);
    if (r == ZE_RESULT_SUCCESS)
        free(context);
    return r;
}
