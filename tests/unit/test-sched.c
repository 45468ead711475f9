/* SPDX-License-Identifier: MIT */
/* daemon/sched: each rule by itself, then whole plays against the best that brute force finds. */

#include "tests/unit/test.h"

#include <limits.h>

#include "base/macro.h"
#include "daemon/sched.h"
#include "tests/bench/sched-play.h"

#define ALWAYS 1000

static void test_nothing(void)
{
    struct vrt_sched_device device = { .ready = true };
    struct vrt_sched_job job = { .n_left = 5, .n_window = ALWAYS, .shard_s = (double[]){ 1 } };
    struct vrt_sched_choice choice;

    expect_true(!vrt_sched_pick(&(struct vrt_sched){ &device, 1, NULL, 0 }, &choice));
    expect_true(!vrt_sched_pick(&(struct vrt_sched){ NULL, 0, &job, 1 }, &choice));
    expect_true(!vrt_sched_pick(&(struct vrt_sched){ &device, 1, &job, 1 }, &choice));
    job.n_ready = 1;
    expect_true(vrt_sched_pick(&(struct vrt_sched){ &device, 1, &job, 1 }, &choice));
    device.ready = false;
    expect_true(!vrt_sched_pick(&(struct vrt_sched){ &device, 1, &job, 1 }, &choice));
    device = (struct vrt_sched_device){ .ready = true, .n_in_flight = VRT_SCHED_IN_FLIGHT };
    expect_true(!vrt_sched_pick(&(struct vrt_sched){ &device, 1, &job, 1 }, &choice));
    device.n_in_flight = 0;
    job.shard_s = (double[]){ -1 };
    expect_true(!vrt_sched_pick(&(struct vrt_sched){ &device, 1, &job, 1 }, &choice));
}

static void test_job_order(void)
{
    static const struct {
        struct vrt_sched_job a, b;
        size_t first;
    } cases[] = {
        { { .priority = 1 }, { .priority = 2 }, 1 },
        { { .priority = -5 }, { .priority = -6 }, 0 },
        { { .priority = 1, .turn = 9 }, { .priority = 0 }, 0 },
        { { .turn = 2 }, { .turn = 1 }, 1 },
        { { .turn = 2, .order = 1 }, { .turn = 0, .order = 2 }, 1 },
        { { .order = 7 }, { .order = 3 }, 1 },
        { { .order = 3 }, { .order = 7 }, 0 },
    };
    static const double second = 1;
    const struct vrt_sched_device device = { .ready = true };
    struct vrt_sched_choice choice;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_sched_job jobs[2] = { cases[i].a, cases[i].b };
        for (int j = 0; j < 2; j++) {
            jobs[j].n_ready = jobs[j].n_left = 1;
            jobs[j].n_window = ALWAYS;
            jobs[j].shard_s = &second;
        }
        expect_true(vrt_sched_pick(&(struct vrt_sched){ &device, 1, jobs, 2 }, &choice));
        expect_int(choice.job, cases[i].first);
        /* Without a shard ready the first one does not keep the device from the other. */
        jobs[cases[i].first].n_ready = 0;
        expect_true(vrt_sched_pick(&(struct vrt_sched){ &device, 1, jobs, 2 }, &choice));
        expect_int(choice.job, 1 - cases[i].first);
    }
}

/* Two jobs of equal priority get shards by turns, whatever came first. */
static void test_turns(void)
{
    const struct vrt_sched_device device = { .ready = true };
    static const double second = 1;
    struct vrt_sched_job jobs[3];
    struct vrt_sched_choice choice;
    int counts[3] = { 0 };

    for (int j = 0; j < 3; j++)
        jobs[j] = (struct vrt_sched_job){
            .order = (uint64_t)j, .n_ready = 50, .n_left = 50, .n_window = ALWAYS,
            .shard_s = &second,
        };
    for (uint64_t turn = 1; turn <= 30; turn++) {
        expect_true(vrt_sched_pick(&(struct vrt_sched){ &device, 1, jobs, 3 }, &choice));
        jobs[choice.job].turn = turn;
        counts[choice.job]++;
        expect_true(counts[choice.job] <= counts[(choice.job + 1) % 3] + 1);
    }
    for (int j = 0; j < 3; j++)
        expect_int(counts[j], 10);
}

static void test_device_choice(void)
{
    static const struct {
        struct vrt_sched_device a, b;
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
    struct vrt_sched_choice choice;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_sched_device devices[2] = { cases[i].a, cases[i].b };
        const struct vrt_sched_job job = {
            .n_ready = 1, .n_left = cases[i].n_left, .n_window = cases[i].n_window,
            .shard_s = (double[]){ cases[i].a_s, cases[i].b_s },
        };
        bool found = vrt_sched_pick(&(struct vrt_sched){ devices, 2, &job, 1 }, &choice);
        if ((found ? (int)choice.device : -1) != cases[i].device)
            test_fail("case %zu: device %d", i, found ? (int)choice.device : -1);
    }
}

/* A device that hangs is waited for less and less, so that another takes the last shard. */
static void test_late_device(void)
{
    const struct vrt_sched_job job = {
        .n_ready = 1, .n_left = 1, .n_window = ALWAYS, .shard_s = (double[]){ 1, 10 },
    };
    struct vrt_sched_device devices[2] = { { true, 2, 0, 0 }, { true, 0, 0, 1 } };
    struct vrt_sched_choice choice;
    int waited_s = 0;

    for (;; waited_s++) {
        devices[0].free_in_s = vrt_sched_free_in_s(2, waited_s);
        if (vrt_sched_pick(&(struct vrt_sched){ devices, 2, &job, 1 }, &choice))
            break;
        expect_true(waited_s < 100);
    }
    expect_int(choice.device, 1);
    expect_int(waited_s, 11);
}

/* A shard is run twice by an idle device that was measured, and only where that clearly helps. */
static void test_straggler(void)
{
    static const struct {
        struct vrt_sched_device a, b;
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
        /* The faster of two. */
        { { true, 0, 0, 0 }, { true, 0, 0, 1 }, 3, 2, 9, 1 },
        { { true, 0, 0, 0 }, { true, 0, 0, 1 }, 2, 3, 9, 0 },
    };
    struct vrt_sched_choice choice;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_sched_device devices[2] = { cases[i].a, cases[i].b };
        struct vrt_sched_job job = {
            .n_window = ALWAYS, .straggler_s = cases[i].straggler_s,
            .shard_s = (double[]){ cases[i].a_s, cases[i].b_s },
        };
        bool found = vrt_sched_pick(&(struct vrt_sched){ devices, 2, &job, 1 }, &choice);
        if ((found ? (int)choice.device : -1) != cases[i].device)
            test_fail("case %zu: device %d", i, found ? (int)choice.device : -1);
        expect_true(!found || choice.is_copy);
        /* A shard that is ready is what the device gets, if it gets anything. */
        job.n_ready = job.n_left = 1;
        found = vrt_sched_pick(&(struct vrt_sched){ devices, 2, &job, 1 }, &choice);
        expect_true(!found || !choice.is_copy);
    }
}

/* A copy goes before the shards of jobs of lower priority, and after those of all others. */
static void test_straggler_order(void)
{
    static const double second = 1;
    const struct vrt_sched_device device = { .ready = true };
    struct vrt_sched_choice choice;

    for (int priority = -1; priority <= 1; priority++) {
        const struct vrt_sched_job jobs[2] = {
            { .n_window = ALWAYS, .shard_s = &second, .straggler_s = 9 },
            { .priority = priority, .order = 1, .turn = 5, .n_ready = 1, .n_left = 1,
              .n_window = ALWAYS, .shard_s = &second },
        };
        expect_true(vrt_sched_pick(&(struct vrt_sched){ &device, 1, jobs, 2 }, &choice));
        expect_int(choice.job, priority < 0 ? 0 : 1);
        expect_int(choice.is_copy, priority < 0);
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

/* Shortest time for n_shards whole shards: tries every division among the devices. */
static double brute_force_s(const double *shard_s, size_t n_devices, int n_shards)
{
    double best_s = INFINITY;

    if (n_devices == 1)
        return shard_s[0] * n_shards;
    for (int n = 0; n <= n_shards; n++) {
        double rest_s = brute_force_s(shard_s + 1, n_devices - 1, n_shards - n);
        best_s = fmin(best_s, fmax(shard_s[0] * n, rest_s));
    }
    return best_s;
}

/* With right estimates the schedule is the best there is, in every small case. */
static void test_best(void)
{
    static const double speeds_s[] = { 1, 1.5, 2, 3.7, 10 };
    const size_t n = VRT_ARRAY_SIZE(speeds_s);

    for (size_t code = 0; code < n * n * n * 3; code++) {
        size_t n_devices = 1 + code / (n * n * n);
        const double shard_s[3] = { speeds_s[code % n], speeds_s[code / n % n],
                                    speeds_s[code / (n * n) % n] };
        for (int n_shards = 1; n_shards <= 14; n_shards++) {
            const struct sched_play play = {
                .shard_s = shard_s, .n_devices = n_devices, .n_shards = n_shards,
                .n_window = n_shards, .known = true, .unlike = true,
            };
            expect_near(sched_play(&play, NULL), brute_force_s(shard_s, n_devices, n_shards),
                        1e-6);
        }
    }
}

/* Measured estimates, shards that vary: close to the bound all the same, and all is done. */
static void test_measured(void)
{
    static const size_t sizes[] = { 1, 2, 5, 16, 64 };
    double shard_s[64];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++) {
        for (size_t d = 0; d < sizes[i]; d++)
            shard_s[d] = 1 + (double)(d * 7 % 11) * 0.3;
        const struct sched_play play = {
            .shard_s = shard_s, .n_devices = sizes[i], .n_shards = 30 * (int)sizes[i],
            .n_window = 30 * (int)sizes[i], .unlike = true, .noise = 0.1, .seed = 7,
        };
        double ratio = sched_play(&play, NULL) / sched_play_fluid_s(&play);
        if (!(ratio < 1.08))
            test_fail("%zu devices: %.3f times the bound", sizes[i], ratio);
    }
}

/* With a small window a very slow device may not hold the others up. */
static void test_window(void)
{
    const double shard_s[2] = { 1, 100 };
    int counts[2];
    const struct sched_play play = {
        .shard_s = shard_s, .n_devices = 2, .n_shards = 300, .n_window = 8, .known = true,
        .unlike = true,
    };

    expect_near(sched_play(&play, counts), 300, 1e-6);
    expect_int(counts[0], 300);
    /* With a large one it helps. */
    struct sched_play wide = play;
    wide.n_window = 300;
    expect_near(sched_play(&wide, counts), 298, 1e-6);
    expect_int(counts[1], 2);
}

/* A device gets ten times slower near the end: the others do over what it holds. */
static void test_suddenly_slow(void)
{
    static const size_t sizes[] = { 2, 3, 8, 64 };
    double shard_s[64], slow_at_s[64];

    for (size_t i = 0; i < 2 * VRT_ARRAY_SIZE(sizes); i++) {
        size_t n = sizes[i / 2];
        int sum = 0, counts[64];
        for (size_t d = 0; d < n; d++) {
            shard_s[d] = i % 2 ? 1 + (double)(d * 7 % 11) * 0.1 : 1;
            slow_at_s[d] = d == 0 ? 17.9 : INFINITY;
        }
        struct sched_play play = {
            .shard_s = shard_s, .n_devices = n, .n_shards = 20 * (int)n,
            .n_window = 20 * (int)n, .unlike = true, .noise = 0.05, .seed = 3,
            .slow_at_s = slow_at_s, .tick_s = 0.5,
        };
        double copied = sched_play(&play, counts) / sched_play_fluid_s(&play);
        for (size_t d = 0; d < n; d++)
            sum += counts[d];
        expect_int(sum, play.n_shards);
        play.no_copies = true;
        double waited = sched_play(&play, NULL) / sched_play_fluid_s(&play);
        fprintf(stderr, "  %zu devices: %.3f times the bound, %.3f without copies\n", n, copied,
                waited);
        expect_true(copied < (i % 2 ? 1.45 : 1.15));
        expect_true(waited > copied + 0.1);
    }
}

/* The same in the middle of a job with a small window: it goes on without the slow device. */
static void test_held_up(void)
{
    const double shard_s[3] = { 1, 1, 1 }, slow_at_s[3] = { 10, INFINITY, INFINITY };
    struct sched_play play = {
        .shard_s = shard_s, .n_devices = 3, .n_shards = 60, .n_window = 6, .known = true,
        .slow_at_s = slow_at_s, .tick_s = 0.5,
    };

    double copied_s = sched_play(&play, NULL);
    play.no_copies = true;
    double waited_s = sched_play(&play, NULL);
    fprintf(stderr, "  %.1f s, %.1f s without copies\n", copied_s, waited_s);
    expect_true(copied_s < 0.6 * waited_s);
}

/* Devices that are lost, one after the other: what they held is done by those that remain. */
static void test_lost(void)
{
    const double shard_s[4] = { 1, 1, 2, 3 };

    for (int lost = 0; lost < 16; lost++) {
        double lost_at_s[4];
        int counts[4], sum = 0;
        for (int d = 0; d < 4; d++)
            lost_at_s[d] = lost & (1 << d) ? 5.5 + d : INFINITY;
        const struct sched_play play = {
            .shard_s = shard_s, .n_devices = 4, .n_shards = 60, .n_window = 12, .unlike = true,
            .lost_at_s = lost_at_s,
        };
        double end_s = sched_play(&play, counts);
        expect_int(isfinite(end_s), lost != 15);
        for (int d = 0; d < 4; d++)
            sum += counts[d];
        expect_true(lost == 15 || sum == 60);
    }
}

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "nothing", test_nothing },
        { "job-order", test_job_order },
        { "turns", test_turns },
        { "device-choice", test_device_choice },
        { "late-device", test_late_device },
        { "straggler", test_straggler },
        { "straggler-order", test_straggler_order },
        { "left", test_left },
        { "measure", test_measure },
        { "best", test_best },
        { "measured", test_measured },
        { "window", test_window },
        { "suddenly-slow", test_suddenly_slow },
        { "held-up", test_held_up },
        { "lost", test_lost },
    };

    return test_main(argc, argv, cases, VRT_ARRAY_SIZE(cases));
}
