/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Compiled pipelines, from one run to the next: an archive of Metal's for each, in the cache
 *
 * Metal reads and writes archives as files of its own: these are temporary, and the cache has what
 * is in them.
 *
 * Thread: that of the device; a pool is there.
 */

#include <stdbool.h>

#include "backend/cache.h"
#include "backend/mps/metal.h"

/* Makes the pipeline that `descriptor` says of what an earlier run kept. Return: it, owned, or
 * NULL: nothing was kept, or Metal refuses it, which is then kept no more. */
vrt_metal_id vrt_mps_archive_load(struct vrt_cache *cache, const struct vrt_cache_key *key,
                                  vrt_metal_id device, vrt_metal_id descriptor);

/* Keeps what Metal compiled for `descriptor`, where it gives it. */
void vrt_mps_archive_store(struct vrt_cache *cache, const struct vrt_cache_key *key,
                           vrt_metal_id device, vrt_metal_id descriptor);
