/* SPDX-License-Identifier: MIT */

/* Whole jobs: from a video to a verified file, refused, failed, or cancelled at any moment. */

#include <poll.h>
#include <unistd.h>

#include "base/clock.h"
#include "daemon/devices/pool-job.h"
#include "tests/unit/pipeline/flow-fixture.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

#define N_FRAMES 43

/* A video of N_FRAMES small frames with sound. */
static const char *video(void)
{
    static char path[160];

    snprintf(path, sizeof(path), "%s",
             fixture_make("in.mp4", "-f lavfi -i testsrc2=s=48x32:r=25 -f lavfi -i sine "
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

/* Runs one job. */
static void run_job(struct flow *flow, struct flow_job *job, struct vrt_pipeline_params params,
                    const char *output)
{
    flow_submit(flow, job, params, fixture_path(output));
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

static void test_restores(void)
{
    struct flow_job job = { .cancel_at = -1 };
    struct vrt_pipeline_params params = params_for(video());
    struct flow flow;

    flow_init_cpus(&flow, 1);
    params.devices = "cuda";
    run_job(&flow, &job, params, "out.mp4");
    expect_str(job.error.message, "");
    expect_contains(job.warnings, "no cuda device: cpu is used instead");
    expect_int(job.last.frames_done, N_FRAMES);
    expect_int(job.last.frames_total, N_FRAMES);
    expect_int(job.last.n_devices, 1);
    expect_int(job.last.devices[0].frames_done, N_FRAMES);
    expect_true(job.last.devices[0].planned_bytes > 0);
    for (int stage = 0; stage < VRT_STAGE_COUNT; stage++)
        expect_true(job.last.busy[stage] > 0 && job.last.busy[stage] <= 1);
    expect_file("out.mp4", "96,64", N_FRAMES);
    expect_contains(fixture_run("ffprobe -v error -show_entries stream=codec_type -of csv=p=0 "
                                "out.mp4"), "audio");
    /* What is left is complete: the folder is the caller's. */
    expect_str(fixture_run("cd job0 && echo *"), "00000.seg joined.mp4");
    flow_done(&flow);
}

static void test_refusals(void)
{
    static const struct {
        struct vrt_job_settings settings;
        const char *output, *message;
    } rows[] = {
        { { .tile = 33 }, "out.mp4", "tile" },
        { { .codec = VRT_CODEC_FFV1 }, "out.mp4", "mp4" },
        { { .quality = 99 }, "out.mp4", "99" },
        { { .preset = "sloth" }, "out.mp4", "no such preset" },
        { { .tile = 0 }, "out.avi", "mp4" },
    };
    struct flow flow;

    flow_init_cpus(&flow, 1);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct flow_job job = { .cancel_at = -1 };
        struct vrt_pipeline_params params = params_for(video());
        params.settings = &rows[i].settings;
        run_job(&flow, &job, params, rows[i].output);
        expect_true(!job.was_admitted);
        expect_contains(job.error.message, rows[i].message);
    }
    flow_done(&flow);
}

/* Cancelled during admission, at the first shard, in the middle, near the end: nothing is left. */
static void test_cancel(void)
{
    struct flow flow;
    const char *input = video();

    flow_init_cpus(&flow, 2);
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

    flow_init_cpus(&flow, 1);
    flow_submit(&flow, &job, params, fixture_path("out.mp4"));
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
        flow_init_cpus(&flow, 2);
        for (int i = 0; i < 3; i++) {
            struct vrt_pipeline_params params = params_for(input);
            jobs[i].cancel_at = -1;
            flow_submit(&flow, &jobs[i], params, fixture_path(i ? i > 1 ? "c.mp4" : "b.mp4" :
                                                              "a.mp4"));
        }
        for (int k = 0; k < rounds; k++)
            uv_run(&flow.loop, UV_RUN_ONCE);
        flow_done(&flow);
        for (int i = 0; i < 3; i++) {
            expect_true(jobs[i].is_done);
            expect_str(jobs[i].error.id, "job.interrupted");
            close(jobs[i].output_fd);
            close(jobs[i].folder_fd);
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

    flow_init_cpus(&flow, 1);
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
        flow_init_cpus(&flow, 1);
        const struct vrt_device_info *const *infos = vrt_pool_infos(flow.pool, &n);
        for (size_t d = 0; d < n; d++) {
            struct vrt_probe probe = { .f32_speedup = NAN, .fidelity_db = { NAN, NAN, NAN } };
            const double s = strcmp(infos[d]->kind, "cpu") == 0 ? rows[i].cpu_s : rows[i].ref_s;
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

TEST_MAIN_AFTER(fixture_init(),
    { "restores", test_restores },
    { "pace", test_pace },
    { "refusals", test_refusals },
    { "cancel", test_cancel },
    { "cancel-too-late", test_cancel_too_late },
    { "stop", test_stop },
    { "memory-returns", test_memory_returns },
)
