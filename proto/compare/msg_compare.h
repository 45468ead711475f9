/* SPDX-License-Identifier: MIT */
#pragma once

/* POST /v1/compare: how near one video is to another, frame by frame */

#include "fields.h"
#include "msg_job.h"
#include "msg_preview.h"

#define VRT_COMPARE_CROP_MAX 1024
#define VRT_COMPARE_FRAMES_MAX 100000

struct vrt_compare_request {
    struct vrt_preview_file a, b;           /* either may be what the other is measured by */
    int64_t crop;                           /* pixels at each edge that don't count */
    bool has_fvd;
    struct vrt_preview_file fvd;            /* I3D's weights, by which FVD is computed */
};

/* Of one frame: as of all, in msg_job.h. */
struct vrt_compare_frame {
    double time_s;                          /* of `b`, after its first one */
    double psnr_rgb, psnr_y, ssim_rgb, ssim_y;
};

extern const struct vrt_field vrt_compare_request_fields[];
extern const struct vrt_field vrt_compare_fields[];

/* Decodes the body of POST /v1/compare. Return: 0; -EINVAL, with id, field and sentence in error;
 * -ENOMEM. Nothing needs to be freed. */
int vrt_compare_request_parse(const void *text, size_t size,
                              struct vrt_compare_request *ret_request,
                              struct vrt_error *error) VRT_MUST_CHECK;
