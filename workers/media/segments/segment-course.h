/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where segments end, found by the clips alone: what the encode thread will say of each segment
 * (workers/media/segment-record.h), before a frame of it is restored
 *
 * Whoever makes only some of a video's segments has to know where they begin, and from which clip
 * on frames wait there for the next one. Pure.
 */

#include <stdbool.h>
#include <stdint.h>

#include "frames/clips/cutter.h"

/* Frames that wait at a time: those of two clips of the greatest length. */
#define VRT_SEGMENT_COURSE_FRAMES (2 * VRT_CLIP_FRAMES_MAX)

/* A segment as it will be. */
struct vrt_segment_plan {
    int64_t n_frames;               /* in it; 0: there is none */
    int64_t next_shard;             /* the first that is in no segment up to this one */
    int64_t prime_shard;            /* the first that has a share in a frame which waits at its end;
                                     * next_shard: none waits */
    int64_t n_concealed;            /* damaged frames that were concealed, up to its end */
    struct vrt_bookmark prime;      /* where decoding goes on with prime_shard; first 0: nowhere */
};

struct vrt_segment_course {
    struct vrt_clip_rule rule;
    int64_t segment_frames;         /* a segment ends with the shard that makes it so many */
    int64_t next_shard, n_open, n_concealed;
    struct vrt_bookmark behind;     /* where decoding goes on with next_shard; likewise */
    int n_waiting;
    struct {
        int64_t index;              /* of the frame */
        int64_t shard;              /* the first that has a share in it */
        struct vrt_bookmark prime;  /* likewise */
        int n;                      /* shares so far */
    } waiting[VRT_SEGMENT_COURSE_FRAMES];
};

/* At the video's beginning. */
void vrt_segment_course_init(struct vrt_segment_course *course, const struct vrt_clip_rule *rule,
                             int64_t segment_frames);

/* The next clip. Return: whether it ends a segment, which is *ret_plan then. */
bool vrt_segment_course_add(struct vrt_segment_course *course, const struct vrt_cut *cut,
                            struct vrt_segment_plan *ret_plan);

/* There are no more. Return: whether a segment ends here, which is *ret_plan then. */
bool vrt_segment_course_end(struct vrt_segment_course *course, struct vrt_segment_plan *ret_plan);
