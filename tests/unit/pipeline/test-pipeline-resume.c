/* SPDX-License-Identifier: MIT */

/*
 * Jobs that are interrupted and gone on with: the file is what it would have been, to the last
 * byte, and nothing that was stored is computed again
 */

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/unit/pipeline/clip-trail.h"
#include "tests/unit/pipeline/flow-fixture.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"
#include "tests/unit/model/vrt-fixture.h"
#include "tests/unit/model/weight-rule.h"

static char wanted[64];                 /* the sum of the undisturbed run's result */

/* A video and what is asked of it. */
struct trial {
    const char *input, *output;
    struct vrt_network *network;        /* NULL: the flow's */
    struct vrt_job_settings asked;
    int n_segments;                     /* that it has */
    bool has_tails;                     /* its segments share frames */
};

/* One pipeline of a job. */
struct run {
    int n_devices;
    int park_at, stop_at, hold_at;      /* as of struct flow_job */
};

static const char *still_video(int n_frames)
{
    return fixture_make("in.mp4", "-f lavfi -i testsrc2=s=48x32:r=25 -f lavfi -i sine -frames:v %d "
                        "-shortest -pix_fmt yuv420p", n_frames);
}

static struct vrt_pipeline_params params_for(const struct trial *trial)
{
    return (struct vrt_pipeline_params){
        .input_fd = fixture_open(trial->input),
        .input_name = trial->input,
        .model_fd = -1,
        .network = trial->network,
        .settings = &trial->asked,
    };
}

/* As the queue does it: what the first admission found is brought along. */
static void run_once(const struct trial *trial, const struct run *run, struct flow_job *job)
{
    const struct vrt_pipeline_info info = job->info;
    struct vrt_pipeline_params params = params_for(trial);
    struct flow flow;

    if (job->keeps) {
        params.recipe = &info.recipe;
        params.fingerprint = &info.fingerprint;
        params.network_checksum = info.network_checksum;
    }
    job->park_at = run->park_at;
    job->stop_at = run->stop_at;
    job->hold_at = run->hold_at;
    flow_init_cpus(&flow, run->n_devices);
    flow_submit(&flow, job, params, fixture_path(trial->output));
    flow_run(&flow);
    flow_done(&flow);
    job->keeps = true;
}

static const char *sum(const struct trial *trial)
{
    return fixture_run("md5sum < %s", trial->output);
}

/* The undisturbed run. */
static void run_whole(const struct trial *trial, struct flow_job *ret_job)
{
    *ret_job = (struct flow_job){ .cancel_at = -1 };
    run_once(trial, &(struct run){ .n_devices = 2 }, ret_job);
    expect_str(ret_job->error.message, "");
    expect_int(ret_job->n_segments, trial->n_segments);
    expect_int(ret_job->last.n_segments_done, trial->n_segments);
    snprintf(wanted, sizeof(wanted), "%s", sum(trial));
}

/* Goes on with a job, to its end: what is stored is not computed again. */
static void run_rest(const struct trial *trial, const struct flow_job *whole, struct flow_job *job,
                     int n_devices)
{
    const int n = job->n_segments;
    const int64_t done = n > 0 ? job->segments[n - 1].next_shard : 0;

    run_once(trial, &(struct run){ .n_devices = n_devices }, job);
    expect_str(job->error.message, "");
    expect_int(job->last.frames_done, whole->last.frames_done);
    expect_int(job->last.frames_total, whole->last.frames_total);
    expect_int(job->last.n_segments_done, trial->n_segments);
    expect_int(flow_shards_done(&job->last), flow_shards_done(&whole->last) - done);
    for (int i = 0; i < trial->n_segments; i++)
        expect_true(memcmp(&job->segments[i], &whole->segments[i], sizeof(job->segments[i])) == 0);
}

/* Interrupted after each segment in turn, and gone on with on another number of devices. */
static void try_each(const struct trial *trial, bool by_parking)
{
    struct flow_job whole;

    run_whole(trial, &whole);
    for (int k = 1; k <= trial->n_segments; k++) {
        struct flow_job job = { .cancel_at = -1 };
        const struct run first = { .n_devices = 1 + k % 2,
                                   .park_at = by_parking ? k : 0,
                                   .stop_at = by_parking ? 0 : k };
        run_once(trial, &first, &job);
        /* The last one is told when the file is being made: who parks it comes too late. */
        if (job.error.message[0]) {
            expect_str(job.error.id, by_parking ? "job.parked" : "test.stopped");
            expect_int(fixture_size(fixture_path(trial->output)), 0);
            /* Those that the encoder had begun may have become complete. */
            expect_true(job.n_segments >= k && job.n_segments <= k + 2);
            expect_true((job.segments[k - 1].tail_bytes > 0) ==
                        (trial->has_tails && k < trial->n_segments));
        }
        run_rest(trial, &whole, &job, 1 + (k + 1) % 2);
        expect_int(job.n_cuts, 0);
        expect_str(sum(trial), wanted);
    }
}

static void test_stills(void)
{
    /* The last shard has one frame. */
    struct trial trial = {
        .input = still_video(41), .output = "out.mp4", .asked.segment_frames = 10,
        .n_segments = 3,
    };

    try_each(&trial, true);
    trial.output = "out.mkv";
    trial.asked.segment_frames = 8;
    trial.n_segments = 6;
    try_each(&trial, false);
    trial.asked.codec = VRT_CODEC_FFV1;
    try_each(&trial, true);
}

/* Frames that come when they like. */
static void test_variable_rate(void)
{
    struct trial trial = {
        .input = fixture_make("vfr.mkv", "-f lavfi -i testsrc2=s=48x32:r=50 -vf "
                              "\"select='not(mod(n,3))+not(mod(n,7))'\" -vsync vfr -frames:v 36 "
                              "-pix_fmt yuv420p"),
        .output = "out.mp4", .asked.segment_frames = 16, .n_segments = 3,
    };

    try_each(&trial, false);
    trial.output = "out.mkv";
    try_each(&trial, false);
}

static struct vrt_network *new_network(void)
{
    struct vrt_fixture vrt = { .sizes = vrt_sizes_small(), .flow_gain = RULE_FLOW_STEADY };
    struct fixture f = { 0 };

    vrt.sizes.n_up = 0;
    fixture_add_vrt(&f, &vrt);
    struct vrt_network *network = fixture_network(&f);
    trail_replace(network);
    return network;
}

/* Clips that share frames: the tail counts, to the last bit. */
static void test_clips(void)
{
    struct trial trial = {
        .input = fixture_make("in.mkv", "-f lavfi -i testsrc2=s=160x120:r=25 -frames:v 29 -c:v "
                              "ffv1 -vf format=yuv444p,crop=80:64 -pix_fmt yuv444p"),
        .output = "out.mkv", .network = new_network(),
        .asked = { .codec = VRT_CODEC_FFV1, .tile = 64, .overlap = 12, .clip = 6,
                   .clip_overlap = 2, .segment_frames = 7 },
        .n_segments = 4, .has_tails = true,
    };

    try_each(&trial, true);
    trial.asked.tiling = VRT_TILING_OFFICIAL;
    try_each(&trial, false);
    vrt_network_unref(trial.network);
}

/* Segments end with a shard wherever scenes cut the video. */
static void test_scenes(void)
{
    struct trial trial = {
        .input = fixture_make("scenes.mkv",
            "-f lavfi -i testsrc2=s=64x64:r=25:d=0.28 -f lavfi -i mandelbrot=s=64x64:r=25 "
            "-f lavfi -i smptebars=s=64x64:r=25:d=0.32 -filter_complex "
            "'[1]trim=end_frame=4[m];[0][m][2]concat=n=3' -frames:v 19 -c:v ffv1 "
            "-pix_fmt yuv444p"),
        .output = "out.mkv", .network = new_network(),
        .asked = { .clip = 6, .segment_frames = 1 },
    };
    struct flow_job whole;
    int n_tails = 0, n_clean = 0;

    trial.n_segments = 5;
    run_whole(&trial, &whole);
    for (int k = 1; k < whole.n_segments; k++) {
        struct flow_job job = { .cancel_at = -1 };
        run_once(&trial, &(struct run){ .n_devices = 2, .stop_at = k }, &job);
        expect_str(job.error.id, "test.stopped");
        n_tails += job.segments[k - 1].tail_bytes > 0;
        n_clean += job.segments[k - 1].tail_bytes == 0;
        run_rest(&trial, &whole, &job, 1);
        expect_str(sum(&trial), wanted);
    }
    expect_true(n_tails > 0 && n_clean > 0);
    vrt_network_unref(trial.network);
}

/* Interrupted again and again, at no good moment. */
static void test_cancelled_anywhere(void)
{
    const struct trial trial = {
        .input = still_video(43), .output = "out.mp4", .asked.segment_frames = 8, .n_segments = 6,
    };
    struct flow_job whole;

    run_whole(&trial, &whole);
    for (int at = 1; at < 43; at += 9) {
        struct flow_job job = { .cancel_at = at };
        run_once(&trial, &(struct run){ .n_devices = 2 }, &job);
        job.cancel_at = at + 5;
        if (job.error.message[0])
            run_once(&trial, &(struct run){ .n_devices = 2 }, &job);
        job.cancel_at = -1;
        run_rest(&trial, &whole, &job, 1);
        expect_str(sum(&trial), wanted);
    }
}

static void flip(const char *path, int64_t at)
{
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDWR);
    uint8_t byte;

    expect_int(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    expect_int(pwrite(fd, &byte, 1, at), 1);
}

/* What was done to the files of four or more segments while nobody looked. */
struct damage {
    const char *command;                /* $L: the last segment's number, $P: that before */
    int flip_at;                        /* of 00002.seg; -1: nowhere */
    int n_good;                         /* segments after it; -1: all but one */
};

static void try_damages(const struct trial *trial, const struct damage *damages, size_t n_damages)
{
    struct flow_job whole;

    run_whole(trial, &whole);
    /* They are large: only those stay that a restart may need. */
    expect_int(access(fixture_path("job0/00000.tail"), F_OK), -1);
    for (size_t i = 0; i < n_damages; i++) {
        const struct damage *damage = &damages[i];
        struct flow_job job = { .cancel_at = -1 };
        run_once(trial, &(struct run){ .n_devices = 2, .stop_at = 4 }, &job);
        const int n = job.n_segments;
        fixture_run("L=%05d; P=%05d; cd job0; %s", n - 1, n - 2, damage->command);
        if (damage->flip_at >= 0)
            flip(fixture_path("job0/00002.seg"), damage->flip_at);
        run_once(trial, &(struct run){ .n_devices = 2 }, &job);
        expect_str(job.error.message, "");
        expect_int(job.n_cuts, 1);
        expect_int(job.n_good, damage->n_good < 0 ? n + damage->n_good : damage->n_good);
        expect_int(job.last.n_segments_done, trial->n_segments);
        expect_str(sum(trial), wanted);
    }
}

static void test_damage(void)
{
    const struct damage damages[] = {
        { "rm 00003.seg", -1, 3 },
        { "rm 00000.seg", -1, 0 },
        { "truncate -s -1 00001.seg", -1, 1 },
        { "truncate -s +1 00001.seg", -1, 1 },
        { "cp 00000.seg 00002.seg", -1, 2 },
        { "true", 20, 2 },
    };
    const struct trial trial = {
        .input = still_video(43), .output = "out.mkv",
        .asked = { .codec = VRT_CODEC_FFV1, .segment_frames = 8 },
        .n_segments = 6,
    };
    try_damages(&trial, damages, VRT_ARRAY_SIZE(damages));
}

/* Without what it shares with the next clip a segment is worth nothing. The last two have that
 * still, those before them haven't. */
static void test_tail_damage(void)
{
    const struct damage damages[] = {
        { "rm $L.tail", -1, -1 },
        { "truncate -s -4 $L.tail", -1, -1 },
        { "truncate -s 0 $L.tail", -1, -1 },
        { "tr '\\0' '\\1' < $L.tail > x; cp x $L.tail; rm x", -1, -1 },
        { "rm $L.seg", -1, -1 },
        { "truncate -s -1 $L.seg", -1, -1 },
        { "cp $P.seg $L.seg", -1, -1 },
        { "rm $L.seg $L.tail", -1, -1 },
        { "rm $L.seg *.tail", -1, 0 },
        { "rm *.tail", -1, 0 },
        { "truncate -s -4 *.tail", -1, 0 },
        { "for t in *.tail; do tr '\\0' '\\1' < $t > x; cp x $t; rm x; done", -1, 0 },
    };
    const struct trial trial = {
        .input = fixture_make("in.mkv", "-f lavfi -i testsrc2=s=64x64:r=25 -frames:v 29 -c:v "
                              "ffv1 -pix_fmt yuv444p"),
        .output = "out.mkv", .network = new_network(),
        .asked = { .codec = VRT_CODEC_FFV1, .clip = 6, .clip_overlap = 2, .segment_frames = 4 },
        .n_segments = 7, .has_tails = true,
    };
    try_damages(&trial, damages, VRT_ARRAY_SIZE(damages));
    vrt_network_unref(trial.network);
}

/* Damage in a segment's middle is found when the file is made: the job fails, and the next try
 * makes that segment anew. */
static void test_late_damage(void)
{
    const struct trial trial = {
        .input = still_video(32), .output = "out.mp4", .asked.segment_frames = 8, .n_segments = 4,
    };
    const struct run first = { .n_devices = 2, .stop_at = 3 }, rest = { .n_devices = 2 };
    struct flow_job whole, job = { .cancel_at = -1 };

    run_whole(&trial, &whole);
    run_once(&trial, &first, &job);
    flip(fixture_path("job0/00001.seg"), fixture_size(fixture_path("job0/00001.seg")) / 2);
    run_once(&trial, &rest, &job);
    expect_str(job.error.id, "segment.damaged");
    expect_int(fixture_size(fixture_path("out.mp4")), 0);
    expect_int(job.n_segments, 4);
    expect_int(job.n_cuts, 0);
    run_once(&trial, &rest, &job);
    expect_str(job.error.message, "");
    expect_int(job.n_cuts, 1);
    expect_str(sum(&trial), wanted);
}

/* The finished file is only copied again; one that is spoilt is made again. */
static void test_joined(void)
{
    const struct trial trial = {
        .input = still_video(32), .output = "out.mp4", .asked.segment_frames = 8, .n_segments = 4,
    };
    struct flow_job job;
    struct stat before, after;

    run_whole(&trial, &job);
    for (int spoilt = 0; spoilt < 2; spoilt++) {
        expect_int(stat(fixture_path("job0/joined.mp4"), &before), 0);
        if (spoilt)
            fixture_run("truncate -s 3000 job0/joined.mp4");
        run_once(&trial, &(struct run){ .n_devices = 1 }, &job);
        expect_str(job.error.message, "");
        expect_int(flow_shards_done(&job.last), 0);
        expect_int(job.last.frames_done, 32);
        expect_int(job.last.frames_total, 32);
        expect_int(stat(fixture_path("job0/joined.mp4"), &after), 0);
        expect_int(before.st_ino != after.st_ino, spoilt);
        expect_str(sum(&trial), wanted);
    }
}

/* Another file under the same name, and another model. */
static void test_others(void)
{
    struct trial trial = {
        .input = still_video(32), .output = "out.mp4", .asked.segment_frames = 8, .n_segments = 4,
    };
    const struct run first = { .n_devices = 1, .stop_at = 2 }, rest = { .n_devices = 1 };
    struct flow_job job = { .cancel_at = -1 };

    run_once(&trial, &first, &job);
    expect_true(job.n_segments >= 2);
    flip(trial.input, fixture_size(trial.input) / 2);
    run_once(&trial, &rest, &job);
    expect_true(!job.was_admitted);
    expect_str(job.error.id, "input.other");
    flip(trial.input, fixture_size(trial.input) / 2);
    job.info.network_checksum ^= 1;
    run_once(&trial, &rest, &job);
    expect_str(job.error.id, "model.other");
    job.info.network_checksum ^= 1;
    run_once(&trial, &rest, &job);
    expect_str(job.error.message, "");
}

/* Whether any device has a shard of the job, or memory for it. */
static bool is_on_a_device(const struct flow *flow, const struct flow_job *job)
{
    struct vrt_pipeline_snapshot now;
    bool found = false;

    vrt_pipeline_snapshot(job->pipeline, &now);
    for (size_t d = 0; d < now.n_devices; d++)
        found |= now.devices[d].in_flight > 0;
    for (size_t d = 0; d < vrt_pool_n_devices(flow->pool); d++) {
        struct vrt_device_snapshot device;
        vrt_pool_device(flow->pool, d, &device);
        found |= device.workspace_bytes > 0;
    }
    return found;
}

/* Held, a job computes nothing and takes nothing of a device; then it goes on as if nothing had
 * been. */
static void test_hold(void)
{
    const struct trial trial = {
        .input = still_video(240), .output = "out.mp4", .asked.segment_frames = 8, .n_segments = 30,
    };
    struct flow_job whole, job = { .cancel_at = -1, .hold_at = 2 };
    struct vrt_pipeline_snapshot before, now;
    struct flow flow;

    run_whole(&trial, &whole);
    flow_init_cpus(&flow, 2);
    struct vrt_pipeline_params params = params_for(&trial);
    int64_t began_ns = vrt_clock_now_ns();
    flow_submit(&flow, &job, params, fixture_path(trial.output));
    while (job.n_segments < 2)
        uv_run(&flow.loop, UV_RUN_ONCE);
    /* What devices have they finish; a machine that is busy takes its time. */
    flow_wait_until_idle(&flow, &job, &before);
    expect_int(before.phase, VRT_PIPELINE_RUNNING);
    int64_t idle_ns = -vrt_clock_now_ns();
    flow_run_for(&flow, 200);
    vrt_pipeline_snapshot(job.pipeline, &now);
    expect_int(flow_shards_done(&now), flow_shards_done(&before));
    /* No more can live between decoder and encoder than 16. */
    expect_true(flow_shards_done(&now) < 30);
    expect_true(!is_on_a_device(&flow, &job));
    /* The pause is no time of the job's: not while it is held, and not afterwards. */
    expect_true(before.fps > 0 && before.left_s > 0);
    expect_near(now.elapsed_s, before.elapsed_s, 0);
    expect_near(now.fps, before.fps, 0);
    expect_near(now.left_s, before.left_s, 0);
    idle_ns += vrt_clock_now_ns();
    job.hold_at = 0;
    vrt_pipeline_hold(job.pipeline, false);
    flow_run(&flow);
    expect_true(job.last.elapsed_s <= (double)(vrt_clock_now_ns() - began_ns - idle_ns) / 1e9);
    expect_near(job.last.fps, (double)job.last.frames_done / job.last.elapsed_s, 1e-6);
    flow_done(&flow);
    expect_str(job.error.message, "");
    expect_str(sum(&trial), wanted);
}

/* A disk of its own for the working files, of so many kilobytes. Return: whether there is one. */
static bool mount_spool(int kilobytes)
{
    char options[32];

    mkdir(fixture_path("job0"), 0700);
    snprintf(options, sizeof(options), "size=%dk", kilobytes);
    if (mount("none", fixture_path("job0"), "tmpfs", 0, options) == 0)
        return true;
    fprintf(stderr, "  no disk of a size of its own can be made here, this case is left out\n");
    return false;
}

/* The disk of the working files is full, again and again; each time there is a little more room. */
static void test_full_spool(void)
{
    const struct trial trial = {
        .input = still_video(43), .output = "out.mkv",
        .asked = { .codec = VRT_CODEC_FFV1, .segment_frames = 8 },
        .n_segments = 6,
    };
    struct flow_job whole, job = { .cancel_at = -1 };
    int n_full = 0, last = 0;

    run_whole(&trial, &whole);
    fixture_run("rm -rf job0");
    if (!mount_spool(16))
        return;
    for (int kilobytes = 32; n_full == 0 || job.error.message[0]; kilobytes += 96) {
        char options[32];
        expect_true(kilobytes < 16 << 10);
        run_once(&trial, &(struct run){ .n_devices = 2 }, &job);
        if (!job.error.message[0])
            break;
        expect_str(job.error.id, "spool.full");
        expect_true(n_full > 0 || strstr(job.warnings, "vrtd's working files may take about"));
        expect_true(job.info.output_bytes_estimate > 0);
        expect_int(fixture_size(fixture_path("out.mkv")), 0);
        expect_int(job.n_cuts, 0);
        expect_true(job.n_segments >= last);
        last = job.n_segments;
        n_full++;
        snprintf(options, sizeof(options), "size=%dk", kilobytes);
        expect_int(mount("none", fixture_path("job0"), "tmpfs", MS_REMOUNT, options), 0);
    }
    expect_true(n_full > 3);
    expect_str(sum(&trial), wanted);
    expect_int(umount2(fixture_path("job0"), MNT_DETACH), 0);
}

TEST_MAIN_AFTER(fixture_init(),
    { "stills", test_stills },
    { "variable-rate", test_variable_rate },
    { "clips", test_clips },
    { "scenes", test_scenes },
    { "cancelled-anywhere", test_cancelled_anywhere },
    { "damage", test_damage },
    { "tail-damage", test_tail_damage },
    { "late-damage", test_late_damage },
    { "joined", test_joined },
    { "others", test_others },
    { "hold", test_hold },
    { "full-spool", test_full_spool },
)
