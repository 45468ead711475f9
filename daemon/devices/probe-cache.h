/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What devices answered of late when they were asked about a job
 *
 * Thread: the loop's, all of it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "workers/device/device-executor.h"

/* Answers that are remembered: the last ones. */
#define VRT_PROBE_CACHE_MAX 64

struct vrt_probe_cache;

/* Return: NULL: no memory. */
struct vrt_probe_cache *vrt_probe_cache_new(void);

/* Return: NULL. */
struct vrt_probe_cache *vrt_probe_cache_free(struct vrt_probe_cache *cache);

/* What device `d` answered now (vrt_clock_now_ns()), for whoever asks the same soon; a makeshift is
 * passed over. */
void vrt_probe_cache_put(struct vrt_probe_cache *cache, size_t d, const struct vrt_probe *probe,
                         int64_t now_ns);

/* Fills in what it answered to the same question within the last minute. Return: whether there was
 * such a question. */
bool vrt_probe_cache_get(const struct vrt_probe_cache *cache, size_t d, struct vrt_probe *probe,
                         int64_t now_ns);
