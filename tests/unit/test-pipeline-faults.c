/* SPDX-License-Identifier: MIT */

/* Devices that fail, lie, hang and vanish under a running job: its file is the same to the bit, or
 * there is one sentence that says why there is none. */

#include <unistd.h>

#include "flow-fixture.h"
#include "frames-fixture.h"
#include "test.h"

#define N_FRAMES 64
#define N_SEEDS 6

static char input[160], wanted[64];
static double stall_s = 60;            /* as long as the slowest machine may need for a tile */
static double silence_s;                /* 0: the default */
static int cancel_at = -1;              /* frames; -1: never */

/* How one run went. */
struct outcome {
    struct flow_job job;
    int64_t shards_failed;
    uint64_t quarantined;
    char sum[64];
};

static void run_with(int cpu_devices, const char *fault, struct outcome *outcome)
{
    const struct vrt_pool_params pool = {
        .registry = { .cpu_devices = cpu_devices, .cpu_threads = 1, .fault = fault },
        .retry_s = 0.05,
        .stall_s = stall_s,
        .silence_s = silence_s,
    };
    const struct vrt_pipeline_params params = flow_exact_params(input);
    struct flow flow;

    fprintf(stderr, "  %d devices, %s\n", cpu_devices, fault ? fault : "undisturbed");
    *outcome = (struct outcome){ .job = { .cancel_at = cancel_at } };
    flow_init(&flow, fixture_path(""), pool);
    flow_submit(&flow, &outcome->job, params, fixture_path("out.mkv"));
    close(params.input_fd);
    flow_run(&flow);
    for (size_t i = 0; i < outcome->job.last.n_devices; i++)
        outcome->shards_failed += outcome->job.last.devices[i].shards_failed;
    snprintf(outcome->sum, sizeof(outcome->sum), "%s", fixture_run("md5sum < out.mkv"));
    outcome->quarantined = flow.quarantined;
    if (outcome->job.error.message[0])
        expect_str(fixture_run("ls job0"), "");
    flow_done(&flow);
}

/* The job succeeds, its file is what it always is, and at least so many shards failed. */
static void expect_same(int cpu_devices, const char *fault, int n_failed)
{
    struct outcome outcome;

    run_with(cpu_devices, fault, &outcome);
    expect_str(outcome.job.error.message, "");
    expect_int(outcome.job.last.frames_done, N_FRAMES);
    expect_str(outcome.sum, wanted);
    expect_true(outcome.shards_failed >= n_failed);
}

static void expect_failure(int cpu_devices, const char *fault, const char *message)
{
    struct outcome outcome;

    run_with(cpu_devices, fault, &outcome);
    fprintf(stderr, "  %s\n", outcome.job.error.message);
    expect_contains(outcome.job.error.message, message);
    expect_int(fixture_size(fixture_path("out.mkv")), 0);
}

static void test_failing_now_and_then(void)
{
    expect_same(1, "cpu submit:every=59 fail", 2);
    expect_same(2, "cpu:0 submit:every=40 fail; cpu:1 submit:every=64 fail", 2);
    expect_same(2, "cpu:1 write:5-6 fail", 1);
    expect_same(3, "cpu:2 read:every=2 fail", 1);
}

static void test_lost(void)
{
    expect_same(2, "cpu:1 after=20 lost revive=2", 1);
    expect_same(3, "cpu:0 after=20 lost revive=never; cpu:1 after=40 lost", 2);
    expect_same(1, "cpu:0 submit:61 lost revive=3", 1);
}

static void test_lying(void)
{
    expect_same(2, "cpu:0 submit:every=14 corrupt=nan", 1);
    expect_same(2, "cpu:0 submit:20-60 corrupt=zeros", 1);
    expect_same(2, "cpu:1 submit:every=3 black", 1);
    expect_same(1, "cpu:0 submit:50 corrupt=nan", 1);
    /* The same shard once in each way: no proof that the network is at fault. */
    expect_same(1, "cpu:0 submit:50 corrupt=nan; cpu:0 submit:80 fail", 2);
}

/* The device that lied while another told the truth is found out. */
static void test_liar_is_blamed(void)
{
    struct outcome outcome;

    run_with(2, "cpu:1 submit:20- corrupt=nan", &outcome);
    expect_str(outcome.job.error.message, "");
    expect_str(outcome.sum, wanted);
    expect_int(outcome.quarantined, 2);
}

/* A processor may take 200 times what was measured: seconds, where sanitizers watch. */
static void test_hanging(void)
{
    stall_s = 1.5;
    expect_same(1, "cpu:0 submit:30 delay=20s", 1);
    /* The other one may be done with its shard before it is given up, or hang later itself. */
    expect_same(2, "cpu submit:30 delay=20s", 0);
    expect_same(2, "cpu:0 submit:30 delay=20s", 0);
    stall_s = 60;
    sleep(19);          /* the thread comes back, and frees what it held */
}

/* How long a tile takes is known by then: so is what is too long. */
static void test_hanging_by_measure(void)
{
    struct outcome outcome;

    silence_s = 0.5;
    run_with(1, "cpu:0 submit:60 delay=20s", &outcome);
    expect_str(outcome.job.error.message, "");
    expect_str(outcome.sum, wanted);
    expect_int(outcome.quarantined, 1);
    silence_s = 0;
    sleep(20);          /* as above */
}

/* One that is silent from the beginning: the job is admitted by the other, and says so. */
static void test_silent(void)
{
    struct outcome outcome;

    silence_s = 0.5;
    for (int d = 0; d < 2; d++) {
        char fault[64], warning[64];
        snprintf(fault, sizeof(fault), "cpu:%d replica:1 delay=4s", d);
        snprintf(warning, sizeof(warning), "cpu:%d gives no sign of life", d);
        run_with(2, fault, &outcome);
        expect_str(outcome.job.error.message, "");
        expect_int(outcome.job.info.devices, 2 - d);
        expect_contains(outcome.job.warnings, warning);
        expect_str(outcome.sum, wanted);
    }
    /* It is the only one: there is nobody who could answer in its place. */
    run_with(1, "cpu:0 replica:1 delay=2s", &outcome);
    expect_str(outcome.job.error.message, "");
    expect_str(outcome.job.warnings, "");
    /* Opening it takes so long. */
    run_with(2, "cpu:1 alloc:1 delay=4s", &outcome);
    expect_int(outcome.job.info.devices, 1);
    expect_contains(outcome.job.warnings, "cpu:1 gives no sign of life");
    silence_s = 0;
}

static void test_slow(void)
{
    expect_same(2, "cpu:0 submit:1- delay=3ms", 0);
}

/* A device that gets slow is not waited for: another does what it holds, and that counts once. */
static void test_straggler(void)
{
    struct outcome outcome;
    int64_t n_done = 0;

    run_with(2, "cpu:1 submit:22- delay=2s", &outcome);
    expect_str(outcome.job.error.message, "");
    expect_str(outcome.sum, wanted);
    expect_int(outcome.shards_failed, 0);
    expect_int(outcome.quarantined, 0);
    for (size_t i = 0; i < outcome.job.last.n_devices; i++)
        n_done += outcome.job.last.devices[i].frames_done;
    expect_int(n_done, N_FRAMES);
    /* It takes 54 s to wait for what the slow device holds. */
    fprintf(stderr, "  %.1f s\n", outcome.job.last.elapsed_s);
    expect_true(outcome.job.last.elapsed_s < 25);
}

/* While two devices have a shard, whatever becomes of one is no matter. */
static void test_straggler_and_faults(void)
{
    expect_same(2, "cpu:1 submit:22- delay=100ms; cpu:0 submit:150 fail", 0);
    expect_same(2, "cpu:1 submit:22- delay=100ms; cpu:0 submit:150 corrupt=nan", 0);
    expect_same(2, "cpu:1 submit:22- delay=100ms; cpu:0 submit:150 lost revive=2", 0);
    expect_same(2, "cpu:1 submit:22- delay=200ms; cpu:1 submit:24- fail", 0);
    expect_same(2, "cpu:1 submit:22- delay=200ms; cpu:1 submit:24- lost", 0);
    expect_same(3, "cpu:1 submit:15- delay=100ms; cpu:2 submit:20- delay=50ms", 0);
    stall_s = 1;
    expect_same(2, "cpu:1 submit:22 delay=3s", 0);
    stall_s = 60;
    sleep(3);           /* the thread comes back, and frees what it held */
}

/* A job is cancelled while two devices have its last shards. */
static void test_straggler_cancelled(void)
{
    struct outcome outcome;

    cancel_at = N_FRAMES / 4;
    run_with(2, "cpu submit:22- delay=100ms", &outcome);
    cancel_at = -1;
    expect_str(outcome.job.error.id, "job.cancelled");
}

static void test_no_memory(void)
{
    struct outcome outcome;

    expect_same(2, "cpu:1 alloc:20 nomem", 0);
    run_with(2, "cpu:1 alloc:2- nomem", &outcome);
    expect_str(outcome.job.error.message, "");
    expect_str(outcome.sum, wanted);
    expect_contains(outcome.job.warnings, "cpu:1 ran out of memory and left the job");
}

static void test_no_device_left(void)
{
    expect_failure(1, "cpu submit:20- fail", "could not be restored on any device");
    expect_failure(2, "cpu submit:40- corrupt=zeros", "blank");
    expect_failure(1, "cpu submit:40- corrupt=nan", "not finite");
    expect_failure(2, "cpu alloc:4- nomem", "no device is left");
}

static void test_none_at_admission(void)
{
    expect_same(2, "cpu:1 open:1- fail", 0);
    expect_same(1, "cpu:0 open:1-2 fail", 0);
    expect_failure(1, "cpu replica:1- fail", "cpu:0");
}

/* Schedules by seed: whatever happens to two of three devices, the file is the same. */
static void test_seeds(void)
{
    static const char *const effects[] = { "fail", "corrupt=nan", "corrupt=zeros",
                                           "lost revive=1", "delay=20ms", "black" };

    for (unsigned seed = 1; seed <= N_SEEDS; seed++) {
        char fault[512];
        unsigned x = seed * 2654435761u;
        size_t n = 0;
        for (int i = 0; i < 4; i++) {
            x = x * 1664525 + 1013904223;
            n += (size_t)snprintf(fault + n, sizeof(fault) - n, "%scpu:%u submit:%u-%u %s",
                                  i ? "; " : "", i % 2, 10 + (x >> 8) % 60,
                                  70 + (x >> 16) % 20, effects[(x >> 24) % 6]);
        }
        expect_same(3, fault, 0);
    }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "failing-now-and-then", test_failing_now_and_then },
        { "lost", test_lost },
        { "lying", test_lying },
        { "liar-is-blamed", test_liar_is_blamed },
        { "hanging", test_hanging },
        { "hanging-by-measure", test_hanging_by_measure }, { "silent", test_silent },
        { "slow", test_slow },
        { "straggler", test_straggler },
        { "straggler-and-faults", test_straggler_and_faults },
        { "straggler-cancelled", test_straggler_cancelled },
        { "no-memory", test_no_memory },
        { "no-device-left", test_no_device_left },
        { "none-at-admission", test_none_at_admission },
        { "seeds", test_seeds },
    };
    struct outcome outcome;

    fixture_init();
    snprintf(input, sizeof(input), "%s",
             fixture_make("in.mp4", "-f lavfi -i testsrc2=s=96x64:r=25 -frames:v %d "
                          "-pix_fmt yuv420p", N_FRAMES));
    run_with(1, NULL, &outcome);
    expect_str(outcome.job.error.message, "");
    snprintf(wanted, sizeof(wanted), "%s", outcome.sum);
    return test_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
