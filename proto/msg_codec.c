/* SPDX-License-Identifier: MIT */

#include "msg_codec.h"

#define T struct vrt_codec_hardware
static const struct vrt_field hardware_fields[] = {
    { "hwaccel", VRT_FIELD_ENUM, 0, offsetof(T, how), .names = vrt_hwaccel_names },
    VRT_FIELD_TEXT(T, encoder, 0),
    VRT_FIELD_BOOL(T, works, 0),
    VRT_FIELD_TEXT(T, reason, VRT_FIELD_NULLABLE),
    VRT_FIELDS_END,
};

static const struct vrt_field decoder_fields[] = {
    { "hwdec", VRT_FIELD_ENUM, 0, offsetof(T, how), .names = vrt_hwdec_names },
    VRT_FIELD_BOOL(T, works, 0),
    VRT_FIELD_TEXT(T, reason, VRT_FIELD_NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_codec_report
const struct vrt_field vrt_codec_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_TEXT(T, title, 0),
    VRT_FIELD_BOOL(T, available, 0),
    VRT_FIELD_TEXT(T, problem, VRT_FIELD_NULLABLE),
    VRT_FIELD_TEXTS(T, encoders, n_encoders, VRT_CODEC_ENCODERS_MAX),
    VRT_FIELD_TEXTS(T, containers, n_containers, VRT_CONTAINER_COUNT),
    VRT_FIELD_TEXTS(T, pixel_formats, n_pixel_formats, VRT_API_CODEC_TEXTS_MAX),
    VRT_FIELD_TEXT(T, quality, VRT_FIELD_NULLABLE),
    VRT_FIELD_INT(T, quality_best, VRT_FIELD_NULLABLE, 0, INT64_MAX),
    VRT_FIELD_INT(T, quality_worst, VRT_FIELD_NULLABLE, 0, INT64_MAX),
    VRT_FIELD_INT(T, quality_default, VRT_FIELD_NULLABLE, 0, INT64_MAX),
    VRT_FIELD_BOOL(T, has_presets, 0),
    VRT_FIELD_BOOL(T, has_bitrate, 0),
    VRT_FIELD_ARRAY(T, hardware, n_hardware, VRT_HWACCEL_COUNT, hardware_fields),
    VRT_FIELD_ARRAY(T, hardware_decoders, n_hardware_decoders, VRT_HWDEC_COUNT, decoder_fields),
    VRT_FIELDS_END,
};
#undef T
