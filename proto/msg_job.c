/* SPDX-License-Identifier: MIT */
/*
 * Tables of the job's messages. Bounds of requests are what has a meaning; those of what the
 * daemon tells only say what a client may rely on, such as that no count is negative.
 *
 * A job has two forms: the short one, for lists and events, holds what changes while it runs and
 * what tells it from others; the long one has it all. One struct is filled for both.
 *
 * T is the struct that the table below it describes: a macro, since each field needs its name for
 * offsetof().
 */

#include "msg_job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"

const char *const vrt_job_state_names[] = {
    [VRT_JOB_QUEUED] = "queued",
    [VRT_JOB_FETCHING] = "fetching",
    [VRT_JOB_RUNNING] = "running",
    [VRT_JOB_FINISHING] = "finishing",
    [VRT_JOB_PAUSED] = "paused",
    [VRT_JOB_NEEDS_INPUT] = "needs_input",
    [VRT_JOB_DISK_FULL] = "disk_full",
    [VRT_JOB_DONE] = "done",
    [VRT_JOB_FAILED] = "failed",
    [VRT_JOB_CANCELLED] = "cancelled",
    [VRT_JOB_STATE_COUNT] = NULL,
};

const char *const vrt_job_file_names[] = {
    [VRT_JOB_INPUT] = "input",
    [VRT_JOB_OUTPUT] = "output",
    [VRT_JOB_MODEL] = "model",
    [VRT_JOB_REFERENCE] = "reference",
};

const char *const vrt_job_state_phrases[] = {
    [VRT_JOB_QUEUED] = "is queued",
    [VRT_JOB_FETCHING] = "is fetching its input",
    [VRT_JOB_RUNNING] = "is running",
    [VRT_JOB_FINISHING] = "is finishing",
    [VRT_JOB_PAUSED] = "is paused",
    [VRT_JOB_NEEDS_INPUT] = "needs its files",
    [VRT_JOB_DISK_FULL] = "waits for room on a disk",
    [VRT_JOB_DONE] = "is done",
    [VRT_JOB_FAILED] = "has failed",
    [VRT_JOB_CANCELLED] = "was cancelled",
    [VRT_JOB_STATE_COUNT] = NULL,
};

#define NULLABLE VRT_FIELD_NULLABLE
#define REQUIRED VRT_FIELD_REQUIRED
#define FD_MAX (VRT_API_DESCRIPTORS_MAX - 1)    /* an index into those that came along */

#define T struct vrt_file_ref
/* Which of fd, path, url and upload must be there depends on the others: see check_request(). */
static const struct vrt_field input_fields[] = {
    VRT_FIELD_INT(T, fd, NULLABLE, 0, FD_MAX),
    VRT_FIELD_TEXT(T, name, REQUIRED),
    VRT_FIELD_TEXT(T, path, NULLABLE),
    VRT_FIELD_TEXT(T, url, NULLABLE),
    VRT_FIELD_INT(T, upload, NULLABLE, 1, INT64_MAX),
    VRT_FIELDS_END,
};

static const struct vrt_field reference_fields[] = {
    VRT_FIELD_INT(T, fd, NULLABLE, 0, FD_MAX),
    VRT_FIELD_TEXT(T, name, REQUIRED),
    VRT_FIELD_TEXT(T, path, NULLABLE),
    VRT_FIELD_INT(T, upload, NULLABLE, 1, INT64_MAX),
    VRT_FIELDS_END,
};

/* Also every file that a job is given again: a URL is known for good. */
static const struct vrt_field output_fields[] = {
    VRT_FIELD_INT(T, fd, NULLABLE, 0, FD_MAX),
    VRT_FIELD_TEXT(T, name, REQUIRED),
    VRT_FIELD_TEXT(T, path, NULLABLE),
    VRT_FIELDS_END,
};

const struct vrt_field vrt_job_model_ref_fields[] = {
    VRT_FIELD_INT(T, fd, NULLABLE, 0, FD_MAX),
    VRT_FIELD_TEXT(T, name, REQUIRED),
    VRT_FIELD_TEXT(T, path, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_job_request
const struct vrt_field vrt_job_request_fields[] = {
    VRT_FIELD_OBJECT(T, input, REQUIRED, input_fields),
    VRT_FIELD_OBJECT(T, output, REQUIRED, output_fields),
    VRT_FIELD_OBJECT(T, model, 0, vrt_job_model_ref_fields),
    VRT_FIELD_OBJECT(T, reference, 0, reference_fields),
    VRT_FIELD_TEXT(T, device, NULLABLE),
    VRT_FIELD_IN(ENUM, T, settings, precision, NULLABLE, .names = vrt_precision_names),
    VRT_FIELD_IN(INT, T, settings, tile, NULLABLE, .min = 0, .max = VRT_API_TILE_MAX),
    VRT_FIELD_IN(INT, T, settings, overlap, NULLABLE, .min = 0, .max = VRT_API_OVERLAP_MAX),
    VRT_FIELD_IN(INT, T, settings, clip, NULLABLE, .min = 0, .max = VRT_API_CLIP_MAX),
    VRT_FIELD_IN(INT, T, settings, clip_overlap, NULLABLE, .min = 0, .max = VRT_API_CLIP_MAX / 2),
    VRT_FIELD_IN(ENUM, T, settings, tiling, 0, .names = vrt_tiling_names),
    VRT_FIELD_IN(DOUBLE, T, settings, scene_cuts, NULLABLE, .min = 0, .max = 1),
    VRT_FIELD_IN(DOUBLE, T, settings, strength, NULLABLE, .min = 0, .max = 1),
    VRT_FIELD_IN(DOUBLE, T, settings, denoise, NULLABLE, .min = 0, .max = 1),
    VRT_FIELD_IN(DOUBLE, T, settings, sigma, NULLABLE, .min = 0, .max = VRT_API_SIGMA_MAX),
    VRT_FIELD_IN(ENUM, T, settings, codec, NULLABLE, .names = vrt_codec_names),
    /* Each codec's own is narrower. */
    VRT_FIELD_IN(INT, T, settings, quality, NULLABLE, .min = 0, .max = VRT_QUALITY_MAX),
    VRT_FIELD_IN(TEXT, T, settings, preset, NULLABLE, .size = VRT_SETTING_WORD_BYTES),
    VRT_FIELD_IN(INT, T, settings, bitrate, NULLABLE, .min = VRT_BITRATE_MIN,
                 .max = VRT_BITRATE_MAX),
    VRT_FIELD_IN(INT, T, settings, target_size_bytes, NULLABLE, .min = VRT_API_TARGET_SIZE_MIN,
                 .max = VRT_API_TARGET_SIZE_MAX),
    VRT_FIELD_IN(TEXT, T, settings, scale, NULLABLE, .size = VRT_SETTING_WORD_BYTES),
    VRT_FIELD_IN(TEXT, T, settings, pixel_format, NULLABLE, .size = VRT_SETTING_WORD_BYTES),
    VRT_FIELD_IN(TEXT, T, settings, encoder_options, NULLABLE, .size = VRT_SETTING_OPTIONS_BYTES),
    VRT_FIELD_IN(TEXT, T, settings, streams, NULLABLE, .size = VRT_SETTING_NAME_BYTES),
    VRT_FIELD_IN(DOUBLE, T, settings, start_s, NULLABLE, .min = 0, .max = VRT_API_TIME_MAX_S),
    VRT_FIELD_IN(DOUBLE, T, settings, duration_s, NULLABLE, .min = 0, .max = VRT_API_TIME_MAX_S),
    VRT_FIELD_IN(TEXT, T, settings, pictures, NULLABLE, .size = VRT_SETTING_NAME_BYTES),
    VRT_FIELD_IN(DOUBLE, T, settings, fps, NULLABLE, .min = 0, .max = VRT_API_FPS_MAX),
    VRT_FIELD_IN(ENUM, T, settings, deinterlace, 0, .names = vrt_deinterlace_names),
    VRT_FIELD_IN(INT, T, settings, times, NULLABLE, .min = VRT_API_TIMES_MIN,
                 .max = VRT_API_TIMES_MAX),
    VRT_FIELD_IN(ENUM, T, settings, alpha, 0, .names = vrt_alpha_names),
    VRT_FIELD_IN(ENUM, T, settings, tonemap, 0, .names = vrt_tonemap_names),
    VRT_FIELD_IN(ENUM, T, settings, hwaccel, NULLABLE, .names = vrt_hwaccel_names),
    VRT_FIELD_IN(ENUM, T, settings, hwdec, NULLABLE, .names = vrt_hwdec_names),
    VRT_FIELD_INT(T, priority, 0, VRT_API_PRIORITY_MIN, VRT_API_PRIORITY_MAX),
    VRT_FIELD_IN(BOOL, T, settings, strict, 0),
    VRT_FIELD_BOOL(T, overwrite, 0),
    VRT_FIELD_BOOL(T, dry_run, 0),
    VRT_FIELD_TEXT(T, webhook, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_job_files_request
const struct vrt_field vrt_job_files_request_fields[] = {
    VRT_FIELD_OBJECT(T, input, 0, output_fields),
    VRT_FIELD_OBJECT(T, output, 0, output_fields),
    VRT_FIELD_OBJECT(T, model, 0, output_fields),
    VRT_FIELD_OBJECT(T, reference, 0, output_fields),
    VRT_FIELD_BOOL(T, overwrite, 0),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_job_change
const struct vrt_field vrt_job_change_fields[] = {
    VRT_FIELD_INT(T, priority, REQUIRED, VRT_API_PRIORITY_MIN, VRT_API_PRIORITY_MAX),
    VRT_FIELDS_END,
};
#undef T

#define COUNT(type, member, flags) VRT_FIELD_INT(type, member, flags, 0, INT64_MAX)
#define SECONDS(type, member) VRT_FIELD_DOUBLE(type, member, NULLABLE, 0, INT64_MAX)
#define SHARE(type, member) VRT_FIELD_DOUBLE(type, member, NULLABLE, 0, 1)

#define T struct vrt_job_device
static const struct vrt_field device_fields[] = {
    VRT_FIELD_TEXT(T, name, 0),
    COUNT(T, shards_done, 0),
    COUNT(T, shards_running, 0),
    COUNT(T, frames_done, 0),
    SECONDS(T, frames_underway),
    SECONDS(T, fps),
    COUNT(T, replica_bytes, NULLABLE),
    COUNT(T, workspace_bytes, NULLABLE),
    COUNT(T, peak_bytes, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_job_model
const struct vrt_field vrt_job_model_fields[] = {
    VRT_FIELD_TEXT(T, name, NULLABLE),
    VRT_FIELD_TEXT(T, architecture, NULLABLE),
    COUNT(T, scale, NULLABLE),
    VRT_FIELD_TEXT(T, checksum, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_job_stages
static const struct vrt_field stage_fields[] = {
    SHARE(T, decode),
    SHARE(T, upload),
    SHARE(T, compute),
    SHARE(T, download),
    SHARE(T, encode),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_job_recipe
const struct vrt_field vrt_job_recipe_fields[] = {
    COUNT(T, clip_frames, NULLABLE),
    COUNT(T, clip_overlap, NULLABLE),
    COUNT(T, tile_width, NULLABLE),
    COUNT(T, tile_height, NULLABLE),
    COUNT(T, overlap, NULLABLE),
    VRT_FIELD_ENUM(T, tiling, 0, vrt_tiling_names),
    VRT_FIELD_DOUBLE(T, scene_cuts, NULLABLE, 0, 1),
    VRT_FIELD_DOUBLE(T, strength, NULLABLE, 0, 1),
    VRT_FIELD_DOUBLE(T, denoise, NULLABLE, 0, 1),
    VRT_FIELD_DOUBLE(T, sigma, NULLABLE, 0, VRT_API_SIGMA_MAX),
    VRT_FIELD_ENUM(T, precision, 0, vrt_precision_names),
    VRT_FIELD_ENUM(T, codec, 0, vrt_codec_names),
    COUNT(T, quality, NULLABLE),
    VRT_FIELD_TEXT(T, preset, NULLABLE),
    COUNT(T, bitrate, NULLABLE),
    COUNT(T, target_size_bytes, NULLABLE),
    VRT_FIELD_TEXT(T, scale, NULLABLE),
    VRT_FIELD_TEXT(T, pixel_format, NULLABLE),
    VRT_FIELD_TEXT(T, encoder_options, NULLABLE),
    VRT_FIELD_TEXT(T, streams, NULLABLE),
    COUNT(T, encoder_threads, NULLABLE),
    VRT_FIELD_ENUM(T, deinterlace, 0, vrt_deinterlace_names),
    COUNT(T, times, NULLABLE),
    COUNT(T, times_every, NULLABLE),
    VRT_FIELD_ENUM(T, alpha, NULLABLE, vrt_alpha_names),
    VRT_FIELD_ENUM(T, tonemap, 0, vrt_tonemap_names),
    VRT_FIELD_ENUM(T, hwaccel, 0, vrt_hwaccel_names),
    VRT_FIELD_ENUM(T, hwdec, 0, vrt_hwdec_names),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_job_video
const struct vrt_field vrt_job_video_fields[] = {
    COUNT(T, width, NULLABLE),
    COUNT(T, height, NULLABLE),
    COUNT(T, output_width, NULLABLE),
    COUNT(T, output_height, NULLABLE),
    SECONDS(T, fps),
    SECONDS(T, start_s),
    SECONDS(T, duration_s),
    VRT_FIELD_TEXT(T, codec, NULLABLE),
    VRT_FIELD_TEXT(T, pixel_format, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

#define T struct vrt_job_error
static const struct vrt_field error_fields[] = {
    VRT_FIELD_TEXT(T, id, 0),
    VRT_FIELD_TEXT(T, message, 0),
    VRT_FIELD_TEXT(T, field, NULLABLE),
    VRT_FIELDS_END,
};
#undef T

const struct vrt_field vrt_job_comparison_fields[] = {
    VRT_COMPARE_MEANS(struct vrt_compare_report),
    VRT_FIELDS_END,
};

#define T struct vrt_job_info
#define SHORT_FORM                                                                      \
    COUNT(T, id, 0),                                                                    \
    VRT_FIELD_ENUM(T, state, 0, vrt_job_state_names),                                   \
    VRT_FIELD_TEXT(T, owner, NULLABLE),                                                 \
    VRT_FIELD_TEXT(T, input_name, NULLABLE),                                            \
    VRT_FIELD_TEXT(T, output_name, NULLABLE),                                           \
    VRT_FIELD_OBJECT(T, model, 0, vrt_job_model_fields),                                \
    VRT_FIELD_TEXT(T, device, 0),                                                       \
    VRT_FIELD_INT(T, priority, 0, VRT_API_PRIORITY_MIN, VRT_API_PRIORITY_MAX),          \
    VRT_FIELD_TIME(T, created_at, 0),                                                   \
    VRT_FIELD_TIME(T, started_at, NULLABLE),                                            \
    VRT_FIELD_TIME(T, finished_at, NULLABLE),                                           \
    SECONDS(T, elapsed_s),                                                              \
    COUNT(T, fetched_bytes, NULLABLE),                                                  \
    COUNT(T, fetch_bytes, NULLABLE),                                                    \
    COUNT(T, frames_total, NULLABLE),                                                   \
    COUNT(T, frames_done, 0),                                                           \
    VRT_FIELD_BOOL(T, frames_estimated, 0),                                             \
    SECONDS(T, frames_underway),                                                        \
    VRT_FIELD_DOUBLE(T, percent, NULLABLE, 0, 100),                                     \
    COUNT(T, segments_done, 0),                                                         \
    SECONDS(T, fps),                                                                    \
    SECONDS(T, left_s),                                                                  \
    VRT_FIELD_BOOL(T, cancelling, 0),                                                   \
    VRT_FIELD_TEXT(T, bottleneck, NULLABLE),                                            \
    VRT_FIELD_ARRAY(T, devices, n_devices, VRT_API_DEVICES_MAX, device_fields),         \
    COUNT(T, warnings_total, NULLABLE),                                                 \
    COUNT(T, result_bytes, NULLABLE),                                                   \
    VRT_FIELD_OPTIONAL(T, error, has_error, error_fields),                              \
    COUNT(T, frames_compared, 0),                                                       \
    VRT_FIELD_OPTIONAL(T, comparison, has_comparison, vrt_job_comparison_fields)

const struct vrt_field vrt_job_short_fields[] = {
    SHORT_FORM,
    VRT_FIELDS_END,
};

const struct vrt_field vrt_job_fields[] = {
    SHORT_FORM,
    VRT_FIELD_OBJECT(T, stages, 0, stage_fields),
    VRT_FIELD_OPTIONAL(T, recipe, has_recipe, vrt_job_recipe_fields),
    VRT_FIELD_OPTIONAL(T, video, has_video, vrt_job_video_fields),
    VRT_FIELD_BOOL(T, reproducible, 0),
    COUNT(T, n_starts, 0),
    COUNT(T, frames_repeated, 0),
    VRT_FIELD_TEXT(T, input_path, NULLABLE),
    VRT_FIELD_TEXT(T, output_path, NULLABLE),
    VRT_FIELD_TEXT(T, model_path, NULLABLE),
    VRT_FIELD_TEXT(T, reference_name, NULLABLE),
    VRT_FIELD_TEXT(T, reference_path, NULLABLE),
    VRT_FIELD_BOOL(T, overwrite, 0),
    COUNT(T, input_bytes, NULLABLE),
    VRT_FIELD_BOOL(T, input_piped, 0),
    VRT_FIELD_TEXTS(T, warnings, n_warnings, VRT_API_WARNINGS_MAX),
    VRT_FIELDS_END,
};
#undef T

bool vrt_job_state_is_final(int state)
{
    return state == VRT_JOB_DONE || state == VRT_JOB_FAILED || state == VRT_JOB_CANCELLED;
}

void vrt_job_request_init(struct vrt_job_request *request)
{
    *request = (struct vrt_job_request){ .priority = 0 };
    vrt_job_settings_init(&request->settings);
    vrt_fields_reset(vrt_job_request_fields, request);
    /* Of files whose tables have no such field, too. */
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        request->files[i].upload = VRT_UNKNOWN;
}

/* In how many ways it is said where the file is. */
static int count_places(const struct vrt_file_ref *file)
{
    const bool is_file = file->fd != VRT_UNKNOWN || file->path[0], has_url = file->url[0];

    return is_file + has_url + (file->upload != VRT_UNKNOWN);
}

/* Whether it is said where the input is, and the reference, where there is one. */
static int check_places(const struct vrt_job_request *q, struct vrt_error *error)
{
    const int n = count_places(&q->reference);

    if (count_places(&q->input) != 1) {
        vrt_error_set_field(error, "input.fd");
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD),
                          "input.fd: an input is a descriptor, or else a path, or else a url, or "
                          "else an upload");
    }
    if (n == 1 || (n == 0 && !q->reference.name[0]))
        return 0;
    vrt_error_set_field(error, "reference.fd");
    return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD), "reference.fd: a reference "
                      "is a descriptor, or else a path, or else an upload");
}

/* What no single field tells of file `i`. Two files on one descriptor overwrite each other. */
static int check_file(const struct vrt_file_ref *files, int i, bool name_needed,
                      struct vrt_error *error)
{
    const struct vrt_file_ref *file = &files[i];
    const char *name = vrt_job_file_names[i];
    int r = 0;

    if (name_needed && !file->name[0])
        r = vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD),
                       "%s.name: a name is needed, it is empty", name);
    /* A path without its beginning has none here: the daemon stands in another folder. */
    else if (file->path[0] && file->path[0] != '/')
        r = vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD),
                       "%s.path: a path must begin with /", name);
    for (int k = 0; r == 0 && k < i; k++)
        if (file->fd >= 0 && file->fd == files[k].fd)
            r = vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_DESCRIPTORS),
                           "%s.fd: descriptor %d is %s already; each file has its own", name,
                           (int)file->fd, vrt_job_file_names[k]);
        else if (file->upload != VRT_UNKNOWN && file->upload == files[k].upload)
            r = vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD), "%s.upload: upload "
                           "%" PRId64 " is %s already; each file has its own", name, file->upload,
                           vrt_job_file_names[k]);
    if (r < 0)
        vrt_error_set_field(error, name);
    return r;
}

/* A size decides the bitrate, and that the quality. */
static int check_size(const struct vrt_job_settings *settings, struct vrt_error *error)
{
    if (settings->target_size_bytes == VRT_UNKNOWN ||
        (settings->quality == VRT_UNKNOWN && settings->bitrate == VRT_UNKNOWN))
        return 0;
    vrt_error_set_field(error, "target_size_bytes");
    return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD),
                      "target_size_bytes: a result has a target size, a bitrate or a quality: "
                      "leave out all but one");
}

static int check_request(const struct vrt_job_request *q, struct vrt_error *error)
{
    struct vrt_scale scale;
    int r = check_places(q, error);

    if (r < 0)
        return r;
    r = check_size(&q->settings, error);
    if (r < 0)
        return r;
    r = q->settings.scale[0] ? vrt_scale_parse(q->settings.scale, &scale, error) : 0;
    if (r < 0)
        return r;
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        const bool may_lack = i == VRT_JOB_MODEL || i == VRT_JOB_REFERENCE;
        r = check_file(q->files, i, !may_lack || count_places(&q->files[i]), error);
        if (r < 0)
            return r;
    }
    return 0;
}

int vrt_job_request_parse(const void *text, size_t size, struct vrt_job_request *ret_request,
                          struct vrt_error *error)
{
    struct vrt_job_request request;

    vrt_job_request_init(&request);
    int r = vrt_fields_parse(vrt_job_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    r = check_request(&request, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_request = request;
    return 0;
}

void vrt_job_files_request_init(struct vrt_job_files_request *request)
{
    *request = (struct vrt_job_files_request){ .input.fd = VRT_UNKNOWN };
    vrt_fields_reset(vrt_job_files_request_fields, request);
    /* An upload is no field of it, and yet what is given becomes a part of the job's request. */
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        request->files[i].upload = VRT_UNKNOWN;
}

static int check_files_request(const struct vrt_job_files_request *q, struct vrt_error *error)
{
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        const bool is_given = count_places(&q->files[i]);
        if (!is_given && q->files[i].name[0]) {
            vrt_error_set_field(error, vrt_job_file_names[i]);
            return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD), "%s.fd: a file that "
                              "is given again is a descriptor or a path", vrt_job_file_names[i]);
        }
        int r = check_file(q->files, i, is_given, error);
        if (r < 0)
            return r;
    }
    return 0;
}

int vrt_job_files_request_parse(const void *text, size_t size,
                                struct vrt_job_files_request *ret_request,
                                struct vrt_error *error)
{
    struct vrt_job_files_request request;
    int r = 0;

    vrt_job_files_request_init(&request);
    if (size > 0)
        r = vrt_fields_parse(vrt_job_files_request_fields, text, size, &request, error);
    if (r < 0)
        return vrt_fold(r);
    r = check_files_request(&request, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_request = request;
    return 0;
}

int vrt_job_change_parse(const void *text, size_t size, struct vrt_job_change *ret_change,
                         struct vrt_error *error)
{
    struct vrt_job_change change = { 0 };

    int r = vrt_fields_parse(vrt_job_change_fields, text, size, &change, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_change = change;
    return 0;
}

void vrt_job_info_init(struct vrt_job_info *info)
{
    *info = (struct vrt_job_info){ 0 };
    vrt_fields_reset(vrt_job_fields, info);
}

void vrt_job_info_done(struct vrt_job_info *info)
{
    vrt_fields_done(vrt_job_fields, info);
}

int vrt_job_info_decode(const struct json_t *json, struct vrt_job_info *ret_info,
                        struct vrt_error *error)
{
    struct vrt_job_info info;

    vrt_job_info_init(&info);
    /* An answer without them must not pass for a queued job. */
    info.state = VRT_UNKNOWN;
    info.id = VRT_UNKNOWN;
    int r = vrt_fields_decode(vrt_job_fields, json, VRT_FIELDS_LENIENT, &info, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_info = info;
    return 0;
}

/* An answer that is an error has it under a key of its own, so that it can't be taken for a job. */
struct error_body {
    struct vrt_job_error error;
};

static const struct vrt_field error_body_fields[] = {
    VRT_FIELD_OBJECT(struct error_body, error, REQUIRED, error_fields),
    VRT_FIELDS_END,
};

int vrt_error_print(const struct vrt_error *error, struct vrt_buf *buf)
{
    struct error_body body = { 0 };

    snprintf(body.error.id, sizeof(body.error.id), "%s", error->id ? error->id : VRT_E(INTERNAL));
    snprintf(body.error.message, sizeof(body.error.message), "%s", error->message);
    snprintf(body.error.field, sizeof(body.error.field), "%s", error->field);
    return vrt_fold(vrt_fields_print(error_body_fields, &body, buf));
}

int vrt_error_decode(const struct json_t *json, struct vrt_job_error *ret_error)
{
    struct error_body body = { 0 };

    int r = vrt_fields_decode(error_body_fields, json, VRT_FIELDS_LENIENT, &body, NULL);
    if (r < 0 || !body.error.message[0])
        return -EINVAL;
    *ret_error = body.error;
    return 0;
}
