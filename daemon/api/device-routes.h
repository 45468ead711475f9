/* SPDX-License-Identifier: MIT */
#pragma once

/* The routes below /v1/devices: what they are, how they fared, what is asked of them. Thread: the
 * loop's. */

struct vrt_call;

void vrt_api_devices(const struct vrt_call *call);
void vrt_api_devices_trim(const struct vrt_call *call);
void vrt_api_devices_history(const struct vrt_call *call);
