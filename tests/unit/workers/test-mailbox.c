/* SPDX-License-Identifier: MIT */

/* Mailboxes: exactly one done for every task, whatever becomes of the thread. */

#include <errno.h>
#include <unistd.h>
#include <uv.h>

#include "tests/unit/test.h"
#include "workers/mailbox.h"

#define N_TASKS 2000
#define CAPACITY 16

struct job {
    struct vrt_task task;
    struct bench *bench;
    int value;
    bool slow;
    int n_done;
};

struct bench {
    uv_loop_t loop;
    struct vrt_outbox *outbox;
    struct vrt_mailbox *mailbox;
    struct job *jobs;
    int n_jobs, n_posted, n_done, n_stopped, n_lost;
    int order;                      /* value of the last one done */
    bool ended, abandoned, closed;
    atomic_bool gate;               /* slow tasks wait for it */
    atomic_int n_discarded;
    atomic_bool is_over;            /* the thread has no more to do with tasks */
};

static void loop_done(struct bench *bench)
{
    expect_int(uv_run(&bench->loop, UV_RUN_DEFAULT), 0);
    expect_true(bench->closed);
    expect_int(uv_loop_close(&bench->loop), 0);
    free(bench->jobs);
}

static void on_closed(void *ctx)
{
    struct bench *bench = ctx;

    bench->closed = true;
}

static void on_ended(void *ctx, bool abandoned)
{
    struct bench *bench = ctx;

    expect_true(!bench->ended);
    bench->ended = true;
    bench->abandoned = abandoned;
    bench->mailbox = NULL;
    vrt_outbox_close(bench->outbox, on_closed, bench);
}

static void run(struct vrt_mailbox *mailbox, void *ctx)
{
    struct bench *bench = ctx;
    struct vrt_task *task;

    while ((task = vrt_mailbox_take(mailbox))) {
        struct job *job = vrt_container_of(task, struct job, task);
        while (job->slow && !atomic_load(&bench->gate))
            usleep(1000);
        job->value++;
        vrt_mailbox_return(mailbox, task, atomic_load(&task->cancel) ? VRT_TASK_CANCELLED :
                           VRT_TASK_DONE);
    }
    atomic_store(&bench->is_over, true);
}

static void discard(struct vrt_task *task)
{
    struct job *job = vrt_container_of(task, struct job, task);

    atomic_fetch_add(&job->bench->n_discarded, 1);
}

static void on_done(struct vrt_task *task);

static void post_more(struct bench *bench)
{
    while (bench->n_posted < bench->n_jobs) {
        struct job *job = &bench->jobs[bench->n_posted];
        int r = vrt_mailbox_post(bench->mailbox, &job->task);
        if (r == -ENOBUFS || r == -ESHUTDOWN)
            return;
        expect_int(r, 0);
        bench->n_posted++;
    }
}

static void on_done(struct vrt_task *task)
{
    struct job *job = vrt_container_of(task, struct job, task);
    struct bench *bench = job->bench;

    expect_int(++job->n_done, 1);
    bench->n_done++;
    bench->n_stopped += task->outcome == VRT_TASK_STOPPED;
    bench->n_lost += task->outcome == VRT_TASK_LOST;
    if (task->outcome == VRT_TASK_DONE) {
        expect_int(job->value, 1);
        bench->order = (int)(job - bench->jobs);
        post_more(bench);
    }
    if (bench->n_done == bench->n_jobs && bench->mailbox)
        vrt_mailbox_stop(bench->mailbox);
}

static void start(struct bench *bench, int n_jobs)
{
    const struct vrt_mailbox_params params = {
        .name = "a name that is longer than fifteen bytes",
        .capacity = CAPACITY,
        .nice = 1,
        .run = run,
        .run_ctx = bench,
        .ended = on_ended,
        .ended_ctx = bench,
    };

    *bench = (struct bench){ .n_jobs = n_jobs };
    expect_int(uv_loop_init(&bench->loop), 0);
    expect_int(vrt_outbox_new(&bench->loop, &bench->outbox), 0);
    expect_int(vrt_mailbox_new(bench->outbox, &params, &bench->mailbox), 0);
    bench->jobs = calloc((size_t)n_jobs, sizeof(*bench->jobs));
    expect_true(bench->jobs);
    for (int i = 0; i < n_jobs; i++) {
        bench->jobs[i].bench = bench;
        vrt_task_init(&bench->jobs[i].task, on_done, discard);
    }
}

/* The same: the thread is at the first of them, which is slow. */
static void start_slow(struct bench *bench, int n_jobs, int n_posted)
{
    start(bench, n_jobs);
    bench->jobs[0].slow = true;
    bench->n_jobs = n_posted;
    post_more(bench);
    bench->n_jobs = n_jobs;
    while (vrt_mailbox_silent_ns(bench->mailbox) == 0)
        usleep(100);
}

static void test_many(void)
{
    struct bench bench;

    start(&bench, N_TASKS);
    post_more(&bench);
    expect_int(bench.n_posted, CAPACITY);
    expect_int(vrt_mailbox_post(bench.mailbox, &bench.jobs[CAPACITY].task), -ENOBUFS);
    expect_int(uv_run(&bench.loop, UV_RUN_DEFAULT), 0);
    expect_int(bench.n_done, N_TASKS);
    expect_int(bench.order, N_TASKS - 1);
    expect_true(bench.ended && !bench.abandoned);
    loop_done(&bench);
}

/* What was begun is finished, what wasn't comes back as stopped. */
static void test_stop(void)
{
    struct bench bench;

    start_slow(&bench, 5, 5);
    int64_t silent_ns = 0;
    expect_true(vrt_mailbox_running(bench.mailbox, &silent_ns) == &bench.jobs[0].task);
    expect_true(silent_ns > 0);
    vrt_mailbox_stop(bench.mailbox);
    vrt_mailbox_stop(bench.mailbox);
    expect_int(vrt_mailbox_post(bench.mailbox, &bench.jobs[4].task), -ESHUTDOWN);
    atomic_store(&bench.gate, true);
    expect_int(uv_run(&bench.loop, UV_RUN_DEFAULT), 0);
    expect_int(bench.n_done, 5);
    expect_int(bench.n_stopped, 4);
    expect_int(bench.jobs[0].task.outcome, VRT_TASK_DONE);
    loop_done(&bench);
}

static void test_post_first(void)
{
    struct bench bench;

    start_slow(&bench, 3, 1);
    expect_int(vrt_mailbox_post(bench.mailbox, &bench.jobs[1].task), 0);
    expect_int(vrt_mailbox_post_first(bench.mailbox, &bench.jobs[2].task), 0);
    bench.n_posted = 3;
    atomic_store(&bench.jobs[1].task.cancel, true);
    atomic_store(&bench.gate, true);
    expect_int(uv_run(&bench.loop, UV_RUN_DEFAULT), 0);
    expect_int(bench.order, 2);
    expect_int(bench.jobs[1].task.outcome, VRT_TASK_CANCELLED);
    loop_done(&bench);
}

/* A thread that hangs loses its tasks at once; what it ran goes when it comes back, and when the
 * loop has told of it: whichever is later. */
static void abandon(bool comes_back_first)
{
    static struct bench bench;      /* outlives the thread */

    start_slow(&bench, 4, 4);
    struct job *jobs = bench.jobs;
    vrt_mailbox_abandon(bench.mailbox);
    expect_int(bench.n_done, 0);
    for (int step = 0; step < 2; step++) {
        if (step == !comes_back_first) {
            atomic_store(&bench.gate, true);
            while (!atomic_load(&bench.is_over))
                usleep(1000);
        } else {
            expect_int(uv_run(&bench.loop, UV_RUN_DEFAULT), 0);
            expect_int(bench.n_lost, 4);
            expect_true(bench.ended && bench.abandoned && bench.closed);
            expect_true(jobs[0].task.abandoned && !jobs[1].task.abandoned);
        }
        expect_int(atomic_load(&bench.n_discarded), step);
    }
    loop_done(&bench);
}

static void test_abandon(void)
{
    abandon(false);
    abandon(true);
}

TEST_MAIN(
    { "many", test_many },
    { "stop", test_stop },
    { "post-first", test_post_first },
    { "abandon", test_abandon },
)
