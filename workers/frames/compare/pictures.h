/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The frames of two videos as a network sees them that judges videos: as small squares, in memory
 * that two processes have mapped. Any bits in it are pictures.
 *
 * Thread: any, one at a time.
 */

#include "base/error.h"
#include "frames/compare/quality.h"

#define VRT_PICTURES_SIDE 224

/* Of one video: rows, columns, and red, green, blue in 65535 parts of white. */
#define VRT_PICTURE_SAMPLES ((size_t)VRT_PICTURES_SIDE * VRT_PICTURES_SIDE * 3)

struct vrt_pictures {
    int fd;                         /* the owner's; -1: another's */
    uint16_t *samples;              /* [2][VRT_PICTURE_SAMPLES]; NULL: there are none */
};

/* Makes them, for vrt_pictures_done(). Return: 0; -errno. */
int vrt_pictures_init(struct vrt_pictures *pictures) VRT_MUST_CHECK;

/* Maps those that another process made and sent, whose descriptor stays the caller's. Return: 0;
 * -errno. */
int vrt_pictures_map(int fd, struct vrt_pictures *ret_pictures) VRT_MUST_CHECK;

/* What is zero-filled is done already. */
void vrt_pictures_done(struct vrt_pictures *pictures);

/*
 * Puts a picture in the place of video `which`, squeezed into its square: bilinearly, between the
 * middles of samples, and without a filter before where it becomes smaller (PyTorch's interpolate
 * without corners aligned).
 */
void vrt_pictures_put(const struct vrt_pictures *pictures, int which,
                      const struct vrt_quality_picture *picture, int width, int height);
