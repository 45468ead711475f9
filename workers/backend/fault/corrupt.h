/* SPDX-License-Identifier: MIT */
#pragma once

/* Overwrites what a program wrote through its bindings. */

#include "backend/backend.h"
#include "backend/fault/schedule.h"

/*
 * Overwrites, in the device that really ran the program, as `event` says. Everything submitted must
 * be finished. Return: as buffer_write().
 */
int vrt_fault_corrupt(struct vrt_device *inner, const struct vrt_program *program,
                      const struct vrt_binding *bindings, const struct vrt_fault_event *event);
