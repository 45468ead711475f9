/* SPDX-License-Identifier: MIT */
#pragma once

/* What the checked functions keep in their heads about a device. */

#include <stdbool.h>
#include <stddef.h>

struct vrt_device;

/* Notes that a device said it is lost. Return: r, folded if it is an errno. */
int vrt_device_note(struct vrt_device *device, int r);

/* Whether it may be asked for so many bytes. Return: 0; VRT_BACKEND_E_LOST; E_NOMEM: they are more
 * than it may hold; -EINVAL: they are none. */
int vrt_device_may_allocate(const struct vrt_device *device, size_t size_bytes);

/* Whether so many bytes more would be more than the device may hold. */
bool vrt_device_exceeds_limit(const struct vrt_device *device, size_t size_bytes);
