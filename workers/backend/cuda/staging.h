/* SPDX-License-Identifier: MIT */
#pragma once

/* What a CUDA device exchanges with the host. Thread: that of the device. */

#include "backend/cuda/device.h"

/* See struct vrt_backend_ops: the functions of the same names. */
int vrt_cuda_staging_new(struct vrt_device *device, size_t size_bytes,
                         struct vrt_staging **ret_staging);
void vrt_cuda_staging_free(struct vrt_device *device, struct vrt_staging *staging);
int vrt_cuda_staging_push(struct vrt_device *device, struct vrt_staging *staging,
                          size_t size_bytes);
int vrt_cuda_staging_pull(struct vrt_device *device, struct vrt_staging *staging,
                          size_t size_bytes);
int vrt_cuda_staging_wait(struct vrt_device *device, struct vrt_staging *staging);
