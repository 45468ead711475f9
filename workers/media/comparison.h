/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Two videos compared, in a process of their own: whatever two, as vrtctl compare asks, or a job's
 * result and its reference
 *
 * Thread: any but the loop's; it takes as long as both are decoded.
 */

#include <stdatomic.h>

#include "base/error.h"
#include "frames/compare/alike.h"
#include "frames/compare/compare.h"
#include "workers/media/job-check.h"

struct vrt_child;

/* What isn't said here is as in vrt_compare_params. */
struct vrt_comparison {
    struct vrt_compare_params videos;
    const struct vrt_pictures *shown;   /* where the frames that `compared` is told of are; NULL:
                                         * nobody looks at them */
    const atomic_bool *cancel;          /* true: it ends with -ECANCELED */
    /* Is told of each frame; NULL: nobody is. Return: 0; -errno with the sentence: it ends. */
    int (*compared)(void *ctx, const struct vrt_compared *frame, struct vrt_error *error);
    void *ctx;
};

/* Compares all frames. Return: 0; -ECANCELED; -EINVAL: they can't be compared, -errno; with the
 * sentence in `error`. */
int vrt_comparison_run(const struct vrt_comparison *comparison,
                       struct vrt_compare_size *ret_size, struct vrt_quality_means *ret_means,
                       struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Whether the result of a job that was found possible can be compared with its reference, as far
 * as the heads of both tell; of their numbers of frames, which may be a few off, where both were
 * counted. Without a reference it can. Return: 0; -errno with a sentence.
 */
int vrt_comparison_check(const struct vrt_job_check *check, struct vrt_child *child,
                         struct vrt_error *error) VRT_MUST_CHECK;
