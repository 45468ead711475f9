/* SPDX-License-Identifier: MIT */

/* Buffers that are exchanged with the host. Where a backend has one memory for both, there is
 * nothing to copy: then a wait is for the device as a whole. */

#include "backend/staging.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/backend-impl.h"
#include "backend/note.h"

/* Return: as vrt_staging_new(). */
static int new_shared(struct vrt_device *device, size_t size_bytes,
                      struct vrt_staging **ret_staging)
{
    struct vrt_staging *staging = calloc(1, sizeof(*staging));

    if (!staging)
        return vrt_raise(-ENOMEM);
    int r = device->ops->buffer_new(device, size_bytes, &staging->buffer);
    if (r != 0) {
        free(staging);
        return r;
    }
    staging->host = device->ops->buffer_host(staging->buffer);
    *ret_staging = staging;
    return 0;
}

int vrt_staging_new(struct vrt_device *device, size_t size_bytes,
                    struct vrt_staging **ret_staging)
{
    struct vrt_staging *staging = NULL;
    int r = vrt_device_may_allocate(device, size_bytes);

    if (r != 0)
        return r;
    r = vrt_device_note(device, device->ops->staging_new ?
                        device->ops->staging_new(device, size_bytes, &staging) :
                        new_shared(device, size_bytes, &staging));
    if (r != 0)
        return r;
    staging->buffer->size_bytes = size_bytes;
    device->used_bytes += (int64_t)size_bytes;
    *ret_staging = staging;
    return 0;
}

struct vrt_staging *vrt_staging_free(struct vrt_device *device, struct vrt_staging *staging)
{
    if (!staging)
        return NULL;
    device->used_bytes -= (int64_t)staging->buffer->size_bytes;
    if (device->ops->staging_free) {
        device->ops->staging_free(device, staging);
        return NULL;
    }
    device->ops->buffer_free(device, staging->buffer);
    free(staging);
    return NULL;
}

uint8_t *vrt_staging_host(const struct vrt_staging *staging)
{
    return staging->host;
}

struct vrt_buffer *vrt_staging_buffer(const struct vrt_staging *staging)
{
    return staging->buffer;
}

/* Either way; `copy` is NULL where there is nothing to copy. */
static int begin_copy(struct vrt_device *device, struct vrt_staging *staging, size_t size_bytes,
                      int (*copy)(struct vrt_device *device, struct vrt_staging *staging,
                                  size_t size_bytes))
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (size_bytes > staging->buffer->size_bytes)
        return vrt_raise(-EINVAL);
    return copy ? vrt_device_note(device, copy(device, staging, size_bytes)) : 0;
}

int vrt_staging_push(struct vrt_device *device, struct vrt_staging *staging, size_t size_bytes)
{
    return begin_copy(device, staging, size_bytes, device->ops->staging_push);
}

int vrt_staging_pull(struct vrt_device *device, struct vrt_staging *staging, size_t size_bytes)
{
    return begin_copy(device, staging, size_bytes, device->ops->staging_pull);
}

int vrt_staging_wait(struct vrt_device *device, struct vrt_staging *staging)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    return vrt_device_note(device, device->ops->staging_wait ?
                           device->ops->staging_wait(device, staging) :
                           device->ops->finish(device));
}
