/* SPDX-License-Identifier: MIT */

/* Parts of a pipeline by themselves: what is told of it, and lives of it. */

#include <errno.h>
#include <limits.h>

#include "base/clock.h"
#include "daemon/pipeline/progress.h"
#include "daemon/pipeline/shards.h"
#include "frames/frame.h"
#include "tests/unit/pipeline/flow-fixture.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/environment.h"
#include "tests/unit/test.h"
#include "workers/device/speed.h"

static void init(struct flow *flow, int n_devices)
{
    flow_init(flow, fixture_path(""), (struct vrt_pool_params){
        .registry = { .values = TEST_CPUS(n_devices, 1) },
        .retry_s = 1000,
    });
}

#define SECONDS(s) ((int64_t)((s) * VRT_NS_PER_S))

/* What `progress` tells when the job has run for so long. */
static struct vrt_pipeline_snapshot told_after(struct vrt_progress *progress, double s,
                                               enum vrt_pipeline_phase phase)
{
    struct vrt_pipeline_snapshot now;

    progress->started_ns = SECONDS(1000);
    progress->ended_ns = progress->started_ns + SECONDS(s);
    vrt_progress_snapshot(progress, phase, &now);
    return now;
}

/* How fast it goes: of the last ten seconds, but of two clips at least. */
static void test_rate(void)
{
    static const struct {
        struct vrt_progress_sample samples[2];
        int n_samples, clip_frames;
        int64_t resumed, done, total;
        double s, fps, left_s;          /* -1: nobody knows */
        enum vrt_pipeline_phase phase;
    } rows[] = {
        { { { 0 } }, 0, 1, 4, 10, 40, 3, 2, 15, VRT_PIPELINE_RUNNING },
        { { { 0 } }, 0, 1, 4, 10, -1, 3, 2, -1, VRT_PIPELINE_RUNNING },
        { { { 0 } }, 0, 1, 4, 10, 9, 3, 2, 0, VRT_PIPELINE_RUNNING },
        { { { 0 } }, 0, 1, 4, 6, 8, 2, 1, 2, VRT_PIPELINE_RUNNING },
        { { { 0 } }, 0, 1, 4, 5, 8, 2, -1, -1, VRT_PIPELINE_RUNNING },
        { { { 0 } }, 0, 1, 4, 10, 40, 0, -1, -1, VRT_PIPELINE_RUNNING },
        /* The youngest that is old enough. */
        { { { SECONDS(2), 4 }, { SECONDS(5), 38 } }, 2, 1, 0, 60, 80, 16, 2, 10,
          VRT_PIPELINE_RUNNING },
        { { { SECONDS(2), 4 }, { SECONDS(6), 38 } }, 2, 1, 0, 60, 80, 16, 4, 5,
          VRT_PIPELINE_RUNNING },
        { { { SECONDS(5), 38 } }, 1, 11, 0, 60, 80, 16, 2, 10, VRT_PIPELINE_RUNNING },
        { { { SECONDS(5), 38 } }, 1, 12, 0, 64, 80, 16, 26 / 11.0, 16 * 11 / 26.0,
          VRT_PIPELINE_RUNNING },
        { { { SECONDS(5), 38 } }, 1, 12, 0, 48, 80, 16, 3, 32 / 3.0, VRT_PIPELINE_RUNNING },
        { { { SECONDS(5), 38 } }, 1, 1, 0, 64, 80, 16, 4, 4, VRT_PIPELINE_FINISHING },
        { { { SECONDS(5), 38 } }, 1, 1, 0, 64, 80, 16, 4, 4, VRT_PIPELINE_ENDED },
        /* Of so many none is older. */
        { { { SECONDS(7), 8 }, { SECONDS(8), 20 } }, VRT_PROGRESS_SAMPLES + 1, 1, 0, 30, 40, 10, 5,
          2, VRT_PIPELINE_RUNNING },
        { { { SECONDS(8), 20 }, { SECONDS(7), 8 } }, VRT_PROGRESS_SAMPLES, 1, 0, 30, 40, 10, 3,
          10 / 3.0, VRT_PIPELINE_RUNNING },
    };
    struct flow flow;

    init(&flow, 1);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_progress progress;
        vrt_progress_init(&progress, flow.pool, "job0", NULL);
        progress.clip_frames = rows[i].clip_frames;
        progress.frames_resumed = rows[i].resumed;
        progress.told.frames_done = rows[i].done;
        progress.told.frames_total = rows[i].total;
        progress.n_samples = (size_t)rows[i].n_samples;
        for (size_t k = 0; k < VRT_PROGRESS_SAMPLES; k++)
            progress.samples[k] = rows[i].samples[VRT_MIN(k, 1)];
        struct vrt_pipeline_snapshot now = told_after(&progress, rows[i].s, rows[i].phase);
        expect_near(now.fps, rows[i].fps, 1e-9);
        expect_near(now.left_s, rows[i].left_s, 1e-9);
    }
    flow_done(&flow);
}

/* What a device has computed is under way until it is encoded; each stage has its share of the time
 * that nothing was held. */
static void test_shares(void)
{
    struct vrt_progress progress;
    struct vrt_pipeline_totals totals = { .frames_done = 3 };
    struct flow flow;

    init(&flow, 1);
    vrt_progress_init(&progress, flow.pool, "job0", &totals);
    struct vrt_pipeline_snapshot now = told_after(&progress, 0, VRT_PIPELINE_RUNNING);
    expect_int(now.bottleneck, VRT_STAGE_COUNT);
    expect_int(now.n_devices, 0);
    progress.admitted = 3;
    progress.devices[0].is_probed = true;
    progress.devices[0].planned_bytes = 100;
    progress.devices[0].frames_done = 7;
    progress.frames_resumed = 4;
    vrt_progress_note_frames(&progress, 10);
    vrt_progress_note_busy(&progress, VRT_STAGE_DECODE, SECONDS(1));
    vrt_progress_note_busy(&progress, VRT_STAGE_ENCODE, SECONDS(4));
    for (size_t d = 0; d < 2; d++)
        vrt_progress_note_times(&progress, d, &(struct vrt_session_times){
            .upload_ns = SECONDS(2), .compute_ns = SECONDS(d ? 4 : 8), .download_ns = SECONDS(1),
        });
    now = told_after(&progress, 8, VRT_PIPELINE_RUNNING);
    expect_int(now.frames_done, 10);
    expect_near(now.frames_underway, 1, 0);
    expect_near(now.fps, (10 + 1 - 4) / 8.0, 1e-9);
    progress.told.frames_total = 10;
    expect_near(told_after(&progress, 8, VRT_PIPELINE_RUNNING).frames_underway, 0, 0);
    progress.told.frames_total = -1;
    static const double busy[VRT_STAGE_COUNT] = { 0.125, 0.25, 0.75, 0.125, 0.5 };
    static const int64_t all_s[VRT_STAGE_COUNT] = { 1, 4, 12, 2, 4 };
    for (int stage = 0; stage < VRT_STAGE_COUNT; stage++) {
        expect_near(now.busy[stage], busy[stage], 1e-9);
        expect_int(totals.busy_ns[stage], SECONDS(all_s[stage]));
    }
    expect_int(totals.frames_done, 13);
    expect_int(now.bottleneck, VRT_STAGE_COMPUTE);
    expect_int(now.n_devices, 1);
    expect_near(now.devices[0].fps, 7 / 8.0, 1e-9);
    expect_int(now.devices[0].planned_bytes, 100);
    progress.devices[0].job_bytes = 90;
    progress.devices[0].frames_done = 1;
    progress.told.frames_total = 10;
    /* It was held from its sixth second on, and for one before. */
    progress.idle_ns = SECONDS(1);
    progress.idle_since_ns = progress.started_ns + SECONDS(6);
    now = told_after(&progress, 8, VRT_PIPELINE_RUNNING);
    expect_near(now.elapsed_s, 5, 0);
    expect_near(now.frames_underway, 0, 0);
    expect_near(now.devices[0].fps, -1, 0);
    expect_int(now.devices[0].planned_bytes, 90);
    expect_near(now.busy[VRT_STAGE_COMPUTE], 1, 0);
    const int64_t idle_ns = progress.idle_ns;
    vrt_progress_note_idle(&progress, true);
    expect_int(progress.idle_ns, idle_ns);
    progress.idle_since_ns = vrt_clock_now_ns() - SECONDS(5);
    vrt_progress_note_idle(&progress, false);
    expect_true(progress.idle_ns >= idle_ns + SECONDS(5) && !progress.idle_since_ns);
    expect_true(progress.idle_ns < SECONDS(100000));
    vrt_progress_note_idle(&progress, false);
    expect_true(!progress.idle_since_ns);
    struct vrt_worker_run runs[2] = { { .tile_flops = 0 } };
    vrt_progress_note_run(&progress, 0, &runs[0]);
    vrt_progress_note_run(&progress, 0, NULL);
    vrt_progress_note_run(&progress, 0, &runs[1]);
    vrt_progress_forget_run(&progress, 0, &runs[0]);
    expect_int(progress.devices[0].in_flight, 2);
    expect_true(!progress.devices[0].runs[0] && progress.devices[0].runs[1] == &runs[1]);
    /* Three of the four frames that it has are computed, beside the one that is done. */
    struct vrt_job_spec spec = { .network = flow.network, .grid = { { .n = 1 }, { .n = 1 } } };
    runs[1].spec = &spec;
    runs[1].tile_flops = 100;
    runs[1].frames = (struct vrt_shard_frames){ .n = 4, .n_new = 4 };
    runs[1].done_flops = 300;
    now = told_after(&progress, 8, VRT_PIPELINE_RUNNING);
    expect_near(now.devices[0].frames_underway, 3, 0);
    expect_near(now.devices[0].fps, 4 / now.elapsed_s, 1e-9);
    progress.devices[0].runs[1] = NULL;
    /* No sentence twice, and no more than there is room for. */
    for (int i = 0; i < 4 * VRT_PIPELINE_WARNINGS_MAX; i++)
        vrt_progress_warn(&progress, "warning %d", i / 2);
    expect_int(progress.n_warnings, VRT_PIPELINE_WARNINGS_MAX);
    expect_str(progress.warnings[1], "warning 1");
    vrt_progress_done(&progress);
    flow_done(&flow);
}

static void on_changed(void *ctx)
{
    ++*(int *)ctx;
}

/* Shards that live: as many as keep devices busy, more where those are unlike, less where they are
 * large; but one for each place with a device, and two, in any case. */
static void test_live(void)
{
    static const struct {
        uint64_t devices;
        int side, overlap;
        bool reproducible;
        int live_max;
    } rows[] = {
        { 1, 64, 0, true, 13 }, { 5, 64, 0, true, 22 }, { 1, 64, 0, false, 64 },
        { 1, 512, 0, false, 17 }, { 1, 512, 0, true, 13 }, { 1, 1024, 0, false, 13 },
        { 1, 1280, 0, true, 10 }, { 1, 1024, 1, true, 6 }, { 1, 2048, 0, true, 5 },
        { 3, 4096, 0, true, 8 },
    };
    struct vrt_progress progress;
    struct flow flow;

    init(&flow, 1);
    vrt_progress_init(&progress, flow.pool, "job0", NULL);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_shards_work work = { .devices = rows[i].devices,
                                        .reproducible = rows[i].reproducible };
        struct vrt_shards shards;
        expect_int(vrt_speed_spec_new(flow.network, rows[i].side, rows[i].side, &work.spec), 0);
        work.spec->recipe.clip_frames = 8;
        work.spec->recipe.clip_overlap = rows[i].overlap;
        vrt_shards_init(&shards, &(struct vrt_shards_params){ .pool = flow.pool,
                                                              .progress = &progress });
        vrt_shards_begin(&shards, &work);
        expect_int(shards.live_max, rows[i].live_max);
        vrt_job_spec_unref(work.spec);
        vrt_shards_leave(&shards);
    }
    flow_done(&flow);
}

/* What waits, has room and is left, of a job whose shards have a frame each, of every second
 * picture. */
static void test_waiting(void)
{
    struct vrt_shards_work work = { .devices = 2, .reproducible = true };
    struct vrt_shards shards;
    struct vrt_progress progress;
    struct flow flow;

    init(&flow, 2);
    vrt_progress_init(&progress, flow.pool, "job0", NULL);
    expect_int(vrt_speed_spec_new(flow.network, 64, 64, &work.spec), 0);
    work.spec->recipe.times = 1;
    work.spec->recipe.every = 2;
    vrt_shards_init(&shards, &(struct vrt_shards_params){
        .pool = flow.pool, .progress = &progress, .changed = on_changed, .ctx = &(int){ 0 },
    });
    vrt_shards_begin(&shards, &work);
    expect_int(vrt_shards_room(&shards, 0), 2);
    while (!(vrt_pool_devices(flow.pool).ready & 2))
        uv_run(&flow.loop, UV_RUN_ONCE);
    expect_int(vrt_shards_room(&shards, 0), 5);
    vrt_shards_skip(&shards, 4);
    for (int i = 0; i < 2; i++) {
        struct vrt_shard_frames frames = { .n_new = 3 };
        expect_int(vrt_shards_add(&shards, &frames), 0);
    }
    expect_int(progress.frames_decoded, 6);
    expect_int(vrt_shards_room(&shards, 0), 3);
    expect_int(vrt_shards_room(&shards, 10), 1);
    static const struct {
        int64_t frames_total;
        bool at_end, is_held;
        int n_running, n_ready, n_left;
        uint64_t holding;               /* devices with something of the job, then */
    } rows[] = {
        { -1, false, false, 0, 2, INT_MAX, 2 }, { 41, false, true, 1, 0, 78, 2 },
        { 40, false, true, 0, 0, 76, 0 }, { 40, false, true, 0, 0, 76, 0 },
        { 3, false, false, 0, 2, 3, 2 }, { 40, true, false, 1, 2, 2, 2 },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        progress.told.frames_total = rows[i].frames_total;
        shards.at_end = rows[i].at_end;
        shards.is_held = rows[i].is_held;
        shards.n_running = rows[i].n_running;
        vrt_shards_keep_held(&shards);
        expect_int(shards.holding, rows[i].holding);
        vrt_shards_describe(&shards);
        expect_int(shards.job.n_ready, rows[i].n_ready);
        expect_int(shards.job.n_left, rows[i].n_left);
        expect_int(shards.job.n_window, 13);
        expect_int(shards.job.devices, 2);
        expect_true(!shards.job.is_held_up);
    }
    expect_true(!vrt_shards_next_is_restored(&shards));
    vrt_shards_close(&shards, false);
    expect_int(shards.n_shards, 0);
    vrt_shards_release_devices(&shards);
    vrt_shards_keep_held(&shards);
    expect_int(shards.holding, 0);
    vrt_shards_describe(&shards);
    expect_int(shards.job.n_ready, 0);
    expect_int(shards.job.devices, 0);
    /* Nothing comes any more, or nothing can. */
    expect_true(shards.job.is_held_up);
    shards.at_end = false;
    vrt_shards_describe(&shards);
    expect_true(!shards.job.is_held_up);
    shards.live_max = 0;
    for (; shards.n_elsewhere < 2; shards.n_elsewhere++) {
        vrt_shards_describe(&shards);
        expect_int(shards.job.is_held_up, !shards.n_elsewhere);
    }
    vrt_job_spec_unref(work.spec);
    vrt_shards_leave(&shards);
    flow_done(&flow);
}

/* Shards that a script tries: a device's digit, and what becomes of its try. */
struct tries {
    struct vrt_shards shards;
    struct vrt_progress progress;
    struct vrt_worker_run *runs[3];     /* what each device has */
    int n_changed;
};

/* Done; failed; wrong, odd; no memory; stopped; or it hangs, and nothing of it may be read (x). */
static void give_back(struct tries *tries, size_t d, char how)
{
    struct vrt_worker_run *run = tries->runs[d];

    run->base.task.outcome = how == 'd' ? VRT_TASK_DONE : how == 's' ? VRT_TASK_STOPPED :
                             how == 'x' ? VRT_TASK_LOST : VRT_TASK_FAILED;
    run->base.task.abandoned = how == 'x';
    run->base.result = how == 'w' ? VRT_DEVICE_EXECUTOR_E_OUTPUT :
                       how == 'o' ? VRT_DEVICE_EXECUTOR_E_ODD :
                       how == 'm' ? VRT_BACKEND_E_NOMEM : -EIO;
    snprintf(run->base.error.message, sizeof(run->base.error.message), "so %c", how);
    run->times.compute_ns = how == 'x' ? 1000 : 1;
    run->job_bytes = how == 'x' ? 99 : how == 'd' ? 0 : -1;
    tries->shards.job.ops->returned(&tries->shards.job, d, run);
    vrt_worker_task_free(&run->base);
    tries->runs[d] = NULL;
}

/* t: it takes one; c: it takes device 0's, too; else it takes one, unless it has one, and gives it
 * back so. */
static void play(struct tries *tries, const char *script)
{
    for (; *script; script += 2) {
        struct vrt_pool_job *job = &tries->shards.job;
        const size_t d = (size_t)(script[0] - '0');
        if (script[1] == 'c')
            tries->runs[d] = job->ops->copy(job, tries->runs[0]->base.ctx, d);
        else if (!tries->runs[d])
            tries->runs[d] = job->ops->take(job, d);
        expect_true(tries->runs[d]);
        if (script[1] != 'c' && script[1] != 't')
            give_back(tries, d, script[1]);
    }
}

/* How often the script has it of the device, or of any (-1), come to one of these ends. */
static int count(const char *script, int d, const char *ends)
{
    int n = 0;

    for (; *script; script += 2)
        n += (d < 0 || script[0] - '0' == d) && strchr(ends, script[1]);
    return n;
}

#define NOWHERE "the frames from 40 on could not be restored on any device: cpu:1: "
#define ODD "this network blackens or recolours pictures on every device, a processor too " \
            "(cpu:1: so o): they are taken as they are"

/* What failed goes once more to the same device, then to the others, and fails the job where all
 * fail; whose results are shown to be wrong by another's is left out. */
static const struct tried {
    uint64_t devices;
    const char *script;
    uint64_t next, copies;          /* where the next one may go; that which is out, too */
    int n_ready, n_restored;
    const char *warns, *says;
    uint64_t blamed;                /* from now on */
} tried[] = {
    { 3, "", 3, 0, 3, 0 }, { 3, "0s", 3, 0, 3, 0 }, { 3, "0f", 1, 0, 3, 0 },
    { 3, "0x", 1, 0, 3, 0 }, { 3, "0f0x", 2, 0, 3, 0 }, { 3, "0f0f1f1f", 3, 0, 3, 0 },
    { 3, "0f0f1f1f0f0f1f1f0f0f1f1x", 0, 0, 3, 0, NULL, NOWHERE "no sign of life" },
    { 7, "0f0f1f1f2f2f0f0f1f1f2f2f0f0f1f", 2, 0, 3, 0 },
    { 7, "0f0f1f1f2f2f0f0f1f1f2f2f0f0f1f1f", 0, 0, 3, 0, NULL, NOWHERE "so f" },
    { 3, "0w0w1w1w", 0, 0, 3, 0, NULL, NOWHERE "so w" },
    { 3, "0w0w1w1f", 3, 0, 3, 0 },
    { 3, "0o0o1w1w", 0, 0, 3, 0, NULL, NOWHERE "so w" },
    { 3, "0o0o1o1o", 3, 0, 3, 0, ODD }, { 3, "0o0o1o1o0d", 3, 0, 2, 1, ODD },
    { 3, "0w0o1o1o", 3, 0, 3, 0, ODD }, { 3, "0m0m", 3, 0, 3, 0 }, { 3, "0m0m0d0m0m", 3, 0, 2, 1 },
    { 3, "0m0m0m", 2, 0, 3, 0, "cpu:0 ran out of memory and left the job" },
    { 1, "0m0m0m", 0, 0, 3, 0, "cpu:0 ran out of memory and left the job",
      "no device is left for the job: cpu:0: so m" },
    { 3, "0d0d0d", 0, 0, 0, 3 }, { 3, "0t1t1d", 3, 2, 1, 0 }, { 3, "0t1t1d0d", 3, 0, 1, 2 },
    { 3, "0t1t1f0f", 1, 0, 3, 0 }, { 7, "0f0t", 7, 6, 2, 0 }, { 7, "1f1f0t", 7, 4, 2, 0 },
    { 7, "0t1c", 7, 0, 2, 0 }, { 7, "0t1c1f", 7, 4, 2, 0 }, { 7, "0t1c0f", 7, 4, 2, 0 },
    { 7, "0t1c1f2c2f", 7, 2, 2, 0 }, { 7, "0t1c1f0f", 1, 0, 3, 0 }, { 7, "0t1c1f0d", 7, 0, 2, 1 },
    { 3, "0w0w1f1d", 3, 0, 2, 1, "cpu:0 is left out until it works again: so w", NULL, 1 },
    { 6, "1o1o2d", 6, 0, 2, 1, "cpu:1 is left out until it works again: so o", NULL, 3 },
    { 2, "", 2, 0, 3, 0, "cpu:1 is left out until it works again: so o",
      "no device is left for the job: cpu:1: so o", 3 },
};

/* Three shards, of which the first begins with frame 40. */
static void begin_tries(struct tries *tries, struct flow *flow, uint64_t devices)
{
    struct vrt_shards_work work = { .devices = devices };
    struct vrt_shards *shards = &tries->shards;

    *tries = (struct tries){ .n_changed = 0 };
    vrt_progress_init(&tries->progress, flow->pool, "job0", NULL);
    tries->progress.told.frames_total = 40;
    expect_int(vrt_speed_spec_new(flow->network, 16, 16, &work.spec), 0);
    work.spec->recipe.times = work.spec->recipe.every = 1;
    vrt_shards_init(shards, &(struct vrt_shards_params){
        .pool = flow->pool, .progress = &tries->progress, .job_id = "job0",
        .changed = on_changed, .ctx = &tries->n_changed,
    });
    vrt_shards_begin(shards, &work);
    vrt_job_spec_unref(work.spec);
    /* Nobody waits any longer for devices that are gone. */
    shards->patience.since_ns = 1;
    for (int k = 0; k < 3; k++) {
        struct vrt_shard_frames frames;
        expect_int(vrt_speed_shard_init(work.spec, 1, &frames), 0);
        frames.in[0]->index = 40 + k;
        frames.n_new = 3;
        expect_int(vrt_shards_add(shards, &frames), 0);
    }
}

static void expect_tried(struct tries *tries, const struct tried *row)
{
    struct vrt_shards *shards = &tries->shards;
    struct vrt_error error = { .id = NULL };
    uint64_t holding = 0, blamed = 0;

    vrt_shards_describe(shards);
    expect_int(shards->job.devices, row->next);
    expect_int(shards->job.n_ready, row->n_ready);
    expect_int(shards->job.n_left, 40 - (3 - row->n_ready));
    expect_int(vrt_shards_check_devices(shards, &error), row->says ? -EIO : 0);
    expect_str(error.message, row->says ? row->says : "");
    if (row->says)
        expect_str(error.id, row->devices == 1 ? "device.memory" : "device.failed");
    expect_int(tries->progress.n_warnings, row->warns != NULL);
    if (row->warns)
        expect_str(tries->progress.warnings[0], row->warns);
    const struct vrt_worker_run *out = tries->runs[0] ? tries->runs[0] : tries->runs[1];
    if (out)
        expect_int(shards->job.ops->may_copy(&shards->job, out->base.ctx), row->copies);
    for (int d = 0; d < 3; d++) {
        const struct vrt_progress_device *device = &tries->progress.devices[d];
        const int n_done = count(row->script, d, "d");
        struct vrt_device_snapshot now;
        expect_int(device->shards_done, n_done);
        expect_int(device->frames_done, 3 * n_done);
        expect_int(device->shards_failed, count(row->script, d, "fwomx"));
        expect_int(device->times.compute_ns, count(row->script, d, "fwomsd"));
        expect_int(device->job_bytes, n_done ? 0 : -1);
        expect_int(device->in_flight, tries->runs[d] != NULL);
        /* What two have is under way once. */
        expect_true(device->runs[0] == (count(row->script, d, "c") ? NULL : tries->runs[d]));
        expect_true(row->next >> d & 1 || !shards->job.ops->take(&shards->job, (size_t)d));
        vrt_pool_device(tries->shards.params.pool, (size_t)d, &now);
        blamed |= (uint64_t)(now.state == VRT_DEVICE_QUARANTINED) << d;
        holding |= (uint64_t)(count(row->script, d, "tcfwomsxd") > 0) << d;
    }
    expect_int(blamed, row->blamed);
    expect_int(shards->holding, holding);
    expect_int(tries->n_changed, count(row->script, -1, "fwomsxd"));
}

/* What is restored is the encoder's; what is out is told to break off, and forgotten when it comes
 * back. */
static void end_tries(struct tries *tries, int n_restored)
{
    struct vrt_shards *shards = &tries->shards;

    for (int k = 0; k < n_restored; k++) {
        struct vrt_shard_frames frames;
        expect_true(vrt_shards_next_is_restored(shards));
        expect_int(vrt_shards_take_restored(shards, &frames), k);
        vrt_shard_frames_done(&frames);
    }
    expect_true(!vrt_shards_next_is_restored(shards));
    for (int cancels = 0; cancels < 2; cancels++) {
        vrt_shards_close(shards, cancels);
        for (size_t d = 0; d < 3; d++)
            if (tries->runs[d])
                expect_int(atomic_load(&tries->runs[d]->base.task.cancel), cancels);
    }
    for (size_t d = 0; d < 3; d++)
        if (tries->runs[d])
            give_back(tries, d, d ? 'f' : 'd');
    expect_int(shards->n_shards, 0);
    expect_int(shards->n_running, 0);
    vrt_shards_release_devices(shards);
    expect_int(shards->holding, 0);
    vrt_shards_leave(shards);
    vrt_progress_done(&tries->progress);
}

static void test_tries(void)
{
    struct tries tries;
    struct flow flow;

    init(&flow, 3);
    while ((vrt_pool_devices(flow.pool).ready & 7) != 7)
        uv_run(&flow.loop, UV_RUN_ONCE);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(tried); i++) {
        fprintf(stderr, "  %s\n", tried[i].script);
        begin_tries(&tries, &flow, tried[i].devices);
        play(&tries, tried[i].script);
        expect_tried(&tries, &tried[i]);
        end_tries(&tries, tried[i].n_restored);
    }
    flow_done(&flow);
}

TEST_MAIN_AFTER(fixture_init(),
    { "rate", test_rate },
    { "shares", test_shares },
    { "live", test_live },
    { "waiting", test_waiting },
    { "tries", test_tries },
)
