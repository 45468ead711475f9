/* SPDX-License-Identifier: MIT */

/* Devices and their buffers: arguments are checked and bytes counted here, once. */

#include "backend/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend-impl.h"
#include "backend/note.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "backend"

static const char *const outcomes[] = {
    [VRT_BACKEND_OK] = "no error",
    [VRT_BACKEND_E_NOMEM] = "out of device memory",
    [VRT_BACKEND_E_LOST] = "the device is lost",
    [VRT_BACKEND_E_FAILED] = "the device failed",
};

const char *vrt_backend_strerror(int r)
{
    if (r < 0)
        return strerror(-r);
    return (size_t)r < VRT_ARRAY_SIZE(outcomes) ? outcomes[r] : "unknown outcome";
}

int vrt_device_note(struct vrt_device *device, int r)
{
    if (r == VRT_BACKEND_E_LOST)
        device->lost = true;
    return r < 0 ? vrt_fold(r) : r;
}

struct vrt_device *vrt_device_close(struct vrt_device *device)
{
    if (!device)
        return NULL;
    vrt_assert(device->used_bytes == 0);
    device->ops->close(device);
    return NULL;
}

bool vrt_device_info_is_same_card(const struct vrt_device_info *a,
                                  const struct vrt_device_info *b)
{
    return strcmp(a->kind, b->kind) == 0 && a->card == b->card;
}

bool vrt_device_info_shares_memory(const struct vrt_device_info *a,
                                   const struct vrt_device_info *b)
{
    return (a->shares_host_memory && b->shares_host_memory) || vrt_device_info_is_same_card(a, b);
}

const struct vrt_device_info *vrt_device_info(const struct vrt_device *device)
{
    return device->info;
}

int vrt_device_memory(struct vrt_device *device, struct vrt_memory_info *ret_info)
{
    struct vrt_memory_info info = { .total_bytes = -1, .free_bytes = -1 };

    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (device->ops->memory) {
        int r = vrt_device_note(device, device->ops->memory(device, &info));
        if (r != 0)
            return r;
    }
    *ret_info = info;
    return 0;
}

void vrt_device_sensors(struct vrt_device *device, struct vrt_device_sensors *ret_sensors)
{
    *ret_sensors = (struct vrt_device_sensors)VRT_DEVICE_SENSORS_UNKNOWN;
    if (device->ops->sensors && !device->lost)
        device->ops->sensors(device, ret_sensors);
}

void vrt_device_watch(struct vrt_device *device, void (*alive)(void *ctx), void *ctx)
{
    device->alive = alive;
    device->alive_ctx = ctx;
    if (device->ops->inner)
        vrt_device_watch(device->ops->inner(device), alive, ctx);
}

int64_t vrt_device_used_bytes(const struct vrt_device *device)
{
    return device->used_bytes;
}

void vrt_device_limit_memory(struct vrt_device *device, int64_t limit_bytes)
{
    device->limit_bytes = limit_bytes;
}

bool vrt_device_exceeds_limit(const struct vrt_device *device, size_t size_bytes)
{
    return device->limit_bytes > 0 &&
           (device->used_bytes > device->limit_bytes ||
            size_bytes > (size_t)(device->limit_bytes - device->used_bytes));
}

int vrt_device_may_allocate(const struct vrt_device *device, size_t size_bytes)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (size_bytes == 0)
        return vrt_raise(-EINVAL);
    return size_bytes > PTRDIFF_MAX || vrt_device_exceeds_limit(device, size_bytes) ?
           VRT_BACKEND_E_NOMEM : 0;
}

int vrt_buffer_new(struct vrt_device *device, size_t size_bytes, struct vrt_buffer **ret_buffer)
{
    struct vrt_buffer *buffer = NULL;
    int r = vrt_device_may_allocate(device, size_bytes);

    if (r != 0)
        return r;
    r = vrt_device_note(device, device->ops->buffer_new(device, size_bytes, &buffer));
    if (r != 0)
        return r;
    buffer->size_bytes = size_bytes;
    device->used_bytes += (int64_t)size_bytes;
    *ret_buffer = buffer;
    return 0;
}

struct vrt_buffer *vrt_buffer_free(struct vrt_device *device, struct vrt_buffer *buffer)
{
    if (!buffer)
        return NULL;
    device->used_bytes -= (int64_t)buffer->size_bytes;
    device->ops->buffer_free(device, buffer);
    return NULL;
}

/* Whether [offset, offset + size) lies within the buffer. */
static bool within(const struct vrt_buffer *buffer, size_t offset_bytes, size_t size_bytes)
{
    return offset_bytes <= buffer->size_bytes && size_bytes <= buffer->size_bytes - offset_bytes;
}

int vrt_buffer_write(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                     const void *src, size_t size_bytes)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (!within(dst, offset_bytes, size_bytes))
        return vrt_raise(-EINVAL);
    if (size_bytes == 0)
        return 0;
    return vrt_device_note(device, device->ops->buffer_write(device, dst, offset_bytes, src,
                                                             size_bytes));
}

int vrt_buffer_read(struct vrt_device *device, const struct vrt_buffer *src, size_t offset_bytes,
                    void *dst, size_t size_bytes)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (!within(src, offset_bytes, size_bytes))
        return vrt_raise(-EINVAL);
    if (size_bytes == 0)
        return 0;
    return vrt_device_note(device, device->ops->buffer_read(device, src, offset_bytes, dst,
                                                            size_bytes));
}

bool vrt_device_supports(const struct vrt_device *device, const struct vrt_op *op)
{
    return device->ops->supports(device, op);
}

size_t vrt_device_workspace_bytes(const struct vrt_device *device, const struct vrt_op *op)
{
    return device->ops->workspace_bytes ? device->ops->workspace_bytes(device, op) : 0;
}

int vrt_device_finish(struct vrt_device *device)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    return vrt_device_note(device, device->ops->finish(device));
}
