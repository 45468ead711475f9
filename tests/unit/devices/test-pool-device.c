/* SPDX-License-Identifier: MIT */

/* What a device is taken for, by what its tasks come back with, and what is told of it. */

#include "tests/unit/test.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include <uv.h>

#include "daemon/devices/pool-device.h"
#include "tests/unit/model/builtin-network.h"
#include "tests/unit/still-clock.h"
#include "workers/device/speed.h"

/* A device of a pool that does nothing else. */
struct bench {
    struct vrt_pool_shared shared;
    struct vrt_device_info info;
    struct vrt_pool_device device;
    int n_lost, n_returned;

    /* With a thread. */
    uv_loop_t loop;
    enum vrt_task_outcome opens;        /* how an opening ends */
    int n_asked[VRT_WORKER_REQUEST_COUNT];
    bool is_given_up;
    atomic_bool is_held, is_at_it, is_over;     /* its thread, at a task */
};

static void on_lost(void *ctx, size_t d)
{
    struct bench *bench = ctx;

    expect_int(d, 1);
    bench->n_lost++;
}

static void on_opened(void *ctx)
{
    (void)ctx;
}

static void on_returned(void *ctx)
{
    struct bench *bench = ctx;

    bench->n_returned++;
}

static void bench_init(struct bench *bench)
{
    *bench = (struct bench){
        .shared = { .params = { .retry_s = 60, .keep_alive_s = 600 }, .lost = on_lost,
                    .opened = on_opened, .returned = on_returned, .ctx = bench },
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

/* The device's thread: a task has the outcome that it was posted with, if any. */
static void answer(struct vrt_mailbox *mailbox, void *ctx)
{
    struct bench *bench = ctx;
    struct vrt_task *task;

    while ((task = vrt_mailbox_take(mailbox))) {
        struct vrt_worker_task *asked = vrt_container_of(task, struct vrt_worker_task, task);
        bench->n_asked[asked->request]++;
        atomic_store(&bench->is_at_it, true);
        while (atomic_load(&bench->is_held))
            usleep(1000);
        if (asked->request == VRT_WORKER_TRIM) {
            const struct vrt_worker_trim *trim = (const struct vrt_worker_trim *)asked;
            expect_int(trim->idle_ns, 600 * VRT_NS_PER_S);
            expect_true(!trim->resets_peak);
        }
        asked->usage.used_bytes = asked->request == VRT_WORKER_TRIM ? -1 : 7;
        snprintf(asked->error.message, sizeof(asked->error.message), "cpu:1: it is hot");
        vrt_mailbox_return(mailbox, task, asked->request == VRT_WORKER_OPEN ? bench->opens :
                                          task->outcome ? task->outcome : VRT_TASK_DONE);
    }
    atomic_store(&bench->is_over, true);
}

static void on_ended(void *ctx, bool abandoned)
{
    struct bench *bench = ctx;

    expect_int(abandoned, bench->is_given_up);
    vrt_outbox_close(bench->shared.outbox, NULL, NULL);
}

static void start(struct bench *bench, enum vrt_device_state state)
{
    bench_init(bench);
    bench->device.state = state;
    expect_int(uv_loop_init(&bench->loop), 0);
    expect_int(vrt_outbox_new(&bench->loop, &bench->shared.outbox), 0);
    expect_int(vrt_mailbox_new(bench->shared.outbox, &(struct vrt_mailbox_params){
        .name = "cpu:1", .capacity = 2, .run = answer, .run_ctx = bench, .ended = on_ended,
        .ended_ctx = bench,
    }, &bench->device.mailbox), 0);
}

/* So many tasks come back, and no more. */
static void finish(struct bench *bench, int n_tasks)
{
    while (bench->n_returned < n_tasks)
        uv_run(&bench->loop, UV_RUN_ONCE);
    if (!bench->is_given_up)
        vrt_mailbox_stop(bench->device.mailbox);
    expect_int(uv_run(&bench->loop, UV_RUN_DEFAULT), 0);
    expect_int(uv_loop_close(&bench->loop), 0);
    atomic_store(&bench->is_held, false);
    while (!atomic_load(&bench->is_over))
        usleep(100);
    expect_int(bench->n_returned, n_tasks);
}

static void told(void *ctx, size_t d, struct vrt_worker_task *task)
{
    (void)task;
    expect_int(d, 1);
    ++*(int *)ctx;
}

/* Has a shard, or something else, go to the thread and come back so. */
static void pass(struct bench *bench, bool is_shard, bool is_dropped, enum vrt_task_outcome outcome,
                 int result)
{
    static struct vrt_job_spec spec = { .n_refs = 1 };
    struct vrt_worker_run *run = vrt_worker_run_new(&spec, VRT_DTYPE_F32, 0);
    struct vrt_pool_ticket *ticket = malloc(sizeof(*ticket));
    const int n_before = bench->n_returned;
    int n_told = 0;

    expect_true(run && ticket);
    *ticket = (struct vrt_pool_ticket){ .is_shard = is_shard, .is_dropped = is_dropped,
                                        .returned = told, .ctx = &n_told };
    /* What else is asked has its spec at the same place. */
    run->base.request = is_shard ? VRT_WORKER_RUN : VRT_WORKER_PREPARE;
    run->base.task.outcome = outcome;
    run->base.result = result;
    run->base.busy_ns = 2 * VRT_NS_PER_S;
    run->frames.n = 3;
    expect_int(vrt_pool_device_post(&bench->device, &run->base, ticket), 0);
    expect_int(bench->device.n_in_flight, is_shard);
    while (bench->n_returned == n_before)
        uv_run(&bench->loop, UV_RUN_ONCE);
    expect_int(bench->device.n_in_flight, 0);
    expect_int(n_told, 1);
}

/* Tries the device out. */
static void try_out(struct bench *bench, enum vrt_task_outcome outcome)
{
    const int n_before = bench->n_returned;

    bench->opens = outcome;
    vrt_pool_device_ask(&bench->device);
    while (bench->n_returned == n_before)
        uv_run(&bench->loop, UV_RUN_ONCE);
}

/* Tasks, each a letter: shards that are done, fail, are wrong, too large, cancelled, lost by the
 * driver or with the thread, stopped; another question that fails or is answered; an opening that
 * fails or (O) goes well. Other capitals: shards that were dropped. */
static void play(struct bench *bench, const char *tasks)
{
    static const struct {
        char letter;
        enum vrt_task_outcome outcome;
        int result;
    } kinds[] = {
        { 'd', VRT_TASK_DONE, 0 }, { 'f', VRT_TASK_FAILED, VRT_BACKEND_E_FAILED },
        { 'w', VRT_TASK_FAILED, VRT_DEVICE_EXECUTOR_E_OUTPUT },
        { 'n', VRT_TASK_FAILED, VRT_BACKEND_E_NOMEM }, { 'c', VRT_TASK_CANCELLED, 0 },
        { 'l', VRT_TASK_FAILED, VRT_BACKEND_E_LOST }, { 't', VRT_TASK_LOST, 0 },
        { 's', VRT_TASK_STOPPED, 0 }, { 'p', VRT_TASK_FAILED, VRT_BACKEND_E_FAILED },
        { 'q', VRT_TASK_DONE, 0 },
    };

    for (; *tasks; tasks++) {
        if (strchr("oO", *tasks))
            try_out(bench, *tasks == 'O' ? VRT_TASK_DONE : VRT_TASK_FAILED);
        for (size_t k = 0; k < VRT_ARRAY_SIZE(kinds); k++)
            if (kinds[k].letter == (*tasks | 32))
                pass(bench, !strchr("pq", *tasks), *tasks < 'a', kinds[k].outcome,
                     kinds[k].result);
    }
}

static int count(const char *tasks, const char *letters)
{
    int n = 0;

    for (; *tasks; tasks++)
        n += strchr(letters, *tasks) != NULL;
    return n;
}

static void test_judged(void)
{
    static const struct {
        const char *tasks;
        enum vrt_device_state state;
        int n_lost, n_in_flight_max, n_opens;
    } cases[] = {
        { "", VRT_DEVICE_READY, 0, 3 }, { "f", VRT_DEVICE_READY, 0, 3 },
        { "ff", VRT_DEVICE_QUARANTINED, 0, 3 }, { "fdf", VRT_DEVICE_READY, 0, 3 },
        { "fcqf", VRT_DEVICE_QUARANTINED, 0, 3 }, { "wwww", VRT_DEVICE_READY, 0, 3 },
        { "fwf", VRT_DEVICE_QUARANTINED, 0, 3 }, { "ppp", VRT_DEVICE_READY, 0, 3 },
        { "fp", VRT_DEVICE_READY, 0, 3 }, { "l", VRT_DEVICE_QUARANTINED, 1, 3 },
        { "t", VRT_DEVICE_QUARANTINED, 0, 3 }, { "s", VRT_DEVICE_READY, 0, 3 },
        { "DFFWN", VRT_DEVICE_READY, 0, 3 }, { "L", VRT_DEVICE_QUARANTINED, 1, 3 },
        { "T", VRT_DEVICE_QUARANTINED, 0, 3 }, { "dds", VRT_DEVICE_READY, 0, 3 },
        /* As many at a time as others once so many were done, since memory was short last. */
        { "nnn", VRT_DEVICE_READY, 0, 1 }, { "ndddddddddddddddqc", VRT_DEVICE_READY, 0, 1 },
        { "ndddddddddddddddd", VRT_DEVICE_READY, 0, 3 }, { "nnO", VRT_DEVICE_READY, 0, 3 },
        { "ndddddddddddddddnd", VRT_DEVICE_READY, 0, 1 },
        /* Lost when it can't be opened six times in a row. */
        { "ooooo", VRT_DEVICE_QUARANTINED, 0, 3, 5 }, { "oooooo", VRT_DEVICE_LOST, 0, 3, 6 },
        { "oooooO", VRT_DEVICE_READY, 0, 3, 0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const char *tasks = cases[i].tasks;
        const int n_done = count(tasks, "d");
        struct vrt_device_snapshot now;
        struct bench bench;
        start(&bench, VRT_DEVICE_READY);
        fprintf(stderr, "  %s\n", tasks);
        play(&bench, tasks);
        finish(&bench, (int)strlen(tasks));
        vrt_pool_device_snapshot(&bench.device, &now);
        expect_int(now.state, cases[i].state);
        expect_str(now.last_error, strpbrk(tasks, "tT") ? "it gave no sign of life" :
                                   strpbrk(tasks, "fwnlLo") ? "it is hot" : "");
        expect_int(now.shards_done, n_done);
        expect_int(now.frames_done, 3 * n_done);
        expect_int(now.shards_failed, count(tasks, "fwnlt"));
        expect_near(now.shard_s, n_done ? 2 : -1, 0);
        expect_int(now.shard_times.counts[7], n_done);
        /* What is told counts; one that was stopped tells nothing. */
        expect_int(now.used_bytes, strlen(tasks) > (size_t)count(tasks, "s") ? 7 : 0);
        expect_int(bench.n_lost, cases[i].n_lost);
        expect_int(bench.device.n_in_flight_max, cases[i].n_in_flight_max);
        expect_int(bench.device.n_opens, cases[i].n_opens);
        expect_int(bench.device.has_worked, count(tasks, "O"));
    }
}

/* Is quarantined once, and tried out after so long, but not by a vrtd that is about to end. */
static void expect_quarantine(struct bench *bench, int wait_s)
{
    struct vrt_pool_device *device = &bench->device;
    const int64_t n_before = device->n_quarantined, retry_ns = now_ns + wait_s * VRT_NS_PER_S;

    for (int i = 0; i < 3; i++)
        vrt_pool_device_quarantine(device, "it is hot");
    expect_int(device->state, VRT_DEVICE_QUARANTINED);
    expect_int(device->n_quarantined, n_before + 1);
    for (int late_ns = -1; late_ns < 2; late_ns++) {
        now_ns = retry_ns + VRT_MIN(late_ns, 0);
        bench->shared.is_stopping = late_ns == 0;
        expect_int(device->retry_ns, retry_ns);
        vrt_pool_device_tick(device);
    }
    expect_int(device->retry_ns, 0);
    while (device->state != VRT_DEVICE_READY)
        uv_run(&bench->loop, UV_RUN_ONCE);
}

static void test_quarantine(void)
{
    static const int waits_s[] = { 60, 120, 240, 300, 300 };
    struct bench bench;

    start(&bench, VRT_DEVICE_READY);
    bench.opens = VRT_TASK_DONE;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(waits_s); i++)
        expect_quarantine(&bench, waits_s[i]);
    /* One failure before a quarantine is none of those behind it; a shard that is done has it begin
     * with a short one again. */
    play(&bench, "df");
    expect_quarantine(&bench, 60);
    play(&bench, "f");
    expect_int(bench.device.state, VRT_DEVICE_READY);
    bench.device.state = VRT_DEVICE_LOST;
    vrt_pool_device_quarantine(&bench.device, "it is gone");
    expect_int(bench.device.state, VRT_DEVICE_LOST);
    expect_int(bench.device.retry_ns, 0);
    finish(&bench, 9);
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
    expect_int(vrt_pool_device_submit(&bench.device, vrt_worker_tell_new(), NULL, NULL), -ENODEV);
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
    bench.device.retry_ns = now_ns + 1000 * VRT_NS_PER_S;
    vrt_pool_device_snapshot(&bench.device, &told);
    expect_int(told.state, VRT_DEVICE_BUSY);
    expect_near(told.retry_in_s, 1000, 0);
    bench.device.state = VRT_DEVICE_QUARANTINED;
    vrt_pool_device_snapshot(&bench.device, &told);
    expect_int(told.state, VRT_DEVICE_QUARANTINED);
}

/* A device that rests gives up what it kept warm for too long, and says by and by how it is. */
static void test_resting(void)
{
    static const struct {
        enum vrt_device_state state;
        int n_in_flight, n_replicas, used_s, told_s;    /* the last two: so long ago */
        bool are_known, is_asked, trims, tells;
    } cases[] = {
        { VRT_DEVICE_READY, 0, 1, 700, 20, true, false, true, true },
        { VRT_DEVICE_READY, 0, 1, 500, 20, true, false, false, true },
        { VRT_DEVICE_READY, 0, 0, 700, 20, true, false, false, true },
        { VRT_DEVICE_READY, 0, 1, 700, 1, true, false, true, false },
        { VRT_DEVICE_READY, 0, 1, 700, 20, false, false, true, false },
        { VRT_DEVICE_READY, 0, 1, 700, 20, true, true, true, false },
        { VRT_DEVICE_READY, 1, 1, 700, 20, true, false, false, false },
        { VRT_DEVICE_LOST, 0, 1, 700, 20, true, false, false, false },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct bench bench;
        start(&bench, cases[i].state);
        struct vrt_pool_device *device = &bench.device;
        device->n_in_flight = cases[i].n_in_flight;
        device->usage.n_replicas = cases[i].n_replicas;
        device->used_at_ns = now_ns - cases[i].used_s * VRT_NS_PER_S;
        device->told_at_ns = now_ns - cases[i].told_s * VRT_NS_PER_S;
        device->sensors.are_known = cases[i].are_known;
        device->is_asked = cases[i].is_asked;
        vrt_pool_device_tick(device);
        expect_int(device->is_asked, cases[i].is_asked || cases[i].tells);
        expect_int(device->used_at_ns >= now_ns, cases[i].trims);
        finish(&bench, cases[i].trims + cases[i].tells);
        expect_int(bench.n_asked[VRT_WORKER_TRIM], cases[i].trims);
        expect_int(bench.n_asked[VRT_WORKER_TELL], cases[i].tells);
        expect_int(device->is_asked, cases[i].is_asked);
        /* What is told counts, not that nothing is. */
        expect_int(device->usage.used_bytes, cases[i].tells ? 7 : 0);
        expect_int(device->told_at_ns >= now_ns, cases[i].tells);
    }
}

/* How long a device may be silent: beyond what its shard explains, by what was measured or as slow
 * as none is; less where that was measured, or where vrtd is to end. */
static void test_silent(void)
{
    static const struct {
        int64_t tile_flops;             /* of a shard; -1: it is asked something else */
        double flops_per_s;             /* as was measured; NAN: it wasn't */
        bool by_ops;
        int n_threads, stall_s;
        bool is_ending, is_stopping;
        int explained_s, allowed_s;
    } rows[] = {
        { -1, 1e10, false, 0, 300, false, false, 0, 300 },
        { -1, 1e10, false, 0, 300, true, false, 0, 20 },
        { -1, 1e10, false, 0, 300, false, true, 0, 20 },
        { 7000000000, NAN, false, 0, 300, false, false, 7, 307 },
        { 7000000000, NAN, false, 0, 300, true, false, 7, 27 },
        { 7000000000, NAN, false, 0, 300, false, true, 7, 20 },
        { 7000000000, 1e10, true, 0, 300, false, false, 7, 307 },
        { 7000000000, 1e10, false, 0, 300, false, false, 7, 67 },
        { 7000000000, 1e10, false, 0, 40, false, false, 7, 47 },
        { 7000000000, 1e10, false, 1, 300, false, false, 140, 200 },
    };
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = builtin_network();
    struct vrt_job_spec *spec;

    expect_int(vrt_speed_spec_new(network, 64, 48, &spec), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_worker_run *run = vrt_worker_run_new(spec, VRT_DTYPE_F32, 1);
        struct vrt_probe measured = { .f32_speedup = NAN };
        struct bench bench;
        start(&bench, VRT_DEVICE_READY);
        const struct vrt_device_info *const infos[] = { &bench.info, &bench.info };
        struct vrt_pool_device *device = &bench.device;
        bench.info.n_threads = rows[i].n_threads;
        bench.shared.params.stall_s = rows[i].stall_s;
        bench.shared.params.silence_s = 30;
        bench.shared.is_ending = rows[i].is_ending;
        bench.shared.is_stopping = rows[i].is_stopping;
        expect_int(vrt_measurements_new(infos, 2, NULL, &bench.shared.measurements, NULL), 0);
        measured.flops_per_s[VRT_DTYPE_F32] = rows[i].flops_per_s;
        vrt_measurements_note_probe(bench.shared.measurements, vrt_network_checksum(network), 1,
                                    &measured);
        run->tile_flops = rows[i].tile_flops;
        run->by_ops = rows[i].by_ops;
        /* What else is asked has its spec at the same place. */
        run->base.request = rows[i].tile_flops < 0 ? VRT_WORKER_PREPARE : VRT_WORKER_RUN;
        atomic_store(&bench.is_held, true);
        expect_int(vrt_pool_device_submit(device, &run->base, NULL, NULL), 0);
        while (!atomic_load(&bench.is_at_it))
            usleep(100);
        for (int late_ms = -1; late_ms < 1; late_ms++) {
            now_ns += late_ms < 0 ? rows[i].allowed_s * VRT_NS_PER_S - VRT_NS_PER_MS :
                                    VRT_NS_PER_MS;
            /* Nobody can be heard by a process that was stopped. */
            bench.shared.ticked_ns = now_ns - 6 * VRT_NS_PER_S;
            expect_near(vrt_pool_device_silent_s(device), 0, 0);
            bench.shared.ticked_ns = now_ns - 5 * VRT_NS_PER_S;
            expect_near(vrt_pool_device_silent_s(device),
                        VRT_MAX(rows[i].allowed_s - rows[i].explained_s + late_ms / 1e3, 0), 1e-9);
            bench.is_given_up = late_ms == 0;
            vrt_pool_device_tick(device);
            expect_int(device->state == VRT_DEVICE_QUARANTINED, bench.is_given_up);
        }
        finish(&bench, 1);
        vrt_measurements_free(bench.shared.measurements);
    }
    vrt_job_spec_unref(spec);
}

/* Since when the loop has looked: a tick that comes late is the first. */
static void test_awake(void)
{
    static const int late_s[][2] = { { 0, 0 }, { 5, 0 }, { 6, 11 }, { 5, 11 }, { 9, 25 } };
    struct bench bench;

    bench_init(&bench);
    const int64_t then_ns = now_ns;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(late_s); i++) {
        now_ns += late_s[i][0] * VRT_NS_PER_S;
        vrt_pool_shared_tick(&bench.shared);
        expect_int(bench.shared.ticked_ns, now_ns);
        expect_int(bench.shared.awake_ns - then_ns, late_s[i][1] * VRT_NS_PER_S);
    }
}

TEST_MAIN(
    { "reasons", test_reasons },
    { "judged", test_judged },
    { "quarantine", test_quarantine },
    { "snapshot", test_snapshot },
    { "resting", test_resting },
    { "silent", test_silent },
    { "awake", test_awake },
)
