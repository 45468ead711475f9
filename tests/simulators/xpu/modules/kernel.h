/* SPDX-License-Identifier: MIT */
#pragma once

/* Modules of a device, and the kernels of these with what is set of them. */

#include "tests/simulators/xpu/memory/context.h"
#include "tests/simulators/xpu/modules/program.h"

struct drv_module {
    struct drv_object object;
    struct drv_context *context;
    struct drv_device *device;
    struct drv_program *program;
};

struct drv_kernel {
    struct drv_object object;
    struct drv_module *module;
    const struct drv_kernel_info *info;
    uint32_t group_size[3];             /* 0: not set */
    struct drv_argument arguments[];
};

/* Locked. NULL: no such module, or kernel (drv_object_find()). */
struct drv_module *drv_module_find(ze_module_handle_t handle);
struct drv_kernel *drv_kernel_find(ze_kernel_handle_t handle);

/*
 * Locked, but while it is compiled. The launch of the kernel on so many groups, with its arguments
 * as they are set now; to be freed. NULL: no memory, or misuse, as *ret_result says.
 */
struct drv_launch *drv_kernel_launch(const struct drv_kernel *kernel,
                                     const ze_group_count_t *n_groups, ze_result_t *ret_result);
