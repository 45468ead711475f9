/* SPDX-License-Identifier: MIT */

#include "web/msg_upload.h"

#define T struct vrt_upload_report
const struct vrt_field vrt_upload_fields[] = {
    VRT_FIELD_INT(T, id, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, size_bytes, 0, 0, INT64_MAX),
    VRT_FIELDS_END,
};
#undef T
