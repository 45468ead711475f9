/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which device takes which job's next shard
 *
 * Pure: no clock, no I/O, no memory between calls. Who hands out shards describes the moment in
 * two tables and asks again and again, noting each choice in the tables, until there is none:
 *
 *     while (vrt_sched_pick(&now, &choice))
 *         ...                         give now.jobs[choice.job]'s next shard to choice.device,
 *                                     or, where choice.is_copy, its straggler
 *
 * and does so again after every event: a shard ready, done or failed, a device or a job that came
 * or went, and once a second while shards are in flight, because estimates age.
 *
 * The rules, in this order:
 *   1. the job of the highest priority that has a shard ready and a device to take it; among
 *      equals the one whose last turn is longest ago, then the one that came first;
 *   2. of the devices that may take it and have room, the one that would finish it soonest;
 *   3. unless the others would by then have done all that is left (or all that may run ahead of an
 *      unfinished shard): a slow device leaves the last shards to those who finish them sooner;
 *   4. an idle device runs a straggler once more: a shard without which its job can't go on, and
 *      which it would finish clearly sooner than the device that has it. Shards that are ready go
 *      first in jobs of the same priority, and only what was measured counts.
 * With right estimates and shards of equal size, what results is the shortest time possible.
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Shards that a device may hold: one computes while the next is uploaded, the last downloaded. */
#define VRT_SCHED_IN_FLIGHT 2

struct vrt_sched_device {
    bool ready;             /* takes work; not lost, quarantined or stopping */
    int n_in_flight;        /* shards it holds */
    double free_in_s;       /* until it has done those: vrt_sched_free_in_s() */
    int speed_class;        /* those of one class are taken for equally fast until measured */
};

struct vrt_sched_job {
    int priority;           /* higher goes first */
    uint64_t order;         /* lower came first */
    uint64_t turn;          /* number of its last turn; 0: it had none */
    int n_ready;            /* shards that can be handed out now */
    int n_left;             /* shards not handed out yet, ready or not; INT_MAX: nobody knows */
    int n_window;           /* shards that may run ahead of an unfinished one, at least 1 */
    const double *shard_s;  /* [n_devices] expected seconds of its next shard (of the straggler,
                             * where none is ready) on each device; 0: not measured; negative:
                             * that device may not take it */
    double straggler_s;     /* none is ready before one that runs is done: seconds until the last
                             * of those that run once is, by vrt_sched_left_s(); 0: there is none */
};

struct vrt_sched {
    const struct vrt_sched_device *devices;
    size_t n_devices;
    const struct vrt_sched_job *jobs;
    size_t n_jobs;
};

struct vrt_sched_choice {
    size_t job, device;
    bool is_copy;           /* of the straggler; else it is the next shard */
    double expected_s;      /* seconds that the device should need for the shard, measured or not */
};

/* Whether anything is to be handed out now; *ret_choice is written only then. */
bool vrt_sched_pick(const struct vrt_sched *now, struct vrt_sched_choice *ret_choice);

/*
 * A device's free_in_s: `expected_s` is the sum over the shards it holds (as each was chosen),
 * `elapsed_s` the time since it began the oldest. One that is late is taken to need as long again
 * as it is late, so that nobody waits for a device that hangs.
 */
double vrt_sched_free_in_s(double expected_s, double elapsed_s);

/*
 * Seconds that a device still needs for a shard that it began `elapsed_s` ago: as above where it
 * was measured; one that never was is taken to be half way, whatever was hoped of it.
 */
double vrt_sched_left_s(double expected_s, double elapsed_s, bool is_measured);

/* The estimate after a shard that took `sample_s`: `estimate_s` is 0 before the first one. */
double vrt_sched_measure(double estimate_s, double sample_s);
