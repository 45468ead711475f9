/* SPDX-License-Identifier: MIT */

/* zeKernel*: what a kernel is launched with. */

#include "tests/simulators/xpu/modules/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/memory/memory.h"

struct drv_kernel *drv_kernel_find(ze_kernel_handle_t handle)
{
    return drv_object_find(handle, DRV_KERNEL);
}

ze_result_t drv_zeKernelCreate(ze_module_handle_t handle, const ze_kernel_desc_t *desc,
                               ze_kernel_handle_t *ret_kernel)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_module *module = drv_module_find(handle);
    if (!module)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!desc || !desc->pKernelName || !ret_kernel)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const struct drv_kernel_info *info = drv_program_kernel(module->program, desc->pKernelName);
    if (!info)
        return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
    struct drv_kernel *kernel = calloc(1, sizeof(*kernel) +
                                              info->n_arguments * sizeof(*kernel->arguments));
    if (!kernel)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    kernel->module = module;
    kernel->info = info;
    memcpy(kernel->group_size, info->group_size, sizeof(kernel->group_size));
    drv_object_add(&kernel->object, DRV_KERNEL, &module->object);
    *ret_kernel = DRV_HANDLE(ze_kernel_handle_t, kernel);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeKernelDestroy(ze_kernel_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_kernel *kernel = drv_kernel_find(handle);
    if (!kernel)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    ze_result_t r = drv_object_remove(&kernel->object);
    if (r == ZE_RESULT_SUCCESS)
        free(kernel);
    return r;
}

ze_result_t drv_zeKernelSetGroupSize(ze_kernel_handle_t handle, uint32_t x, uint32_t y, uint32_t z)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_kernel *kernel = drv_kernel_find(handle);
    const uint32_t size[3] = { x, y, z };
    if (!kernel)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!x || !y || !z)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (x > DRV_MAX_GROUP_SIZE || y > DRV_MAX_GROUP_SIZE ||
        z > DRV_MAX_GROUP_SIZE || (uint64_t)x * y * z > DRV_MAX_GROUP_SIZE)
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    if (kernel->info->group_size[0] && memcmp(size, kernel->info->group_size, sizeof(size)) != 0)
        return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
    memcpy(kernel->group_size, size, sizeof(size));
    return ZE_RESULT_SUCCESS;
}

/* Memory that the kernel's device can't reach is refused, as Intel's driver does. */
static ze_result_t set_pointer(struct drv_kernel *kernel, struct drv_argument *argument,
                               const void *value)
{
    void *pointer = NULL;
    if (value)
        memcpy(&pointer, value, sizeof(pointer));
    if (pointer && !drv_memory_reach(kernel->module->context, kernel->module->device, pointer, 1,
                                     false))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    argument->pointer = pointer;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeKernelSetArgumentValue(ze_kernel_handle_t handle, uint32_t index, size_t n_bytes,
                                         const void *value)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_kernel *kernel = drv_kernel_find(handle);
    if (!kernel)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (index >= kernel->info->n_arguments)
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    const struct drv_argument_info *info = &kernel->info->arguments[index];
    struct drv_argument set = { .n_bytes = (uint32_t)n_bytes };
    ze_result_t r = ZE_RESULT_SUCCESS;
    if (n_bytes != info->n_bytes || n_bytes > sizeof(set.bytes))
        return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
    if (info->kind == DRV_ARGUMENT_POINTER)
        r = set_pointer(kernel, &set, value);
    else if (value)
        memcpy(set.bytes, value, n_bytes);
    else
        r = ZE_RESULT_ERROR_INVALID_ARGUMENT;
    if (r == ZE_RESULT_SUCCESS)
        kernel->arguments[index] = set;
    return r;
}

static ze_result_t check_launch(const struct drv_kernel *kernel)
{
    if (!kernel->group_size[0])
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s has no group size",
                          kernel->info->name);
    for (uint32_t i = 0; i < kernel->info->n_arguments; i++) {
        if (!kernel->arguments[i].n_bytes)
            return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "argument %u of %s was never set",
                              i, kernel->info->name);
    }
    return kernel->info->local_bytes > DRV_LOCAL_BYTES ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
                                                       : ZE_RESULT_SUCCESS;
}

struct drv_launch *drv_kernel_launch(const struct drv_kernel *kernel,
                                     const ze_group_count_t *n_groups, ze_result_t *ret_result)
{
    const size_t n = kernel->info->n_arguments * sizeof(struct drv_argument);
    *ret_result = check_launch(kernel);
    if (*ret_result != ZE_RESULT_SUCCESS)
        return NULL;
    struct drv_launch *launch = malloc(sizeof(*launch) + n);
    if (!launch) {
        *ret_result = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        return NULL;
    }
    launch->program = kernel->module->program;
    launch->kernel = kernel->info;
    launch->module = kernel->module->object.handle;
    memcpy(launch->group_size, kernel->group_size, sizeof(launch->group_size));
    launch->n_groups[0] = n_groups->groupCountX;
    launch->n_groups[1] = n_groups->groupCountY;
    launch->n_groups[2] = n_groups->groupCountZ;
    memcpy(launch->arguments, kernel->arguments, n);
    drv_unlock();
    drv_launch_prepare(launch);
    drv_relock();
    return launch;
}
