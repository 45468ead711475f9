/* SPDX-License-Identifier: MIT */
#pragma once

/* What the configuration says to parts of the daemon, in their own words. Pure. */

#include "workers/plan/device-request.h"

struct vrt_conf;
struct vrt_queue_params;
struct vrt_remote_params;

/* By its name, not by its number: neither config/ nor workers/ includes the other's headers. */
enum vrt_fallback vrt_configured_fallback(int configured);

/* Fills in what is configured; the other members are left alone. Texts are the configuration's. */
void vrt_configured_remote(const struct vrt_conf *conf, struct vrt_remote_params *params);
void vrt_configured_queue(const struct vrt_conf *conf, struct vrt_queue_params *params);
