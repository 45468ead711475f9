/* SPDX-License-Identifier: MIT */
#pragma once

/* POST /v1/preview: the same moment of a video and of what was made of it, as one picture */

#include "api.h"
#include "base/settings.h"
#include "fields.h"

/* A descriptor that came with the request, and what to call it. */
struct vrt_preview_file {
    int64_t fd;                             /* 0: the first that was sent */
    char name[VRT_API_NAME_BYTES];
};

struct vrt_preview_request {
    struct vrt_preview_file before, after;
    struct vrt_preview_file picture;        /* empty, open for writing: becomes a PNG */
    char streams[VRT_SETTING_NAME_BYTES];   /* of `before` that were chosen, as the job's */
    double start_s;                         /* of `before`, where `after` begins; NAN: at 0 */
    double time_s;                          /* of `after`; NAN: its middle */
};

struct vrt_preview_report {
    double time_s;                          /* of the frame that is shown, in `after` */
    int64_t width, height;                  /* of the picture: twice `after`'s width */
};

extern const struct vrt_field vrt_preview_file_fields[];
extern const struct vrt_field vrt_preview_request_fields[];
extern const struct vrt_field vrt_preview_fields[];

/* Decodes the body of POST /v1/preview. Return: 0; -EINVAL, with id, field and sentence in error;
 * -ENOMEM. Nothing needs to be freed. */
int vrt_preview_request_parse(const void *text, size_t size,
                              struct vrt_preview_request *ret_request,
                              struct vrt_error *error) VRT_MUST_CHECK;
