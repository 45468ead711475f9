/* SPDX-License-Identifier: MIT */

/*
 * The texts are those of the API where it has them, read leniently: what a newer daemon adds, an
 * older one ignores. Of `work` the API has none; a fingerprint's hash and the network's checksum
 * have 64 bits, which JSON's integers don't, and so are texts.
 */

#include "daemon/jobs/job-store.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "daemon/jobs/job-remote.h"
#include "fields.h"

#define VRT_LOG_TOPIC "queue"

/* Of 64 bits, in hexadecimal digits. */
#define BITS_BYTES 17

struct recipe_text {
    int64_t clip_frames, clip_overlap, tiling, segment_frames, tile_w, tile_h, overlap;
    double scene_threshold, sigma, strength;
    int64_t precision, encoder_threads, deinterlace, field_order, times, every, tonemap;
    bool exact_clip, exact_tile;
};

struct group_text {
    int64_t gid;
};

struct work_text {
    bool has_recipe;
    struct recipe_text recipe;
    int64_t input_bytes;
    char input_hash[BITS_BYTES], network_checksum[BITS_BYTES];
    char output_dev[BITS_BYTES], output_ino[BITS_BYTES];
    struct group_text *groups;
    size_t n_groups;
    bool wants_smaller, is_alpha_made, uses_cpu_instead, notice_due, is_cancelled;
    double ran_s;
};

#define ANY(type, member) VRT_FIELD_INT(type, member, 0, INT64_MIN, INT64_MAX)
#define NUMBER(type, member) VRT_FIELD_DOUBLE(type, member, 0, INT64_MIN, INT64_MAX)

#define T struct recipe_text
static const struct vrt_field recipe_fields[] = {
    ANY(T, clip_frames),
    ANY(T, clip_overlap),
    ANY(T, tiling),
    ANY(T, segment_frames),
    ANY(T, tile_w),
    ANY(T, tile_h),
    ANY(T, overlap),
    NUMBER(T, scene_threshold),
    NUMBER(T, sigma),
    VRT_FIELD_DOUBLE(T, strength, VRT_FIELD_NULLABLE, 0, 1),
    ANY(T, precision),
    ANY(T, encoder_threads),
    ANY(T, deinterlace),
    ANY(T, field_order),
    ANY(T, times),
    ANY(T, every),
    ANY(T, tonemap),
    VRT_FIELD_BOOL(T, exact_clip, 0),
    VRT_FIELD_BOOL(T, exact_tile, 0),
    VRT_FIELDS_END,
};
#undef T

static const struct vrt_field group_fields[] = {
    ANY(struct group_text, gid),
    VRT_FIELDS_END,
};

#define T struct work_text
static const struct vrt_field work_fields[] = {
    VRT_FIELD_OPTIONAL(T, recipe, has_recipe, recipe_fields),
    ANY(T, input_bytes),
    VRT_FIELD_TEXT(T, input_hash, 0),
    VRT_FIELD_TEXT(T, network_checksum, 0),
    VRT_FIELD_TEXT(T, output_dev, 0),
    VRT_FIELD_TEXT(T, output_ino, 0),
    VRT_FIELD_ARRAY(T, groups, n_groups, VRT_JOB_GROUPS_MAX, group_fields),
    VRT_FIELD_BOOL(T, wants_smaller, 0),
    VRT_FIELD_BOOL(T, is_alpha_made, 0),
    VRT_FIELD_BOOL(T, uses_cpu_instead, 0),
    VRT_FIELD_BOOL(T, notice_due, 0),
    VRT_FIELD_BOOL(T, is_cancelled, 0),
    NUMBER(T, ran_s),
    VRT_FIELDS_END,
};
#undef T

static void print_bits(uint64_t bits, char text[BITS_BYTES])
{
    snprintf(text, BITS_BYTES, "%016" PRIx64, bits);
}

static uint64_t read_bits(const char text[BITS_BYTES])
{
    return strtoull(text, NULL, 16);
}

static void fill_recipe(const struct vrt_recipe *recipe, struct recipe_text *text)
{
    *text = (struct recipe_text){
        .clip_frames = recipe->clip_frames,
        .clip_overlap = recipe->clip_overlap,
        .tiling = recipe->tiling,
        .segment_frames = recipe->segment_frames,
        .tile_w = recipe->tile_w,
        .tile_h = recipe->tile_h,
        .overlap = recipe->overlap,
        .scene_threshold = recipe->scene_threshold,
        .sigma = recipe->sigma,
        .strength = recipe->strength,
        .precision = recipe->precision,
        .encoder_threads = recipe->encoder_threads,
        .deinterlace = recipe->fields.deinterlace,
        .field_order = recipe->fields.order,
        .times = recipe->times,
        .every = recipe->every,
        .tonemap = recipe->tonemap,
        .exact_clip = recipe->exact_clip,
        .exact_tile = recipe->exact_tile,
    };
}

/* Whether the numbers can be a recipe's; whether it suits the job is found at its start. */
static bool read_recipe(const struct recipe_text *text, struct vrt_recipe *recipe)
{
    const int64_t ints[] = { text->clip_frames, text->clip_overlap, text->tile_w, text->tile_h,
                             text->overlap, text->encoder_threads };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(ints); i++)
        if (ints[i] < 0 || ints[i] > INT32_MAX)
            return false;
    if (text->tiling < 0 || text->tiling >= VRT_TILING_COUNT || text->precision < 0 ||
        text->precision >= VRT_PRECISION_COUNT || text->deinterlace < 0 ||
        text->deinterlace >= VRT_DEINTERLACE_COUNT ||
        text->deinterlace == VRT_DEINTERLACE_AUTO || text->field_order < 0 ||
        text->field_order >= VRT_FIELD_ORDER_COUNT || text->tonemap < 0 ||
        text->tonemap >= VRT_TONEMAP_COUNT || text->segment_frames < 1 ||
        text->clip_frames < 1 || text->tile_w < 1 || text->tile_h < 1 || text->times < 0 ||
        text->times > VRT_RECIPE_TIMES_MAX || text->every < 0 ||
        text->every > VRT_MAX(text->times, 1))
        return false;
    *recipe = (struct vrt_recipe){
        .clip_frames = (int)text->clip_frames,
        .clip_overlap = (int)text->clip_overlap,
        .tiling = (enum vrt_tiling)text->tiling,
        .scene_threshold = text->scene_threshold,
        .sigma = text->sigma,
        .strength = isnan(text->strength) ? 1 : text->strength,
        .segment_frames = text->segment_frames,
        .tile_w = (int)text->tile_w,
        .tile_h = (int)text->tile_h,
        .overlap = (int)text->overlap,
        .precision = (enum vrt_precision)text->precision,
        .encoder_threads = (int)text->encoder_threads,
        .fields = {
            (enum vrt_deinterlace)text->deinterlace,
            (enum vrt_field_order)text->field_order,
        },
        /* Of one that was stored before there were such: 0. */
        .times = VRT_MAX((int)text->times, 1),
        .every = VRT_MAX((int)text->every, 1),
        .tonemap = (enum vrt_tonemap)text->tonemap,
        .exact_clip = text->exact_clip,
        .exact_tile = text->exact_tile,
    };
    return true;
}

static int print_work(const struct vrt_job *job, struct vrt_buf *text)
{
    const struct vrt_job_decision *decision = job->decision;
    struct group_text groups[VRT_JOB_GROUPS_MAX];
    struct work_text t = {
        .has_recipe = decision->is_admitted,
        .input_bytes = decision->fingerprint.size_bytes,
        .groups = groups,
        .n_groups = decision->n_groups,
        .wants_smaller = decision->wants_smaller,
        .is_alpha_made = decision->is_alpha_made,
        .uses_cpu_instead = decision->uses_cpu_instead,
        .notice_due = decision->notice_due,
        .is_cancelled = decision->is_cancelled,
        .ran_s = job->ran_s,
    };

    fill_recipe(&decision->recipe, &t.recipe);
    print_bits(decision->fingerprint.checksum, t.input_hash);
    print_bits(decision->network_checksum, t.network_checksum);
    print_bits(decision->output_dev, t.output_dev);
    print_bits(decision->output_ino, t.output_ino);
    for (size_t i = 0; i < decision->n_groups; i++)
        groups[i].gid = decision->groups[i];
    return vrt_fold(vrt_fields_print(work_fields, &t, text));
}

static int read_work(const char *text, struct vrt_job *job, struct vrt_error *error)
{
    struct vrt_job_decision *decision = job->decision;
    struct work_text t = { .input_bytes = 0 };
    json_t *json = NULL;
    int r = vrt_json_parse(text, strlen(text), &json, error);

    if (r == 0)
        r = vrt_fields_decode(work_fields, json, VRT_FIELDS_LENIENT, &t, error);
    json_decref(json);
    if (r == 0 && t.has_recipe && !read_recipe(&t.recipe, &decision->recipe))
        r = vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(INTERNAL),
                       "its recipe in the store makes no sense");
    if (r == 0) {
        decision->is_admitted = t.has_recipe;
        decision->fingerprint.size_bytes = t.input_bytes;
        decision->fingerprint.checksum = read_bits(t.input_hash);
        decision->network_checksum = read_bits(t.network_checksum);
        decision->output_dev = read_bits(t.output_dev);
        decision->output_ino = read_bits(t.output_ino);
        decision->n_groups = t.n_groups;
        for (size_t i = 0; i < t.n_groups; i++)
            decision->groups[i] = (gid_t)t.groups[i].gid;
        decision->wants_smaller = t.wants_smaller;
        decision->is_alpha_made = t.is_alpha_made;
        decision->uses_cpu_instead = t.uses_cpu_instead;
        decision->notice_due = t.notice_due;
        decision->is_cancelled = t.is_cancelled;
        job->ran_s = t.ran_s;
    }
    vrt_fields_done(work_fields, &t);
    return vrt_fold(r);
}

int vrt_job_record_print(const struct vrt_job *job, struct vrt_job_texts *texts,
                         struct vrt_store_job *ret_row)
{
    *texts = (struct vrt_job_texts){ .info = { .limit_bytes = 0 } };
    int r = vrt_fields_print(vrt_job_fields, &job->info, &texts->info);
    if (r == 0)
        r = print_work(job, &texts->work);
    if (r < 0) {
        vrt_job_texts_done(texts);
        return vrt_fold(r);
    }
    *ret_row = (struct vrt_store_job){
        .id = job->info.id,
        .uid = job->uid,
        .state = job->info.state,
        .priority = job->info.priority,
        .created_at = job->info.created_at,
        .finished_at = job->info.finished_at,
        .starts = job->n_fruitless,
        .request = job->request,
        .info = texts->info.data,
        .work = texts->work.data,
    };
    return 0;
}

void vrt_job_texts_done(struct vrt_job_texts *texts)
{
    vrt_buf_done(&texts->info);
    vrt_buf_done(&texts->work);
}

static int read_info(const struct vrt_store_job *row, struct vrt_job *job, struct vrt_error *error)
{
    json_t *json = NULL;
    int r = vrt_json_parse(row->info, strlen(row->info), &json, error);

    if (r == 0)
        r = vrt_job_info_decode(json, &job->info, error);
    json_decref(json);
    if (r < 0)
        return vrt_fold(r);
    /* The columns count: a newer daemon's state may be unknown to this one. */
    if (job->info.id != row->id || row->state < 0 || row->state >= VRT_JOB_STATE_COUNT ||
        row->priority < VRT_API_PRIORITY_MIN || row->priority > VRT_API_PRIORITY_MAX)
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(INTERNAL),
                          "its row in the store makes no sense");
    job->info.state = row->state;
    job->info.priority = row->priority;
    return 0;
}

int vrt_job_record_read(const struct vrt_store_job *row, struct vrt_job *job,
                        struct vrt_error *error)
{
    struct vrt_job_request request;

    job->request = strdup(row->request);
    job->decision = calloc(1, sizeof(*job->decision));
    if (!job->request || !job->decision)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "reading the jobs");
    int r = read_info(row, job, error);
    if (r < 0)
        return vrt_fold(r);
    r = read_work(row->work, job, error);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_job_record_request(job, &request, error);
    if (r < 0)
        return vrt_fold(r);
    /* What can't be read is no loss to the job. */
    if (row->history && row->history[0] && vrt_job_history_read(row->history, &job->history) < 0)
        vrt_log_warning("job %" PRId64 ": its history makes no sense, ignoring", row->id);
    job->shows_model = request.model.fd == VRT_UNKNOWN && !request.model.path[0];
    job->info.overwrite = request.overwrite;
    job->is_remote = vrt_job_remote_is(&request);
    job->keeps_result = vrt_file_ref_is_kept(&request.output);
    job->has_webhook = request.webhook[0];
    job->n_fruitless = (int)VRT_MIN(row->starts, (int64_t)INT32_MAX);
    return 0;
}

int vrt_job_record_request(const struct vrt_job *job, struct vrt_job_request *ret_request,
                           struct vrt_error *error)
{
    struct vrt_job_request request;
    json_t *json = NULL;

    int r = vrt_json_parse(job->request, strlen(job->request), &json, error);
    if (r < 0)
        return vrt_fold(r);
    vrt_job_request_init(&request);
    r = vrt_fields_decode(vrt_job_request_fields, json, VRT_FIELDS_LENIENT, &request, error);
    json_decref(json);
    if (r < 0)
        return vrt_fold(r);
    *ret_request = request;
    return 0;
}

int vrt_job_record_give(struct vrt_job *job, const struct vrt_job_files_request *files,
                        struct vrt_error *error)
{
    struct vrt_job_info *info = &job->info;
    struct vrt_job_request request;
    struct vrt_buf text = { .limit_bytes = 0 };

    int r = vrt_job_record_request(job, &request, error);
    if (r < 0)
        return vrt_fold(r);
    /* Only a descriptor is a file; what is told of it comes along. */
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++)
        if (files->files[i].fd != VRT_UNKNOWN)
            request.files[i] = files->files[i];
    /* What was said of one output holds for no other. */
    bool is_another = files->output.fd != VRT_UNKNOWN &&
                      strcmp(files->output.path, info->output_path) != 0;
    request.overwrite = (request.overwrite && !is_another) || files->overwrite;
    r = vrt_fields_print(vrt_job_request_fields, &request, &text);
    if (r < 0)
        return vrt_refuse_errno(error, r, "noting the files");
    free(job->request);
    job->request = vrt_buf_steal(&text);
    snprintf(info->input_name, sizeof(info->input_name), "%s", request.input.name);
    snprintf(info->output_name, sizeof(info->output_name), "%s", request.output.name);
    snprintf(info->input_path, sizeof(info->input_path), "%s", request.input.path);
    snprintf(info->output_path, sizeof(info->output_path), "%s", request.output.path);
    snprintf(info->model_path, sizeof(info->model_path), "%s", request.model.path);
    snprintf(info->reference_name, sizeof(info->reference_name), "%s", request.reference.name);
    snprintf(info->reference_path, sizeof(info->reference_path), "%s", request.reference.path);
    info->overwrite = request.overwrite;
    if (files->model.fd != VRT_UNKNOWN)
        snprintf(info->model.name, sizeof(info->model.name), "%s", request.model.name);
    job->shows_model = request.model.fd == VRT_UNKNOWN && !request.model.path[0];
    job->keeps_result = vrt_file_ref_is_kept(&request.output);
    vrt_job_touch(job);
    return 0;
}
