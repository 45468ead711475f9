/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/driver/context.h"

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
    bool is_in = !context->n_devices;
    for (uint32_t i = 0; i < context->n_devices; i++)
        is_in |= context->devices[i] == device || context->devices[i] == device->whole;
    if (!is_in)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the context is not for this device");
    *ret_context = context;
    *ret_device = device;
    return drv_device_use(device);
}

static struct drv_context *context_free(struct drv_context *context)
{
    if (context)
        free(context->devices);
    free(context);
    return NULL;
}

VRT_DEFINE_CLEANUP(struct drv_context, context_free)

ze_result_t drv_zeContextCreateEx(ze_driver_handle_t driver, const ze_context_desc_t *desc,
                                  uint32_t n_devices, ze_device_handle_t *devices,
                                  ze_context_handle_t *ret_context)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    VRT_CLEANUP(context_freep) struct drv_context *context = NULL;

    if (!drv_object_find(driver, DRV_DRIVER))
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!desc || !ret_context)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    context = calloc(1, sizeof(*context));
    if (!context || !(context->devices = calloc(n_devices + 1, sizeof(struct drv_device *))))
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    for (uint32_t i = 0; i < n_devices; i++) {
        context->devices[i] = drv_device_find(devices ? devices[i] : NULL);
        if (!context->devices[i])
            return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
    context->n_devices = n_devices;
    drv_object_add(&context->object, DRV_CONTEXT, NULL);
    *ret_context = DRV_HANDLE(ze_context_handle_t, context);
    context = NULL;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeContextCreate(ze_driver_handle_t driver, const ze_context_desc_t *desc,
                                ze_context_handle_t *ret_context)
{
    return drv_zeContextCreateEx(driver, desc, 0, NULL, ret_context);
}

ze_result_t drv_zeContextDestroy(ze_context_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_context *context = drv_context_find(handle);
    if (!context)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    ze_result_t r = drv_object_remove(&context->object);
    if (r == ZE_RESULT_SUCCESS)
        context_free(context);
    return r;
}

ze_result_t drv_zeContextGetStatus(ze_context_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    return drv_context_find(handle) ? ZE_RESULT_SUCCESS : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
}
