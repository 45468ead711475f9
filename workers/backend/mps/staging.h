/* SPDX-License-Identifier: MIT */
#pragma once

/* What an MPS device exchanges with the host. Thread: that of the device. */

#include "backend/mps/device.h"

struct vrt_mps_staging {
    struct vrt_staging base;
    vrt_metal_id shared;            /* the host's side; NULL where the buffer's memory is */
    vrt_metal_id pushed;            /* an event: of n_pushed copies to it */
    uint64_t n_pushed;
    uint64_t last_push;             /* command buffer of upload */
    struct vrt_mps_moment pulled, told;     /* what was pulled last; of which it was told how it
                                     * fared */
};

/* See struct vrt_backend_ops: the functions of the same names. */
int vrt_mps_staging_new(struct vrt_device *device, size_t size_bytes,
                        struct vrt_staging **ret_staging);
void vrt_mps_staging_free(struct vrt_device *device, struct vrt_staging *staging);
int vrt_mps_staging_push(struct vrt_device *device, struct vrt_staging *staging,
                         size_t size_bytes);
int vrt_mps_staging_pull(struct vrt_device *device, struct vrt_staging *staging,
                         size_t size_bytes);
int vrt_mps_staging_wait(struct vrt_device *device, struct vrt_staging *staging);

/* Has what is encoded into a command buffer from now on wait for what was pushed; NULL is fine. */
void vrt_mps_staging_await(vrt_metal_id commands, const struct vrt_mps_staging *staging);
