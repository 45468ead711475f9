/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which segments of a film each of several tasks makes. Pure.
 *
 * A task begins to read where its part does, which counts nothing, if the plan knows how; else it
 * reads the film from its beginning up to its part, a frame of which takes longer to make than to
 * read. So tasks of which that is true get fewer frames the later they begin: all are to end at the
 * same time, however late that is for the whole.
 */

#include <stddef.h>
#include <stdint.h>

#include "workers/media/segments/segment-course.h"

/* Thousandths: what is reckoned in. */
#define VRT_CLUSTER_READ_WHOLE 1000

/* Segments from `first` to before `end`. */
struct vrt_cluster_range {
    int64_t first, end;
};

/*
 * The i-th of n parts, perhaps none: in their order, of whole segments, so that the task that takes
 * longest takes no longer than it must (where the plan knows how to begin at some of them only: no
 * longer than if each part is as long as it may be). `read_share`: what reading a frame takes of
 * making one, 0 to VRT_CLUSTER_READ_WHOLE; 0: not known.
 */
struct vrt_cluster_range vrt_cluster_part(const struct vrt_segment_plan *segments,
                                          size_t n_segments, int64_t read_share, int64_t i,
                                          int64_t n);
