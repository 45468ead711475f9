/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A part of a job's result that is on the disk for good: what a restart goes on from
 *
 * Pure. The files themselves, and what they are called: workers/media/encode-thread.h.
 */

#include <stdint.h>

#include "frames/clips/bookmark.h"

struct vrt_segment_record {
    int64_t number;                 /* of the segment, from 0 */
    int64_t n_frames;               /* in it */
    int64_t next_shard;             /* the first that is in no segment up to this one */
    int64_t size_bytes;             /* of its file */
    int64_t tail_bytes;             /* of the file of what it shares with the next; 0: none */
    int64_t n_concealed;            /* damaged frames that were concealed, up to its end */
    int64_t ran_ms;                 /* how long the job's runs took up to it; the queue knows */
    struct vrt_bookmark behind;     /* where the decoder goes on behind it; first 0: nowhere */
};
