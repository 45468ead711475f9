/* SPDX-License-Identifier: MIT */
#pragma once

/* What an XPU device exchanges with the host. Thread: that of the device. */

#include "backend/xpu/device.h"

/* The events of what is exchanged with the host. */
enum {
    VRT_XPU_STAGING_PUSHED,
    VRT_XPU_STAGING_COMPUTED,
    VRT_XPU_STAGING_PULLED,
    VRT_XPU_STAGING_COUNT,
};

struct vrt_xpu_staging {
    struct vrt_staging base;
    ze_event_pool_handle_t pool;
    ze_event_handle_t events[VRT_XPU_STAGING_COUNT];
    ze_command_list_handle_t await, tell;   /* what was pushed; that all before is computed */
    bool is_shared;                 /* the buffer is the host's memory: nothing is copied */
    bool is_pushed, is_awaited;     /* since then by a program */
    bool is_pulled;
};

/* See struct vrt_backend_ops: the functions of the same names. */
int vrt_xpu_staging_new(struct vrt_device *device, size_t size_bytes,
                        struct vrt_staging **ret_staging);
void vrt_xpu_staging_free(struct vrt_device *device, struct vrt_staging *staging);
int vrt_xpu_staging_push(struct vrt_device *device, struct vrt_staging *staging,
                         size_t size_bytes);
int vrt_xpu_staging_pull(struct vrt_device *device, struct vrt_staging *staging,
                         size_t size_bytes);
int vrt_xpu_staging_wait(struct vrt_device *device, struct vrt_staging *staging);

/* Has what is submitted from now on wait for what was pushed, once; NULL is fine. Return:
 * ze_result_t. */
ze_result_t vrt_xpu_staging_await(struct vrt_xpu_device *xpu, struct vrt_xpu_staging *staging);
