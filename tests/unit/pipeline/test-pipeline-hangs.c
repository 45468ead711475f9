/* SPDX-License-Identifier: MIT */

/* Devices that hang, say nothing, are slow, fail, lie and vanish under a running job: its file is
 * the same to the bit, and it doesn't wait for them where another device can do their work. */

#include "base/clock.h"
#include "daemon/devices/pool-job.h"
#include "tests/unit/pipeline/fault-run.h"
#include "tests/unit/test.h"

/* The job succeeds, its file is what it always is. */
static void expect_same(const struct fault_params *params)
{
    struct fault_outcome outcome;

    fault_run(params, &outcome);
    fault_expect_same(&outcome);
}

/* A processor may take 200 times what was measured: seconds, where sanitizers watch. */
static void test_hanging(void)
{
    struct fault_params params = { .cpu_devices = 1, .stall_s = 1.5 };
    struct fault_outcome outcome;

    params.fault = fault_hang("cpu:0 submit:30");
    fault_run(&params, &outcome);
    fault_expect_same(&outcome);
    expect_true(outcome.shards_failed >= 1);
    /* The other one may be done with its shard before it is given up, or hang later itself. */
    params.cpu_devices = 2;
    params.fault = fault_hang("cpu submit:30");
    expect_same(&params);
    params.fault = fault_hang("cpu:0 submit:30");
    expect_same(&params);
}

/* Lets a device go when its silence was found, and the job has looked at that once or twice. */
static void let_go_when_silent(struct flow *flow)
{
    static int64_t heard_ns;
    const int64_t now_ns = vrt_clock_now_ns();

    if (!heard_ns || !vrt_pool_silent_devices(flow->pool))
        heard_ns = now_ns;
    else if (now_ns - heard_ns > VRT_NS_PER_S)
        fault_let_go();
}

/* One that is silent from the beginning: the job is admitted by the other, and says so. */
static void test_silent(void)
{
    static const char *const calls[] = { "cpu:0 replica:1", "cpu:1 replica:1", "cpu:1 alloc:1" };
    struct fault_params params = { .cpu_devices = 2, .silence_s = 2 };
    struct fault_outcome outcome;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(calls); i++) {
        char warning[64];
        snprintf(warning, sizeof(warning), "%.5s gives no sign of life", calls[i]);
        params.fault = fault_hang(calls[i]);
        fault_run(&params, &outcome);
        fault_expect_same(&outcome);
        expect_int(outcome.job.info.devices, i == 0 ? 2 : 1);
        expect_contains(outcome.job.warnings, warning);
    }
    /* It is the only one: there is nobody who could answer in its place. */
    params.cpu_devices = 1;
    params.fault = fault_hang("cpu:0 replica:1");
    params.watch = let_go_when_silent;
    fault_run(&params, &outcome);
    fault_expect_same(&outcome);
    expect_str(outcome.job.warnings, "");
}

/* A device that hangs is not waited for: another does what it holds, and that counts once. */
static void test_straggler(void)
{
    struct fault_outcome outcome;
    int64_t n_done = 0;

    fault_run(&(struct fault_params){ 2, fault_hang("cpu:1 submit:22") }, &outcome);
    fault_expect_same(&outcome);
    expect_int(outcome.shards_failed, 0);
    expect_int(outcome.quarantined, 0);
    expect_str(outcome.job.warnings, "");
    for (size_t i = 0; i < outcome.job.last.n_devices; i++)
        n_done += outcome.job.last.devices[i].frames_done;
    expect_int(n_done, FAULT_FRAMES);
}

/* While two devices have a shard, whatever becomes of one is no matter; nor while one has. */
static void test_faults(void)
{
    static const struct fault_params runs[] = {
        { 2, "cpu:1 submit:22- delay=100ms; cpu:0 submit:150 fail" },
        { 2, "cpu:1 submit:22- delay=100ms; cpu:0 submit:150 corrupt=nan" },
        { 2, "cpu:1 submit:22- delay=100ms; cpu:0 submit:150 lost revive=2" },
        { 2, "cpu:1 submit:22- delay=200ms; cpu:1 submit:24- fail" },
        { 2, "cpu:1 submit:22- delay=200ms; cpu:1 submit:24- lost" },
        { 3, "cpu:1 submit:15- delay=100ms; cpu:2 submit:20- delay=50ms" },
        { 2, "cpu:0 submit:1- delay=3ms" },
        { 2, "cpu:0 submit:every=40 fail; cpu:1 submit:every=64 fail" },
        { 2, "cpu:1 submit:every=3 black" },
        { 1, "cpu:0 submit:50 corrupt=nan; cpu:0 submit:80 fail" },
        { 1, "cpu:0 submit:61 lost revive=3" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(runs); i++)
        expect_same(&runs[i]);
    expect_same(&(struct fault_params){ 2, fault_hang("cpu:1 submit:22"), .stall_s = 1 });
}

TEST_MAIN_AFTER(fault_init(),
    { "hanging", test_hanging },
    { "silent", test_silent },
    { "straggler", test_straggler },
    { "faults", test_faults },
)
