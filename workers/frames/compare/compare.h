/* SPDX-License-Identifier: MIT */
#pragma once

/* Two videos, compared frame by frame, the first with the first. Thread: any, one at a time. */

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/compare/pictures.h"
#include "frames/compare/quality.h"

/* No more frames: of both. */
#define VRT_COMPARE_END 1

struct vrt_compare;

struct vrt_compare_params {
    int fds[2];                         /* the caller's, until it is closed */
    const char *names[2];               /* for sentences */
    int crop;                           /* pixels at each edge that don't count */
};

struct vrt_compare_size {
    int width, height;
};

/* A pair of frames. */
struct vrt_compared {
    int64_t time_ns;                    /* of the second's, after its first one */
    struct vrt_quality quality;
};

/* Opens both. Return: 0; -EINVAL: they can't be compared, -errno; with the sentence in `error`. */
int vrt_compare_open(const struct vrt_compare_params *params, struct vrt_compare **ret_compare,
                     struct vrt_compare_size *ret_size, struct vrt_error *error) VRT_MUST_CHECK;

/* From now on the frames that were compared last are in `pictures`, too, without what is cropped;
 * they are the caller's, until it is closed. */
void vrt_compare_show(struct vrt_compare *compare, const struct vrt_pictures *pictures);

/* Compares the next frames. Return: 0; VRT_COMPARE_END; -errno with the sentence in `error`: one
 * has more frames than the other, -EINVAL. */
int vrt_compare_next(struct vrt_compare *compare, struct vrt_compared *ret_compared,
                     struct vrt_error *error) VRT_MUST_CHECK;

/* Return: NULL. */
struct vrt_compare *vrt_compare_close(struct vrt_compare *compare);

VRT_DEFINE_CLEANUP(struct vrt_compare, vrt_compare_close)
