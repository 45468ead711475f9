/* SPDX-License-Identifier: MIT */
/*
 * How far from perfect the scheduler is: one job on 1 to 512 devices, against the fluid bound.
 *
 * usage: sched-sim [SHARDS_PER_DEVICE]
 *
 * Three fleets: equal devices; speeds spread evenly up to 1:4; and one device in eight that is
 * twenty times faster than the rest. Each with right estimates, then with measured ones and shards
 * that vary by 10 %. "best" is the shortest time for whole shards; all times are over the fluid
 * bound. "no copies" is "measured" where stragglers are waited for instead of run twice. Of the
 * last two columns the first does that too: there device 0 gets ten times slower for good, two of
 * its shards before the end.
 */

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/macro.h"
#include "tests/bench/sched-play.h"

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

/* Shortest time for whole shards: each goes to the device that finishes it soonest. */
static double best_s(const struct sched_play *play)
{
    double *done_s = calloc(play->n_devices, sizeof(*done_s));
    double last_s = 0;

    if (!done_s)
        return NAN;
    for (int i = 0; i < play->n_shards; i++) {
        size_t best = 0;
        for (size_t d = 1; d < play->n_devices; d++)
            if (done_s[d] + play->shard_s[d] < done_s[best] + play->shard_s[best])
                best = d;
        done_s[best] += play->shard_s[best];
        last_s = fmax(last_s, done_s[best]);
    }
    free(done_s);
    return last_s;
}

/* The play with stragglers waited for, then with stragglers run twice. */
static void show_both(struct sched_play play)
{
    double fluid_s = sched_play_fluid_s(&play);

    play.no_copies = true;
    printf(" %10.4f", sched_play(&play, NULL) / fluid_s);
    play.no_copies = false;
    printf(" %10.4f", sched_play(&play, NULL) / fluid_s);
}

static void show(const char *name, const struct sched_play *play)
{
    static double slow_at_s[512];
    struct sched_play measured = *play;
    double fluid_s = sched_play_fluid_s(play);

    measured.known = false;
    measured.noise = 0.1;
    measured.tick_s = 0.5;
    for (size_t d = 0; d < play->n_devices; d++)
        slow_at_s[d] = d == 0 ? fluid_s - 2 * play->shard_s[0] : INFINITY;
    printf("%-10s %8zu %8d %10.4f %10.4f", name, play->n_devices, play->n_shards,
           best_s(play) / fluid_s, sched_play(play, NULL) / fluid_s);
    show_both(measured);
    measured.slow_at_s = slow_at_s;
    show_both(measured);
    putchar('\n');
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = { 1, 2, 3, 4, 8, 16, 64, 512 };
    static double shard_s[512];
    int per_device = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 20;

    if (per_device < 1 || per_device > 10000) {
        fprintf(stderr, "usage: sched-sim [SHARDS_PER_DEVICE], from 1 to 10000\n");
        return 2;
    }
    printf("%-10s %8s %8s %10s %10s %10s %10s %10s %10s\n", "fleet", "devices", "shards", "best",
           "known", "no copies", "measured", "slow, none", "slow");
    for (size_t f = 0; f < VRT_ARRAY_SIZE(fleets); f++) {
        for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++) {
            for (size_t d = 0; d < sizes[i]; d++)
                shard_s[d] = fleets[f].shard_s(d);
            int n_shards = per_device * (int)sizes[i];
            show(fleets[f].name, &(struct sched_play){
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
    return 0;
}
