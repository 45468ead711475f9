/* SPDX-License-Identifier: MIT */

/* What a device is taken for, by what its tasks come back with, and what is told of it. */

#include "tests/unit/test.h"

#include <stdio.h>

#include "base/clock.h"
#include "daemon/devices/pool-device.h"

static void on_lost(void *ctx, size_t d)
{
    expect_int(d, 1);
    ++*(int *)ctx;
}

/* A device of a pool that does nothing else. */
struct bench {
    struct vrt_pool_shared shared;
    struct vrt_device_info info;
    struct vrt_pool_device device;
    int n_lost;
};

static void bench_init(struct bench *bench)
{
    *bench = (struct bench){
        .shared = { .params = { .retry_s = 60 }, .lost = on_lost, .ctx = &bench->n_lost },
        .info = { .kind = "cpu", .name = "cpu:1", .n_in_flight = 3, .memory_total_bytes = 1000 },
        .device = { .shared = &bench->shared, .info = &bench->info, .index = 1,
                    .state = VRT_DEVICE_READY, .n_in_flight_max = 3 },
    };
}

/* Why a device failed is kept without its name, whoever says it: those who tell it name the device
 * themselves. */
static void test_reasons(void)
{
    static const char *const reasons[][2] = {
        { "the device is lost", "the device is lost" },
        { "cpu:1: the device is lost", "the device is lost" },
        { "cpu:1: ", "" },
        { "cpu:1 gave no sign of life", "cpu:1 gave no sign of life" },
        { "cpu:1", "cpu:1" },
        { "cpu:10: it is another", "cpu:10: it is another" },
        { "cpu:0: it is another", "cpu:0: it is another" },
        { "", "" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(reasons); i++) {
        struct bench bench;
        bench_init(&bench);
        vrt_pool_device_quarantine(&bench.device, reasons[i][0]);
        expect_int(bench.device.state, VRT_DEVICE_QUARANTINED);
        expect_str(bench.device.last_error, reasons[i][1]);
    }
}

/* Tasks come back, each a letter: shards that are done, fail, are wrong, too large, cancelled, lost
 * by the driver or with the thread; another question and an opening that fail. */
static void judge(struct bench *bench, const char *tasks)
{
    static const struct {
        char letter;
        enum vrt_worker_request request;
        enum vrt_task_outcome outcome;
        int result;
    } kinds[] = {
        { 'd', VRT_WORKER_RUN, VRT_TASK_DONE, 0 },
        { 'f', VRT_WORKER_RUN, VRT_TASK_FAILED, VRT_BACKEND_E_FAILED },
        { 'w', VRT_WORKER_RUN, VRT_TASK_FAILED, VRT_DEVICE_EXECUTOR_E_OUTPUT },
        { 'n', VRT_WORKER_RUN, VRT_TASK_FAILED, VRT_BACKEND_E_NOMEM },
        { 'c', VRT_WORKER_RUN, VRT_TASK_CANCELLED, 0 },
        { 'l', VRT_WORKER_RUN, VRT_TASK_FAILED, VRT_BACKEND_E_LOST },
        { 't', VRT_WORKER_RUN, VRT_TASK_LOST, 0 },
        { 'p', VRT_WORKER_PROBE, VRT_TASK_FAILED, VRT_BACKEND_E_FAILED },
        { 'q', VRT_WORKER_PROBE, VRT_TASK_DONE, 0 },
        { 'o', VRT_WORKER_OPEN, VRT_TASK_FAILED, VRT_BACKEND_E_LOST },
    };

    for (; *tasks; tasks++)
        for (size_t k = 0; k < VRT_ARRAY_SIZE(kinds); k++)
            if (kinds[k].letter == *tasks)
                vrt_pool_device_judge(&bench->device, &(struct vrt_worker_task){
                    .task = { .outcome = kinds[k].outcome },
                    .request = kinds[k].request,
                    .result = kinds[k].result,
                    .error = { .message = "cpu:1: it is hot" },
                });
}

static void test_judged(void)
{
    static const struct {
        const char *tasks;
        bool is_quarantined;
        int n_lost, n_in_flight_max;
    } cases[] = {
        { "", false, 0, 3 }, { "f", false, 0, 3 }, { "ff", true, 0, 3 }, { "fdf", false, 0, 3 },
        { "fcqf", true, 0, 3 }, { "wwww", false, 0, 3 }, { "fwf", true, 0, 3 },
        { "ppp", false, 0, 3 }, { "fp", false, 0, 3 }, { "oo", false, 0, 3 },
        { "l", true, 1, 3 }, { "t", true, 0, 3 },
        /* As many at a time as others once so many were done, since memory was short last. */
        { "nnn", false, 0, 1 }, { "ndddddddddddddddqc", false, 0, 1 },
        { "ndddddddddddddddd", false, 0, 3 }, { "ndddddddddddddddnd", false, 0, 1 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct bench bench;
        bench_init(&bench);
        judge(&bench, cases[i].tasks);
        fprintf(stderr, "  %s\n", cases[i].tasks);
        expect_int(bench.device.state == VRT_DEVICE_QUARANTINED, cases[i].is_quarantined);
        expect_str(bench.device.last_error,
                   strchr(cases[i].tasks, 't') ? "it gave no sign of life" :
                   strpbrk(cases[i].tasks, "fwnl") ? "it is hot" : "");
        expect_int(bench.n_lost, cases[i].n_lost);
        expect_int(bench.device.n_in_flight_max, cases[i].n_in_flight_max);
    }
}

/* Is quarantined once, for so long. */
static void expect_quarantine(struct bench *bench, int wait_s)
{
    struct vrt_pool_device *device = &bench->device;
    const int64_t n_before = device->n_quarantined, before_ns = vrt_clock_now_ns();

    device->retry_ns = 0;
    for (int i = 0; i < 3; i++)
        vrt_pool_device_quarantine(device, "it is hot");
    expect_int(device->state, VRT_DEVICE_QUARANTINED);
    expect_int(device->n_quarantined, n_before + 1);
    expect_true(device->retry_ns >= before_ns + wait_s * VRT_NS_PER_S);
    expect_true(device->retry_ns <= vrt_clock_now_ns() + wait_s * VRT_NS_PER_S);
}

static void test_quarantine(void)
{
    static const int waits_s[] = { 60, 120, 240, 300, 300 };
    struct bench bench;

    bench_init(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(waits_s); i++)
        expect_quarantine(&bench, waits_s[i]);
    /* One failure before a quarantine is none of those behind it; a shard that is done has it begin
     * with a short one again. */
    judge(&bench, "d");
    bench.device.state = VRT_DEVICE_READY;
    judge(&bench, "f");
    expect_quarantine(&bench, 60);
    bench.device.state = VRT_DEVICE_READY;
    bench.device.retry_ns = 0;
    judge(&bench, "f");
    expect_int(bench.device.state, VRT_DEVICE_READY);
    bench.device.state = VRT_DEVICE_LOST;
    bench.device.retry_ns = 0;
    vrt_pool_device_quarantine(&bench.device, "it is gone");
    expect_int(bench.device.state, VRT_DEVICE_LOST);
    expect_int(bench.device.retry_ns, 0);
}

static void test_snapshot(void)
{
    struct vrt_device_snapshot told;
    struct bench bench;

    bench_init(&bench);
    const struct vrt_device_info *infos[] = { &bench.info };
    static const int in_flight[][2] = { { 0, 2 }, { 2, 2 }, { 3, 3 }, { 9, 3 } };
    bench.shared.infos = infos;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(in_flight); i++) {
        bench.info.n_in_flight = in_flight[i][0];
        vrt_pool_device_init(&bench.device, &bench.shared, 0);
        expect_int(bench.device.n_in_flight_max, in_flight[i][1]);
    }
    vrt_pool_device_snapshot(&bench.device, &told);
    expect_int(told.state, VRT_DEVICE_STARTING);
    expect_int(told.memory_total_bytes, 1000);
    expect_int(told.memory_free_bytes, -1);
    expect_near(told.shard_s, -1, 0);
    expect_near(told.retry_in_s, -1, 0);
    expect_near(vrt_pool_device_silent_s(&bench.device), 0, 0);
    /* A thread that is never asked anything. */
    bench.device.mailbox = (struct vrt_mailbox *)(void *)&bench;
    bench.device.usage = (struct vrt_device_executor_usage){ .free_bytes = 3 };
    bench.device.shard_s = 0.5;
    bench.device.retry_ns = 1;
    bench.device.state = VRT_DEVICE_READY;
    vrt_pool_device_snapshot(&bench.device, &told);
    expect_int(told.state, VRT_DEVICE_READY);
    expect_int(told.memory_total_bytes, 0);
    expect_int(told.memory_free_bytes, 3);
    expect_near(told.shard_s, 0.5, 0);
    expect_near(told.retry_in_s, 0, 0);
    bench.device.n_in_flight = 1;
    bench.device.retry_ns = vrt_clock_now_ns() + 1000 * VRT_NS_PER_S;
    vrt_pool_device_snapshot(&bench.device, &told);
    expect_int(told.state, VRT_DEVICE_BUSY);
    expect_true(told.retry_in_s > 0 && told.retry_in_s <= 1000);
    bench.device.state = VRT_DEVICE_QUARANTINED;
    vrt_pool_device_snapshot(&bench.device, &told);
    expect_int(told.state, VRT_DEVICE_QUARANTINED);
}

/* Nothing is tried out any more by a vrtd that is about to end. */
static void test_stopping(void)
{
    struct bench bench;

    bench_init(&bench);
    vrt_pool_device_quarantine(&bench.device, "it is hot");
    bench.device.retry_ns = 1;
    bench.shared.is_stopping = true;
    vrt_pool_device_tick(&bench.device);
    expect_int(bench.device.retry_ns, 1);
}

/* Since when the loop has looked: a tick that comes late is the first. */
static void test_awake(void)
{
    struct bench bench;
    const int64_t now_ns = vrt_clock_now_ns();

    bench_init(&bench);
    vrt_pool_shared_tick(&bench.shared);
    expect_true(bench.shared.awake_ns >= now_ns);
    expect_int(bench.shared.ticked_ns, bench.shared.awake_ns);
    bench.shared.awake_ns = 7;
    vrt_pool_shared_tick(&bench.shared);
    expect_int(bench.shared.awake_ns, 7);
    expect_true(bench.shared.ticked_ns >= now_ns);
    bench.shared.ticked_ns = now_ns - 6 * VRT_NS_PER_S;
    vrt_pool_shared_tick(&bench.shared);
    expect_true(bench.shared.awake_ns >= now_ns);
}

TEST_MAIN(
    { "reasons", test_reasons },
    { "judged", test_judged },
    { "quarantine", test_quarantine },
    { "snapshot", test_snapshot },
    { "stopping", test_stopping },
    { "awake", test_awake },
)
