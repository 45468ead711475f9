/* SPDX-License-Identifier: MIT */

#include "compare/msg_compare.h"

#define T struct vrt_compare_request
const struct vrt_field vrt_compare_request_fields[] = {
    VRT_FIELD_OBJECT(T, a, VRT_FIELD_REQUIRED, vrt_preview_file_fields),
    VRT_FIELD_OBJECT(T, b, VRT_FIELD_REQUIRED, vrt_preview_file_fields),
    VRT_FIELD_INT(T, crop, 0, 0, VRT_COMPARE_CROP_MAX),
    VRT_FIELD_OPTIONAL(T, fvd, has_fvd, vrt_preview_file_fields),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_compare_frame
static const struct vrt_field frame_fields[] = {
    VRT_FIELD_DOUBLE(T, time_s, 0, INT64_MIN, INT64_MAX),
    VRT_COMPARE_PSNR(T, psnr_rgb),
    VRT_COMPARE_PSNR(T, psnr_y),
    VRT_COMPARE_SSIM(T, ssim_rgb),
    VRT_COMPARE_SSIM(T, ssim_y),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_compare_report
const struct vrt_field vrt_compare_fields[] = {
    VRT_COMPARE_MEANS(T),
    VRT_FIELD_DOUBLE(T, fvd, VRT_FIELD_NULLABLE, 0, INT64_MAX),
    VRT_FIELD_INT(T, fvd_clips, VRT_FIELD_NULLABLE, 0, VRT_COMPARE_FRAMES_MAX),
    VRT_FIELD_TEXT(T, fvd_warning, VRT_FIELD_NULLABLE),
    VRT_FIELD_ARRAY(T, frames, n_frames, VRT_COMPARE_FRAMES_MAX, frame_fields),
    VRT_FIELDS_END,
};
#undef T

int vrt_compare_request_parse(const void *text, size_t size,
                              struct vrt_compare_request *ret_request, struct vrt_error *error)
{
    struct vrt_compare_request request = { .crop = 0 };

    int r = vrt_fields_parse(vrt_compare_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_request = request;
    return 0;
}
