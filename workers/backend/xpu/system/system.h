/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What Level Zero has on this machine: drivers, each with one context, and their devices
 *
 * One for the process, however many devices are open: memory of one device can be copied by
 * another of the same driver only where both are of one context.
 */

#include <stdbool.h>
#include <stddef.h>

#include "backend/xpu/system/loader.h"

#define VRT_XPU_MAX_DRIVERS 8
#define VRT_XPU_MAX_UNITS 128

struct vrt_xpu_driver {
    ze_driver_handle_t handle;
    ze_context_handle_t context;
    uint32_t version;
};

/* A GPU, or a tile of one that has several. */
struct vrt_xpu_unit {
    const struct vrt_xpu_driver *driver;
    ze_device_handle_t device;
    int root;                       /* index of the GPU that it is a tile of; -1: it is a GPU */
    int tile;                       /* which tile */
    int n_tiles;                    /* of a GPU: that it has besides itself in the list */
};

/* What kernels are written for: the most items of a group, the lanes of a subgroup of those that
 * use matrix units. */
#define VRT_XPU_GROUP_ITEMS 128
#define VRT_XPU_DPAS_LANES 8

/*
 * The ordinals of a group of queues that computes, and of one that only copies, or of the same.
 * Return: ze_result_t; ZE_RESULT_ERROR_UNSUPPORTED_FEATURE: there is none that computes.
 */
ze_result_t vrt_xpu_unit_find_queues(const struct vrt_xpu_loader *loader,
                                     const struct vrt_xpu_unit *unit, uint32_t *ret_compute,
                                     uint32_t *ret_copy);

/* Whether it has matrix units that our kernels can use: that multiply f16, by subgroups of 8. */
bool vrt_xpu_unit_has_dpas(const struct vrt_xpu_loader *loader, const struct vrt_xpu_unit *unit);

/* Why it can't be used, put into `text`, which is then returned; NULL: it can. */
const char *vrt_xpu_unit_unfit(const struct vrt_xpu_loader *loader,
                               const struct vrt_xpu_unit *unit, char *text, size_t size);

/* Immutable while it is open. */
struct vrt_xpu_system {
    struct vrt_xpu_loader loader;
    struct vrt_xpu_driver drivers[VRT_XPU_MAX_DRIVERS];
    struct vrt_xpu_unit units[VRT_XPU_MAX_UNITS];   /* each GPU, its tiles behind it */
    int n_drivers, n_units;
};

/*
 * Loads and starts Level Zero, or takes another reference. Thread: any.
 * Return: 0; -ENOENT: there is no loader; -ENOSYS: it is too old; -ENODEV: no driver; -EIO: it
 * doesn't answer; -ENOMEM. The error says what is missing, and which package brings it.
 */
int vrt_xpu_system_open(const struct vrt_xpu_system **ret_system, struct vrt_error *error);

/*
 * Whether `unit` can read and write the memory of `peer`. Thread: any; one at a time asks its
 * driver: Intel's finds out by a copy, and notes the answer where another thread may be reading.
 */
bool vrt_xpu_system_reaches(const struct vrt_xpu_system *system, const struct vrt_xpu_unit *unit,
                            const struct vrt_xpu_unit *peer);

/* NULL is fine. Thread: any. Return: NULL. */
const struct vrt_xpu_system *vrt_xpu_system_close(const struct vrt_xpu_system *system);

VRT_DEFINE_CLEANUP(const struct vrt_xpu_system, vrt_xpu_system_close)
