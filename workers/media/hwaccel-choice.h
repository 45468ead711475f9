/* SPDX-License-Identifier: MIT */
#pragma once

/* Which hardware encodes a job's result. Thread: the job's decode thread. */

#include "base/error.h"
#include "workers/media/job-check.h"

/*
 * Sets that of `check->encoder`, all else of which is known: of the hardware that was asked for the
 * first that encodes a frame, else software, with a warning that tells why. A job that goes on has
 * what it began with, or nothing.
 * Return: 0; -ECANCELED, or -errno where it goes on, with the sentence in `error`.
 */
int vrt_hwaccel_choose(struct vrt_job_check *check, struct vrt_error *error);
