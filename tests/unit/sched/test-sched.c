/* SPDX-License-Identifier: MIT */
/* daemon/sched: each rule by itself. All of them together, whoever comes and goes, are in
 * test-sched-rules.c, whole plays in test-sched-play.c. */

#include "tests/unit/test.h"

#include <limits.h>

#include "api.h"
#include "base/macro.h"
#include "daemon/sched/sched.h"

#define ALWAYS 1000
#define N_DEVICES_MAX 3
#define N_JOBS_MAX 12

/* A device as a case describes it. */
struct device {
    bool ready;
    int n_in_flight;
    double free_in_s;
    int speed_class;
};

#define IN_FLIGHT 2                     /* of a device that doesn't compute beside the host */

/* A scheduler whose devices hold shards of a job that has nothing else. */
struct setting {
    struct vrt_sched *sched;
    struct vrt_sched_kind *kind;
    struct vrt_sched_job other;
    struct vrt_sched_run runs[N_DEVICES_MAX * VRT_SCHED_IN_FLIGHT];
    size_t n_runs, n_jobs;
    struct vrt_sched_job jobs[N_JOBS_MAX];
};

static void set_up(struct setting *s, const struct device *devices, size_t n_devices)
{
    int classes[N_DEVICES_MAX] = { 0 };

    *s = (struct setting){ .n_jobs = 0 };
    for (size_t d = 0; d < n_devices; d++)
        classes[d] = devices[d].speed_class;
    expect_int(vrt_sched_new(n_devices, classes, &s->sched), 0);
    expect_int(vrt_sched_kind_new(s->sched, &s->kind), 0);
    s->other.kind = s->kind;
    expect_int(vrt_sched_job_add(s->sched, &s->other), 0);
    for (size_t d = 0; d < n_devices; d++) {
        vrt_sched_set_device(s->sched, d, devices[d].ready, IN_FLIGHT);
        for (int i = 0; i < devices[d].n_in_flight; i++)
            vrt_sched_run_begin(s->sched, &s->runs[s->n_runs++], &(struct vrt_sched_choice){
                .job = &s->other, .device = d,
                .expected_s = devices[d].free_in_s / devices[d].n_in_flight,
            }, 0);
    }
}

/* A job with a kind of its own: `shard_s` is 0 where it wasn't measured, negative where it may not
 * run. */
static struct vrt_sched_job *add_job(struct setting *s, const struct vrt_sched_job *like,
                                     const double *shard_s, size_t n_devices)
{
    struct vrt_sched_job *job = &s->jobs[s->n_jobs++];
    struct vrt_sched_set devices = { { 0 } };

    *job = *like;
    expect_int(vrt_sched_kind_new(s->sched, &job->kind), 0);
    for (size_t d = 0; d < n_devices; d++) {
        vrt_sched_set_put(&devices, d, shard_s[d] >= 0);
        if (shard_s[d] > 0)
            vrt_sched_kind_measure(job->kind, d, shard_s[d]);
    }
    vrt_sched_kind_set_devices(job->kind, &devices);
    expect_int(vrt_sched_job_add(s->sched, job), 0);
    return job;
}

static void tear_down(struct setting *s)
{
    for (size_t i = 0; i < s->n_runs; i++)
        vrt_sched_run_end(s->sched, &s->runs[i], 0);
    for (size_t j = 0; j < s->n_jobs; j++) {
        vrt_sched_job_remove(s->sched, &s->jobs[j]);
        vrt_sched_kind_free(s->jobs[j].kind);
    }
    vrt_sched_job_remove(s->sched, &s->other);
    vrt_sched_kind_free(s->kind);
    vrt_sched_free(s->sched);
}

static void test_nothing(void)
{
    static const double second = 1, never = -1;
    static const struct device device = { .ready = true };
    struct vrt_sched_choice choice;
    struct setting s;

    set_up(&s, NULL, 0);
    expect_true(!vrt_sched_pick(s.sched, 0, &choice));
    tear_down(&s);
    set_up(&s, &device, 1);
    expect_true(!vrt_sched_pick(s.sched, 0, &choice));
    struct vrt_sched_job *job = add_job(&s, &(struct vrt_sched_job){
        .n_left = 5, .n_window = ALWAYS }, &second, 1);
    expect_true(!vrt_sched_pick(s.sched, 0, &choice));
    job->n_ready = 1;
    vrt_sched_job_update(s.sched, job);
    expect_true(vrt_sched_pick(s.sched, 0, &choice) && choice.job == job && choice.device == 0);
    vrt_sched_set_device(s.sched, 0, false, IN_FLIGHT);
    expect_true(!vrt_sched_pick(s.sched, 0, &choice));
    vrt_sched_set_device(s.sched, 0, true, 1);
    expect_true(vrt_sched_pick(s.sched, 0, &choice));
    /* One that was told to hold one shard holds one. */
    vrt_sched_run_begin(s.sched, &s.runs[s.n_runs++], &choice, 0);
    expect_int(vrt_sched_n_in_flight(s.sched, 0), 1);
    expect_true(!vrt_sched_pick(s.sched, 0, &choice));
    vrt_sched_set_device(s.sched, 0, true, 99);
    for (int i = 1; i < VRT_SCHED_IN_FLIGHT; i++) {
        expect_true(vrt_sched_pick(s.sched, 0, &choice));
        vrt_sched_run_begin(s.sched, &s.runs[s.n_runs++], &choice, 0);
    }
    expect_true(!vrt_sched_pick(s.sched, 0, &choice));
    tear_down(&s);
    /* The job may not use what there is. */
    set_up(&s, &device, 1);
    add_job(&s, &(struct vrt_sched_job){ .n_ready = 1, .n_left = 5, .n_window = ALWAYS },
            &never, 1);
    expect_true(!vrt_sched_pick(s.sched, 0, &choice));
    tear_down(&s);
}

/* Gives the device a shard and takes it back. Return: which job's it was. */
static int take_turn(struct setting *s)
{
    struct vrt_sched_run run = { .job = NULL };
    struct vrt_sched_choice choice;

    if (!vrt_sched_pick(s->sched, 0, &choice))
        return -1;
    vrt_sched_run_begin(s->sched, &run, &choice, 0);
    vrt_sched_run_end(s->sched, &run, 0);
    return (int)(choice.job - s->jobs);
}

/* Who gets what when nothing ever ends. */
static void test_turns(void)
{
    static const struct {
        struct vrt_sched_job jobs[3];
        const char *order;
    } cases[] = {
        /* The highest priority, and nobody else. */
        { { { .priority = 1 }, { .priority = 2 }, { .priority = 0 } }, "111111" },
        { { { .priority = -5 }, { .priority = -6 }, { .priority = VRT_API_PRIORITY_MIN } },
          "000000" },
        { { { .priority = 99 }, { .priority = VRT_API_PRIORITY_MAX }, { .priority = 100 } },
          "121212" },
        /* Equals by turns, who came first to begin with. */
        { { { .uid = 1 }, { .uid = 1 }, { .uid = 1 } }, "012012" },
        { { { .uid = 1 }, { .uid = 2 }, { .uid = 3 } }, "012012" },
        /* Who has two jobs gets no more than who has one. */
        { { { .uid = 1 }, { .uid = 1 }, { .uid = 2 } }, "021202120212" },
        { { { .uid = 2 }, { .uid = 1 }, { .uid = 1 } }, "010201020102" },
        /* His others, of another priority, count for nothing. */
        { { { .uid = 1 }, { .uid = 1, .priority = -1 }, { .uid = 2 } }, "020202" },
    };
    static const double second = 1;
    static const struct device device = { .ready = true };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct setting s;
        set_up(&s, &device, 1);
        for (int j = 0; j < 3; j++) {
            struct vrt_sched_job like = cases[i].jobs[j];
            like.n_ready = like.n_left = like.n_window = ALWAYS;
            add_job(&s, &like, &second, 1);
        }
        for (const char *c = cases[i].order; *c; c++) {
            int j = take_turn(&s);
            if (j != *c - '0')
                test_fail("case %zu, turn %d: job %d", i, (int)(c - cases[i].order), j);
        }
        tear_down(&s);
    }
}

static void test_device_choice(void)
{
    static const struct {
        struct device a, b;
        double a_s, b_s;
        int n_left, n_window;
        int device;                     /* -1: nobody takes it */
    } cases[] = {
        /* The faster of two idle ones; the idle one of two equals. */
        { { true, 0, 0, 0 }, { true, 0, 0, 1 }, 2, 1, 9, ALWAYS, 1 },
        { { true, 1, 0.5, 0 }, { true, 0, 0, 0 }, 1, 1, 9, ALWAYS, 1 },
        /* The faster one although it is busy, where it still finishes sooner. */
        { { true, 1, 1, 0 }, { true, 0, 0, 1 }, 1, 9, 99, ALWAYS, 0 },
        /* It is full: the slow one helps while enough is left, and leaves the last ones. */
        { { true, 2, 2, 0 }, { true, 0, 0, 1 }, 1, 10, 9, ALWAYS, 1 },
        { { true, 2, 2, 0 }, { true, 0, 0, 1 }, 1, 10, 8, ALWAYS, 1 },
        { { true, 2, 2, 0 }, { true, 0, 0, 1 }, 1, 10, 7, ALWAYS, -1 },
        { { true, 2, 2, 0 }, { true, 0, 0, 1 }, 1, 10, 1, ALWAYS, -1 },
        /* However much is left, it would hold up the others at the end of the window. */
        { { true, 2, 2, 0 }, { true, 0, 0, 1 }, 1, 10, INT_MAX, 7, -1 },
        { { true, 2, 2, 0 }, { true, 0, 0, 1 }, 1, 10, INT_MAX, 8, 1 },
        /* Nobody waits for a device that takes no work, or none of this job. */
        { { false, 2, 2, 0 }, { true, 0, 0, 1 }, 1, 10, 1, ALWAYS, 1 },
        { { true, 2, 2, 0 }, { true, 0, 0, 1 }, -1, 10, 1, ALWAYS, 1 },
        /* Not measured: as fast as the fastest; one shard at a time until it is. */
        { { true, 2, 2, 0 }, { true, 0, 0, 1 }, 1, 0, 9, ALWAYS, 1 },
        { { true, 2, 2, 0 }, { true, 1, 1, 1 }, 1, 0, 9, ALWAYS, -1 },
        { { true, 2, 2, 0 }, { true, 1, 1, 0 }, 1, 0, 9, ALWAYS, 1 },
        { { false, 2, 2, 0 }, { true, 1, 1, 1 }, 0, 0, 9, ALWAYS, 1 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_sched_choice choice;
        struct setting s;
        set_up(&s, (struct device[]){ cases[i].a, cases[i].b }, 2);
        add_job(&s, &(struct vrt_sched_job){
            .n_ready = 1, .n_left = cases[i].n_left, .n_window = cases[i].n_window,
        }, (double[]){ cases[i].a_s, cases[i].b_s }, 2);
        bool found = vrt_sched_pick(s.sched, 0, &choice);
        if ((found ? (int)choice.device : -1) != cases[i].device)
            test_fail("case %zu: device %d", i, found ? (int)choice.device : -1);
        tear_down(&s);
    }
}

/* Many jobs with one shard each: the slow device takes one as soon as they are more than the fast
 * one does in that time, and it takes it from the one whose turn comes last. */
static void test_many_small_jobs(void)
{
    static const struct device devices[2] = { { true, 2, 2, 0 }, { true, 0, 0, 1 } };
    static const double shard_s[2] = { 1, 10 };
    struct vrt_sched_choice choice;

    for (int n_users = 1; n_users <= 3; n_users++) {
        struct setting s;
        set_up(&s, devices, 2);
        for (int n = 1; n <= N_JOBS_MAX; n++) {
            add_job(&s, &(struct vrt_sched_job){
                .uid = (uid_t)(n % n_users), .n_ready = 1, .n_left = 1, .n_window = ALWAYS,
            }, shard_s, 2);
            bool found = vrt_sched_pick(s.sched, 0, &choice);
            expect_int(found, n > 7);
            /* The last user, and of his jobs the last; user 0 was there before. */
            expect_true(!found || (choice.device == 1 &&
                                   choice.job->uid == (uid_t)n_users - 1 &&
                                   choice.job >= &s.jobs[n - n_users]));
        }
        /* Gone, or of another priority, they count no more. */
        for (int n = 0; n < 5; n++) {
            s.jobs[n].n_ready = n % 2 ? 0 : 1;
            s.jobs[n].priority = n % 2 ? 0 : -1;
            vrt_sched_job_update(s.sched, &s.jobs[n]);
        }
        expect_true(vrt_sched_pick(s.sched, 0, &choice) && choice.job->priority == -1);
        for (int n = 0; n < 5; n += 2) {
            s.jobs[n].n_ready = 0;
            vrt_sched_job_update(s.sched, &s.jobs[n]);
        }
        expect_true(!vrt_sched_pick(s.sched, 0, &choice));
        tear_down(&s);
    }
}

/* A device that hangs is waited for less and less, so that another takes the last shard. */
static void test_late_device(void)
{
    static const struct device devices[2] = { { true, 2, 2, 0 }, { true, 0, 0, 1 } };
    struct vrt_sched_choice choice;
    struct setting s;
    int waited_s = 0;

    set_up(&s, devices, 2);
    add_job(&s, &(struct vrt_sched_job){ .n_ready = 1, .n_left = 1, .n_window = ALWAYS },
            (double[]){ 1, 10 }, 2);
    while (!vrt_sched_pick(s.sched, waited_s, &choice)) {
        waited_s++;
        expect_true(waited_s < 100);
    }
    expect_int(choice.device, 1);
    expect_int(waited_s, 11);
    tear_down(&s);
}

/* Only one copy at a time; another when the first came to nothing. */
static void expect_one_copy(struct setting *s, const struct vrt_sched_choice *first)
{
    struct vrt_sched_run *copy = &s->runs[s->n_runs++];
    struct vrt_sched_choice choice;

    vrt_sched_run_begin(s->sched, copy, first, 0);
    expect_true(!vrt_sched_pick(s->sched, 0, &choice));
    vrt_sched_run_end(s->sched, copy, 0);
    s->n_runs--;
    expect_true(vrt_sched_pick(s->sched, 0, &choice));
    expect_int(choice.device, first->device);
}

/* A shard is run twice by an idle device that was measured, and only where that clearly helps. */
static void test_straggler(void)
{
    static const struct {
        struct device a, b;
        double a_s, b_s, straggler_s;
        int device;                     /* -1: it is waited for */
    } cases[] = {
        /* Clearly sooner, or not; there is no straggler. */
        { { true, 1, 9, 0 }, { true, 0, 0, 1 }, -1, 1, 2, 1 },
        { { true, 1, 9, 0 }, { true, 0, 0, 1 }, -1, 1, 1.4, -1 },
        { { true, 1, 9, 0 }, { true, 0, 0, 1 }, -1, 1, 0, -1 },
        { { true, 1, 9, 0 }, { true, 0, 0, 1 }, -1, 0.01, 0.1, -1 },
        { { true, 1, 9, 0 }, { true, 0, 0, 1 }, -1, 0.01, 0.2, 1 },
        /* Never on the device that has it, nor on one that the job may not use. */
        { { true, 0, 0, 0 }, { true, 1, 9, 1 }, -1, 1, 9, -1 },
        { { true, 0, 0, 0 }, { true, 0, 0, 1 }, -1, -1, 9, -1 },
        /* Not on one that is busy, or doesn't work. */
        { { true, 1, 9, 0 }, { true, 1, 0.1, 1 }, -1, 1, 9, -1 },
        { { true, 1, 9, 0 }, { false, 0, 0, 1 }, -1, 1, 9, -1 },
        /* Nobody knows how fast it is; then one of its class shows it. */
        { { true, 1, 9, 0 }, { true, 0, 0, 1 }, -1, 0, 9, -1 },
        { { true, 1, 9, 0 }, { true, 0, 0, 0 }, 1, 0, 9, 1 },
        /* Left to one that is busy but done sooner; not to one that isn't. */
        { { true, 1, 1, 0 }, { true, 0, 0, 1 }, 1, 4, 9, -1 },
        { { true, 1, 4, 0 }, { true, 0, 0, 1 }, 1, 4, 9, 1 },
        /* The faster of two. */
        { { true, 0, 0, 0 }, { true, 0, 0, 1 }, 3, 2, 9, 1 },
        { { true, 0, 0, 0 }, { true, 0, 0, 1 }, 2, 3, 9, 0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const double shard_s[3] = { cases[i].a_s, cases[i].b_s, cases[i].straggler_s };
        struct vrt_sched_choice choice;
        struct setting s;
        set_up(&s, (struct device[]){ cases[i].a, cases[i].b, { true, 0, 0, 2 } }, 3);
        struct vrt_sched_job *job = add_job(&s, &(struct vrt_sched_job){
            .n_window = ALWAYS, .is_held_up = true }, shard_s, 3);
        if (cases[i].straggler_s > 0) {
            struct vrt_sched_run *run = &s.runs[s.n_runs++];
            for (size_t d = 0; d < 2; d++)
                vrt_sched_set_put(&run->copiers, d, shard_s[d] >= 0);
            vrt_sched_run_begin(s.sched, run, &(struct vrt_sched_choice){
                .job = job, .device = 2, .expected_s = cases[i].straggler_s }, 0);
        }
        bool found = vrt_sched_pick(s.sched, 0, &choice);
        if ((found ? (int)choice.device : -1) != cases[i].device)
            test_fail("case %zu: device %d", i, found ? (int)choice.device : -1);
        expect_true(!found || choice.straggler == &s.runs[s.n_runs - 1]);
        if (found)
            expect_one_copy(&s, &choice);
        /* A shard that is ready is what the device gets, if it gets anything. */
        job->n_ready = job->n_left = 1;
        vrt_sched_job_update(s.sched, job);
        found = vrt_sched_pick(s.sched, 0, &choice);
        expect_true(!found || !choice.straggler);
        tear_down(&s);
    }
}

/* What was measured is believed until it is late; what wasn't is taken to be half way. */
static void test_left(void)
{
    expect_near(vrt_sched_left_s(3, 1, true), 2, 1e-12);
    expect_near(vrt_sched_left_s(3, 5, true), 2, 1e-12);
    expect_near(vrt_sched_left_s(3, 0, true), 3, 1e-12);
    expect_near(vrt_sched_left_s(3, 5, false), 5, 1e-12);
    expect_near(vrt_sched_left_s(3, 0, false), 0, 1e-12);
}

static void test_measure(void)
{
    double estimate_s = vrt_sched_measure(0, 4);

    expect_near(estimate_s, 4, 0);
    for (int i = 0; i < 20; i++)
        estimate_s = vrt_sched_measure(estimate_s, 2);
    expect_near(estimate_s, 2, 0.01);
    expect_near(vrt_sched_free_in_s(3, 1), 2, 1e-12);
}

static void test_set(void)
{
    struct vrt_sched_set a = { { 0 } }, b = { { 0 } };
    size_t n = 0;

    expect_int(vrt_sched_set_next(&a, &a, 0), VRT_SCHED_DEVICES_MAX);
    for (size_t i = 0; i < VRT_SCHED_DEVICES_MAX; i += 3)
        vrt_sched_set_put(&a, i, true);
    for (size_t i = 0; i < VRT_SCHED_DEVICES_MAX; i += 7)
        vrt_sched_set_put(&b, i, true);
    VRT_SCHED_SET_FOREACH(i, &a, &b) {
        expect_int(i, 21 * n);
        n++;
    }
    expect_int(n, (VRT_SCHED_DEVICES_MAX + 20) / 21);
    vrt_sched_set_put(&a, 504, false);
    expect_true(!vrt_sched_set_has(&a, 504) && vrt_sched_set_has(&a, 507));
    expect_int(vrt_sched_set_next(&a, &b, 484), VRT_SCHED_DEVICES_MAX);
}

TEST_MAIN(
    { "nothing", test_nothing },
    { "turns", test_turns },
    { "device-choice", test_device_choice },
    { "many-small-jobs", test_many_small_jobs },
    { "late-device", test_late_device },
    { "straggler", test_straggler },
    { "left", test_left },
    { "measure", test_measure },
    { "set", test_set },
)
