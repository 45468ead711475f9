/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The kinds of device that there are, one for each backend, whether the machine has such or not
 *
 * registry.c has the list, backends say what they are; nobody else knows their names.
 */

#include <stdbool.h>
#include <stddef.h>

#include "base/backend-option.h"

/* When devices of a kind are taken for a job that leaves the choice open. */
enum vrt_device_role {
    VRT_DEVICE_ACCELERATOR,         /* whenever there is one */
    VRT_DEVICE_HOST,                /* where no accelerator is, or none works: the processor */
    VRT_DEVICE_REFERENCE,           /* never, only where it is asked for by name: the oracle */
};

struct vrt_device_kind {
    const char *name;               /* "cpu": its backend's and its section's in vrtd.conf, too */
    enum vrt_device_role role;
    bool has_parts;                 /* a card may be several devices, NAME:CARD.PART */
};

/* Kind i, in order of preference; behind the last NULL. */
const struct vrt_device_kind *vrt_device_kind_at(size_t i);

/* Whether devices of the kind `name`, which there is, are accelerators. */
bool vrt_device_kind_is_accelerator(const char *name);

/* The kind that the first n bytes of `name` are, or NULL. */
const struct vrt_device_kind *vrt_device_kind_find(const char *name, size_t n);

/* The options that backend i declares: see vrt_backend_sections. */
bool vrt_backend_section_at(size_t i, struct vrt_backend_section *ret_section);
