/* SPDX-License-Identifier: MIT */
/*
 * daemon/sched in whole plays: against the shortest schedule there is, when devices fail, and who
 * gets how much. Time is simulated: each play ends the same way every time.
 */

#include "tests/unit/test.h"

#include <stdlib.h>

#include "base/macro.h"
#include "daemon/sched/sched.h"
#include "tests/unit/sched/sched-play.h"

#define MANY 100000

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

/* With right estimates the schedule is the best there is, in every small case; and what is said to
 * be the best is. */
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
            double best_s = brute_force_s(shard_s, n_devices, n_shards);
            expect_near(sched_play_best_s(&play, n_shards, NULL), best_s, 1e-6);
            expect_near(sched_play(&play, NULL), best_s, 1e-6);
        }
    }
}

/* What can be done between outages, by hand. */
static void test_best_with_outages(void)
{
    static const double shard_s[2] = { 2, 3 };
    const struct sched_play play = { .shard_s = shard_s, .n_devices = 2 };
    static const struct sched_story story = {
        /* The first device does one shard until 3, one from 4 to 6.5, then more from 7 on. */
        .outages = { { 0, 3, 4 }, { 1, 1, 6 }, { 0, 6.5, 7 } }, .n_outages = 3,
    };
    static const double ends_s[] = { 2, 6, 9, 9, 11, 12, 13, 15, 15 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(ends_s); i++)
        expect_near(sched_play_best_s(&play, (int)i + 1, &story), ends_s[i], 1e-6);
}

/* Speeds from 1 to 10, different ones for each seed. */
static void draw_speeds(double shard_s[8], unsigned seed)
{
    uint64_t random = seed * 2654435761ULL + 1;

    for (size_t d = 0; d < 8; d++) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        shard_s[d] = 10 / (1 + 9 * (double)(random >> 11) / (double)(1ULL << 53));
    }
    /* The extremes are always there. */
    shard_s[0] = 10;
    shard_s[7] = 1;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Prints median and worst of `ratios`, and checks the worst. */
static void check_ratios(const char *what, double *ratios, size_t n, double limit)
{
    qsort(ratios, n, sizeof(*ratios), compare);
    fprintf(stderr, "  %s: %.4f of the best, median of %zu; at worst %.4f\n", what, ratios[n / 2],
            n, ratios[n - 1]);
    if (!(ratios[n - 1] <= limit))
        test_fail("%s: %.4f times the best", what, ratios[n - 1]);
}

#define N_SEEDS 300

/* 8 unlike devices, 200 shards: within 1 % of the best, whether speeds are known or found out. */
static void test_eight(void)
{
    for (int known = 0; known < 2; known++) {
        double ratios[N_SEEDS], shard_s[8];
        for (unsigned seed = 0; seed < N_SEEDS; seed++) {
            draw_speeds(shard_s, seed);
            const struct sched_play play = {
                .shard_s = shard_s, .n_devices = 8, .n_shards = 200, .n_window = 200,
                .known = known, .unlike = true,
            };
            ratios[seed] = sched_play(&play, NULL) / sched_play_best_s(&play, 200, NULL);
        }
        check_ratios(known ? "known speeds" : "measured speeds", ratios, N_SEEDS, 1.01);
    }
}

/*
 * The same with one loss in 50 shards: within 5 %. A run whose result is lost costs its whole time,
 * and there is no schedule in which it doesn't: the best is that for all runs, those included. A
 * device that is lost with what it holds, and is back after a while, is compared with the best by
 * whoever knew beforehand when it would be away.
 */
static void test_eight_with_losses(void)
{
    static struct sched_story story;

    for (int devices = 0; devices < 2; devices++) {
        double ratios[N_SEEDS], shard_s[8];
        int n_losses = 0;
        for (unsigned seed = 0; seed < N_SEEDS; seed++) {
            draw_speeds(shard_s, seed);
            const struct sched_play play = {
                .shard_s = shard_s, .n_devices = 8, .n_shards = 200, .n_window = 200,
                .unlike = true, .seed = seed, .tick_s = 1, .repair_s = 5,
                .fail_rate = devices ? 0 : 1 / 50., .loss_rate = devices ? 1 / 50. : 0,
            };
            double end_s = sched_play(&play, &story);
            n_losses += story.n_failed + (int)story.n_outages;
            ratios[seed] = end_s / sched_play_best_s(&play, 200 + story.n_failed, &story);
        }
        expect_near(n_losses / (double)N_SEEDS, 4, 0.5);
        check_ratios(devices ? "devices lost" : "shards lost", ratios, N_SEEDS, 1.05);
    }
}

/* Measured estimates, shards that vary: close to the bound all the same, and all is done. */
static void test_measured(void)
{
    static const size_t sizes[] = { 1, 2, 5, 16, 64, 512 };
    static double shard_s[512];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++) {
        int n = 30 * (int)sizes[i];
        for (size_t d = 0; d < sizes[i]; d++)
            shard_s[d] = 1 + (double)(d * 7 % 11) * 0.3;
        const struct sched_play play = {
            .shard_s = shard_s, .n_devices = sizes[i], .n_shards = n, .n_window = n,
            .unlike = true, .noise = 0.1, .seed = 7,
        };
        double ratio = sched_play(&play, NULL) / sched_play_fluid_s(&play, n);
        if (!(ratio < 1.08))
            test_fail("%zu devices: %.3f times the bound", sizes[i], ratio);
    }
}

/* With a small window a very slow device may not hold the others up. */
static void test_window(void)
{
    static struct sched_story story;
    const double shard_s[2] = { 1, 100 };
    struct sched_play play = {
        .shard_s = shard_s, .n_devices = 2, .n_shards = 300, .n_window = 8, .known = true,
        .unlike = true,
    };

    expect_near(sched_play(&play, &story), 300, 1e-6);
    expect_int(story.counts[0], 300);
    /* With a large one it helps. */
    play.n_window = 300;
    expect_near(sched_play(&play, &story), 298, 1e-6);
    expect_int(story.counts[1], 2);
}

/* A device gets ten times slower near the end: the others do over what it holds. */
static void test_suddenly_slow(void)
{
    static const size_t sizes[] = { 2, 3, 8, 64 };
    static struct sched_story story;
    double shard_s[64], slow_at_s[64];

    for (size_t i = 0; i < 2 * VRT_ARRAY_SIZE(sizes); i++) {
        size_t n = sizes[i / 2];
        int sum = 0;
        for (size_t d = 0; d < n; d++) {
            shard_s[d] = i % 2 ? 1 + (double)(d * 7 % 11) * 0.1 : 1;
            slow_at_s[d] = d == 0 ? 17.9 : INFINITY;
        }
        struct sched_play play = {
            .shard_s = shard_s, .n_devices = n, .n_shards = 20 * (int)n,
            .n_window = 20 * (int)n, .unlike = true, .noise = 0.05, .seed = 3,
            .slow_at_s = slow_at_s, .tick_s = 0.5,
        };
        double fluid_s = sched_play_fluid_s(&play, play.n_shards);
        double copied = sched_play(&play, &story) / fluid_s;
        for (size_t d = 0; d < n; d++)
            sum += story.counts[d];
        expect_int(sum, play.n_shards);
        expect_true(story.n_copies > 0);
        play.no_copies = true;
        double waited = sched_play(&play, &story) / fluid_s;
        expect_int(story.n_copies, 0);
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
    static struct sched_story story;
    const double shard_s[4] = { 1, 1, 2, 3 };

    for (int lost = 0; lost < 16; lost++) {
        double lost_at_s[4];
        int sum = 0;
        for (int d = 0; d < 4; d++)
            lost_at_s[d] = lost & (1 << d) ? 5.5 + d : INFINITY;
        const struct sched_play play = {
            .shard_s = shard_s, .n_devices = 4, .n_shards = 60, .n_window = 12, .unlike = true,
            .lost_at_s = lost_at_s,
        };
        double end_s = sched_play(&play, &story);
        expect_int(isfinite(end_s), lost != 15);
        for (int d = 0; d < 4; d++)
            sum += story.counts[d];
        expect_true(lost == 15 || sum == 60);
    }
}

/* Whoever got the last shard, no other device would have had it sooner. */
static void check_last(void *ctx, const struct sched_play_turn *turn)
{
    const struct sched_play *play = ctx;

    if (turn->is_copy || turn->n_left > 0)
        return;
    for (size_t e = 0; e < play->n_devices; e++)
        if (e != turn->device &&
            turn->free_s[e] + play->shard_s[e] < turn->free_s[turn->device] - 1e-6)
            test_fail("at %.3f device %zu got the last shard, %zu would have it sooner",
                      turn->now_s, turn->device, e);
}

/* The slow device never takes a last shard that another would finish sooner: alone, and where many
 * small jobs of many users end all the time. */
static void test_last_shards(void)
{
    static struct sched_play_job jobs[60];
    double shard_s[8];

    for (unsigned seed = 0; seed < 100; seed++) {
        draw_speeds(shard_s, seed);
        struct sched_play play = {
            .shard_s = shard_s, .n_devices = 8, .n_shards = 3 + (int)(seed * 7 % 90),
            .n_window = MANY, .known = true, .unlike = true, .handed = check_last, .ctx = &play,
        };
        expect_true(isfinite(sched_play(&play, NULL)));
        /* One at a time, so that each ends alone. */
        for (size_t j = 0; j < VRT_ARRAY_SIZE(jobs); j++)
            jobs[j] = (struct sched_play_job){
                .arrives_s = 100 * (double)j, .uid = (int)j % 7,
                .n_shards = 1 + (int)(j + seed) % 5, .n_window = MANY,
            };
        play.jobs = jobs;
        play.n_jobs = VRT_ARRAY_SIZE(jobs);
        expect_true(isfinite(sched_play(&play, NULL)));
    }
}

/* The turns that each user had. */
static void count_users(const struct sched_play *play, int counts[3])
{
    memset(counts, 0, 3 * sizeof(*counts));
    for (size_t j = 0; j < play->n_jobs; j++)
        counts[play->jobs[j].uid] += play->jobs[j].n_handed;
}

/* One user has a hundred jobs, the second one, the third ten that arrive later: each gets the same,
 * and so does each job within a user's share. */
static void test_fair(void)
{
    static struct sched_play_job jobs[111];
    static const double shard_s[5] = { 1, 1.3, 2, 2.9, 5 };
    int counts[3], least = MANY, most = 0;
    struct sched_play play = {
        .shard_s = shard_s, .n_devices = 5, .jobs = jobs, .n_jobs = 101, .known = true,
        .unlike = true, .until_s = 1000,
    };

    for (size_t j = 0; j < VRT_ARRAY_SIZE(jobs); j++)
        jobs[j] = (struct sched_play_job){
            .uid = j < 100 ? 0 : j == 100 ? 1 : 2, .n_shards = MANY, .n_window = MANY,
            .arrives_s = j > 100 ? 1000.01 : 0,
        };
    sched_play(&play, NULL);
    count_users(&play, counts);
    expect_true(abs(counts[0] - counts[1]) <= 1);
    for (size_t j = 0; j < 100; j++) {
        least = VRT_MIN(least, jobs[j].n_handed);
        most = VRT_MAX(most, jobs[j].n_handed);
    }
    expect_true(least > 0 && most <= least + 1);
    int before[3] = { counts[0], counts[1], counts[2] };
    play.n_jobs = VRT_ARRAY_SIZE(jobs);
    play.until_s = 2000;
    sched_play(&play, NULL);
    count_users(&play, counts);
    fprintf(stderr, "  %d, %d and %d shards in the second half\n", counts[0] - before[0],
            counts[1] - before[1], counts[2] - before[2]);
    for (int u = 0; u < 3; u++)
        expect_true(abs(counts[u] - before[u] - (counts[0] - before[0])) <= 1);
}

/* What a job of higher priority does to another. */
struct watch {
    const struct sched_play *play;
    int n_between;          /* shards of the lower one, between the higher one's arrival and end */
    int n_high;
};

static void watch_turn(void *ctx, const struct sched_play_turn *turn)
{
    struct watch *watch = ctx;

    watch->n_high += turn->job == 1;
    if (turn->job == 0 && turn->now_s >= watch->play->jobs[1].arrives_s &&
        watch->n_high < watch->play->jobs[1].n_shards)
        watch->n_between++;
}

/* A higher priority is heard at the next shard: from its arrival to its last shard nothing else is
 * handed out, and it waits only for what the devices hold. */
static void test_preempted(void)
{
    static const double shard_s[4] = { 1, 1, 1, 1 };

    for (int n_shards = 1; n_shards < 30; n_shards++) {
        struct sched_play_job jobs[2] = {
            { .n_shards = 100, .n_window = 100 },
            { .arrives_s = 10.5, .uid = 1, .priority = 1, .n_shards = n_shards, .n_window = 100 },
        };
        struct sched_play play = {
            .shard_s = shard_s, .n_devices = 4, .jobs = jobs, .n_jobs = 2, .known = true,
            .handed = watch_turn,
        };
        struct watch watch = { .play = &play };
        play.ctx = &watch;
        expect_near(sched_play(&play, NULL), (100 + n_shards + 3) / 4, 1e-6);
        expect_int(watch.n_between, 0);
        /* Two shards were with each device, one of them half done. */
        expect_near(jobs[1].began_s, 11, 1e-6);
        expect_near(jobs[1].done_s, 12 + (n_shards + 3) / 4, 1e-6);
    }
}

/* Small jobs of several users arrive all the time, devices come and go: everything is done, in
 * little more time than the work takes. */
static void test_arrivals(void)
{
    static struct sched_play_job jobs[2000];
    static struct sched_story story;
    double shard_s[8];
    int n_shards = 0;

    draw_speeds(shard_s, 5);
    for (size_t j = 0; j < VRT_ARRAY_SIZE(jobs); j++) {
        jobs[j] = (struct sched_play_job){
            .arrives_s = 0.5 * (double)j, .uid = (int)(j % 11), .priority = (int)(j % 3) - 1,
            .n_shards = 1 + (int)(j * j % 7), .n_window = 4,
        };
        n_shards += jobs[j].n_shards;
    }
    const struct sched_play play = {
        .shard_s = shard_s, .n_devices = 8, .jobs = jobs, .n_jobs = VRT_ARRAY_SIZE(jobs),
        .unlike = true, .noise = 0.1, .seed = 3, .tick_s = 1, .loss_rate = 0.002, .repair_s = 5,
        .fail_rate = 0.01,
    };
    double end_s = sched_play(&play, &story);
    double best_s = sched_play_best_s(&play, n_shards + story.n_failed, &story);
    fprintf(stderr, "  %d shards, %zu outages: %.3f times the best, %d copies\n", n_shards,
            story.n_outages, end_s / best_s, story.n_copies);
    expect_true(end_s < 1.05 * best_s);
    for (size_t j = 0; j < VRT_ARRAY_SIZE(jobs); j++)
        expect_int(jobs[j].n_done, jobs[j].n_shards);
}

TEST_MAIN(
    { "best", test_best },
    { "best-with-outages", test_best_with_outages },
    { "eight", test_eight },
    { "eight-with-losses", test_eight_with_losses },
    { "measured", test_measured },
    { "window", test_window },
    { "suddenly-slow", test_suddenly_slow },
    { "held-up", test_held_up },
    { "lost", test_lost },
    { "last-shards", test_last_shards },
    { "fair", test_fair },
    { "preempted", test_preempted },
    { "arrivals", test_arrivals },
)
