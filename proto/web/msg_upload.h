/* SPDX-License-Identifier: MIT */
#pragma once

/* POST /v1/uploads: what came */

#include "fields.h"

struct vrt_upload_report {
    int64_t id;                             /* for input.upload of a job, or reference.upload */
    int64_t size_bytes;
};

extern const struct vrt_field vrt_upload_fields[];
