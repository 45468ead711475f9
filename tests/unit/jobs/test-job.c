/* SPDX-License-Identifier: MIT */
/* daemon/job, queue-context: the whole table of its life, the list against its counts, and what its
 * request leaves open. */

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/api/server-play.h"
#include "tests/unit/test.h"

#include "base/macro.h"
#include "daemon/jobs/queue-context.h"
#include "fields.h"

static void test_table(void)
{
    /* FETCH, START, FINISH, SUCCEED, FAIL, CANCEL, PAUSE, LOSE, FILL, REQUEUE, RETRY */
    static const struct {
        int state;
        const char *after[VRT_JOB_EVENT_COUNT];     /* "": cannot happen */
    } rows[] = {
        { VRT_JOB_QUEUED, { "fetching", "running", "", "", "failed", "cancelled", "paused",
                            "needs_input", "disk_full", "", "" } },
        { VRT_JOB_FETCHING, { "", "", "", "", "failed", "cancelled", "paused", "needs_input",
                              "disk_full", "queued", "" } },
        { VRT_JOB_RUNNING, { "", "", "finishing", "done", "failed", "cancelled", "paused",
                             "needs_input", "disk_full", "queued", "" } },
        { VRT_JOB_FINISHING, { "", "", "", "done", "failed", "cancelled", "", "", "disk_full",
                               "queued", "" } },
        { VRT_JOB_PAUSED, { "", "", "finishing", "", "failed", "cancelled", "", "needs_input", "",
                            "queued", "" } },
        { VRT_JOB_NEEDS_INPUT, { "", "", "", "", "failed", "cancelled", "", "", "", "queued",
                                 "" } },
        { VRT_JOB_DISK_FULL, { "", "", "", "", "failed", "cancelled", "paused", "needs_input", "",
                               "queued", "" } },
        { VRT_JOB_DONE, { "", "", "", "", "", "", "", "", "", "", "" } },
        { VRT_JOB_FAILED, { "", "", "", "", "", "", "", "", "", "", "queued" } },
        { VRT_JOB_CANCELLED, { "", "", "", "", "", "", "", "", "", "", "queued" } },
    };

    expect_int(VRT_ARRAY_SIZE(rows), VRT_JOB_STATE_COUNT);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++)
        for (int event = 0; event < VRT_JOB_EVENT_COUNT; event++)
            expect_int(vrt_job_state_after(rows[i].state, event),
                       vrt_name_find(vrt_job_state_names, rows[i].after[event]));
    for (int state = 0; state < VRT_JOB_STATE_COUNT; state++)
        expect_true(vrt_job_state_names[state] && vrt_job_state_phrases[state]);
}

static struct vrt_job *add_of(struct vrt_jobs *jobs, int64_t id, uid_t uid, int64_t priority)
{
    struct vrt_job *job = NULL;

    expect_int(vrt_job_new(id, uid, &job), 0);
    job->info.priority = priority;
    expect_int(vrt_jobs_add(jobs, job), 0);
    return job;
}

static struct vrt_job *add(struct vrt_jobs *jobs, int64_t id, int64_t priority)
{
    return add_of(jobs, id, 0, priority);
}

static void drop(struct vrt_jobs *jobs, struct vrt_job *job)
{
    vrt_jobs_remove(jobs, job);
    vrt_job_free(job);
}

static void drop_all(struct vrt_jobs *jobs)
{
    struct vrt_job *job;

    VRT_LIST_FOREACH(job, &jobs->all, link)
        drop(jobs, job);
    expect_true(vrt_list_is_empty(&jobs->all));
    vrt_jobs_done(jobs);
}

static void test_order(void)
{
    /* Added in the order in which their admissions ended. */
    static const int64_t ids[] = { 2, 1, 5, 4, 3 }, priorities[] = { 0, 0, VRT_API_PRIORITY_MAX,
                                                              VRT_API_PRIORITY_MAX,
                                                              VRT_API_PRIORITY_MIN };
    static const int64_t starts[] = { 4, 5, 1, 2, 3 };
    struct vrt_jobs jobs;
    struct vrt_jobs_room room;
    struct vrt_job *job;
    int64_t last = 0;

    vrt_jobs_init(&jobs);
    expect_true(vrt_jobs_next(&jobs) == NULL);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(ids); i++)
        add(&jobs, ids[i], priorities[i]);
    VRT_LIST_FOREACH(job, &jobs.all, link) {
        expect_int(job->info.id, last + 1);
        last = job->info.id;
    }
    expect_int(last, 5);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(starts); i++) {
        job = vrt_jobs_next(&jobs);
        expect_int(job->info.id, starts[i]);
        expect_true(vrt_jobs_may_start(&jobs, VRT_ARRAY_SIZE(starts), &room));
        expect_true(vrt_jobs_move(&jobs, job, VRT_JOB_START));
        expect_int(vrt_jobs_n_running(&jobs), i + 1);
    }
    expect_true(vrt_jobs_next(&jobs) == NULL);
    expect_true(!vrt_jobs_find(&jobs, 6) && !vrt_jobs_after(&jobs, INT64_MAX));
    drop_all(&jobs);
}

/* Two run at a time: a higher priority goes beside them, up to four, and then puts one back. */
static void test_may_start(void)
{
    static const int64_t priorities[] = { 0, 0, 1, 1, 2 };
    static const int may[] = { true, true, true, true, false };
    struct vrt_jobs jobs;
    struct vrt_jobs_room room;
    struct vrt_job *job, *other;

    vrt_jobs_init(&jobs);
    expect_true(!vrt_jobs_may_start(&jobs, 2, &room));
    for (size_t i = 0; i < VRT_ARRAY_SIZE(priorities); i++) {
        job = add(&jobs, (int64_t)i + 1, priorities[i]);
        expect_int(vrt_jobs_may_start(&jobs, 2, &room), may[i]);
        if (may[i])
            expect_true(!room.job && vrt_jobs_move(&jobs, job, VRT_JOB_START));
    }
    /* Of equals the youngest; one that finishes is about to be done. */
    expect_int(room.job->info.id, 2);
    expect_true(vrt_jobs_move(&jobs, room.job, VRT_JOB_FINISH));
    expect_true(!vrt_jobs_may_start(&jobs, 2, &room));
    expect_int(room.job->info.id, 1);
    /* Equals wait, also where what finishes has a lower priority. */
    vrt_jobs_set_priority(&jobs, job, 0);
    expect_true(!vrt_jobs_may_start(&jobs, 2, &room));
    expect_true(!room.job);
    for (int64_t id = 1; id <= 5; id++) {
        other = vrt_jobs_find(&jobs, id);
        vrt_jobs_set_priority(&jobs, other, id == 1 || id == 5 ? 2 : 0);
        if (id == 3 || id == 4)
            expect_true(vrt_jobs_move(&jobs, other, VRT_JOB_FINISH));
    }
    expect_true(!vrt_jobs_may_start(&jobs, 2, &room));
    expect_true(!room.job);
    drop_all(&jobs);
}

/* Twenty users with a hundred jobs each, then one with one: he is the next but for those who have
 * none running, and everybody gets as many as anybody. */
static void test_turns(void)
{
    enum { USERS = 20, JOBS = 100, PLACES = 2 };
    struct vrt_job *job, *running[PLACES] = { NULL };
    int n_started[USERS + 2] = { 0 }, n = 0;
    struct vrt_jobs_room room;
    struct vrt_jobs jobs;

    vrt_jobs_init(&jobs);
    for (int id = 1; id <= USERS * JOBS; id++)
        add_of(&jobs, id, 1 + (unsigned)(id - 1) / JOBS, 0);
    add_of(&jobs, USERS * JOBS + 1, USERS + 1, 0);
    for (; (job = vrt_jobs_next(&jobs)); n++) {
        struct vrt_job **place = &running[n % PLACES];
        if (*place) {
            expect_true(!vrt_jobs_may_start(&jobs, PLACES, &room) && !room.at_once);
            expect_true(vrt_jobs_move(&jobs, *place, VRT_JOB_SUCCEED));
            job = vrt_jobs_next(&jobs);
        }
        expect_true(vrt_jobs_may_start(&jobs, PLACES, &room) && !room.job);
        expect_true(vrt_jobs_move(&jobs, job, VRT_JOB_START));
        *place = job;
        n_started[job->uid]++;
        if (job->uid == USERS + 1)
            expect_true(n <= USERS + 1);
        for (int user = 1; user <= USERS && n_started[USERS + 1]; user++)
            expect_true(abs(n_started[user] - n_started[1]) <= 1);
    }
    expect_int(n, USERS * JOBS + 1);
    drop_all(&jobs);
}

/* Jobs that last, of one user each: with n users and m places everybody's begins within n / m
 * turns, and nobody keeps his place while others give theirs. */
static void test_rounds(void)
{
    enum { USERS = 7, PLACES = 3, ROUNDS = 21 };
    int n_turns[USERS + 1] = { 0 };
    struct vrt_jobs_room room;
    struct vrt_jobs jobs;
    struct vrt_job *job;

    vrt_jobs_init(&jobs);
    for (int id = 1; id <= USERS; id++)
        add_of(&jobs, id, (unsigned)id, 0);
    for (int round = 1; round <= ROUNDS; round++) {
        for (int n = 0; n < PLACES; n++) {
            if (!vrt_jobs_may_start(&jobs, PLACES, &room)) {
                expect_true(room.job && !room.at_once);
                expect_true(vrt_jobs_move(&jobs, room.job, VRT_JOB_REQUEUE));
            }
            job = vrt_jobs_next(&jobs);
            expect_true(vrt_jobs_move(&jobs, job, VRT_JOB_START));
            n_turns[job->uid]++;
        }
        for (int user = 1; user <= USERS; user++)
            expect_true(abs(n_turns[user] * USERS - PLACES * round) < USERS);
    }
    drop_all(&jobs);
}

static void expect_room(const struct vrt_jobs *jobs, int64_t id, bool at_once)
{
    struct vrt_jobs_room room;

    expect_true(!vrt_jobs_may_start(jobs, vrt_jobs_n_running(jobs), &room));
    expect_int(room.job ? room.job->info.id : 0, id);
    expect_int(room.at_once, at_once);
}

/* Whose job makes room, and whose doesn't. */
static void test_crowding(void)
{
    struct vrt_jobs jobs;
    struct vrt_job *job;

    vrt_jobs_init(&jobs);
    for (int id = 1; id <= 4; id++) {
        job = add_of(&jobs, id, id <= 3 ? 1 : 2, 0);
        expect_true(vrt_jobs_move(&jobs, job, VRT_JOB_START));
    }
    expect_room(&jobs, 0, false);
    /* His own jobs don't make room for each other. */
    job = add_of(&jobs, 5, 1, 0);
    expect_room(&jobs, 0, false);
    drop(&jobs, job);
    /* Of who has most the youngest; one that finishes is about to be done. */
    job = add_of(&jobs, 6, 3, 0);
    expect_room(&jobs, 3, true);
    for (int id = 3; id > 1; id--) {
        expect_true(vrt_jobs_move(&jobs, vrt_jobs_find(&jobs, id), VRT_JOB_FINISH));
        expect_room(&jobs, id - 1, true);
    }
    expect_true(vrt_jobs_move(&jobs, vrt_jobs_find(&jobs, 1), VRT_JOB_FINISH));
    /* Who has one has it for his turn. */
    expect_room(&jobs, 4, false);
    /* Not for one of lower priority. */
    vrt_jobs_set_priority(&jobs, job, -1);
    expect_room(&jobs, 0, false);
    /* Who has none running is the next, though his last one began after all others. */
    job = vrt_jobs_find(&jobs, 4);
    expect_contains(vrt_job_short_text(job, VRT_JOB_VIEW_FULL)->data, "\"state\":\"running\"");
    expect_true(vrt_jobs_move(&jobs, job, VRT_JOB_SUCCEED));
    expect_contains(vrt_job_short_text(job, VRT_JOB_VIEW_FULL)->data, "\"state\":\"done\"");
    add_of(&jobs, 7, 1, 0);
    add_of(&jobs, 8, 2, 0);
    expect_int(vrt_jobs_next(&jobs)->info.id, 8);
    /* Among those, who began before the others did, whoever ended first. */
    for (int id = 9; id <= 12; id++)
        add_of(&jobs, id, id == 9 || id == 12 ? 4 : 5, 1);
    for (int id = 9; id <= 10; id++)
        expect_true(vrt_jobs_move(&jobs, vrt_jobs_find(&jobs, id), VRT_JOB_START));
    for (int id = 10; id >= 9; id--)
        expect_true(vrt_jobs_move(&jobs, vrt_jobs_find(&jobs, id), VRT_JOB_SUCCEED));
    expect_int(vrt_jobs_next(&jobs)->info.id, 12);
    drop_all(&jobs);
}

/* Random events: the counts stay those of the list, and refused events change nothing. */
static void test_counts(void)
{
    struct vrt_jobs jobs;
    struct vrt_job *all[50];
    int64_t n_over[VRT_JOB_STATE_COUNT] = { 0 };
    unsigned random = 1;

    vrt_jobs_init(&jobs);
    for (int i = 0; i < 50; i++)
        all[i] = add(&jobs, i + 1, 0);
    for (int step = 0; step < 20000; step++) {
        int counts[VRT_JOB_STATE_COUNT] = { 0 };
        random = random * 1103515245 + 12345;
        int i = (int)(random >> 16) % 50;
        enum vrt_job_event event = (random >> 24) % VRT_JOB_EVENT_COUNT;
        int wanted = vrt_job_state_after(all[i]->info.state, event), before = all[i]->info.state;
        expect_int(vrt_jobs_move(&jobs, all[i], event), wanted != VRT_UNKNOWN);
        expect_int(all[i]->info.state, wanted == VRT_UNKNOWN ? before : wanted);
        if (vrt_job_state_is_final(all[i]->info.state)) {
            n_over[all[i]->info.state]++;
            drop(&jobs, all[i]);
            all[i] = add(&jobs, 51 + step, 0);
        }
        for (int k = 0; k < 50; k++)
            counts[all[k]->info.state]++;
        for (int state = 0; state < VRT_JOB_STATE_COUNT; state++)
            expect_int(jobs.counts[state], counts[state]);
    }
    for (int state = 0; state < VRT_JOB_STATE_COUNT; state++)
        expect_int(jobs.n_over[state], n_over[state]);
    drop_all(&jobs);
}

static void test_history(void)
{
    struct vrt_jobs jobs;
    struct vrt_job *job;

    vrt_jobs_init(&jobs);
    for (int i = 1; i <= 6; i++) {
        job = add(&jobs, i, 0);
        if (i != 2)
            expect_true(vrt_jobs_move(&jobs, job, VRT_JOB_CANCEL));
    }
    expect_true(vrt_jobs_expired(&jobs, 5) == NULL);
    for (int64_t wanted = 1; (job = vrt_jobs_expired(&jobs, 3)); wanted += 2) {
        expect_int(job->info.id, wanted);
        drop(&jobs, job);
    }
    expect_int(jobs.counts[VRT_JOB_CANCELLED], 3);
    /* By when they ended, not by when they came. */
    expect_true(vrt_jobs_move(&jobs, vrt_jobs_find(&jobs, 2), VRT_JOB_CANCEL));
    expect_int(vrt_jobs_expired(&jobs, 3)->info.id, 4);
    drop_all(&jobs);
}

/* Who has most is forgotten first, however new. */
static void test_history_of_many(void)
{
    struct vrt_jobs jobs;
    struct vrt_job *job;

    vrt_jobs_init(&jobs);
    for (int64_t id = 1; id <= 10; id++) {
        job = add_of(&jobs, id, id <= 2 ? 1000 : 1001, 0);
        expect_true(vrt_jobs_move(&jobs, job, VRT_JOB_CANCEL));
    }
    add_of(&jobs, 11, 1002, 0);
    expect_int(vrt_jobs_first_over(&jobs)->info.id, 1);
    for (int64_t wanted = 3; wanted <= 8; wanted++) {
        job = vrt_jobs_expired(&jobs, 4);
        expect_true(job);
        expect_int(job->info.id, wanted);
        drop(&jobs, job);
    }
    expect_true(vrt_jobs_expired(&jobs, 4) == NULL);
    drop_all(&jobs);
}

static void test_text(void)
{
    VRT_CLEANUP(vrt_job_freep) struct vrt_job *job = NULL;

    expect_int(vrt_job_new(7, 0, &job), 0);
    const struct vrt_buf *text = vrt_job_short_text(job, VRT_JOB_VIEW_FULL);
    expect_contains(text->data, "\"id\":7,\"state\":\"queued\"");
    expect_contains(text->data, "\"warnings_total\":0");
    expect_true(vrt_job_short_text(job, VRT_JOB_VIEW_FULL)->data == text->data);
    job->info.frames_done = 12;
    expect_int(vrt_job_set_n_devices(job, 2), 0);
    vrt_job_touch(job);
    expect_contains(vrt_job_short_text(job, VRT_JOB_VIEW_FULL)->data, "\"frames_done\":12");
    expect_contains(vrt_job_short_text(job, VRT_JOB_VIEW_FULL)->data, "\"replica_bytes\":null");
    for (int i = 0; i < 10 * VRT_API_WARNINGS_MAX; i++) {
        char warning[32];
        snprintf(warning, sizeof(warning), "warning %d", i);
        /* A job that went on says the same again. */
        expect_int(vrt_job_add_warning(job, warning), 0);
        expect_int(vrt_job_add_warning(job, warning), 0);
    }
    expect_int(job->info.n_warnings, VRT_API_WARNINGS_MAX);
    expect_str(job->info.warnings[1], "warning 1");
}

/* How far it is: not done before the last frame, however near. */
static void test_percent(void)
{
    static const struct {
        int64_t done, total;
        double underway, percent;
    } rows[] = {
        { 12, 48, NAN, 25 }, { 12, 48, 1.2, 27.5 }, { 0, 1, NAN, 0 }, { 1, 1, NAN, 100 },
        { 9999, 10000, NAN, 99.9 }, { 9999, 10000, 1, 99.9 }, { 10000, 10000, NAN, 100 },
        { 12, 10, NAN, 100 }, { 3, 0, NAN, NAN }, { 3, -1, NAN, NAN },
    };
    VRT_CLEANUP(vrt_job_freep) struct vrt_job *job = NULL;

    expect_int(vrt_job_new(7, 0, &job), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        job->info.frames_done = rows[i].done;
        job->info.frames_total = rows[i].total;
        job->info.frames_underway = rows[i].underway;
        vrt_job_touch(job);
        if (isnan(rows[i].percent))
            expect_true(isnan(job->info.percent));
        else
            expect_near(job->info.percent, rows[i].percent, 1e-9);
    }
}

/* Every text of the job holds the word: it must be in what its owner is told, and nowhere else. */
static void test_redaction(void)
{
    static const char word[] = "holiday";
    static const char *const redacted_fields[] = {
        "\"input_name\":null", "\"input_path\":null", "\"output_name\":null",
        "\"output_path\":null", "\"model_path\":null", "\"reference_name\":null",
        "\"reference_path\":null", "\"input_bytes\":null", "\"name\":null",
        "\"owner\":\"anna\"", "\"message\":\"the input is empty\"",
    };
    VRT_CLEANUP(vrt_job_freep) struct vrt_job *job = NULL;
    struct vrt_buf full = { .limit_bytes = 0 }, redacted = { .limit_bytes = 0 };

    expect_int(vrt_job_new(7, 1000, &job), 0);
    struct vrt_job_info *info = &job->info;
    char *const texts[] = {
        info->input_name, info->output_name, info->model.name, info->reference_name,
        info->input_path, info->output_path, info->model_path, info->reference_path,
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(texts); i++)
        snprintf(texts[i], VRT_API_NAME_BYTES, "/home/a/%s.pth", word);
    snprintf(info->owner, sizeof(info->owner), "anna");
    info->input_bytes = 4711;
    info->has_error = true;
    snprintf(info->error.id, sizeof(info->error.id), "input.empty");
    snprintf(info->error.message, sizeof(info->error.message), "%s.mp4 is empty", word);
    expect_int(vrt_job_add_warning(job, "the first"), 0);
    expect_int(vrt_job_add_warning(job, "the second"), 0);
    snprintf(info->warnings[0], sizeof(info->warnings[0]), "%s.mp4 is odd", word);

    expect_int(vrt_job_print(job, VRT_JOB_VIEW_FULL, &full), 0);
    expect_contains(full.data, "holiday.mp4 is odd");
    expect_contains(full.data, "/home/a/holiday.pth");
    expect_contains(full.data, "\"input_bytes\":4711");
    expect_int(vrt_job_print(job, VRT_JOB_VIEW_REDACTED, &redacted), 0);
    expect_true(!strstr(redacted.data, word) && !strstr(redacted.data, "the second"));
    for (size_t i = 0; i < VRT_ARRAY_SIZE(redacted_fields); i++)
        expect_contains(redacted.data, redacted_fields[i]);
    expect_true(!strstr(vrt_job_short_text(job, VRT_JOB_VIEW_REDACTED)->data, word));
    expect_contains(vrt_job_short_text(job, VRT_JOB_VIEW_REDACTED)->data, "\"id\":\"input.empty\"");
    expect_contains(vrt_job_short_text(job, VRT_JOB_VIEW_FULL)->data, "holiday.pth");

    /* A model that everybody may use has a name for everybody. */
    job->shows_model = true;
    vrt_job_touch(job);
    expect_contains(vrt_job_short_text(job, VRT_JOB_VIEW_REDACTED)->data, "holiday.pth");
    vrt_buf_done(&full);
    vrt_buf_done(&redacted);
}

/* What a request leaves open the configuration says, and what it asks for stays. Of hardware that
 * is configured nothing is said where the codec can't be made by any. */
static void test_left_open(void)
{
    static const struct {
        const char *output;
        int asked, configured, hwaccel, codec, wanted;
    } cases[] = {
        { "a.mkv", VRT_UNKNOWN, VRT_CODEC_AUTO, VRT_HWACCEL_AUTO, VRT_CODEC_AUTO,
          VRT_HWACCEL_AUTO },
        { "a.gif", VRT_UNKNOWN, VRT_CODEC_AUTO, VRT_HWACCEL_AUTO, VRT_CODEC_GIF, VRT_HWACCEL_OFF },
        { "gif", VRT_UNKNOWN, VRT_CODEC_HEVC, VRT_HWACCEL_VAAPI, VRT_CODEC_HEVC,
          VRT_HWACCEL_VAAPI },
        { "a.mkv", VRT_CODEC_FFV1, VRT_CODEC_HEVC, VRT_HWACCEL_NVENC, VRT_CODEC_FFV1,
          VRT_HWACCEL_OFF },
        { "a.mkv", VRT_CODEC_FFV1, VRT_CODEC_HEVC, VRT_HWACCEL_AUTO, VRT_CODEC_FFV1,
          VRT_HWACCEL_OFF },
        { "a.mp4", VRT_CODEC_H264, VRT_CODEC_HEVC, VRT_HWACCEL_VIDEOTOOLBOX, VRT_CODEC_H264,
          VRT_HWACCEL_VIDEOTOOLBOX },
    };
    struct vrt_queue_params params = {
        .left_open = { .device = "cpu:1", .precision = VRT_PRECISION_BF16, .preset = "slow",
                       .segment_frames = 7, .decoder_threads = 3 },
    };
    struct vrt_job_request left, asked;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        params.left_open.codec = cases[i].configured;
        params.left_open.hwaccel = cases[i].hwaccel;
        vrt_job_request_init(&left);
        left.settings.codec = cases[i].asked;
        vrt_queue_settle(&params, cases[i].output, &left.settings);
        expect_int(left.settings.codec, cases[i].codec);
        expect_int(left.settings.hwaccel, cases[i].wanted);
        expect_int(left.settings.hwdec, vrt_hwdec_of((enum vrt_hwaccel)cases[i].hwaccel));
    }
    vrt_queue_settle_device(&params, &left);
    expect_str(left.device, "cpu:1");
    expect_int(left.settings.precision, VRT_PRECISION_BF16);
    expect_str(left.settings.preset, "slow");
    expect_int(left.settings.segment_frames, 7);
    expect_int(left.settings.decoder_threads, 3);
    expect_near(left.settings.scene_cuts, 0, 0);
    vrt_job_request_init(&asked);
    snprintf(asked.device, sizeof(asked.device), "cuda");
    asked.settings = left.settings;
    asked.settings.precision = VRT_PRECISION_F32;
    asked.settings.segment_frames = asked.settings.decoder_threads = 5;
    asked.settings.scene_cuts = 0.25;
    asked.settings.hwaccel = VRT_HWACCEL_VAAPI;
    asked.settings.hwdec = VRT_HWDEC_OFF;
    snprintf(asked.settings.preset, sizeof(asked.settings.preset), "fast");
    vrt_queue_settle_device(&params, &asked);
    vrt_queue_settle(&params, "a.mkv", &asked.settings);
    expect_str(asked.device, "cuda");
    expect_int(asked.settings.precision, VRT_PRECISION_F32);
    expect_str(asked.settings.preset, "fast");
    expect_int(asked.settings.segment_frames + asked.settings.decoder_threads, 10);
    expect_near(asked.settings.scene_cuts, 0.25, 0);
    expect_int(asked.settings.hwaccel, VRT_HWACCEL_VAAPI);
    expect_int(asked.settings.hwdec, VRT_HWDEC_OFF);
    params.left_open.scene_cuts = true;
    asked.settings.scene_cuts = NAN;
    vrt_queue_settle(&params, "a.mkv", &asked.settings);
    expect_true(isnan(asked.settings.scene_cuts));
}

/* Who listens is told of frames, long before the end. */
static void test_told(void)
{
    struct play play;
    struct vrt_buf stream = { .limit_bytes = 0 };
    int n_told = 0;

    play_start(&play, "");
    expect_int(play_submit(&play, "hang", ""), 1);
    expect_int(play_submit(&play, "run-500", ""), 2);
    int one = play_subscribe(&play, "/v1/events?job=2");
    while (play_next_event(one, &stream) >= 0)
        n_told += strstr(play_answer, "\"state\":\"running\"") &&
                  !strstr(play_answer, "\"frames_done\":0,");
    expect_true(n_told > 0);
    close(one);
    vrt_buf_done(&stream);
    play_stop(&play);
}

/* What the store could not take at first it has at the end. */
static void test_stored_later(void)
{
    struct play play;
    char path[96], *body;
    sqlite3 *db;

    play_start(&play, "[jobs]\nmax_running = 1\n");
    expect_int(play_submit(&play, "hang", ""), 1);
    expect_int(play_submit(&play, "hang", ""), 2);
    play_expect_state(&play, 1, VRT_JOB_RUNNING);
    snprintf(path, sizeof(path), "%s/vrtd.db", play.folder);
    expect_int(sqlite3_open(path, &db), SQLITE_OK);
    expect_int(sqlite3_busy_timeout(db, 10000), SQLITE_OK);
    expect_int(sqlite3_exec(db, "CREATE TRIGGER refuse BEFORE UPDATE ON jobs BEGIN SELECT "
                            "RAISE(ABORT, 'not now'); END", NULL, NULL, NULL), SQLITE_OK);
    expect_int(play_ask(&play, "POST", "/v1/jobs/2/pause", "\r\n", &body), 200);
    play_expect_state(&play, 1, VRT_JOB_FAILED);
    expect_contains(play_answer, "\"error\":{\"id\":\"store.failed\",\"message\":\"what is done of "
                    "the job can't be stored: Input/output error: make room");
    expect_int(play_submit(&play, "run-1", ""), 3);
    play_expect_state(&play, 3, VRT_JOB_FAILED);
    expect_contains(play_answer, "\"error\":{\"id\":\"store.failed\",\"message\":\"the job's start "
                    "can't be stored: Input/output error: make room");
    expect_int(sqlite3_exec(db, "DROP TRIGGER refuse", NULL, NULL, NULL), SQLITE_OK);
    expect_int(sqlite3_close(db), SQLITE_OK);
    play_restart_with(&play, "SELECT json('not stored') FROM jobs WHERE id = 2 AND state <> "
                      "'paused'");
    play_stop(&play);
}

TEST_MAIN(
    { "table", test_table },
    { "order", test_order },
    { "may-start", test_may_start },
    { "turns", test_turns },
    { "rounds", test_rounds },
    { "crowding", test_crowding },
    { "counts", test_counts },
    { "history", test_history },
    { "history-of-many", test_history_of_many },
    { "text", test_text },
    { "percent", test_percent },
    { "redaction", test_redaction },
    { "left-open", test_left_open },
    { "told", test_told },
    { "stored-later", test_stored_later },
)
