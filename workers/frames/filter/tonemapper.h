/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Makes SDR of HDR: of PQ's or HLG's R'G'B' with the primaries of BT.2020 (ITU-R BT.2100) that of
 * BT.709, by FFmpeg's zscale and tonemap, as the ffmpeg program does it with the same options.
 *
 * Where 1 is 100 cd/m2, as SDR has it, what is brighter is brought below by the curve, up to the
 * brightest there is: the content's light, else the mastering display's, else 1000 cd/m2.
 *
 * Thread: its owner's.
 */

#include "base/cleanup.h"
#include "base/error.h"
#include "base/settings.h"
#include "frames/frame.h"

struct vrt_tonemapper;

/* Whether frames are HDR: of PQ or HLG. */
bool vrt_tonemapper_is_hdr(const struct vrt_frame_format *format);

/* Frames of `hdr` as they are when they are SDR. */
struct vrt_frame_format vrt_tonemapper_format(const struct vrt_frame_format *hdr);

/*
 * For frames of `format`, which is HDR, by the curve `how`, not off.
 * Return: 0; -ENOTSUP: this FFmpeg has no such filters, or they take no such frames; -ENOMEM.
 */
int vrt_tonemapper_new(const struct vrt_frame_format *format, enum vrt_tonemap how,
                       struct vrt_tonemapper **ret_tonemapper);

/* Puts the mapped frame in the place of *frame, whose reference it takes over, also where it fails.
 * Return: 0; -errno with a sentence about the video `name`. */
int vrt_tonemapper_run(struct vrt_tonemapper *tonemapper, struct vrt_frame **frame,
                       const char *name, struct vrt_error *error);

/* NULL is fine. Return: NULL. */
struct vrt_tonemapper *vrt_tonemapper_free(struct vrt_tonemapper *tonemapper);

VRT_DEFINE_CLEANUP(struct vrt_tonemapper, vrt_tonemapper_free)
