/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The kernels of a device: made when they are first wanted, kept until it is closed
 *
 * Thread: that of the device.
 */

#include <stdbool.h>
#include <stddef.h>

#include "backend/cache.h"
#include "backend/kernels/launch.h"
#include "backend/xpu/system/loader.h"

struct vrt_xpu_device;

/* Types of factors: f32, f16, bf16. */
#define VRT_XPU_FACTORS 3

struct vrt_xpu_made {
    ze_module_handle_t module;
    ze_kernel_handle_t kernel;      /* NULL: not wanted yet */
};

struct vrt_xpu_kernels {
    struct vrt_xpu_made made[VRT_KERNEL_COUNT][VRT_XPU_FACTORS];
    struct vrt_cache cache;
    char made_for[480];             /* what compiled kernels depend on besides what they are */
};

/* Items that make a tile of a product: four subgroups of eight. */
#define VRT_XPU_PRODUCT_ITEMS 32

/* What kernels are appended to: the ctx of a struct vrt_kernel_call. */
struct vrt_xpu_recording {
    struct vrt_xpu_device *device;
    ze_command_list_handle_t list;  /* open */
};

/* Appends kernels to a recording, behind each of which whatever comes next waits; compiles them if
 * need be. Its failures are ze_result_t. */
extern const struct vrt_kernel_target vrt_xpu_target;

/* Before any is wanted: `properties` are the device's. */
void vrt_xpu_kernels_init(struct vrt_xpu_device *xpu, const ze_device_properties_t *properties);

/* NULL handles are fine. */
void vrt_xpu_kernels_done(struct vrt_xpu_kernels *kernels, const struct vrt_xpu_loader *ze);
