/* SPDX-License-Identifier: MIT */
/* daemon/jobs/history, job-record, job-report: what is told of a job, and what a start of the
 * daemon knows of it. A history is bounded however long a job runs, and right however often it is
 * halved. */

#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <dirent.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/macro.h"
#include "daemon/jobs/history/job-history.h"
#include "daemon/jobs/job-report.h"
#include "daemon/jobs/queue-context.h"
#include "history/msg_history.h"
#include "tests/unit/api/fake-flow.h"
#include "tests/unit/api/server-play.h"
#include "workers/media/encode-thread.h"

static void note(struct vrt_job_history *history, double elapsed_s, double frames, int64_t bytes)
{
    vrt_job_history_note(history, &(struct vrt_job_look){ elapsed_s, frames, bytes });
}

/* As it is told, decoded again; the caller's. */
static struct vrt_job_history told(const struct vrt_job_history *history)
{
    struct vrt_buf text = { .limit_bytes = 0 };
    struct vrt_job_history again = { .n_points = 0 };

    expect_int(vrt_job_history_print(history, &text), 0);
    expect_int(vrt_job_history_read(text.data, &again), 0);
    vrt_buf_done(&text);
    return again;
}

/* A job of a second has a point for each look; the last look is the last point. */
static void test_short(void)
{
    struct vrt_job_history history = { .n_points = 0 };

    for (int i = 1; i <= 5; i++)
        note(&history, 0.2 * i, i * i, i == 3 ? 700 : 100 * i);
    struct vrt_job_history again = told(&history);
    expect_int(again.n_points, 5);
    for (int i = 1; i <= 5; i++) {
        const struct vrt_history_point *point = &again.points[i - 1];
        expect_near(point->elapsed_s, 0.2 * i, 1e-9);
        expect_near(point->frames, i * i, 1e-9);
        expect_near(point->fps, (2 * i - 1) / 0.2, 1e-3);
        expect_int(point->memory_bytes, i == 3 ? 700 : 100 * i);
    }
    vrt_job_history_done(&again);
    vrt_job_history_done(&history);
}

/* Three days at 5 looks a second, the second half twice as fast, with one peak of memory. */
static void test_days(void)
{
    struct vrt_job_history history = { .n_points = 0 };
    const int n = 3 * 24 * 3600 * 5;
    size_t most = 0;

    for (int i = 1; i <= n; i++) {
        double half_s = n / 5.0 / 2, now_s = i / 5.0;
        note(&history, now_s, now_s + fmax(now_s - half_s, 0), i == n / 3 ? 9000 : 1000);
        most = VRT_MAX(most, history.n_points);
    }
    expect_int(most, VRT_API_HISTORY_POINTS);
    expect_true(history.n_points > VRT_API_HISTORY_POINTS / 2);
    struct vrt_job_history again = told(&history);
    int n_peaks = 0;
    for (size_t i = 0; i < again.n_points; i++) {
        double expected = again.points[i].elapsed_s <= n / 5.0 / 2 ? 1 : 2;
        bool is_between = i > 0 && again.points[i].elapsed_s > n / 5.0 / 2 &&
                          again.points[i - 1].elapsed_s < n / 5.0 / 2;
        if (!is_between)
            expect_near(again.points[i].fps, expected, 2e-3);
        n_peaks += again.points[i].memory_bytes == 9000;
        /* Even distances, but of the last one. */
        if (i > 0 && i + 1 < again.n_points)
            expect_near(again.points[i].elapsed_s - again.points[i - 1].elapsed_s,
                        again.period_s, 0.11 * again.period_s);
    }
    expect_int(n_peaks, 1);
    expect_near(again.points[again.n_points - 1].elapsed_s, n / 5.0, 1e-9);
    vrt_job_history_done(&again);
    vrt_job_history_done(&history);
}

/* A job that goes on from a segment, or begins anew, has no other past than that. */
static void test_going_back(void)
{
    struct vrt_job_history history = { .n_points = 0 };

    for (int i = 1; i <= 100; i++)
        note(&history, i, 10 * i, 5);
    note(&history, 50.5, 300, 5);
    expect_int(history.n_points, 31);
    expect_near(history.points[30].elapsed_s, 50.5, 1e-9);
    expect_near(history.points[29].frames, 300, 1e-9);
    /* That it waits adds nothing, nor what is rounded. */
    for (int i = 0; i < 50; i++)
        note(&history, 50.5, 300 + 2.0 / 3, 5);
    expect_true(history.n_points <= 32);
    expect_near(history.points[history.n_points - 1].frames, 300.667, 1e-9);
    note(&history, 0, 0, -1);
    expect_int(history.n_points, 1);
    struct vrt_job_history again = told(&history);
    expect_true(isnan(again.points[0].fps));
    expect_int(again.points[0].memory_bytes, VRT_UNKNOWN);
    vrt_job_history_done(&again);
    vrt_job_history_done(&history);
}

static void test_texts(void)
{
    const char *const bad[] = {
        "", "[]", "{\"points\":7}", "{\"points\":[{\"elapsed_s\":-1}]}",
        "{\"period_s\":-1,\"points\":[]}",
        "{\"points\":[{\"elapsed_s\":2,\"frames\":1},{\"elapsed_s\":1,\"frames\":1}]}",
    };
    struct vrt_job_history history = { .n_points = 0 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(bad); i++) {
        expect_true(vrt_job_history_read(bad[i], &history) < 0);
        expect_int(history.n_points, 0);
    }
    expect_int(vrt_job_history_read("{\"newer\":1}", &history), 0);
    note(&history, 1, 2, 3);
    expect_int(history.n_points, 1);
    vrt_job_history_done(&history);
}

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

/* Files that a job is given again are what it is told to have from then on. */
static void test_given_again(void)
{
    static const struct {
        bool overwrote, gives_all, is_another, overwrites, wanted;
    } rows[] = {
        { true, false, true, false, true }, { true, true, false, false, true },
        { true, true, true, false, false }, { true, true, true, true, true },
        { false, true, false, false, false }, { false, false, false, true, true },
    };
    struct vrt_job_files_request given;
    struct vrt_job_request request;
    struct vrt_error error = { .id = NULL };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_job *job = new_job("");
        struct vrt_job_info *info = &job->info;
        free(job->request);
        job->request = strdup(rows[i].overwrote ? "{\"overwrite\":true}" : "{}");
        snprintf(info->output_path, sizeof(info->output_path), rows[i].is_another ? "/x" : "/1");
        vrt_job_files_request_init(&given);
        given.overwrite = rows[i].overwrites;
        for (int k = 0; k < VRT_JOB_FILE_COUNT; k++) {
            if (k != VRT_JOB_INPUT && !rows[i].gives_all)
                continue;
            given.files[k].fd = k;
            snprintf(given.files[k].name, sizeof(given.files[k].name), "%d", k);
            snprintf(given.files[k].path, sizeof(given.files[k].path), "/%d", k);
        }
        expect_int(vrt_job_record_give(job, &given, &error), 0);
        expect_int(vrt_job_record_request(job, &request, &error), 0);
        expect_int(request.overwrite, rows[i].wanted);
        expect_int(info->overwrite, rows[i].wanted);
        expect_int(job->keeps_result, !rows[i].gives_all);
        expect_int(job->shows_model, !rows[i].gives_all);
        const char *const texts[][2] = {
            { info->input_name, request.input.name }, { info->input_path, request.input.path },
            { info->output_name, request.output.name }, { info->output_path, request.output.path },
            { info->model.name, request.model.name }, { info->model_path, request.model.path },
            { info->reference_name, request.reference.name },
            { info->reference_path, request.reference.path },
        };
        for (size_t k = 0; k < VRT_ARRAY_SIZE(texts); k++) {
            expect_str(texts[k][0], texts[k][1]);
            expect_int(strlen(texts[k][0]), k < 2 || rows[i].gives_all ? 1 + k % 2 : 0);
        }
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
        snprintf(request.reference.name, sizeof(request.reference.name), "b.mkv");
        vrt_queue_fill_params(&context, job, &request, NULL, &params);
        expect_int(params.is_alpha_pass, !is_made);
        expect_str(params.output_name, is_made ? "a.mkv" : VRT_ALPHA_FILE);
        expect_str(params.reference_name ? params.reference_name : "", is_made ? "b.mkv" : "");
        expect_int(params.settings->codec, is_made ? VRT_CODEC_HEVC : VRT_CODEC_FFV1);
        expect_int(params.settings->hwaccel, is_made ? VRT_HWACCEL_VAAPI : VRT_HWACCEL_OFF);
        expect_str(params.settings->preset, "slow");
        expect_int(params.settings->quality, is_made ? 5 : VRT_UNKNOWN);
        expect_str(params.settings->pixel_format, is_made ? "yuv444p" : "");
        expect_str(params.settings->encoder_options, is_made ? "a=b" : "");
        vrt_queue_free_job(job);
    }
}

/* How many of jobs' files this process has open. */
static int n_open(void)
{
    DIR *folder = opendir("/proc/self/fd");
    struct dirent *entry;
    char path[64];
    int n = 0;

    while ((entry = readdir(folder))) {
        ssize_t bytes = readlinkat(dirfd(folder), entry->d_name, path, sizeof(path) - 1);
        path[VRT_MAX(bytes, 0)] = '\0';
        n += strncmp(path, "/tmp/vrt-file-", strlen("/tmp/vrt-file-")) == 0;
    }
    closedir(folder);
    return n;
}

/* Adds what the service manager, which is `fd`, was told since: whether it keeps a job's files. */
static void note_kept(int fd, int n_kept[4])
{
    char text[300];

    for (ssize_t n; (n = recv(fd, text, sizeof(text) - 1, MSG_DONTWAIT)) > 0;) {
        text[n] = '\0';
        const char *name = strstr(text, "FDNAME=");
        if (name)
            n_kept[name[7] - '0'] += strncmp(text, "FDSTORE=", 8) == 0 ? 1 : -1;
    }
}

/* Files are open, and kept past the daemon's end, as long as their job needs them. */
static void test_kept_files(void)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = "/tmp/vrt-kept-XXXXXX" };
    static const struct {
        const char *name;
        int state, n;
    } rows[] = {
        { "hang", VRT_JOB_RUNNING, 2 }, { "other", VRT_JOB_NEEDS_INPUT, 0 },
        { "run-1", VRT_JOB_DONE, 0 },
    };
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0), n_kept[4] = { 0 };
    struct play play;

    close(mkstemp(address.sun_path));
    unlink(address.sun_path);
    expect_int(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    play_start(&play, "");
    for (int i = 0; i < 3; i++) {
        expect_int(play_submit(&play, rows[i].name, ""), i + 1);
        play_expect_state(&play, i + 1, rows[i].state);
        expect_int(n_open(), 2);
        note_kept(fd, n_kept);
        /* Of one that is over that is told when its end is stored; and some builds know nobody. */
        for (int k = 0; k < 5000 && n_kept[i + 1] != rows[i].n && n_kept[1]; k++) {
            test_sleep_ms(1);
            note_kept(fd, n_kept);
        }
        expect_int(n_kept[i + 1], n_kept[1] ? rows[i].n : 0);
    }
    expect_int(play_submit(&play, "run-1", ",\"dry_run\":true"), -200);
    expect_int(play_submit(&play, "refuse", ""), -422);
    expect_int(n_open(), 2);
    unsetenv("NOTIFY_SOCKET");
    play_stop(&play);
    close(fd);
    unlink(address.sun_path);
}

/* Segments that can't be, and all behind them, are made anew. */
static void test_odd_segments(void)
{
    static const struct {
        const char *change;             /* to the second segment */
        int n_segments, n_frames;       /* that are left */
    } rows[] = {
        { "n_frames = 0", 4, 12 }, { "n_frames = -1", 1, 4 }, { "next_shard = -1", 1, 4 },
        { "size_bytes = 1 << 48", 4, 16 }, { "size_bytes = (1 << 48) + 1", 1, 4 },
        { "ran_ms = -1", 1, 4 }, { "number = 9", 1, 4 },
    };
    struct play play;
    struct vrt_job_info info;
    char sql[400];

    play_start(&play, "");
    expect_int(play_submit(&play, "fail-18", ""), 1);
    play_expect_state(&play, 1, VRT_JOB_FAILED);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        snprintf(sql, sizeof(sql), "UPDATE jobs SET state = 'paused'; UPDATE segments SET number = "
                 "1 WHERE number = 9; UPDATE segments SET n_frames = 4, next_shard = number + 1, "
                 "size_bytes = 100, ran_ms = 1500; UPDATE segments SET %s WHERE number = 1",
                 rows[i].change);
        play_restart_with(&play, sql);
        expect_int(play_show(&play, 1, &info), 200);
        expect_int(info.segments_done, rows[i].n_segments);
        expect_int(info.frames_done, rows[i].n_frames);
        expect_near(info.elapsed_s, 1.5, 0);
        vrt_job_info_done(&info);
    }
    play_stop(&play);
}

/* Also after a start what was over first is forgotten first; of the same moment, the older. */
static void test_order_of_ends(void)
{
    static const struct {
        const char *time;               /* of the end of job `id` */
        int forgotten;
    } rows[] = {
        { "printf('2020-01-02T03:04:%02d.000Z', 30 - id)", 2 }, { "'2020-01-02T03:04:05.000Z'", 1 },
    };
    struct play play;
    struct vrt_job_info info;
    char sql[200];

    play_start(&play, "[jobs]\nhistory = 2\nhistory_days = 36500\n");
    for (int id = 1; id <= 2; id++) {
        expect_int(play_submit(&play, "run-1", ""), id);
        play_expect_state(&play, id, VRT_JOB_DONE);
    }
    for (int i = 0; i < 2; i++) {
        snprintf(sql, sizeof(sql), "UPDATE jobs SET info = json_set(info, '$.finished_at', %s)",
                 rows[i].time);
        play_restart_with(&play, sql);
        expect_int(play_submit(&play, "run-1", ""), 3 + i);
        play_expect_state(&play, 3 + i, VRT_JOB_DONE);
        while (play_show(&play, rows[i].forgotten, &info) != 404) {
            vrt_job_info_done(&info);
            usleep(1000);
        }
    }
    expect_int(play_show(&play, 3, &info), 200);
    vrt_job_info_done(&info);
    play_stop(&play);
}

/* A row that makes no sense is left out, and keeps its files until somebody mends it; those of no
 * job go. */
static void test_left_out(void)
{
    struct play play;
    struct vrt_job_info info;
    char path[96], orphan[96];

    play_start(&play, "");
    for (int id = 1; id <= 12; id++)
        expect_int(play_submit(&play, "fail-6", ""), id);
    play_expect_state(&play, 12, VRT_JOB_FAILED);
    snprintf(path, sizeof(path), "%s/spool/12", play.folder);
    snprintf(orphan, sizeof(orphan), "%s/spool/99", play.folder);
    expect_int(mkdir(orphan, 0700), 0);
    play_restart_with(&play, "UPDATE jobs SET priority = 1000");
    expect_int(play_show(&play, 12, &info), 404);
    expect_int(access(path, F_OK), 0);
    expect_int(access(orphan, F_OK), -1);
    expect_int(play_submit(&play, "run-1", ""), 13);
    play_restart_with(&play, "UPDATE jobs SET priority = 3");
    expect_int(play_show(&play, 12, &info), 200);
    expect_int(info.segments_done, 1);
    vrt_job_info_done(&info);
    play_stop(&play);
}

/* What a job that failed has stored goes when nobody will retry it any more, and all that is known
 * of it later. */
static void test_long_ago(void)
{
    struct play play;
    struct vrt_job_info info;
    char path[96], sql[200];

    play_start(&play, "[jobs]\nfailed_files_days = 1\nhistory_days = 3\n");
    expect_int(play_submit(&play, "fail-6", ""), 1);
    snprintf(path, sizeof(path), "%s/spool/1", play.folder);
    play_wait_for(&play, 1, VRT_JOB_FAILED, &info);
    expect_int(info.segments_done, 1);
    vrt_job_info_done(&info);
    expect_int(access(path, F_OK), 0);
    for (int days = 2; days <= 4; days += 2) {
        snprintf(sql, sizeof(sql), "UPDATE jobs SET info = json_set(info, '$.finished_at', "
                 "strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', 'now', '-%d days'))", days);
        play_restart_with(&play, sql);
        while (play_show(&play, 1, &info) == 200 && (days == 4 || info.segments_done > 0)) {
            vrt_job_info_done(&info);
            usleep(1000);
        }
        if (days == 2)
            vrt_job_info_done(&info);
        /* A thread removes them. */
        while (access(path, F_OK) == 0)
            usleep(1000);
    }
    play_stop(&play);
}

TEST_MAIN_AFTER(signal(SIGPIPE, SIG_IGN),
    { "short", test_short },
    { "days", test_days },
    { "going-back", test_going_back },
    { "texts", test_texts },
    { "record", test_record },
    { "whole-record", test_whole_record },
    { "given-again", test_given_again },
    { "progress", test_progress },
    { "alpha-pass", test_alpha_pass },
    { "kept-files", test_kept_files },
    { "odd-segments", test_odd_segments },
    { "order-of-ends", test_order_of_ends },
    { "left-out", test_left_out },
    { "long-ago", test_long_ago },
)
