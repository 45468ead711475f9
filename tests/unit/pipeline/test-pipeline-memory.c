/* SPDX-License-Identifier: MIT */

/* Devices that are short of memory or away when a job wants them: it waits, it goes on elsewhere,
 * it is done with smaller tiles, or there is one sentence that says what would help; and what is
 * complete of it stays. */

#include "base/clock.h"
#include "tests/unit/pipeline/flow-fixture.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/environment.h"
#include "tests/unit/test.h"

#define N_FRAMES 40
#define SEGMENT_FRAMES 8
#define W 128
#define H 96

static const char *input;
static int64_t whole_bytes;             /* of a session for whole frames, and the network */
static int64_t whole_area;              /* of the tiles of an undisturbed run */
static char wanted_sum[64];             /* of its result */

/* One pipeline of a job. */
struct run {
    int n_devices;
    const char *fault;
    int tile;
    bool wants_smaller;
    int segment_frames;                 /* 0: SEGMENT_FRAMES */
    double patience_s;                  /* 0: the default */
    double retry_s;                     /* 0: 0.05 */
    const char *devices;                /* NULL: "cpu" */
    enum vrt_fallback fallback;
    int64_t allowed_bytes;              /* of cpu:1; 0: as much as of any */
};

/* Lets jobs take so many bytes of a device. */
static void allow_bytes(struct flow *flow, size_t d, int64_t bytes)
{
    struct vrt_device_snapshot device;

    do {
        flow_run_for(flow, 10);
        vrt_pool_device(flow->pool, d, &device);
    } while (device.memory_free_bytes < 0);
    vrt_pool_set_memory_fraction(flow->pool, d, (double)bytes / (double)device.memory_free_bytes);
}

static void run_once(const struct run *run, struct flow_job *job)
{
    const struct vrt_pool_params pool = {
        .registry = { .values = TEST_CPUS(run->n_devices, 1), .fault = run->fault },
        .retry_s = run->retry_s > 0 ? run->retry_s : 0.05,
        .patience_s = run->patience_s,
        .stall_s = 60,
    };
    const struct vrt_pipeline_info info = job->info;
    struct vrt_pipeline_params params = flow_exact_params(input);
    struct vrt_job_settings settings = *params.settings;
    struct flow flow;

    params.settings = &settings;
    settings.tile = run->tile;
    settings.segment_frames = run->segment_frames ? run->segment_frames : SEGMENT_FRAMES;
    params.wants_smaller = run->wants_smaller;
    params.devices = run->devices ? run->devices : params.devices;
    params.fallback = run->fallback;
    if (job->keeps)
        params.recipe = &info.recipe;
    flow_init(&flow, fixture_path(""), pool);
    if (run->allowed_bytes)
        allow_bytes(&flow, 1, run->allowed_bytes);
    flow_submit(&flow, job, params, fixture_path("out.mkv"));
    flow_run(&flow);
    flow_done(&flow);
    job->keeps = true;
}

/* Between a sample of the result and the same of an undisturbed run; 256: one has more samples. */
static int largest_difference(void)
{
    int largest = 0, a, b;

    fixture_run("for f in out wanted; do ffmpeg -v error -nostdin -y -i $f.mkv -f rawvideo $f.raw; "
                "done");
    FILE *got = fopen(fixture_path("out.raw"), "r");
    FILE *wanted = fopen(fixture_path("wanted.raw"), "r");
    expect_true(got && wanted);
    do {
        a = getc(got);
        b = getc(wanted);
        largest = VRT_MAX(largest, (a < 0) != (b < 0) ? 256 : abs(a - b));
    } while (a >= 0 && b >= 0);
    fclose(got);
    fclose(wanted);
    return largest;
}

static int64_t area(const struct flow_job *job)
{
    return (int64_t)job->info.recipe.tile_w * job->info.recipe.tile_h;
}

/* As the undisturbed run: with its recipe to the byte, with smaller tiles but for rounding. */
static void expect_done(const struct flow_job *job)
{
    expect_str(job->error.message, "");
    expect_int(job->last.frames_done, N_FRAMES);
    if (area(job) == whole_area)
        expect_str(fixture_run("md5sum < out.mkv"), wanted_sum);
    else
        expect_true(largest_difference() <= 1);
}

/* As the queue does it: as long as a smaller recipe may help, it is begun anew with one. */
static int shrink(struct run run, struct flow_job *job)
{
    int n = 0;

    run_once(&run, job);
    while (job->error.id && strcmp(job->error.id, "device.memory") == 0 && job->was_admitted) {
        const int64_t before = area(job);
        job->n_segments = 0;
        run.wants_smaller = true;
        run_once(&run, job);
        if (job->was_admitted) {
            expect_true(area(job) < before);
            expect_contains(job->warnings, "began anew with tiles of");
        }
        expect_true(++n < 20);
    }
    return n;
}

/* Devices refuse what the planner believes there is room for. (The tiles of this network don't
 * show, but for samples that are rounded the other way.) */
static void test_smaller(void)
{
    char fault[96];

    for (int part = 2; part <= 5; part += 3) {
        struct flow_job job = { .cancel_at = -1 };
        snprintf(fault, sizeof(fault), "cpu alloc:1- nomem>%lld", (long long)whole_bytes / part);
        int n = shrink((struct run){ .n_devices = 2, .fault = fault }, &job);
        expect_true(n >= 1 && n < 12);
        expect_true(area(&job) < (int64_t)W * H);
        expect_done(&job);
    }
}

/* Only one of two devices is too small: it leaves, but not before it had one shard by itself. */
static void test_one_leaves(void)
{
    struct flow_job job = { .cancel_at = -1 };
    char fault[96];

    snprintf(fault, sizeof(fault), "cpu:1 alloc:1- nomem>%lld; cpu:0 submit:1- delay=3ms",
             (long long)whole_bytes / 2);
    run_once(&(struct run){ .n_devices = 2, .fault = fault }, &job);
    expect_done(&job);
    expect_contains(job.warnings, "cpu:1 ran out of memory and left the job");
    expect_int(job.last.devices[1].shards_failed, 3);
    expect_int(area(&job), (int64_t)W * H);
}

/* What a user asked for is not made smaller. */
static void test_smallest(void)
{
    for (int tile = 0; tile <= 96; tile += 96) {
        struct flow_job job = { .cancel_at = -1 };
        const int n = shrink((struct run){ .n_devices = 1, .tile = tile,
                                           .fault = "cpu alloc:1- nomem>100000" }, &job);
        expect_true(tile ? n == 1 : n > 1);
        expect_true(!job.was_admitted);
        expect_str(job.error.id, "device.memory");
        expect_contains(job.error.message, tile ? "ask for a smaller tile, or for none" :
                                                  "stop other programs that use its memory");
    }
}

/* A device is lost in the middle, and what it then has is too little. What was complete then is of
 * no use with another recipe. */
static void test_smaller_later(void)
{
    struct flow_job job = { .cancel_at = -1 };
    char fault[160];

    snprintf(fault, sizeof(fault), "cpu submit:40 lost; cpu alloc:12- nomem>%lld",
             (long long)whole_bytes / 2);
    run_once(&(struct run){ .n_devices = 1, .fault = fault }, &job);
    expect_str(job.error.id, "device.memory");
    expect_true(job.n_segments > 0);
    job.n_segments = 0;
    snprintf(fault, sizeof(fault), "cpu alloc:1- nomem>%lld", (long long)whole_bytes * 4 / 5);
    expect_int(shrink((struct run){ .n_devices = 1, .fault = fault, .wants_smaller = true }, &job),
               0);
    expect_done(&job);
}

/* What isn't there when a job starts may be there a moment later; when it is submitted, its user
 * is told. */
static void test_waits_for_memory(void)
{
    static const char fault[] = "cpu replica:1-2 nomem";
    struct flow_job job = { .cancel_at = -1 };

    run_once(&(struct run){ .n_devices = 1, .fault = fault }, &job);
    expect_true(!job.was_admitted);
    expect_str(job.error.id, "device.memory");

    job = (struct flow_job){ .cancel_at = -1 };
    run_once(&(struct run){ .n_devices = 1 }, &job);
    job.n_segments = 0;
    run_once(&(struct run){ .n_devices = 1, .fault = fault, .retry_s = 0.3 }, &job);
    expect_done(&job);
    expect_str(job.warnings, "");

    job.n_segments = 0;
    const int64_t start_ns = vrt_clock_now_ns();
    run_once(&(struct run){ .n_devices = 1, .fault = "cpu replica:1- nomem", .patience_s = 1 },
             &job);
    expect_true(vrt_clock_now_ns() - start_ns > VRT_NS_PER_S);
    expect_true(!job.was_admitted);
    expect_str(job.error.id, "device.memory");
}

/* With one device that has room nobody waits for the other. */
static void test_left_out(void)
{
    struct flow_job job = { .cancel_at = -1 };

    run_once(&(struct run){ .n_devices = 1 }, &job);
    job.n_segments = 0;
    run_once(&(struct run){ .n_devices = 2, .fault = "cpu:1 replica:1- nomem" }, &job);
    expect_done(&job);
    expect_contains(job.warnings, "not every device takes part: cpu:1");
}

/* What one device has room for, all take: which of them restored a frame must not show. */
static void test_less_memory(void)
{
    struct flow_job job = { .cancel_at = -1 };

    run_once(&(struct run){ .n_devices = 2, .allowed_bytes = whole_bytes * 3 / 2 }, &job);
    expect_done(&job);
    expect_str(job.warnings, "");
    expect_true(area(&job) < whole_area);
    expect_true(job.info.reproducible);
    expect_int(job.last.n_devices, 2);
    expect_true(job.last.devices[0].planned_bytes < whole_bytes);
    expect_int(job.last.devices[1].planned_bytes, job.last.devices[0].planned_bytes);
}

/* A device that lacks an op takes no part; where all do the CPUs stand in, if they may. */
static void test_lacks(void)
{
    static const struct {
        const char *devices, *fault;
        enum vrt_fallback fallback;
        bool is_done, uses_cpu_instead;
        const char *says;               /* in a warning, or the error */
    } rows[] = {
        { "ref", "ref", VRT_FALLBACK_WARN, true, true,
          "can compute this network: cpu is used instead" },
        { "ref", "ref", VRT_FALLBACK_ALLOW, true, true,
          "ref:0 takes no part: it lacks conv2d, which this network needs in f32\n" },
        { "ref", "ref", VRT_FALLBACK_FORBID, false, false, "ref:0 lacks conv2d" },
        { "cpu,ref", "ref", VRT_FALLBACK_WARN, true, false,
          "ref:0 takes no part: it lacks conv2d, which this network needs in f32\n" },
        /* There is no other device that might have it. */
        { "cpu", "cpu", VRT_FALLBACK_WARN, false, false,
          "lacks conv2d, which this network needs in f32: ask for another" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct flow_job job = { .cancel_at = -1 };
        char fault[32];
        snprintf(fault, sizeof(fault), "%s open:1- lacks=conv2d", rows[i].fault);
        run_once(&(struct run){ .n_devices = 1, .devices = rows[i].devices,
                                .fallback = rows[i].fallback, .fault = fault }, &job);
        expect_int(job.was_admitted, rows[i].is_done);
        expect_contains(rows[i].is_done ? job.warnings : job.error.message, rows[i].says);
        expect_int(strstr(job.warnings, "cpu is used instead") != NULL, i == 0);
        expect_true(!strstr(job.warnings, "not every device"));
        if (!rows[i].is_done)
            continue;
        expect_done(&job);
        expect_int(job.info.uses_cpu_instead, rows[i].uses_cpu_instead);
        expect_true(job.info.reproducible);
    }
}

/* Devices of two classes don't give the same bits. */
static void test_unlike(void)
{
    struct flow_job job = { .cancel_at = -1 };

    run_once(&(struct run){ .n_devices = 1, .devices = "cpu,ref" }, &job);
    expect_str(job.error.message, "");
    expect_true(largest_difference() <= 1);
    expect_int(job.last.n_devices, 2);
    expect_true(!job.info.reproducible);
}

/* A device that vanishes while it is asked is asked again when it is back. */
static void test_lost_while_asked(void)
{
    struct flow_job job = { .cancel_at = -1 };

    run_once(&(struct run){ .n_devices = 1, .fault = "cpu replica:1 lost revive=2" }, &job);
    expect_done(&job);
    expect_str(job.warnings, "");
    job = (struct flow_job){ .cancel_at = -1 };
    run_once(&(struct run){ .n_devices = 2, .fault = "cpu replica:1 fail" }, &job);
    expect_done(&job);
    job = (struct flow_job){ .cancel_at = -1 };
    run_once(&(struct run){ .n_devices = 1, .fault = "cpu replica:1- lost revive=1" }, &job);
    expect_true(!job.was_admitted);
    expect_contains(job.error.message, "the device is lost");
}

/* Every device goes for good: the job fails when its patience is over, whether it runs or is about
 * to, and later goes on behind what is complete. */
static void test_all_gone(void)
{
    struct flow_job job = { .cancel_at = -1 };
    const struct run gone = {
        .n_devices = 2, .fault = "cpu submit:40- lost revive=never", .patience_s = 0.6,
        .retry_s = 0.3,
    };

    run_once(&gone, &job);
    expect_str(job.error.id, "device.failed");
    expect_contains(job.error.message, "no device is left for the job");
    const int n_segments = job.n_segments;
    expect_true(n_segments > 0 && n_segments < N_FRAMES / SEGMENT_FRAMES);

    run_once(&(struct run){ .n_devices = 2, .fault = "cpu open:1- fail", .patience_s = 0.6,
                            .retry_s = 0.3 }, &job);
    expect_true(!job.was_admitted);
    expect_str(job.error.id, "device.failed");
    expect_contains(job.error.message, "doesn't work");
    expect_int(job.n_segments, n_segments);

    const int64_t n_left = N_FRAMES - n_segments * SEGMENT_FRAMES;
    run_once(&(struct run){ .n_devices = 2 }, &job);
    expect_done(&job);
    expect_true(flow_shards_done(&job.last) <= n_left && flow_shards_done(&job.last) > 0);
    expect_int(job.n_cuts, 0);
}

/* Devices go while the job is being parked: nothing that is complete is lost, and nobody waits for
 * them. */
static void test_parked_while_gone(void)
{
    struct flow_job job = { .cancel_at = -1, .park_frames = 8 };

    /* Slow enough for the encoder to be in the middle of a segment. */
    run_once(&(struct run){ .n_devices = 1, .retry_s = 10000, .patience_s = 10000,
                            .segment_frames = 24,
                            .fault = "cpu submit:1- delay=15ms; cpu submit:44- lost revive=never" },
             &job);
    expect_str(job.error.id, "job.parked");
    expect_int(job.n_segments, 0);
    expect_true(job.last.frames_done >= 8 && job.last.frames_done < 24);
    job.park_frames = 0;
    run_once(&(struct run){ .n_devices = 1 }, &job);
    expect_done(&job);
}

static void begin(void)
{
    struct flow_job job = { .cancel_at = -1 };

    fixture_init();
    input = fixture_make("in.mp4", "-f lavfi -i testsrc2=s=%dx%d:r=25 -frames:v %d "
                         "-pix_fmt yuv420p", W, H, N_FRAMES);
    run_once(&(struct run){ .n_devices = 1 }, &job);
    expect_str(job.error.message, "");
    snprintf(wanted_sum, sizeof(wanted_sum), "%s", fixture_run("md5sum < out.mkv"));
    fixture_run("cp out.mkv wanted.mkv");
    whole_area = area(&job);
    whole_bytes = job.last.devices[0].planned_bytes;
}

TEST_MAIN_AFTER(begin(),
    { "smaller", test_smaller },
    { "one-leaves", test_one_leaves },
    { "smallest", test_smallest },
    { "smaller-later", test_smaller_later },
    { "waits-for-memory", test_waits_for_memory },
    { "left-out", test_left_out },
    { "less-memory", test_less_memory },
    { "lacks", test_lacks },
    { "unlike", test_unlike },
    { "lost-while-asked", test_lost_while_asked },
    { "all-gone", test_all_gone },
    { "parked-while-gone", test_parked_while_gone },
)
