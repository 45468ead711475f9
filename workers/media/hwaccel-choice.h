/* SPDX-License-Identifier: MIT */
#pragma once

/* Which hardware encodes a job's result, and which decodes its input. Thread: the job's decode
 * thread. */

#include "base/error.h"
#include "frames/process/child.h"
#include "workers/media/job-check.h"

/*
 * Sets that of `check->encoder`, all else of which is known: of the hardware that was asked for the
 * first that encodes a frame, else software, with a warning that tells why. A job that goes on has
 * what it began with, or nothing.
 *
 * Then `check->hwdec`: the first that decodes the beginning of the input to the same frames as
 * `child`, which has no hardware, else likewise software. Pictures, what comes by a pipe and codecs
 * that no hardware decodes exactly are software's without a word, and so is a strict job, since
 * only software tells of all damage. Whether it works for a job that goes on is seen when its input
 * is read.
 * Return: 0; -ECANCELED, or -errno where it goes on, with the sentence in `error`.
 */
int vrt_hwaccel_choose(struct vrt_job_check *check, struct vrt_child *child,
                       struct vrt_error *error);
