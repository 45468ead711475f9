/* SPDX-License-Identifier: MIT */
/*
 * daemon/devices: in which order jobs get a device. The shards of the jobs here are cancelled from
 * the beginning, so that a device returns them at once; it holds two at a time, and the order is
 * always the same.
 */

#include "tests/unit/test.h"

#include <limits.h>

#include "daemon/devices/pool-job.h"
#include "tests/unit/pipeline/flow-fixture.h"
#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/environment.h"

#define N_JOBS_MAX 4

struct share;

struct fake {
    struct vrt_pool_job job;
    struct share *share;
    char name;
    bool refuses;               /* has nothing after all, when it is asked */
};

struct share {
    struct flow flow;
    struct fake fakes[N_JOBS_MAX];
    struct vrt_job_spec spec;   /* of all shards; empty */
    int n_fakes, n_out, n_returned;
    char order[128];            /* names, as they were given the device */
    int n_taken;
    void (*returned)(struct share *share);      /* after each shard; NULL: nothing is done */
};

static struct fake *fake_of(struct vrt_pool_job *job)
{
    return vrt_container_of(job, struct fake, job);
}

static struct vrt_worker_run *take(struct vrt_pool_job *job, size_t d)
{
    struct share *share = fake_of(job)->share;
    struct vrt_worker_run *run = NULL;

    expect_int(d, 0);
    if (!fake_of(job)->refuses)
        run = vrt_worker_run_new(&share->spec, VRT_DTYPE_F32, 0);
    if (!run)
        return NULL;
    atomic_store(&run->base.task.cancel, true);
    run->by_ops = true;         /* the speed of the network, which is none, explains nothing */
    job->n_ready--;
    job->n_left--;
    share->n_out++;
    share->order[share->n_taken++] = fake_of(job)->name;
    expect_true(share->n_taken < (int)sizeof(share->order));
    return run;
}

static uint64_t may_copy(const struct vrt_pool_job *job, const void *ctx)
{
    (void)job;
    (void)ctx;
    return 0;
}

static void returned(struct vrt_pool_job *job, size_t d, struct vrt_worker_run *run)
{
    struct share *share = fake_of(job)->share;
    struct vrt_device_snapshot device;

    expect_int(run->base.task.outcome, VRT_TASK_CANCELLED);
    share->n_returned++;
    vrt_pool_device(share->flow.pool, d, &device);
    expect_int(device.in_flight, --share->n_out);
    if (share->returned)
        share->returned(share);
}

static void tick(struct vrt_pool_job *job)
{
    (void)job;
}

/* Nothing is copied, and no pool stops before its jobs are done. */
static const struct vrt_pool_job_ops ops = {
    .take = take,
    .may_copy = may_copy,
    .returned = returned,
    .tick = tick,
};

static void set_up(struct share *share)
{
    *share = (struct share){ .spec = { .n_refs = 1 } };
    flow_init_cpus(&share->flow, 1);
}

static struct fake *add(struct share *share, uid_t uid, int priority, int n_shards)
{
    struct fake *fake = &share->fakes[share->n_fakes];

    *fake = (struct fake){
        .share = share,
        .name = (char)('A' + share->n_fakes++),
        .job = {
            .ops = &ops, .priority = priority, .uid = uid, .n_ready = n_shards,
            .n_left = n_shards, .n_window = INT_MAX, .devices = 1,
        },
    };
    vrt_list_init(&fake->job.link);
    vrt_pool_job_add(share->flow.pool, &fake->job);
    return fake;
}

/* Runs until so many shards came back, and checks in which order they went. */
static void run(struct share *share, const char *order)
{
    vrt_pool_wake(share->flow.pool);
    while (share->n_returned < (int)strlen(order))
        uv_run(&share->flow.loop, UV_RUN_ONCE);
    expect_int(share->n_out, 0);
    expect_str(share->order, order);
    for (int i = 0; i < share->n_fakes; i++)
        vrt_pool_job_remove(share->flow.pool, &share->fakes[i].job);
    flow_done(&share->flow);
}

/* Who has three jobs gets as much as who has one. */
static void test_users(void)
{
    struct share share;

    set_up(&share);
    for (int i = 0; i < 3; i++)
        add(&share, 1, 0, 3);
    add(&share, 2, 0, 6);
    run(&share, "ADBDCDADBDCDABC");
}

static void raise_second(struct share *share)
{
    if (share->n_returned == 4)
        share->fakes[1].job.n_ready = share->fakes[1].job.n_left = 6;
}

/* A higher priority goes first from the next shard on; what the device holds it finishes. */
static void test_preempted(void)
{
    struct share share;

    set_up(&share);
    add(&share, 1, 0, 12);
    add(&share, 2, 1, 0);
    share.returned = raise_second;
    run(&share, "AAAAABBBBBBAAAAAAA");
}

static void change_priority(struct share *share)
{
    if (share->n_returned == 4)
        share->fakes[1].job.priority = 100;
    if (share->n_returned == 8)
        share->fakes[1].job.priority = -100;
}

static void test_priority_changes(void)
{
    struct share share;

    set_up(&share);
    add(&share, 1, 0, 8);
    add(&share, 2, 0, 8);
    share.returned = change_priority;
    run(&share, "ABABABBBBAAAAABB");
}

static void hold_first(struct share *share)
{
    struct vrt_pool_job *job = &share->fakes[0].job;

    if (share->n_returned == 2)
        job->n_ready = 0;
    if (share->n_returned == 6)
        job->n_ready = job->n_left;
}

/* A job that is held gives nothing, and keeps nobody waiting, whatever its priority; then it has
 * its turn. Nor does one that has nothing when it is asked. */
static void test_held(void)
{
    struct share share;

    set_up(&share);
    add(&share, 1, 1, 6);
    add(&share, 2, 0, 6);
    struct fake *refusing = add(&share, 3, 2, 1);
    refusing->refuses = true;
    refusing->job.is_held_up = true;
    share.returned = hold_first;
    run(&share, "AAABBBBAAABB");
}

static bool has_xpu(const char *kind)
{
    return strcmp(kind, "xpu") == 0;
}

/* Who leaves the choice to vrtd gets no accelerators that are unfit, as long as all are, and is
 * told why; or why there are none, where the machine has such a card. Nobody else is. */
static void test_choice(void)
{
    static const struct {
        int accelerator;                /* which of the processors passes for one; -1: none */
        struct vrt_pool_wish wish;
        uint64_t devices;
        const char *warns;              /* NULL: it doesn't */
    } cases[] = {
        { 1, { "auto" }, 2, NULL },
        { 1, { "auto", .n_tries = 2 }, 1, "yet (cpu:1: the device failed): cpu is used" },
        { 1, { "auto", .n_tries = 3 }, 2, NULL },
        { 0, { "auto", .n_tries = 2 }, 1, NULL },
        { 1, { "auto", .unfit = 2 }, 1, "yet (cpu:1: the device failed): cpu is used" },
        { 1, { "auto", .unfit = 1 }, 2, NULL },
        { 1, { "cpu", .n_tries = 2 }, 1, NULL },
        { -1, { "auto", .n_tries = 2, .unfit = 3 }, 3, "no accelerator can be used (xpu: " },
        { -1, { "cpu" }, 3, NULL },
    };
    struct vrt_error error;
    struct flow flow;
    size_t n;

    flow_init(&flow, fixture_path(""), (struct vrt_pool_params){
        .registry = { .values = TEST_CPUS(2, 1), .fault = "cpu:1 open:1- fail" },
        .has_gpu = has_xpu, .retry_s = 0.001,
    });
    const struct vrt_device_info *const *infos = vrt_pool_infos(flow.pool, &n);
    struct vrt_device_snapshot device = { .n_quarantined = 0 };
    while (!(vrt_pool_devices(flow.pool).ready & 1) || device.n_quarantined < 2) {
        uv_run(&flow.loop, UV_RUN_ONCE);
        vrt_pool_device(flow.pool, 1, &device);
    }
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_device_choice choice = { .n_warnings = 0 };
        for (int d = 0; d < 2; d++)
            ((struct vrt_device_info *)(uintptr_t)infos[d])->kind =
                d == cases[i].accelerator ? "cuda" : "cpu";
        expect_int(vrt_pool_choose(flow.pool, &cases[i].wish, &choice, &error), 0);
        expect_int(choice.devices, cases[i].devices);
        expect_int(choice.n_warnings, cases[i].warns != NULL);
        if (cases[i].warns)
            expect_contains(choice.warnings[0], cases[i].warns);
    }
    flow_done(&flow);
}

TEST_MAIN_AFTER(fixture_init(),
    { "choice", test_choice },
    { "users", test_users },
    { "preempted", test_preempted },
    { "priority-changes", test_priority_changes },
    { "held", test_held },
)
