/* SPDX-License-Identifier: MIT */

/* Why a device failed is kept without its name, whoever says it: those who tell it name the device
 * themselves. */

#include "tests/unit/test.h"

#include <stdio.h>

#include "daemon/devices/pool-device.h"

static void on_lost(void *ctx, size_t d)
{
    (void)ctx;
    (void)d;
}

/* A device of a pool that does nothing else. */
struct bench {
    struct vrt_pool_shared shared;
    struct vrt_device_info info;
    struct vrt_pool_device device;
};

static void bench_init(struct bench *bench)
{
    *bench = (struct bench){
        .shared = { .params = { .retry_s = 60 }, .lost = on_lost },
        .info = { .kind = "cpu", .name = "cpu:1" },
        .device = { .shared = &bench->shared, .info = &bench->info, .state = VRT_DEVICE_READY },
    };
}

static void test_quarantine(void)
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

/* What a task came back with: a shard that failed once, one for which there was no memory, one at
 * which the device was lost. */
static void test_tasks(void)
{
    static const int results[] = {
        VRT_BACKEND_E_FAILED, VRT_BACKEND_E_NOMEM, VRT_BACKEND_E_LOST,
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(results); i++) {
        struct vrt_worker_task task = {
            .task = { .outcome = VRT_TASK_FAILED },
            .request = VRT_WORKER_RUN,
            .result = results[i],
        };
        struct bench bench;
        bench_init(&bench);
        snprintf(task.error.message, sizeof(task.error.message), "cpu:1: it is hot");
        vrt_pool_device_judge(&bench.device, &task);
        expect_str(bench.device.last_error, "it is hot");
        expect_int(bench.device.state == VRT_DEVICE_QUARANTINED,
                   results[i] == VRT_BACKEND_E_LOST);
    }
}

TEST_MAIN(
    { "quarantine", test_quarantine },
    { "tasks", test_tasks },
)
