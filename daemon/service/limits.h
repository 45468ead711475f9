/* SPDX-License-Identifier: MIT */
#pragma once

/* What users, and jobs of devices, may hold, as it is configured. Thread: the loop's. */

#include "daemon/access/quota.h"

struct vrt_conf;
struct vrt_pool;

void vrt_limits_fill(const struct vrt_conf *conf,
                     struct vrt_quota_limit ret_limits[VRT_QUOTA_KIND_COUNT]);

/* Tells the pool which share of each device's memory jobs may take, from now on. The log warns of
 * one for a device that there isn't. */
void vrt_limits_share_memory(const struct vrt_conf *conf, struct vrt_pool *pool);
