/* SPDX-License-Identifier: MIT */
#pragma once

/* What is told of a device, out of what the pool knows. Thread: the loop's. */

#include "daemon/devices/pool.h"
#include "msg_device.h"

/* As the API has it. */
void vrt_device_report_fill(const struct vrt_device_snapshot *device,
                            struct vrt_device_report *ret_report);
