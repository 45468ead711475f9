/* SPDX-License-Identifier: MIT */

#include "msg_preview.h"

#define T struct vrt_preview_file
const struct vrt_field vrt_preview_file_fields[] = {
    VRT_FIELD_INT(T, fd, VRT_FIELD_REQUIRED, 0, VRT_API_DESCRIPTORS_MAX - 1),
    VRT_FIELD_TEXT(T, name, VRT_FIELD_REQUIRED),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_preview_request
const struct vrt_field vrt_preview_request_fields[] = {
    VRT_FIELD_OBJECT(T, before, VRT_FIELD_REQUIRED, vrt_preview_file_fields),
    VRT_FIELD_OBJECT(T, after, VRT_FIELD_REQUIRED, vrt_preview_file_fields),
    VRT_FIELD_OBJECT(T, picture, VRT_FIELD_REQUIRED, vrt_preview_file_fields),
    VRT_FIELD_TEXT(T, streams, VRT_FIELD_NULLABLE),
    VRT_FIELD_DOUBLE(T, start_s, VRT_FIELD_NULLABLE, 0, VRT_API_TIME_MAX_S),
    VRT_FIELD_DOUBLE(T, time_s, VRT_FIELD_NULLABLE, 0, VRT_API_TIME_MAX_S),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_preview_report
const struct vrt_field vrt_preview_fields[] = {
    VRT_FIELD_DOUBLE(T, time_s, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, width, 0, 0, INT64_MAX),
    VRT_FIELD_INT(T, height, 0, 0, INT64_MAX),
    VRT_FIELDS_END,
};
#undef T

int vrt_preview_request_parse(const void *text, size_t size,
                              struct vrt_preview_request *ret_request, struct vrt_error *error)
{
    struct vrt_preview_request request = { 0 };

    vrt_fields_reset(vrt_preview_request_fields, &request);
    int r = vrt_fields_parse(vrt_preview_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_request = request;
    return 0;
}
