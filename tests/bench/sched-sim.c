/* SPDX-License-Identifier: MIT */
/*
 * How far from perfect the scheduler is, and how fast it decides.
 *
 * usage: sched-sim [TABLE]...          (fleets, decisions; none: both)
 *
 * Time is simulated, but for that of the decisions. "best" is the shortest schedule of whole shards
 * there is (sched-play.h has the argument), "fluid" that of work which can be divided at will: no
 * schedule is shorter. Ratios are over "best". What is lost, shared by users or comes at any time
 * is held to bounds by tests/unit/sched/test-sched-play.c.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "tests/unit/sched/sched-play.h"

#define N_DEVICES_MAX VRT_SCHED_DEVICES_MAX
#define SHARDS_PER_DEVICE 20
#define MANY 1000000

static double random_at(unsigned i)
{
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15ULL;

    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
    return (double)((x ^ x >> 31) >> 11) / (double)(1ULL << 53);
}

static double equal(size_t d)
{
    (void)d;
    return 1;
}

static double spread(size_t d)
{
    return 1 + 3 * fmod((double)d * 0.618033988749895, 1.0);
}

static double few_fast(size_t d)
{
    return d % 8 == 0 ? 0.05 : 1;
}

static const struct {
    const char *name;
    double (*shard_s)(size_t device);
} fleets[] = {
    { "equal", equal },
    { "1:4", spread },
    { "few fast", few_fast },
};

/* The play with stragglers waited for, then with stragglers run twice. */
static void show_both(struct sched_play play, double best_s)
{
    play.no_copies = true;
    printf(" %10.4f", sched_play(&play, NULL) / best_s);
    play.no_copies = false;
    printf(" %10.4f", sched_play(&play, NULL) / best_s);
}

static void show_fleet(const char *name, const struct sched_play *play)
{
    static double slow_at_s[N_DEVICES_MAX];
    struct sched_play measured = *play;
    double best_s = sched_play_best_s(play, play->n_shards, NULL);

    measured.known = false;
    measured.noise = 0.1;
    measured.tick_s = 0.5;
    for (size_t d = 0; d < play->n_devices; d++)
        slow_at_s[d] = d == 0 ? best_s - 2 * play->shard_s[0] : INFINITY;
    printf("%-10s %8zu %8d %10.3f %10.3f %10.4f", name, play->n_devices, play->n_shards,
           sched_play_fluid_s(play, play->n_shards), best_s, sched_play(play, NULL) / best_s);
    show_both(measured, best_s);
    measured.slow_at_s = slow_at_s;
    show_both(measured, best_s);
    putchar('\n');
}

static void show_fleets(void)
{
    static const size_t sizes[] = { 1, 2, 3, 4, 8, 16, 64, 512 };
    static double shard_s[N_DEVICES_MAX];

    printf("One job. Speeds are equal, up to 1:4, or one device in eight is 20 times faster. With\n"
           "right estimates, then measured and shards that vary by 10 %%; at last device 0 gets\n"
           "ten times slower for good, two of its shards before the end. \"no copies\", \"none\":\n"
           "stragglers are waited for instead of run twice.\n\n"
           "%-10s %8s %8s %10s %10s %10s %10s %10s %10s %10s\n", "fleet", "devices", "shards",
           "fluid s", "best s", "known", "no copies", "measured", "slow, none", "slow");
    for (size_t f = 0; f < VRT_ARRAY_SIZE(fleets); f++) {
        for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++) {
            int n_shards = SHARDS_PER_DEVICE * (int)sizes[i];
            for (size_t d = 0; d < sizes[i]; d++)
                shard_s[d] = fleets[f].shard_s(d);
            show_fleet(fleets[f].name, &(struct sched_play){
                .shard_s = shard_s,
                .n_devices = sizes[i],
                .n_shards = n_shards,
                .n_window = n_shards,
                .known = true,
                .unlike = true,
                .seed = 1,
            });
        }
    }
}

#define N_JOBS 10000
#define N_PICKS 50000

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

static void show_decisions_of(const char *name, int n_users, int n_shards, size_t n_kinds,
                              bool known)
{
    static struct sched_play_job jobs[N_JOBS];
    static double shard_s[N_DEVICES_MAX];
    static float us[N_PICKS];
    static struct sched_story story;
    struct vrt_sched_set *kinds = calloc(n_kinds, sizeof(*kinds));

    if (!kinds)
        return;
    for (size_t d = 0; d < N_DEVICES_MAX; d++) {
        shard_s[d] = 1 + 9 * random_at((unsigned)d);
        /* Requests: all devices, the first eighth, the others, every second. */
        for (size_t k = 0; k < n_kinds; k++)
            vrt_sched_set_put(&kinds[k], d, k % 4 == 0 || (k % 4 == 1 && d < 64) ||
                              (k % 4 == 2 && d >= 64) || (k % 4 == 3 && d % 2));
    }
    for (unsigned j = 0; j < N_JOBS; j++)
        jobs[j] = (struct sched_play_job){
            .uid = (int)(j % (unsigned)n_users), .priority = (int)(j / 100 % 5),
            .n_shards = n_shards + (int)(j % 3), .n_window = 8, .kind = j / 7 % n_kinds,
        };
    sched_play(&(struct sched_play){
        .shard_s = shard_s, .n_devices = N_DEVICES_MAX, .jobs = jobs, .n_jobs = N_JOBS,
        .kinds = kinds, .n_kinds = n_kinds, .known = known, .unlike = true, .noise = 0.1,
        .tick_s = 1, .fail_rate = 0.01, .loss_rate = 0.001, .repair_s = 5, .pick_us = us,
        .n_picks_max = N_PICKS,
    }, &story);
    qsort(us, story.n_picks, sizeof(*us), compare_floats);
    printf("%-38s %8zu %8.2f %8.2f %8.2f %8.2f\n", name, story.n_picks, us[story.n_picks / 2],
           us[story.n_picks * 99 / 100], us[story.n_picks * 999 / 1000], us[story.n_picks - 1]);
    free(kinds);
}

static void show_decisions(void)
{
    printf("Microseconds of one decision (vrt_sched_pick()) for 512 unlike devices and 10,000\n"
           "jobs of five priorities, speeds 1:10, some of which fail.\n\n"
           "%-38s %8s %8s %8s %8s %8s\n", "", "number", "median", "99 %", "99.9 %", "worst");
    show_decisions_of("100 users, one kind of shards", 100, 1000, 1, false);
    show_decisions_of("one user", 1, 1000, 1, false);
    show_decisions_of("1000 users", 1000, 1000, 1, false);
    show_decisions_of("100 users, four requests for devices", 100, 1000, 4, false);
    show_decisions_of("the same, jobs of one to three shards", 100, 1, 4, false);
    show_decisions_of("each job with shards of its own kind", 100, 1000, N_JOBS, true);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*show)(void);
    } tables[] = {
        { "fleets", show_fleets },
        { "decisions", show_decisions },
    };
    int n_shown = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(tables); i++) {
        bool is_wanted = argc < 2;
        for (int a = 1; a < argc; a++)
            is_wanted |= strcmp(argv[a], tables[i].name) == 0;
        if (!is_wanted)
            continue;
        if (n_shown++ > 0)
            putchar('\n');
        tables[i].show();
    }
    if (n_shown < argc - 1 || !n_shown) {
        fprintf(stderr, "usage: sched-sim [fleets|decisions]...\n");
        return 2;
    }
    return 0;
}
