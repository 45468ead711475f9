/* SPDX-License-Identifier: MIT */
/* daemon/jobs/job-record, job-report, spool: what is stored of a job, how much that is, and what is
 * told of it. */

#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/macro.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/queue-context.h"
#include "daemon/jobs/spool.h"
#include "history/msg_history.h"
#include "tests/unit/api/fake-flow.h"
#include "workers/media/encode-thread.h"

/* A job that was admitted, with a model of this path; vrt_queue_free_job() frees it. */
static struct vrt_job *new_job(const char *model_path)
{
    struct vrt_job *job = NULL;
    struct vrt_job_request request;
    struct vrt_buf text = { .limit_bytes = 0 };

    expect_int(vrt_queue_make_job(7, 1000, &job), 0);
    vrt_job_request_init(&request);
    snprintf(request.model.path, sizeof(request.model.path), "%s", model_path);
    expect_int(vrt_fields_print(vrt_job_request_fields, &request, &text), 0);
    job->request = vrt_buf_steal(&text);
    job->decision = calloc(1, sizeof(*job->decision));
    job->decision->is_admitted = true;
    job->decision->recipe = (struct vrt_recipe){
        .clip_frames = 1, .segment_frames = 1, .tile_w = 1, .tile_h = 1, .times = 2,
        .strength = NAN,
    };
    return job;
}

/* Reads a row of the store. Return: the job. */
static struct vrt_job *expect_read(const struct vrt_store_job *row, int result)
{
    struct vrt_error error = { .id = NULL };
    struct vrt_job *job = NULL;

    expect_int(vrt_queue_make_job(7, 1000, &job), 0);
    if (vrt_job_record_read(row, job, &error) != result)
        test_fail("%s: %s", row->work, error.message);
    return job;
}

/* What the store has of a job is the job again, if it makes sense. */
static void test_record(void)
{
    static const struct {
        const char *member;             /* of the recipe */
        long long from, to;             /* what makes sense */
    } rows[] = {
        { "segment_frames", 1, INT64_MAX }, { "clip_frames", 1, INT32_MAX },
        { "tile_w", 1, INT32_MAX }, { "tile_h", 1, INT32_MAX }, { "overlap", 0, INT32_MAX },
        { "clip_overlap", 0, INT32_MAX }, { "encoder_threads", 0, INT32_MAX },
        { "tiling", 0, VRT_TILING_COUNT - 1 }, { "precision", 0, VRT_PRECISION_COUNT - 1 },
        { "deinterlace", 0, VRT_DEINTERLACE_AUTO - 1 },
        { "deinterlace", VRT_DEINTERLACE_AUTO + 1, VRT_DEINTERLACE_COUNT - 1 },
        { "field_order", 0, VRT_FIELD_ORDER_COUNT - 1 }, { "tonemap", 0, VRT_TONEMAP_COUNT - 1 },
        { "times", 0, VRT_RECIPE_TIMES_MAX }, { "every", 0, 2 },
    };
    static const struct {
        int64_t id;
        int state, priority, result;
    } columns[] = {
        { 7, VRT_JOB_STATE_COUNT - 1, VRT_API_PRIORITY_MIN, 0 },
        { 7, 0, VRT_API_PRIORITY_MAX, 0 }, { 8, 0, 0, -EINVAL }, { 7, -1, 0, -EINVAL },
        { 7, VRT_JOB_STATE_COUNT, 0, -EINVAL }, { 7, 0, VRT_API_PRIORITY_MIN - 1, -EINVAL },
        { 7, 0, VRT_API_PRIORITY_MAX + 1, -EINVAL },
    };
    struct vrt_job *job = new_job("/x.pth"), *again;
    struct vrt_job_texts texts;
    struct vrt_store_job row, odd;

    expect_int(vrt_job_record_print(job, &texts, &row), 0);
    for (size_t i = 0; i < 4 * VRT_ARRAY_SIZE(rows); i++) {
        const char *name = rows[i / 4].member;
        const long long from = rows[i / 4].from, to = rows[i / 4].to;
        const long long values[] = { from - 1, from, to, to < INT64_MAX ? to + 1 : -1 };
        const long long value = values[i % 4];
        const bool makes_sense = value >= from && value <= to;
        char member[32], work[4096];
        snprintf(member, sizeof(member), "\"%s\":", name);
        const char *at = strstr(row.work, member) + strlen(member);
        snprintf(work, sizeof(work), "%.*s%lld%s", (int)(at - row.work), row.work, value,
                 at + strcspn(at, ",}"));
        odd = row;
        odd.work = work;
        again = expect_read(&odd, makes_sense ? 0 : -EINVAL);
        /* Of one that was stored before there were such: 0; of a strength, none. */
        const struct vrt_recipe *recipe = &again->decision->recipe;
        if (makes_sense)
            expect_near(recipe->strength, 1, 0);
        if (makes_sense && strcmp(name, "times") == 0)
            expect_int(recipe->times, VRT_MAX(value, 1));
        if (makes_sense && strcmp(name, "every") == 0)
            expect_int(recipe->every, VRT_MAX(value, 1));
        vrt_queue_free_job(again);
    }
    for (size_t i = 0; i < VRT_ARRAY_SIZE(columns); i++) {
        odd = row;
        odd.id = columns[i].id;
        odd.state = columns[i].state;
        odd.priority = columns[i].priority;
        vrt_queue_free_job(expect_read(&odd, columns[i].result));
    }
    odd = row;
    odd.request = "{";
    vrt_queue_free_job(expect_read(&odd, -EINVAL));
    vrt_queue_free_job(job);
    vrt_job_texts_done(&texts);
}

/* All that the store has of a job is there again, and is stored once more as it was. */
static void test_whole_record(void)
{
    static const char work[] =
        "{\"recipe\":{\"clip_frames\":5,\"clip_overlap\":2,\"tiling\":1,\"segment_frames\":9,"
        "\"tile_w\":64,\"tile_h\":48,\"overlap\":8,\"scene_threshold\":0.25,\"sigma\":0.125,"
        "\"strength\":0.5,\"precision\":2,\"encoder_threads\":3,\"deinterlace\":4,"
        "\"field_order\":1,\"times\":7,\"every\":6,\"tonemap\":1,\"exact_clip\":true,"
        "\"exact_tile\":true},\"input_bytes\":4711,\"input_hash\":\"fedcba9876543210\","
        "\"network_checksum\":\"8123456789abcdef\",\"output_dev\":\"9123456789abcdef\","
        "\"output_ino\":\"a123456789abcdef\",\"groups\":[{\"gid\":5},{\"gid\":6}],"
        "\"wants_smaller\":true,\"is_alpha_made\":true,\"uses_cpu_instead\":true,"
        "\"notice_due\":true,\"is_cancelled\":true,\"ran_s\":1.5}";
    static const struct {
        const char *request;
        bool shows_model, is_remote, keeps_result, has_webhook, overwrite;
    } rows[] = {
        { "{\"output\":{\"fd\":1,\"name\":\"x.mkv\"}}", true, false, false, false, false },
        { "{\"model\":{\"path\":\"/\",\"name\":\"x.pth\"}}", false, false, true, false, false },
        { "{\"model\":{\"fd\":2,\"name\":\"x.pth\"},\"output\":{\"path\":\"/\",\"name\":"
          "\"x.mkv\"},\"overwrite\":true}", false, false, false, false, true },
        { "{\"input\":{\"url\":\"http://x\",\"name\":\"x.mkv\"},\"webhook\":\"http://y\"}", true,
          true, true, true, false },
    };
    struct vrt_job *job = new_job("");
    struct vrt_job_texts texts, texts_again;
    struct vrt_store_job row, again;

    job->info.finished_at = VRT_NS_PER_S;
    expect_int(vrt_job_record_print(job, &texts, &row), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        row.request = rows[i].request;
        row.work = work;
        row.starts = 2;
        struct vrt_job *read = expect_read(&row, 0);
        expect_int(read->shows_model, rows[i].shows_model);
        expect_int(read->is_remote, rows[i].is_remote);
        expect_int(read->keeps_result, rows[i].keeps_result);
        expect_int(read->has_webhook, rows[i].has_webhook);
        expect_int(read->info.overwrite, rows[i].overwrite);
        expect_int(vrt_job_record_print(read, &texts_again, &again), 0);
        expect_str(again.work, work);
        expect_str(again.request, row.request);
        expect_int(again.starts, 2);
        expect_int(again.finished_at, VRT_NS_PER_S);
        vrt_job_texts_done(&texts_again);
        vrt_queue_free_job(read);
    }
    vrt_queue_free_job(job);
    vrt_job_texts_done(&texts);
}

/* What a job takes: its segments, and all of them joined. What is stored says more than the
 * estimate does; the number of frames may be wrong, or unknown. */
static void test_takes(void)
{
    static struct vrt_segment_record segments[] = {
        { .number = 0, .n_frames = 10, .size_bytes = 1000 },
        { .number = 1, .n_frames = 10, .size_bytes = 3000 },
    };
    static const struct {
        int64_t frames_total, estimate;
        size_t n_segments;
        int64_t stored, output, needed, next;
    } rows[] = {
        { -1, -1, 0, 0, 0, 0, 0 },
        { 100, 5000, 0, 0, 5000, 10000, 0 },
        { 100, 7, 2, 4000, 20000, 36000, 6000 },
        { 20, 7, 2, 4000, 4000, 4000, 6000 },
        { 3, 7, 2, 4000, 4000, 4000, 6000 },
        { -1, 9000, 2, 4000, 9000, 14000, 6000 },
        { 0, 9000, 2, 4000, 9000, 14000, 6000 },
        { -1, -1, 2, 4000, 4000, 4000, 6000 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const struct vrt_job job = {
            .info.frames_total = rows[i].frames_total,
            .output_bytes = rows[i].estimate,
            .segments = segments,
            .n_segments = rows[i].n_segments,
        };
        expect_int(vrt_spool_stored_bytes(&job), rows[i].stored);
        expect_int(vrt_spool_output_bytes(&job), rows[i].output);
        expect_int(vrt_spool_needed_bytes(&job), rows[i].needed);
        expect_int(vrt_spool_next_bytes(&job), rows[i].next);
    }
}

/* Numbers that no video has make no negative ones. */
static void test_extremes(void)
{
    static struct vrt_segment_record odd[] = {
        { .n_frames = 1, .size_bytes = INT64_MAX },
        { .n_frames = INT64_MAX, .size_bytes = INT64_MAX },
        { .n_frames = -5, .size_bytes = -5 },
    };
    static const int64_t numbers[] = { INT64_MIN, -1, 0, 1, INT64_MAX };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(numbers); i++)
        for (size_t n = 0; n <= VRT_ARRAY_SIZE(odd); n++) {
            const struct vrt_job job = {
                .info.frames_total = numbers[i],
                .output_bytes = numbers[i],
                .segments = odd,
                .n_segments = n,
            };
            expect_true(vrt_spool_stored_bytes(&job) >= 0);
            expect_true(vrt_spool_output_bytes(&job) >= vrt_spool_stored_bytes(&job));
            expect_true(vrt_spool_needed_bytes(&job) >= vrt_spool_output_bytes(&job));
            expect_true(vrt_spool_next_bytes(&job) >= 0);
        }
}

/* Files that a job is given again are what it is told to have from then on. What was said of one
 * output holds for no other. */
static void test_given_again(void)
{
    static const char *const told[2][2] = {
        { "\"input_name\":\"0\",\"output_name\":null,\"model\":{\"name\":null,",
          "\"input_path\":\"/0\",\"output_path\":null,\"model_path\":null,\"reference_name\":null,"
          "\"reference_path\":null," },
        { "\"input_name\":\"0\",\"output_name\":\"1\",\"model\":{\"name\":\"2\",",
          "\"input_path\":\"/0\",\"output_path\":\"/1\",\"model_path\":\"/2\","
          "\"reference_name\":\"3\",\"reference_path\":\"/3\"," },
    };
    static const struct {
        const char *former_output;
        bool overwrote, gives_all, overwrites, wanted;
    } rows[] = {
        { "/x", true, false, false, true }, { "/1", true, true, false, true },
        { "/x", true, true, false, false }, { "/x", true, true, true, true },
        { "/1", false, true, false, false }, { "/x", false, false, true, true },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_job *job = new_job("");
        struct vrt_job_files_request given;
        struct vrt_job_request request;
        struct vrt_error error = { .id = NULL };
        struct vrt_buf text = { .limit_bytes = 0 };
        free(job->request);
        job->request = strdup(rows[i].overwrote ? "{\"overwrite\":true}" : "{}");
        snprintf(job->info.output_path, sizeof(job->info.output_path), "%s",
                 rows[i].former_output);
        vrt_job_files_request_init(&given);
        given.overwrite = rows[i].overwrites;
        for (int k = 0; k < (rows[i].gives_all ? VRT_JOB_FILE_COUNT : 1); k++) {
            given.files[k].fd = k;
            snprintf(given.files[k].name, sizeof(given.files[k].name), "%d", k);
            snprintf(given.files[k].path, sizeof(given.files[k].path), "/%d", k);
        }
        expect_true(vrt_job_short_text(job, VRT_JOB_VIEW_FULL));
        expect_int(vrt_job_record_give(job, &given, &error), 0);
        expect_int(vrt_job_print(job, VRT_JOB_VIEW_FULL, &text), 0);
        expect_contains(vrt_job_short_text(job, VRT_JOB_VIEW_FULL)->data,
                        told[rows[i].gives_all][0]);
        expect_contains(text.data, told[rows[i].gives_all][1]);
        expect_int(vrt_job_record_request(job, &request, &error), 0);
        expect_str(request.reference.path, job->info.reference_path);
        expect_int(request.overwrite, rows[i].wanted);
        expect_int(job->info.overwrite, rows[i].wanted);
        expect_int(job->keeps_result, !rows[i].gives_all);
        expect_int(job->shows_model, !rows[i].gives_all);
        vrt_buf_done(&text);
        vrt_queue_free_job(job);
    }
}

/* Whether anything new is told of the job whose pipeline stands as `now` says. */
static bool is_news(struct vrt_job *job, const struct vrt_pipeline_snapshot *now)
{
    enum vrt_pipeline_phase phase;

    fake_flow.snapshot = *now;
    bool news = vrt_job_report_progress(job, &phase);
    expect_int(phase, now->phase);
    return news;
}

/* What is worth telling, and what is told. */
static void test_progress(void)
{
    static const struct vrt_device_info device = { .name = "cpu:0" };
    struct vrt_job *job = new_job("");
    struct vrt_job_info *info = &job->info;
    struct vrt_pipeline_snapshot now, same = {
        .phase = VRT_PIPELINE_RUNNING, .frames_total = 50, .frames_done = 4, .fps = 2, .left_s = 3,
        .frames_underway = 0.25, .elapsed_s = 5, .frames_repeated = 2, .n_devices = 2,
        .devices = {
            { .info = &device, .planned_bytes = 1000, .replica_bytes = 400, .fps = -1 },
            { .info = &device, .planned_bytes = -1, .replica_bytes = 400, .fps = -1 },
        },
    };

    fake_flow = (struct fake_flow){ .has_snapshot = true };
    info->started_at = 1;
    info->state = VRT_JOB_RUNNING;
    job->ran_s = 10;
    expect_true(is_news(job, &same));
    expect_near(info->elapsed_s, 15, 0);
    expect_near(info->left_s, 3, 0);
    expect_true(isnan(info->devices[0].fps));
    expect_int(info->devices[0].workspace_bytes, 600);
    expect_int(info->devices[1].workspace_bytes, VRT_UNKNOWN);
    expect_near(job->history.points[0].frames, 4.25, 0);
    expect_int(job->history.points[0].memory_bytes, 1000);
    for (int i = 0; i < 12; i++) {
        now = same;
        now.frames_done += i == 1;
        now.frames_total += i == 2;
        now.frames_underway += i == 3 ? 0.125 : i == 4 ? 0.01 : 0;
        now.n_devices -= i == 5;
        now.n_warnings += i == 6;
        now.frames_compared += i == 7;
        now.phase = i == 8 ? VRT_PIPELINE_FINISHING : VRT_PIPELINE_RUNNING;
        now.devices[1].in_flight += i == 9;
        now.devices[0].shards_done += i == 10;
        now.left_s += i == 11;
        expect_int(is_news(job, &now), i != 0 && i != 4 && i != 11);
        is_news(job, &same);
    }
    expect_int(info->warnings_total, 1);
    now = same;
    now.frames_underway = 0;
    is_news(job, &now);
    expect_near(job->history.points[job->history.n_points - 1].frames, 4, 0);
    is_news(job, &same);
    /* That it finishes is told once. */
    now = same;
    now.phase = VRT_PIPELINE_FINISHING;
    info->state = VRT_JOB_FINISHING;
    expect_true(!is_news(job, &now));
    /* What is stored of it counts until the pipeline has looked, and what was most stays. */
    now.frames_done = now.frames_repeated = 0;
    now.devices[0].planned_bytes = 500;
    now.left_s = now.elapsed_s = -1;
    is_news(job, &now);
    expect_int(info->frames_done, 4);
    expect_int(info->frames_repeated, 2);
    expect_int(info->devices[0].peak_bytes, 1000);
    expect_true(isnan(info->left_s) && isnan(info->elapsed_s));
    /* The colours take as long as the transparency before them. */
    info->has_recipe = true;
    info->recipe.alpha = VRT_ALPHA_NETWORK;
    is_news(job, &same);
    expect_near(info->left_s, 3 + 50 / 2.0, 0);
    job->decision->is_alpha_made = true;
    is_news(job, &same);
    expect_near(info->left_s, 3, 0);
    now = same;
    now.devices[0].in_flight = now.devices[1].in_flight = 3;
    is_news(job, &now);
    vrt_job_report_idle(job);
    expect_near(info->elapsed_s, 10, 0);
    expect_int(info->devices[0].shards_running + info->devices[1].shards_running, 0);
    expect_true(isnan(info->fps) && isnan(info->left_s) && isnan(info->frames_underway));
    /* Of what is stored the last segment says how long it took, but of an earlier version. */
    job->n_segments = 2;
    for (int ran_ms = 0; ran_ms <= 2500; ran_ms += 2500) {
        struct vrt_segment_record segments[] = {
            { .n_frames = 4 }, { .n_frames = 3, .ran_ms = ran_ms },
        };
        job->segments = segments;
        vrt_job_report_stored(job);
        expect_int(info->frames_done, 7);
        expect_near(info->elapsed_s, ran_ms ? 2.5 : 10, 0);
    }
    job->segments = NULL;
    fake_flow.has_snapshot = false;
    vrt_queue_free_job(job);
}

/* Transparency becomes a gray video on its way, whatever was asked for; then come the colours. */
static void test_alpha_pass(void)
{
    const struct vrt_queue_context context = { .params.left_open.preset = "slow" };
    struct vrt_pipeline_params params;
    struct vrt_job_request request;

    for (int is_made = 0; is_made < 2; is_made++) {
        struct vrt_job *job = new_job("");
        struct vrt_job_recipe *recipe = &job->info.recipe;
        job->decision->is_alpha_made = is_made;
        job->info.has_recipe = true;
        recipe->alpha = VRT_ALPHA_NETWORK;
        recipe->codec = VRT_CODEC_HEVC;
        recipe->hwaccel = VRT_HWACCEL_VAAPI;
        recipe->quality = 5;
        snprintf(recipe->pixel_format, sizeof(recipe->pixel_format), "yuv444p");
        snprintf(recipe->encoder_options, sizeof(recipe->encoder_options), "a=b");
        vrt_job_request_init(&request);
        snprintf(request.output.name, sizeof(request.output.name), "a.mkv");
        snprintf(request.reference.name, sizeof(request.reference.name), "b");
        vrt_queue_fill_params(&context, job, &request, NULL, &params);
        expect_int(params.is_alpha_pass, !is_made);
        expect_str(params.output_name, is_made ? "a.mkv" : VRT_ALPHA_FILE);
        expect_str(params.reference_name ? params.reference_name : "", is_made ? "b" : "");
        expect_int(params.settings->codec, is_made ? VRT_CODEC_HEVC : VRT_CODEC_FFV1);
        expect_int(params.settings->hwaccel, is_made ? VRT_HWACCEL_VAAPI : VRT_HWACCEL_OFF);
        expect_str(params.settings->preset, "slow");
        expect_int(params.settings->quality, is_made ? 5 : VRT_UNKNOWN);
        expect_str(params.settings->pixel_format, is_made ? "yuv444p" : "");
        expect_str(params.settings->encoder_options, is_made ? "a=b" : "");
        vrt_queue_free_job(job);
    }
}

TEST_MAIN(
    { "record", test_record },
    { "whole-record", test_whole_record },
    { "takes", test_takes },
    { "extremes", test_extremes },
    { "given-again", test_given_again },
    { "progress", test_progress },
    { "alpha-pass", test_alpha_pass },
)
