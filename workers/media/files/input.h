/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a job reads: a video, or a folder of pictures as if it were one
 *
 * Pictures have a file each, which the job's process is given one after the other.
 *
 * Thread: the job's decode thread.
 */

#include "frames/process/child.h"
#include "workers/media/files/files.h"

struct vrt_input;

struct vrt_input_params {
    struct vrt_child *child;            /* reads; outlives the input */
    const struct vrt_files *files;      /* noted; likewise */
    struct vrt_reader_params reader;
    struct vrt_rational fps;            /* of pictures; 0/1: not said */
    bool is_last;                       /* of what comes by a pipe nobody else decodes anything */
};

/* As vrt_child_reader_open() and so on. Whatever a picture is told to be wrong with has its name.
 * In the place of a damaged one, unless strict, comes the one before it once more, and a warning.
 * *ret_input is closed by vrt_input_close(). */
int vrt_input_open(const struct vrt_input_params *params, struct vrt_input **ret_input,
                   struct vrt_error *error) VRT_MUST_CHECK;
int vrt_input_next(struct vrt_input *input, struct vrt_frame **ret_frame,
                   struct vrt_error *error) VRT_MUST_CHECK;
const struct vrt_reader_info *vrt_input_info(const struct vrt_input *input);

/* As vrt_child_reader_look(). Pictures have no fields: as many of them as three seconds allow are
 * looked at, whether they are like the first, and the input can only be closed after that. */
int vrt_input_look(struct vrt_input *input, enum vrt_deinterlace asked,
                   struct vrt_reader_info *info, struct vrt_error *error) VRT_MUST_CHECK;

struct vrt_input *vrt_input_close(struct vrt_input *input);

/* Pictures a second as they were asked for; NAN: 0/1. Pure. */
struct vrt_rational vrt_input_fps(double fps);

VRT_DEFINE_CLEANUP(struct vrt_input, vrt_input_close)
