/* SPDX-License-Identifier: MIT */
/*
 * How far from perfect the scheduler is, and how fast it decides.
 *
 * usage: sched-sim [TABLE]...          (fleets, eight, sharing, arrivals, decisions; none: all)
 *
 * Time is simulated, but for that of the decisions. "best" is the shortest schedule of whole shards
 * there is (sched-play.h has the argument), "fluid" that of work which can be divided at will: no
 * schedule is shorter. Ratios are over "best". Where devices are lost, "best" is by whoever knew
 * beforehand when they would be away; where results are lost, it does as many runs as were made.
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

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

#define N_SEEDS 2000

static void show_eight(void)
{
    static const struct {
        const char *name;
        struct sched_play play;
    } cases[] = {
        { "known speeds", { .known = true } },
        { "measured speeds", { .known = false } },
        { "shards vary by 10 %", { .noise = 0.1 } },
        { "one result in 50 lost", { .fail_rate = 1 / 50. } },
        { "a device lost for 5 s per 50 shards", { .loss_rate = 1 / 50., .repair_s = 5 } },
        { "the same for 50 s", { .loss_rate = 1 / 50., .repair_s = 50 } },
    };
    static double ratios[N_SEEDS], over_fluid[N_SEEDS];
    static struct sched_story story;
    double shard_s[8] = { 1, [7] = 10 };

    printf("One job of 200 shards on 8 devices, whose shards take from 1 to 10 s: over %d draws\n"
           "of speeds and misfortunes, times best; beside it times fluid, without misfortunes.\n\n"
           "%-38s %10s %10s %10s %12s\n", N_SEEDS, "", "median", "99 %", "worst",
           "fluid median");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        for (unsigned seed = 0; seed < N_SEEDS; seed++) {
            struct sched_play play = cases[i].play;
            for (size_t d = 1; d < 7; d++)
                shard_s[d] = 10 / (1 + 9 * random_at(seed * 8 + (unsigned)d));
            play.shard_s = shard_s;
            play.n_devices = 8;
            play.n_shards = play.n_window = 200;
            play.unlike = true;
            play.seed = seed;
            play.tick_s = 1;
            double end_s = sched_play(&play, &story);
            ratios[seed] = end_s / sched_play_best_s(&play, 200 + story.n_failed, &story);
            over_fluid[seed] = end_s / sched_play_fluid_s(&play, 200);
        }
        qsort(ratios, N_SEEDS, sizeof(*ratios), compare);
        qsort(over_fluid, N_SEEDS, sizeof(*over_fluid), compare);
        printf("%-38s %10.4f %10.4f %10.4f %12.4f\n", cases[i].name, ratios[N_SEEDS / 2],
               ratios[N_SEEDS * 99 / 100], ratios[N_SEEDS - 1], over_fluid[N_SEEDS / 2]);
    }
}

/* Users with 100, 10 and 1 jobs; then one with a job of higher priority. */
static void show_sharing(void)
{
    static struct sched_play_job jobs[112];
    static const double shard_s[8] = { 1, 1.2, 1.5, 2, 3, 5, 7, 10 };
    const struct sched_play play = {
        .shard_s = shard_s, .n_devices = 8, .jobs = jobs, .n_jobs = VRT_ARRAY_SIZE(jobs),
        .unlike = true, .noise = 0.1, .seed = 1, .tick_s = 1, .until_s = 1000,
    };
    int counts[4] = { 0 };

    printf("Three users with 100, 10 and 1 endless jobs on 8 unlike devices, for 1000 s; from\n"
           "500 s on a fourth has a job of 200 shards of higher priority.\n\n"
           "%-10s %8s %10s\n", "user", "jobs", "shards");
    for (size_t j = 0; j < VRT_ARRAY_SIZE(jobs); j++)
        jobs[j] = (struct sched_play_job){
            .uid = j < 100 ? 0 : j < 110 ? 1 : 2, .n_shards = MANY, .n_window = MANY,
        };
    jobs[111] = (struct sched_play_job){
        .uid = 3, .priority = 1, .arrives_s = 500, .n_shards = 200, .n_window = 200,
    };
    sched_play(&play, NULL);
    for (size_t j = 0; j < VRT_ARRAY_SIZE(jobs); j++)
        counts[jobs[j].uid] += jobs[j].n_done;
    for (int u = 0; u < 4; u++)
        printf("%-10d %8d %10d\n", u, u == 0 ? 100 : u == 1 ? 10 : 1, counts[u]);
    printf("\nThe fourth had its first device after %.2f s and was done after %.1f s; best,\n"
           "alone, is %.1f s (fluid %.1f).\n", jobs[111].began_s - 500, jobs[111].done_s - 500,
           sched_play_best_s(&play, 200, NULL), sched_play_fluid_s(&play, 200));
}

#define N_ARRIVALS 3000

/* Small jobs come more often than they can be done. */
static void show_arrivals(void)
{
    static const size_t sizes[] = { 1, 2, 8, 64, 512 };
    static struct sched_play_job jobs[N_ARRIVALS];
    static double shard_s[N_DEVICES_MAX];
    static struct sched_story story;

    printf("3000 jobs of 1 to 7 shards of 20 users and three priorities, that arrive 1.2 times as\n"
           "fast as they can be done; speeds 1:4, shards vary by 10 %%, one result in 100 and one\n"
           "device in 1000 shards is lost. Makespan, and the delay of jobs by priority.\n\n"
           "%8s %8s %10s %10s %10s %10s %10s %10s\n", "devices", "shards", "fluid s", "best s",
           "ratio", "low s", "middle s", "high s");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++) {
        struct sched_play play = {
            .shard_s = shard_s, .n_devices = sizes[i], .jobs = jobs, .n_jobs = N_ARRIVALS,
            .unlike = true, .noise = 0.1, .seed = 1, .tick_s = 1, .fail_rate = 0.01,
            .loss_rate = 0.001, .repair_s = 5,
        };
        double delays_s[3] = { 0 };
        int n_shards = 0;
        for (size_t d = 0; d < sizes[i]; d++)
            shard_s[d] = spread(d);
        double each_s = sched_play_fluid_s(&play, 1) * 4 / 1.2;
        for (unsigned j = 0; j < N_ARRIVALS; j++) {
            jobs[j] = (struct sched_play_job){
                .arrives_s = each_s * j, .uid = (int)(20 * random_at(j)), .n_window = 8,
                .priority = (int)(3 * random_at(j + MANY)),
                .n_shards = 1 + (int)(7 * random_at(j + 2 * MANY)),
            };
            n_shards += jobs[j].n_shards;
        }
        double end_s = sched_play(&play, &story);
        double best_s = sched_play_best_s(&play, n_shards + story.n_failed, &story);
        for (unsigned j = 0; j < N_ARRIVALS; j++)
            delays_s[jobs[j].priority] += 3 * (jobs[j].done_s - jobs[j].arrives_s) / N_ARRIVALS;
        printf("%8zu %8d %10.1f %10.1f %10.4f %10.1f %10.1f %10.1f\n", sizes[i], n_shards,
               sched_play_fluid_s(&play, n_shards), best_s, end_s / best_s, delays_s[0],
               delays_s[1], delays_s[2]);
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
        { "eight", show_eight },
        { "sharing", show_sharing },
        { "arrivals", show_arrivals },
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
        fprintf(stderr, "usage: sched-sim [fleets|eight|sharing|arrivals|decisions]...\n");
        return 2;
    }
    return 0;
}
