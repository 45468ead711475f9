/* SPDX-License-Identifier: MIT */
#pragma once

/* The wrapper that a schedule puts around every device: for registry.c. */

#include <stdatomic.h>

#include "backend/backend.h"
#include "backend/fault/schedule.h"

struct vrt_backend_ops;

/* What the wrapper remembers of a device from one opening to the next; zero-initialised. */
struct vrt_fault_state {
    atomic_llong counts[VRT_FAULT_CALL_COUNT];
    atomic_bool lost;
    atomic_llong opens_to_revive;       /* while it is lost; VRT_FAULT_NEVER */
};

/* A device's way into the wrapper. It must live as long as the device is open. */
struct vrt_fault_wrap {
    const struct vrt_fault_schedule *schedule;
    struct vrt_fault_state *state;
    const struct vrt_backend_ops *inner;        /* the real backend */
    const struct vrt_device_info *info;
};

/* The operations of a wrapped device; it has no enumerate() and no open(). */
extern const struct vrt_backend_ops vrt_backend_fault;

/* Opens the real device and wraps it. Return: as vrt_device_open(). */
int vrt_fault_open(const struct vrt_fault_wrap *wrap, struct vrt_device **ret_device);
