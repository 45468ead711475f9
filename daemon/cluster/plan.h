/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A film's plan, made once by the first of its tasks and the same for all others: the job as it was
 * admitted, its recipe with it, and where its segments end
 *
 * Thread: any; calls wait for the disk.
 */

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/macro.h"
#include "daemon/cluster/parts.h"
#include "workers/media/segments/segment-course.h"

struct vrt_cluster_folder;

struct vrt_cluster_plan {
    char *request, *info, *work;        /* as of struct vrt_store_job */
    int64_t span_ns;                    /* from the first frame to the last */
    struct vrt_segment_plan *segments;
    size_t n_segments;
    int64_t read_share;                 /* what reading a frame takes of making one, in thousandths
                                         * (parts.h); 0: not known */
};

/* Frees what it holds. */
void vrt_cluster_plan_done(struct vrt_cluster_plan *plan);

/* Appends a segment. Return: 0, -ENOMEM. */
int vrt_cluster_plan_add(struct vrt_cluster_plan *plan, const struct vrt_segment_plan *segment)
    VRT_MUST_CHECK;

/* Reads it. Return: 0, it needs vrt_cluster_plan_done(); -ENOENT: there is none; -EINVAL, -errno
 * with `error`. */
int vrt_cluster_plan_read(const struct vrt_cluster_folder *folder,
                          struct vrt_cluster_plan *ret_plan,
                          struct vrt_error *error) VRT_MUST_CHECK;

/* Keeps it. Return: 0; -errno with `error`. */
int vrt_cluster_plan_write(const struct vrt_cluster_folder *folder,
                           const struct vrt_cluster_plan *plan,
                           struct vrt_error *error) VRT_MUST_CHECK;
