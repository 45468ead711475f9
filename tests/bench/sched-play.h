/* SPDX-License-Identifier: MIT */
#pragma once

/* Plays one job through daemon/sched on devices of known speed: for the simulator and its test. */

#include <stdbool.h>
#include <stddef.h>

struct sched_play {
    const double *shard_s;      /* [n_devices] true seconds per shard */
    size_t n_devices;
    int n_shards;
    int n_window;
    bool known;                 /* estimates are right from the start; else they are measured */
    bool unlike;                /* each device is a speed class of its own; else all are one */
    double noise;               /* a shard takes up to so much more or less, relatively */
    unsigned seed;              /* of the noise */
    const double *lost_at_s;    /* [n_devices] when it is lost with what it holds; NULL: never */
    const double *slow_at_s;    /* [n_devices] shards it begins from then on take ten times as long;
                                 * NULL: never */
    bool no_copies;             /* stragglers are waited for */
    double tick_s;              /* the scheduler is asked at least so often; 0: at events only */
};

/*
 * Seconds until the last shard is done; INFINITY if it never is. If `ret_counts` is not NULL, each
 * device's shards go to ret_counts[n_devices].
 */
double sched_play(const struct sched_play *play, int *ret_counts);

/* The same with all work infinitely divisible: no schedule is shorter. */
double sched_play_fluid_s(const struct sched_play *play);
