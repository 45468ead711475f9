/* SPDX-License-Identifier: MIT */
#pragma once

/* Plays jobs through daemon/sched on devices of known speed: for the simulator and the tests. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/sched/sched-set.h"

struct sched_play_job {
    double arrives_s;           /* jobs are in this order */
    int uid, priority;
    int n_shards, n_window;
    size_t kind;                /* below n_kinds */
    /* What became of it. */
    int n_handed;               /* runs, copies among them */
    int n_done;
    double began_s, done_s;     /* INFINITY: it didn't */
};

/* A shard goes to a device. */
struct sched_play_turn {
    double now_s;
    size_t job, device;
    bool is_copy;
    int n_left;                 /* shards of the job not handed out yet, after this one */
    const double *free_s;       /* [n_devices] when each device will truly have done what it
                                 * holds, this shard included */
};

struct sched_play {
    const double *shard_s;      /* [n_devices] true seconds per shard */
    size_t n_devices;
    int n_shards, n_window;     /* of the one job, where `jobs` is NULL */
    struct sched_play_job *jobs;
    size_t n_jobs;
    const struct vrt_sched_set *kinds;  /* [n_kinds] which devices may take its shards; NULL: there
                                         * is one kind, which all may take */
    size_t n_kinds;

    bool known;                 /* estimates are right from the start; else they are measured */
    bool unlike;                /* each device is a speed class of its own; else all are one */
    double noise;               /* a shard takes up to so much more or less, relatively */
    unsigned seed;              /* of the noise, and of what goes wrong */
    double fail_rate;           /* probability that a run's result is lost */
    double loss_rate;           /* probability that a device is lost during a run, with what it
                                 * holds: at a random moment of it */
    double repair_s;            /* after which such a device is back */
    const double *lost_at_s;    /* [n_devices] when it is lost for good; NULL: never */
    const double *slow_at_s;    /* [n_devices] shards it begins from then on take ten times as long;
                                 * NULL: never */
    bool no_copies;             /* stragglers are waited for */
    double tick_s;              /* the scheduler is asked at least so often; 0: at events only */
    double until_s;             /* it ends then; 0: with the last shard */

    void (*handed)(void *ctx, const struct sched_play_turn *turn);      /* NULL: nobody is told */
    void *ctx;
    float *pick_us;             /* [n_picks_max] processor time of each choice; the play ends with
                                 * the last. NULL: not measured */
    size_t n_picks_max;
};

struct sched_outage {
    size_t device;
    double from_s, to_s;
};

#define SCHED_OUTAGES_MAX 512

/* How it went. */
struct sched_story {
    double end_s;               /* the last shard was done; INFINITY: it never is */
    int counts[VRT_SCHED_DEVICES_MAX];  /* shards that each device did */
    int n_failed;               /* runs whose result was lost */
    int n_copies;
    struct sched_outage outages[SCHED_OUTAGES_MAX];
    size_t n_outages;
    size_t n_picks;
};

/* Plays it. `ret_story` may be NULL. Return: its end_s. */
double sched_play(const struct sched_play *play, struct sched_story *ret_story);

/* `n_shards` with all work infinitely divisible and nothing going wrong: no schedule is shorter. */
double sched_play_fluid_s(const struct sched_play *play, int n_shards);

/*
 * The shortest time for `n_shards` whole shards on devices that are out of order at the times of
 * `story` (NULL: never), by whoever knows these times beforehand.
 *
 * Shards are equal and independent, and a device does one at a time. So all that a schedule of
 * length T can do on device d is floor(u / shard_s[d]) shards in each stretch u of [0, T] in which
 * the device is up, whatever was begun when: what the device was lost in is lost. Doing just that
 * many is a schedule. Hence n_shards can be done in T if and only if the sum of these over the
 * devices and their stretches reaches n_shards, and since the sum grows with T only, the least
 * such T is found by bisection.
 */
double sched_play_best_s(const struct sched_play *play, int n_shards,
                         const struct sched_story *story);
