/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A place between two clips of a video, and what must be known to go on there without the frames
 * before: which of them are still needed, what had been cut, and by what it is recognised
 *
 * Frames before the first that a clip may want are seen by who looks for scenes alone. Where going
 * on there has led to other frames, or may, the bookmark is of no use, and all is read.
 *
 * Pure.
 */

#include <stdint.h>

struct vrt_bookmark {
    int64_t first, first_pts;       /* the first frame that is needed, and when it is shown; 0: all
                                     * are, and the rest says nothing */
    int64_t n_read;                 /* frames that had been read */
    int64_t last_pts;               /* when the last of those is shown */
    int64_t checksum;               /* of what all of them from the first needed show, and of all
                                     * that is said here */
    int64_t scene_start;            /* of the video: where the scene at hand begins */
    int64_t clip;                   /* of that scene: the next one */
    int64_t begin_pts;              /* of the video's first frame */
    int64_t n_new;                  /* frames that become of the clips before */
    int64_t n_repeated, n_held;     /* of those: as of struct vrt_shard_frames; where none was made
                                     * between two */
};
