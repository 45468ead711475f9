/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How much room a job's working files will still take, as far as it is known
 *
 * Pure. The spool holds each segment of the result, and at the end all of them once more, joined.
 * What segments that are stored took says most about the others; before there is one, the estimate
 * of the admission.
 */

#include <stddef.h>
#include <stdint.h>

#include "workers/media/segment-record.h"

struct vrt_room {
    int64_t frames_total;               /* of the result; <= 0: unknown */
    int64_t output_bytes;               /* the estimate of its size; <= 0: there is none */
    const struct vrt_segment_record *segments;  /* those that are stored */
    size_t n_segments;
};

/* What the stored segments take. */
int64_t vrt_room_stored_bytes(const struct vrt_room *room);

/* The size of the result: at least that. */
int64_t vrt_room_output_bytes(const struct vrt_room *room);

/* What still has to be written to the spool: the segments that are missing, and the joined file. */
int64_t vrt_room_spool_bytes(const struct vrt_room *room);

/* The next segment, and its part of the joined file; 0: there is none to compare it with. */
int64_t vrt_room_next_bytes(const struct vrt_room *room);
