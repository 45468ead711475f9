/* SPDX-License-Identifier: MIT */
#pragma once

/* Shared by backend.c and program.c. */

struct vrt_device;

/* Remembers that a device said it is lost. Return: r, what a call of the backend returned. */
int vrt_device_note(struct vrt_device *device, int r);
