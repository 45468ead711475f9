/* SPDX-License-Identifier: MIT */
#pragma once

/* A job's progress in one line. Pure: the same job and width give the same text. */

#include <stdint.h>
#include <stdbool.h>

#include "base/buf.h"

struct vrt_compare_report;
struct vrt_job_info;

struct vrt_progress_style {
    int width;                  /* columns of the terminal; the line takes at most one less */
    int name_width;             /* columns of the longest name of the lines that stand together */
    int digits;                 /* of the most frames that one of them has; 0: its own */
    int bar_width;              /* columns of each bar; where it doesn't fit there is none;
                                 * VRT_UNKNOWN: of as many as fit */
    bool utf8;                  /* the terminal shows more than ASCII */
};

/*
 * What to call the job: its input, printable; where that is nobody else's business, whose it is:
 * "anna's". Return: buffer.
 */
const char *vrt_progress_name(const struct vrt_job_info *job, char *buffer, int size);

/* Frames that are done, and what of others is computed: never all before it is so. */
double vrt_progress_frames(const struct vrt_job_info *job);

/* "42%" of its frames: those that are done, and what of others is computed. */
const char *vrt_progress_percent(const struct vrt_job_info *job, char *buffer, size_t size);

/* Shards that devices have begun: of a job that was paused they are awaited still. */
int64_t vrt_progress_n_under_way(const struct vrt_job_info *job);

/* What a job's state is called: "cancelling" while it is about to be over, "pausing" as long as
 * devices have something of one that was paused. */
const char *vrt_progress_state_name(const struct vrt_job_info *job);

/*
 * What a job is at, in words, with the cure where it waits for a user: "queued", "fetching, 12 MiB
 * of 2.4 GiB", "paused at 42%: vrtctl resume 12", "needs files: vrtctl resume 12". Return: buffer.
 */
const char *vrt_progress_state(const struct vrt_job_info *job, char *buffer, int size);

/* Digits of the frames that a running job has; 0: unknown, or it isn't running. */
int vrt_progress_digits(const struct vrt_job_info *job);

/* Columns that the job's name takes in its line at most. */
int vrt_progress_name_width(const struct vrt_job_info *job);

/* Columns that the bar takes in the job's line if it may take what fits; 0: there is none. */
int vrt_progress_bar_width(const struct vrt_job_info *job, const struct vrt_progress_style *style);

/* Appends a bar of so many columns, at least 3, of which `share` (0 to 1) is full. Return: 0,
 * -ENOMEM. */
int vrt_progress_print_bar(double share, int columns, bool utf8,
                           struct vrt_buf *buf) VRT_MUST_CHECK;

/*
 * Appends the line with a bar, without a line break. Where the width is small, parts give
 * way in this order: devices, the bar, the name to ten columns, frames, rate, time that is left,
 * the name to four columns, the end of the rest.
 * Return: 0, -ENOMEM.
 */
int vrt_progress_bar(const struct vrt_job_info *job, const struct vrt_progress_style *style,
                     struct vrt_buf *buf) VRT_MUST_CHECK;

/*
 * Appends the same without a bar, for where lines follow each other:
 * "12 video.mp4: 84 of 200 frames (42%), 12.3 fps, 0:09 left, cpu:0 cpu:1". Return: 0, -ENOMEM.
 */
int vrt_progress_line(const struct vrt_job_info *job, struct vrt_buf *buf) VRT_MUST_CHECK;

/* How near a result is to its reference, behind what else is said of it: "; PSNR 34.21 dB (Y 35.90
 * dB), SSIM 0.9312 (Y 0.9444)". Return: buffer. */
const char *vrt_progress_comparison(const struct vrt_compare_report *comparison, char *buffer,
                                    size_t size);

/*
 * Appends how a job that is over ended, its files as seen from `folder`:
 * "12 video.mp4 -> video.restored.mp4: 200 frames in 0:16 (12.3 fps) on cpu:0 cpu:1".
 * Return: 0, -ENOMEM.
 */
int vrt_progress_result(const struct vrt_job_info *job, const char *folder,
                        struct vrt_buf *buf) VRT_MUST_CHECK;
