/* SPDX-License-Identifier: MIT */

/* Whole jobs: from a video to a verified file, refused, failed, or cancelled at any moment. */

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/devices/pool-job.h"
#include "daemon/pipeline/progress.h"
#include "tests/unit/pipeline/flow-fixture.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/environment.h"
#include "tests/unit/test.h"

#define N_FRAMES 43

/* A video of N_FRAMES small frames with sound. */
static const char *video(void)
{
    static char path[160];

    snprintf(path, sizeof(path), "%s",
             fixture_make("in.mp4", "-f lavfi -i testsrc2=s=96x64:r=25 -f lavfi -i sine "
                          "-frames:v %d -shortest -pix_fmt yuv420p", N_FRAMES));
    return path;
}

static struct vrt_pipeline_params params_for(const char *input)
{
    return (struct vrt_pipeline_params){
        .input_fd = fixture_open(input),
        .input_name = input,
        .model_fd = -1,
    };
}

static void init(struct flow *flow, int cpu_devices)
{
    const struct vrt_pool_params params = {
        .registry = { .values = TEST_CPUS(cpu_devices, 1) },
    };

    flow_init(flow, fixture_path(""), params);
}

/* Runs one job. */
static void run_job(struct flow *flow, struct flow_job *job, struct vrt_pipeline_params params,
                    const char *output)
{
    flow_submit(flow, job, params, fixture_path(output));
    close(params.input_fd);
    flow_run(flow);
    fprintf(stderr, "  %s: %s%s\n", output, job->error.message, job->warnings);
}

static void expect_file(const char *name, const char *size, int n_frames)
{
    const char *found = fixture_run("ffprobe -v error -count_frames -select_streams v -of csv=p=0 "
                                    "-show_entries stream=width,height,nb_read_frames %s", name);
    char wanted[64];

    snprintf(wanted, sizeof(wanted), "%s,%d", size, n_frames);
    expect_str(found, wanted);
}

/* What is left is complete: the folder is the caller's. */
static void expect_working_files(const char *names)
{
    expect_str(fixture_run("cd job0 && echo *"), names);
}

/* All stages took time. Which one took longest is the machine's affair: that one is named. */
static void expect_bottleneck(const struct vrt_pipeline_snapshot *last)
{
    expect_true(last->bottleneck < VRT_STAGE_COUNT);
    for (int stage = 0; stage < VRT_STAGE_COUNT; stage++) {
        expect_true(last->busy[stage] > 0 && last->busy[stage] <= 1);
        expect_true(last->busy[stage] <= last->busy[last->bottleneck]);
    }
}

static void test_restores(void)
{
    struct flow_job job = { .cancel_at = -1 };
    struct flow flow;

    init(&flow, 1);
    run_job(&flow, &job, params_for(video()), "out.mp4");
    expect_str(job.error.message, "");
    expect_int(job.last.frames_done, N_FRAMES);
    expect_int(job.last.frames_total, N_FRAMES);
    expect_int(job.info.out_width, 192);
    expect_int(job.last.n_devices, 1);
    expect_int(job.last.devices[0].frames_done, N_FRAMES);
    expect_true(job.last.devices[0].planned_bytes > 0);
    expect_true(job.last.fps > 0);
    expect_bottleneck(&job.last);
    expect_file("out.mp4", "192,128", N_FRAMES);
    expect_contains(fixture_run("ffprobe -v error -show_entries stream=codec_type -of csv=p=0 "
                                "out.mp4"), "audio");
    expect_working_files("00000.seg joined.mp4");
    flow_done(&flow);
}

/* The same bits from one device and from three, whole and tiled alike on both. */
static void test_devices_agree(void)
{
    const struct vrt_job_settings settings = { .codec = VRT_CODEC_FFV1, .tile = 56 };
    struct flow_job job = { .cancel_at = -1 };
    char sums[2][64];
    struct flow flow;

    for (int i = 0; i < 2; i++) {
        struct vrt_pipeline_params params = params_for(video());
        params.settings = &settings;
        init(&flow, i ? 3 : 1);
        run_job(&flow, &job, params, "out.mkv");
        expect_str(job.error.message, "");
        expect_true(job.info.reproducible);
        expect_int(job.last.n_devices, i ? 3 : 1);
        snprintf(sums[i], sizeof(sums[i]), "%s", fixture_run("md5sum < out.mkv"));
        flow_done(&flow);
    }
    expect_str(sums[1], sums[0]);
}

static void test_two_jobs(void)
{
    struct flow_job jobs[2] = { { .cancel_at = -1 }, { .cancel_at = -1 } };
    struct vrt_pipeline_params params;
    struct flow flow;
    const char *input = video();

    init(&flow, 2);
    for (int i = 0; i < 2; i++) {
        params = params_for(input);
        params.priority = i;
        flow_submit(&flow, &jobs[i], params, fixture_path(i ? "b.mp4" : "a.mp4"));
        close(params.input_fd);
    }
    flow_run(&flow);
    for (int i = 0; i < 2; i++) {
        expect_str(jobs[i].error.message, "");
        expect_int(jobs[i].last.frames_done, N_FRAMES);
    }
    expect_str(fixture_run("cmp a.mp4 b.mp4"), "");
    flow_done(&flow);
}

struct refusal {
    const char *what;
    struct vrt_job_settings settings;
    struct vrt_pipeline_params params;
    const char *output, *message;
};

static void test_refusals(void)
{
    const char *input = video();
    const char *text = fixture_write("text.mp4", "no video at all", 15);
    const char *bad_model = fixture_write("bad.pth", "no network at all", 17);
    const struct refusal refusals[] = {
        { text, { .tile = 0 }, { 0 }, "out.mp4", "text.mp4" },
        { input, { .tile = 0 }, { .devices = "cuda:0", .fallback = VRT_FALLBACK_FORBID },
          "out.mp4", "cuda" },
        { input, { .tile = 0 }, { .devices = "cpu:9" }, "out.mp4", "cpu:9" },
        { input, { .tile = 33 }, { 0 }, "out.mp4", "tile" },
        { input, { .codec = VRT_CODEC_FFV1 }, { 0 }, "out.mp4", "mp4" },
        { input, { .quality = 99 }, { 0 }, "out.mp4", "99" },
        { input, { .preset = "sloth" }, { 0 }, "out.mp4", "no such preset" },
        { input, { .precision = VRT_PRECISION_F16 }, { 0 }, "out.mp4", "cpu:0" },
        { input, { .tile = 0 }, { 0 }, "out.avi", "mp4" },
        { input, { .tile = 0 }, { .model_name = "bad.pth" }, "out.mp4", "bad.pth" },
    };
    struct flow flow;

    init(&flow, 1);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        struct flow_job job = { .cancel_at = -1 };
        struct vrt_pipeline_params params = params_for(refusals[i].what);
        const struct vrt_pipeline_params *r = &refusals[i].params;
        params.devices = r->devices;
        params.fallback = r->fallback;
        params.settings = &refusals[i].settings;
        params.model_name = r->model_name;
        params.model_fd = r->model_name ? fixture_open(bad_model) : -1;
        run_job(&flow, &job, params, refusals[i].output);
        expect_true(!job.was_admitted);
        expect_contains(job.error.message, refusals[i].message);
        if (params.model_fd >= 0)
            close(params.model_fd);
    }
    flow_done(&flow);
}

static void test_same_file(void)
{
    struct flow_job job = { .cancel_at = -1 };
    struct flow flow;
    const char *input = video();

    fixture_run("cp in.mp4 copy.mp4");
    init(&flow, 1);
    struct vrt_pipeline_params params = params_for(input);
    close(params.input_fd);
    fixture_run("rm -f same.mp4");
    flow_submit(&flow, &job, (params.input_fd = open(fixture_path("same.mp4"),
                                                     O_RDWR | O_CREAT, 0600), params),
                fixture_path("same.mp4"));
    close(params.input_fd);
    flow_run(&flow);
    expect_str(job.error.id, "job.same_file");
    flow_done(&flow);
}

static void test_fallback_warns(void)
{
    struct flow_job job = { .cancel_at = -1 };
    struct vrt_pipeline_params params = params_for(video());
    struct flow flow;

    params.devices = "cuda";
    init(&flow, 1);
    run_job(&flow, &job, params, "out.mp4");
    expect_str(job.error.message, "");
    expect_contains(job.warnings, "no cuda device: cpu is used instead");
    flow_done(&flow);
}

static bool has_xpu(const char *kind)
{
    return strcmp(kind, "xpu") == 0;
}

/* There is a GPU that is no device: who left the choice to vrtd is told why, and nobody else. */
static void test_missed_gpu_warns(void)
{
    const struct vrt_pool_params pool = {
        .registry = { .values = TEST_CPUS(1, 1) }, .has_gpu = has_xpu,
    };

    for (int i = 0; i < 2; i++) {
        struct flow_job job = { .cancel_at = -1 };
        struct vrt_pipeline_params params = params_for(video());
        struct flow flow;

        params.devices = i ? "cpu" : "auto";
        flow_init(&flow, fixture_path(""), pool);
        const struct vrt_findings *findings = vrt_pool_findings(flow.pool);
        const char *why = NULL;
        for (size_t f = 0; f < findings->n; f++)
            if (!why && findings->list[f].kind != VRT_FINDING_THERE &&
                strcmp(findings->list[f].backend, "xpu") == 0)
                why = findings->list[f].text;
        expect_true(why);
        run_job(&flow, &job, params, "out.mp4");
        expect_str(job.error.message, "");
        if (i == 0) {
            expect_contains(job.warnings, "no accelerator can be used (xpu: ");
            expect_contains(job.warnings, why);
            expect_contains(job.warnings, "cpu is used instead; vrtctl doctor tells more");
        } else {
            expect_str(job.warnings, "");
        }
        flow_done(&flow);
    }
}

/* Cancelled during admission, at the first shard, in the middle, near the end: nothing is left. */
static void test_cancel(void)
{
    struct flow flow;
    const char *input = video();

    init(&flow, 2);
    for (int at = 0; at < N_FRAMES; at += 6) {
        struct flow_job job = { .cancel_at = at };
        run_job(&flow, &job, params_for(input), "out.mp4");
        if (job.error.message[0]) {
            expect_str(job.error.id, "job.cancelled");
            expect_int(fixture_size(fixture_path("out.mp4")), 0);
        } else {
            expect_int(job.last.frames_done, N_FRAMES);
        }
        /* Nothing half done: no frame, every frame, or the file too. */
        expect_str(fixture_run("cd job0 && ls | grep -cvx '00000.seg\\|joined.mp4' || true"), "0");
    }
    for (int i = 0; i < 5; i++) {
        struct flow_job job = { .cancel_at = -1 };
        struct vrt_pipeline_params params = params_for(input);
        flow_submit(&flow, &job, params, fixture_path("out.mp4"));
        close(params.input_fd);
        for (int k = 0; k < i; k++)
            uv_run(&flow.loop, UV_RUN_ONCE);
        if (job.pipeline)
            vrt_pipeline_cancel(job.pipeline);
        expect_true(!job.is_done || i > 0);
        flow_run(&flow);
        expect_str(job.error.id, "job.cancelled");
    }
    flow_done(&flow);
}

/* Cancelled when the result is there, but the loop hasn't heard of it: then the job is done. */
static void test_cancel_too_late(void)
{
    struct flow_job job = { .cancel_at = -1 };
    struct vrt_pipeline_params params = params_for(video());
    struct vrt_pipeline_snapshot now = { 0 };
    struct flow flow;
    long long size = 0, before = -1;

    init(&flow, 1);
    flow_submit(&flow, &job, params, fixture_path("out.mp4"));
    close(params.input_fd);
    while (now.phase != VRT_PIPELINE_FINISHING) {
        uv_run(&flow.loop, UV_RUN_ONCE);
        vrt_pipeline_snapshot(job.pipeline, &now);
    }
    /* The loop stands still until it has something to do, and the file doesn't grow any more. */
    struct pollfd next = { .fd = uv_backend_fd(&flow.loop), .events = POLLIN };
    expect_int(poll(&next, 1, -1), 1);
    for (int quiet = 0; quiet < 10; before = size) {
        usleep(50000);
        size = fixture_size(fixture_path("out.mp4"));
        quiet = size > 0 && size == before ? quiet + 1 : 0;
    }
    vrt_pipeline_cancel(job.pipeline);
    flow_run(&flow);
    expect_true(job.is_done);
    expect_str(job.error.message, "");
    expect_int(fixture_size(fixture_path("out.mp4")), size);
    flow_done(&flow);
}

/* The daemon stops while jobs are in every phase. */
static void test_stop(void)
{
    struct flow flow;
    const char *input = video();

    for (int rounds = 0; rounds < 60; rounds += 12) {
        struct flow_job jobs[3] = { { .cancel_at = -1 } };
        init(&flow, 2);
        for (int i = 0; i < 3; i++) {
            struct vrt_pipeline_params params = params_for(input);
            jobs[i].cancel_at = -1;
            flow_submit(&flow, &jobs[i], params, fixture_path(i ? i > 1 ? "c.mp4" : "b.mp4" :
                                                              "a.mp4"));
            close(params.input_fd);
        }
        for (int k = 0; k < rounds; k++)
            uv_run(&flow.loop, UV_RUN_ONCE);
        flow_done(&flow);
        for (int i = 0; i < 3; i++) {
            expect_true(jobs[i].is_done);
            expect_str(jobs[i].error.id, "job.interrupted");
            close(jobs[i].output_fd);
        }
    }
}

/* Nothing of a job is left on its devices, and the replica stays for the next. */
static void test_memory_returns(void)
{
    struct flow_job job = { .cancel_at = -1 };
    struct vrt_device_snapshot device;
    struct flow flow;
    int64_t used_bytes = 0;
    const char *input = video();

    init(&flow, 1);
    for (int i = 0; i < 3; i++) {
        run_job(&flow, &job, params_for(input), "out.mp4");
        uv_run(&flow.loop, UV_RUN_ONCE);
        do {
            uv_run(&flow.loop, UV_RUN_ONCE);
            vrt_pool_device(flow.pool, 0, &device);
        } while (device.workspace_bytes > 0);
        expect_int(device.n_replicas > 0, 1);
        expect_int(device.used_bytes, device.replica_bytes);
        expect_true(device.peak_bytes > device.used_bytes);
        expect_int(device.state, VRT_DEVICE_READY);
        expect_true(i == 0 || device.used_bytes == used_bytes);
        used_bytes = device.used_bytes;
    }
    flow_done(&flow);
}

/* Shards and segments are as short as the slowest of the job's devices needs them. */
static void test_pace(void)
{
    static const struct {
        const char *devices;
        double cpu_s, ref_s;            /* that a frame takes; 0: nobody knows */
        int clip_frames, segment_frames;
    } rows[] = {
        { "cpu,ref", 0, 0, 8, 96 },
        { "cpu,ref", 0.001, 10, 2, 12 },
        { "cpu,ref", 20, 0.001, 1, 6 },
        { "cpu", 0.001, 10, 8, 96 },
    };
    int64_t frame_flops = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct flow_job job = { .cancel_at = -1, .stop_at = 1 };
        struct vrt_pipeline_params params = flow_exact_params(video());
        struct flow flow;
        size_t n;
        params.devices = rows[i].devices;
        init(&flow, 1);
        const struct vrt_device_info *const *infos = vrt_pool_infos(flow.pool, &n);
        for (size_t d = 0; d < n; d++) {
            struct vrt_probe probe = { .f32_speedup = NAN };
            const double s = strcmp(infos[d]->kind, "cpu") == 0 ? rows[i].cpu_s : rows[i].ref_s;
            for (int k = 0; k < VRT_DTYPE_COUNT; k++)
                probe.fidelity_db[k] = NAN;
            probe.flops_per_s[VRT_DTYPE_F32] = s > 0 ? (double)frame_flops / s : NAN;
            vrt_measurements_note_probe(vrt_pool_measurements(flow.pool),
                                        vrt_network_checksum(flow.network), d, &probe);
        }
        run_job(&flow, &job, params, "out.mkv");
        expect_true(job.was_admitted);
        frame_flops = job.info.frame_flops;
        expect_int(job.info.recipe.clip_frames, rows[i].clip_frames);
        expect_int(job.info.recipe.segment_frames, rows[i].segment_frames);
        flow_done(&flow);
    }
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

TEST_MAIN_AFTER(fixture_init(),
    { "rate", test_rate },
    { "shares", test_shares },
    { "restores", test_restores },
    { "devices-agree", test_devices_agree },
    { "pace", test_pace },
    { "two-jobs", test_two_jobs },
    { "refusals", test_refusals },
    { "same-file", test_same_file },
    { "fallback-warns", test_fallback_warns },
    { "missed-gpu-warns", test_missed_gpu_warns },
    { "cancel", test_cancel },
    { "cancel-too-late", test_cancel_too_late },
    { "stop", test_stop },
    { "memory-returns", test_memory_returns },
)
