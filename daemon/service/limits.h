/* SPDX-License-Identifier: MIT */
#pragma once

/* What users may hold, as it is configured. Pure. */

#include "daemon/access/quota.h"

struct vrt_conf;

void vrt_limits_fill(const struct vrt_conf *conf,
                     struct vrt_quota_limit ret_limits[VRT_QUOTA_KIND_COUNT]);
