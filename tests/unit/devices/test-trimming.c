/* SPDX-License-Identifier: MIT */
/* daemon/devices/trimming: who is asked, who isn't, and who doesn't come to it in time. */

#include "tests/unit/test.h"

#include <unistd.h>

#include "backend/kind.h"
#include "daemon/devices/pool-job.h"
#include "daemon/devices/trimming.h"
#include "tests/unit/environment.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/pipeline/flow-fixture.h"

struct bench {
    struct flow flow;
    struct vrt_trimmed devices[2];
    int n_told;
    bool is_opened;                 /* the device that hung */
};

static void on_done(void *ctx, const struct vrt_trimmed *devices, size_t n_devices)
{
    struct bench *bench = ctx;

    expect_int(n_devices, VRT_ARRAY_SIZE(bench->devices));
    memcpy(bench->devices, devices, sizeof(bench->devices));
    bench->n_told++;
}

static void begin(struct bench *bench, const char *device, double patience_s)
{
    struct vrt_error error = { .id = NULL };

    bench->n_told = 0;
    expect_int(vrt_trimming_begin(bench->flow.pool, &(struct vrt_trimming_params){
        .device = device,
        .trim = true,
        .reset_peak = true,
        .patience_s = patience_s,
        .done = on_done,
        .ctx = bench,
    }, &error), 0);
    expect_int(bench->n_told, 0);
}

static void wait_for_answer(struct bench *bench)
{
    while (!bench->n_told)
        uv_run(&bench->flow.loop, UV_RUN_ONCE);
    expect_int(bench->n_told, 1);
}

/* Two devices, of which cpu:1 hangs the second time that it is tried out, while there is the file
 * "hang". */
static void bench_init(struct bench *bench)
{
    static char fault[300];

    *bench = (struct bench){ .n_told = 0 };
    snprintf(fault, sizeof(fault), "cpu:1 write:2 hang=%s", fixture_write("hang", "", 0));
    flow_init(&bench->flow, fixture_path(""), (struct vrt_pool_params){
        .registry = { .values = TEST_CPUS(2, 1), .leave_out = 1u << VRT_DEVICE_REFERENCE,
                      .fault = fault },
        .silence_s = 0.001,
    });
}

static void wait_until_ready(struct bench *bench)
{
    while (vrt_pool_devices(bench->flow.pool).ready != 3)
        uv_run(&bench->flow.loop, UV_RUN_ONCE);
}

static void on_opened(void *ctx, size_t d, struct vrt_worker_task *task)
{
    struct bench *bench = ctx;

    (void)task;
    expect_int(d, 1);
    bench->is_opened = true;
}

/* Has cpu:1 hang, as at a long shard: until it does, what is asked of it may still overtake. */
static void hang(struct bench *bench)
{
    expect_int(vrt_pool_submit(bench->flow.pool, 1, vrt_worker_open_new(), on_opened, bench), 0);
    while (!(vrt_pool_silent_devices(bench->flow.pool) & 2))
        uv_run(&bench->flow.loop, UV_RUN_ONCE);
}

static void test_ready(void)
{
    static const struct {
        const char *device;
        bool is_meant[2];
    } cases[] = {
        { "", { true, true } }, { "cpu:1", { false, true } }, { "cpu", { true, true } },
        { "cpu:1,cpu:0", { true, true } },
    };
    struct bench bench;

    bench_init(&bench);
    wait_until_ready(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        begin(&bench, cases[i].device, 100);
        wait_for_answer(&bench);
        for (int d = 0; d < 2; d++) {
            const struct vrt_trimmed *device = &bench.devices[d];
            expect_int(device->is_meant, cases[i].is_meant[d]);
            expect_int(device->is_done, cases[i].is_meant[d]);
            expect_int(device->freed_bytes, cases[i].is_meant[d] ? 0 : -1);
            expect_int(device->peak_bytes, cases[i].is_meant[d] ? 0 : -1);
            expect_str(device->message, "");
        }
    }
    flow_done(&bench.flow);
}

static void test_absent(void)
{
    static const struct {
        const char *device, *says;
        int result;
    } cases[] = {
        { "xpu", "this machine has no xpu device, which xpu asks for", -ENODEV },
        { "cpu:7", "there is no device cpu:7", -ENODEV },
        { "cpu,all", "stand alone, not in a list", -EINVAL },
        { "gpu", "\"gpu\" is no device", -EINVAL },
    };
    struct bench bench;

    bench_init(&bench);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { .id = NULL };
        const struct vrt_trimming_params params = { .device = cases[i].device, .trim = true };
        expect_int(vrt_trimming_begin(bench.flow.pool, &params, &error), cases[i].result);
        expect_contains(error.message, cases[i].says);
        expect_str(error.id, "device.unknown");
        expect_str(error.field, "device");
    }
    flow_done(&bench.flow);
}

/* One that is being opened, or in quarantine, isn't asked, and says why. */
static void test_not_ready(void)
{
    struct bench bench;

    bench_init(&bench);
    begin(&bench, "", 100);
    wait_for_answer(&bench);
    for (int d = 0; d < 2; d++) {
        expect_true(!bench.devices[d].is_done);
        expect_str(bench.devices[d].message, "it is being opened: ask again in a moment");
    }
    wait_until_ready(&bench);
    vrt_pool_blame(bench.flow.pool, 1, "it lies");
    begin(&bench, "", 100);
    wait_for_answer(&bench);
    expect_true(bench.devices[0].is_done && !bench.devices[1].is_done);
    expect_str(bench.devices[1].message, "it is in quarantine: ask again when vrtctl devices says "
                                         "that it is ready (it lies)");
    flow_done(&bench.flow);
}

/* One that is at something else for longer does it after that; nobody waits so long. */
static void test_late(void)
{
    struct bench bench;

    bench_init(&bench);
    wait_until_ready(&bench);
    hang(&bench);
    begin(&bench, "", 0.01);
    wait_for_answer(&bench);
    expect_true(!bench.is_opened);
    expect_true(bench.devices[0].is_done && !bench.devices[1].is_done);
    expect_str(bench.devices[1].message, "it is at a job's work, and does it when that is done");
    expect_int(unlink(fixture_path("hang")), 0);
    while (!bench.is_opened)
        uv_run(&bench.flow.loop, UV_RUN_ONCE);
    begin(&bench, "", 100);
    wait_for_answer(&bench);
    expect_true(bench.devices[0].is_done && bench.devices[1].is_done);
    flow_done(&bench.flow);
}

/* The pool stops while a device has its task: whoever waits is told. */
static void test_stopped(void)
{
    struct bench bench;

    bench_init(&bench);
    wait_until_ready(&bench);
    hang(&bench);
    begin(&bench, "cpu:1", 100);
    flow_run_for(&bench.flow, 20);
    expect_int(bench.n_told, 0);
    expect_int(unlink(fixture_path("hang")), 0);
    flow_done(&bench.flow);
    expect_int(bench.n_told, 1);
}

TEST_MAIN_AFTER(fixture_init(),
    { "ready", test_ready },
    { "absent", test_absent },
    { "not ready", test_not_ready },
    { "late", test_late },
    { "stopped", test_stopped },
)
