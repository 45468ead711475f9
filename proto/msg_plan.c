/* SPDX-License-Identifier: MIT */

#include "msg_plan.h"

#include <errno.h>

#define NULLABLE VRT_FIELD_NULLABLE
#define COUNT(type, member, flags) VRT_FIELD_INT(type, member, flags, 0, INT64_MAX)
#define AMOUNT(type, member) VRT_FIELD_DOUBLE(type, member, NULLABLE, 0, INT64_MAX)

const char *const vrt_stream_kind_names[] = {
    [VRT_STREAM_VIDEO] = "video",
    [VRT_STREAM_AUDIO] = "audio",
    [VRT_STREAM_SUBTITLES] = "subtitles",
    [VRT_STREAM_ATTACHMENT] = "attachment",
    [VRT_STREAM_DATA] = "data",
    [VRT_STREAM_KIND_COUNT] = NULL,
};

const char *const vrt_stream_fate_names[] = {
    [VRT_STREAM_RESTORED] = "restored",
    [VRT_STREAM_COPIED] = "copied",
    [VRT_STREAM_CONVERTED] = "converted",
    [VRT_STREAM_MADE_ANEW] = "made_anew",
    [VRT_STREAM_NOT_CHOSEN] = "not_chosen",
    [VRT_STREAM_NO_PLACE] = "no_place",
    [VRT_STREAM_FATE_COUNT] = NULL,
};

#define T struct vrt_plan_device
static const struct vrt_field plan_device_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    VRT_FIELD_ENUM(T, precision, 0, vrt_precision_names),
    COUNT(T, replica_bytes, NULLABLE),
    COUNT(T, workspace_bytes, NULLABLE),
    COUNT(T, peak_bytes, NULLABLE),
    COUNT(T, allowed_bytes, NULLABLE),
    AMOUNT(T, gflop_per_s),
    AMOUNT(T, seconds_per_shard),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_plan_stream
static const struct vrt_field plan_stream_fields[] = {
    COUNT(T, index, 0),
    VRT_FIELD_ENUM(T, kind, 0, vrt_stream_kind_names),
    VRT_FIELD_ENUM(T, fate, 0, vrt_stream_fate_names),
    VRT_FIELD_TEXT(T, codec, 0),
    COUNT(T, width, NULLABLE),
    COUNT(T, height, NULLABLE),
    AMOUNT(T, fps),
    COUNT(T, sample_rate, NULLABLE),
    COUNT(T, channels, NULLABLE),
    COUNT(T, bitrate, NULLABLE),
    VRT_FIELD_TEXT(T, language, NULLABLE),
    VRT_FIELD_TEXT(T, title, NULLABLE),
    VRT_FIELD_TEXT(T, disposition, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_plan_report
const struct vrt_field vrt_plan_fields[] = {
    VRT_FIELD_TEXT(T, input_name, 0),
    VRT_FIELD_TEXT(T, output_name, 0),
    VRT_FIELD_TEXT(T, reference_name, VRT_FIELD_NULLABLE),
    VRT_FIELD_OBJECT(T, model, 0, vrt_job_model_fields),
    VRT_FIELD_TEXT(T, device, 0),
    VRT_FIELD_OBJECT(T, video, 0, vrt_job_video_fields),
    VRT_FIELD_OBJECT(T, recipe, 0, vrt_job_recipe_fields),
    COUNT(T, frames_total, NULLABLE),
    COUNT(T, shards, NULLABLE),
    COUNT(T, tiles, NULLABLE),
    AMOUNT(T, gflop),
    AMOUNT(T, estimated_s),
    VRT_FIELD_ARRAY(T, devices, n_devices, VRT_API_DEVICES_MAX, plan_device_fields),
    VRT_FIELD_ARRAY(T, streams, n_streams, VRT_STREAMS_MAX, plan_stream_fields),
    COUNT(T, streams_total, 0),
    VRT_FIELD_BOOL(T, reproducible, 0),
    VRT_FIELD_TEXTS(T, warnings, n_warnings, VRT_API_WARNINGS_MAX),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_profile_request
const struct vrt_field vrt_profile_request_fields[] = {
    VRT_FIELD_OBJECT(T, model, 0, vrt_job_model_ref_fields),
    VRT_FIELD_TEXT(T, device, NULLABLE),
    VRT_FIELD_IN(ENUM, T, settings, precision, NULLABLE, .names = vrt_precision_names),
    VRT_FIELD_INT(T, width, 0, VRT_API_PROFILE_SIDE_MIN, VRT_API_PROFILE_SIDE_MAX),
    VRT_FIELD_INT(T, height, 0, VRT_API_PROFILE_SIDE_MIN, VRT_API_PROFILE_SIDE_MAX),
    VRT_FIELD_IN(INT, T, settings, tile, NULLABLE, .min = 0, .max = VRT_API_TILE_MAX),
    VRT_FIELD_IN(INT, T, settings, overlap, NULLABLE, .min = 0, .max = VRT_API_OVERLAP_MAX),
    VRT_FIELD_IN(INT, T, settings, clip, NULLABLE, .min = 1, .max = VRT_API_CLIP_MAX),
    VRT_FIELD_INT(T, batch, NULLABLE, 1, VRT_API_BATCH_MAX),
    VRT_FIELD_BOOL(T, keep, 0),
    VRT_FIELD_INT(T, frames, NULLABLE, 1, VRT_API_PROFILE_FRAMES_MAX),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_profile_op
static const struct vrt_field profile_op_fields[] = {
    VRT_FIELD_TEXT(T, kind, 0),
    COUNT(T, count, 0),
    AMOUNT(T, seconds),
    VRT_FIELD_DOUBLE(T, share, NULLABLE, 0, 1),
    AMOUNT(T, gflop_per_s),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_profile_report
const struct vrt_field vrt_profile_fields[] = {
    VRT_FIELD_OBJECT(T, model, 0, vrt_job_model_fields),
    VRT_FIELD_TEXT(T, description, NULLABLE),
    COUNT(T, parameters, NULLABLE),
    VRT_FIELD_TEXT(T, device, 0),
    VRT_FIELD_TEXT(T, device_description, NULLABLE),
    VRT_FIELD_ENUM(T, precision, 0, vrt_precision_names),
    COUNT(T, width, 0),
    COUNT(T, height, 0),
    COUNT(T, output_width, 0),
    COUNT(T, output_height, 0),
    COUNT(T, clip_frames, NULLABLE),
    COUNT(T, clip_overlap, NULLABLE),
    COUNT(T, tile_width, NULLABLE),
    COUNT(T, tile_height, NULLABLE),
    COUNT(T, overlap, NULLABLE),
    COUNT(T, tiles, NULLABLE),
    COUNT(T, batch, NULLABLE),
    COUNT(T, frames, 0),
    AMOUNT(T, frame_mean_s),
    AMOUNT(T, frame_p50_s),
    AMOUNT(T, frame_p95_s),
    AMOUNT(T, frame_p99_s),
    AMOUNT(T, upload_s),
    AMOUNT(T, compute_s),
    AMOUNT(T, download_s),
    AMOUNT(T, fps),
    AMOUNT(T, gflop_per_frame),
    AMOUNT(T, gflop_per_s),
    AMOUNT(T, fidelity_db),
    COUNT(T, replica_bytes, NULLABLE),
    COUNT(T, workspace_bytes, NULLABLE),
    COUNT(T, peak_bytes, NULLABLE),
    COUNT(T, allowed_bytes, NULLABLE),
    VRT_FIELD_ARRAY(T, ops, n_ops, VRT_API_OPS_MAX, profile_op_fields),
    VRT_FIELD_TEXTS(T, warnings, n_warnings, VRT_API_WARNINGS_MAX),
    VRT_FIELDS_END,
};
#undef T

void vrt_profile_request_init(struct vrt_profile_request *request)
{
    *request = (struct vrt_profile_request){
        .width = VRT_API_PROFILE_WIDTH,
        .height = VRT_API_PROFILE_HEIGHT,
    };
    vrt_job_settings_init(&request->settings);
    vrt_fields_reset(vrt_profile_request_fields, request);
}

int vrt_profile_request_parse(const void *text, size_t size,
                              struct vrt_profile_request *ret_request, struct vrt_error *error)
{
    struct vrt_profile_request request;

    vrt_profile_request_init(&request);
    int r = vrt_fields_parse(vrt_profile_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    if (request.model.fd >= 0 && !request.model.name[0]) {
        vrt_error_set_field(error, "model");
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD),
                          "model.name: a name is needed, it is empty");
    }
    *ret_request = request;
    return 0;
}

void vrt_profile_report_init(struct vrt_profile_report *report)
{
    *report = (struct vrt_profile_report){ 0 };
    vrt_fields_reset(vrt_profile_fields, report);
}

int vrt_profile_report_decode(const struct json_t *json, struct vrt_profile_report *ret_report,
                              struct vrt_error *error)
{
    struct vrt_profile_report report;

    vrt_profile_report_init(&report);
    int r = vrt_fields_decode(vrt_profile_fields, json, VRT_FIELDS_LENIENT, &report, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_report = report;
    return 0;
}

void vrt_plan_report_init(struct vrt_plan_report *report)
{
    *report = (struct vrt_plan_report){ 0 };
    vrt_fields_reset(vrt_plan_fields, report);
}

int vrt_plan_report_decode(const struct json_t *json, struct vrt_plan_report *ret_report,
                           struct vrt_error *error)
{
    struct vrt_plan_report report;

    vrt_plan_report_init(&report);
    int r = vrt_fields_decode(vrt_plan_fields, json, VRT_FIELDS_LENIENT, &report, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_report = report;
    return 0;
}
