/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The Fréchet Video Distance of two videos, frame by frame (Unterthiner et al. 2018,
 * arXiv:1812.01717): each is cut into clips of 16 frames, one behind the other, what is left at the
 * end counts for nothing; I3D's logits of the clips are two sets of vectors.
 *
 * It computes on a processor's device of its own, of a few threads: devices of jobs aren't touched.
 *
 * Thread: any one: that which made it.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "engine/graph-executor.h"

#define VRT_FVD_FRAMES 16           /* of a clip */
#define VRT_FVD_SIDE 224            /* of its pictures */
#define VRT_FVD_CLIPS_MIN 2         /* for a covariance */

struct vrt_fvd;

/*
 * Reads I3D from `fd` (`name`: for messages), and prepares it. `watch` is asked while it computes,
 * and copied.
 * Return: 0; -EINVAL: the file is refused; -errno. `error` says why.
 */
int vrt_fvd_new(int fd, const char *name, const struct vrt_graph_executor_watch *watch,
                struct vrt_fvd **ret_fvd, struct vrt_error *error) VRT_MUST_CHECK;

/* NULL is fine. Return: NULL. */
struct vrt_fvd *vrt_fvd_free(struct vrt_fvd *fvd);

/*
 * Adds the next frame of both: [2][224][224][3], red, green and blue in 65535 parts of white. Each
 * 16th takes a clip's time.
 * Return: 0; -ECANCELED: the watch said so; -errno with the sentence in `error`.
 */
int vrt_fvd_add(struct vrt_fvd *fvd, const uint16_t *pictures,
                struct vrt_error *error) VRT_MUST_CHECK;

/* How many clips of each there were. */
int64_t vrt_fvd_n_clips(const struct vrt_fvd *fvd);

/* The distance, of as many clips as it needs at least. Return: 0; -ENOMEM. */
int vrt_fvd_distance(const struct vrt_fvd *fvd, double *ret_distance);

VRT_DEFINE_CLEANUP(struct vrt_fvd, vrt_fvd_free)
