/* SPDX-License-Identifier: MIT */

/* Devices that fail, lie and vanish under a running job: its file is the same to the bit, or there
 * is one sentence that says why there is none. */

#include "tests/unit/pipeline/fault-run.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

/* The job succeeds, its file is what it always is, and at least so many shards failed. */
static void expect_same(int cpu_devices, const char *fault, int n_failed)
{
    struct fault_outcome outcome;

    fault_run(&(struct fault_params){ .cpu_devices = cpu_devices, .fault = fault }, &outcome);
    fault_expect_same(&outcome);
    expect_true(outcome.shards_failed >= n_failed);
}

static void expect_failure(int cpu_devices, const char *fault, const char *message)
{
    struct fault_outcome outcome;

    fault_run(&(struct fault_params){ .cpu_devices = cpu_devices, .fault = fault }, &outcome);
    fprintf(stderr, "  %s\n", outcome.job.error.message);
    expect_contains(outcome.job.error.message, message);
    expect_int(fixture_size(fixture_path("out.mkv")), 0);
}

static void test_failing_now_and_then(void)
{
    expect_same(1, "cpu submit:every=59 fail", 2);
    expect_same(2, "cpu:0 submit:every=40 fail; cpu:1 submit:every=64 fail", 2);
    expect_same(2, "cpu:1 write:5-6 fail", 1);
    expect_same(2, "cpu:1 alloc:20 nomem", 0);
    /* The others are slow, so that it gets its share. */
    expect_same(3, "cpu:0 submit:1- delay=9ms; cpu:1 submit:1- delay=9ms; "
                   "cpu:2 read:every=2 fail", 1);
}

static void test_lost(void)
{
    expect_same(2, "cpu:1 after=20 lost revive=2", 1);
    /* The second one may be left without work before it is lost. */
    expect_same(3, "cpu:0 after=20 lost revive=never; cpu:1 after=40 lost", 1);
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

static void test_no_device_left(void)
{
    expect_failure(1, "cpu submit:20- fail", "could not be restored on any device");
    expect_failure(2, "cpu submit:40- corrupt=zeros", "blank");
    expect_failure(2, "cpu submit:40- black", "blank");
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

    for (unsigned x = 1, seed = 1; seed <= 6; seed++) {
        char fault[512];
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

TEST_MAIN_AFTER(fault_init(),
    { "failing-now-and-then", test_failing_now_and_then },
    { "lost", test_lost },
    { "lying", test_lying },
    { "no-device-left", test_no_device_left },
    { "none-at-admission", test_none_at_admission },
    { "seeds", test_seeds },
)
