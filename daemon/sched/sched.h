/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which device takes which job's next shard
 *
 * Pure: no clock, no I/O, no threads; whoever hands out shards says what happened and what time it
 * is. After every event (a shard ready, done or failed, a device or a job that came or went), and
 * once a second while shards are in flight, because estimates age:
 *
 *     while (vrt_sched_pick(sched, now_s, &choice))
 *         ...         give choice.job's next shard, or choice.straggler's once more, to
 *                     choice.device, and say so: vrt_sched_job_update(), vrt_sched_run_begin()
 *
 * The rules, in this order:
 *   1. the job of the highest priority that has a shard ready and a device to take it; among
 *      equals the user whose last turn is longest ago, then the job of his whose last turn is:
 *      who has a hundred jobs gets no more than who has one. Who comes is last at first;
 *   2. of the devices that may take it and have room, the one that would finish it soonest;
 *   3. unless the others would by then have done all that is left of it (or all that may run
 *      ahead of an unfinished shard) and of the jobs before it: a slow device leaves the last
 *      shards to those who finish them sooner;
 *   4. an idle device runs a straggler once more: a shard without which its job can't go on, and
 *      which it would finish clearly sooner than the device that has it. Shards that are ready go
 *      first in jobs of the same priority, and only what was measured counts. Where nothing is
 *      ready, a slow device leaves a straggler to one that is busy but would finish it sooner.
 * With right estimates and shards of equal size, what results is the shortest time possible.
 *
 * A job that has nothing ready costs nothing. A choice takes O(devices) for each kind of shard
 * that is looked at, and O(1) for each job that leaves a device to others.
 *
 * Thread: any, one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/list.h"
#include "daemon/sched/sched-set.h"

struct vrt_sched;
struct vrt_sched_kind;
struct vrt_sched_lane;

/* Shards that a device may hold: one computes while the next is uploaded, the last downloaded. */
#define VRT_SCHED_IN_FLIGHT 3

/* A place in an order of turns: lower numbers were longer ago. */
struct vrt_sched_turn {
    struct vrt_list link;
    uint64_t number;
};

struct vrt_sched_job {
    /* Kept by the caller, who tells of changes by vrt_sched_job_update(). */
    int priority;               /* from VRT_API_PRIORITY_MIN to _MAX; higher goes first */
    int n_ready;                /* shards that can be handed out now */
    int n_left;                 /* shards not handed out yet, ready or not; INT_MAX: unknown */
    int n_window;               /* shards that may run ahead of an unfinished one, at least 1 */
    bool is_held_up;            /* none gets ready before one that runs is done */

    /* Likewise, but fixed while the job is listed. */
    uid_t uid;                  /* whose it is */
    struct vrt_sched_kind *kind;

    /* Ours. */
    struct vrt_sched_turn turn;
    struct vrt_sched_lane *lane;
    struct vrt_list *list;      /* that holds `turn`; NULL: it waits for nothing */
    int n_counted;              /* shards of it among its level's */
    struct vrt_list runs;       /* of struct vrt_sched_run.job_link */
};

/* A shard's stay with a device. */
struct vrt_sched_run {
    /* The caller's: devices that may run it too; those of a copy are ours. They count while it
     * neither is nor has a copy: again, where one of the two came to nothing. */
    struct vrt_sched_set copiers;

    /* Ours. */
    struct vrt_sched_job *job;  /* NULL: it was dropped */
    struct vrt_sched_run *twin; /* its copy, or what it is a copy of; NULL: there is none */
    size_t device;
    double expected_s;
    struct vrt_list job_link, device_link;
};

struct vrt_sched_choice {
    struct vrt_sched_job *job;
    size_t device;
    struct vrt_sched_run *straggler;    /* to be run once more; NULL: it is the next shard */
    double expected_s;          /* seconds that the device should need for it, measured or not */
};

/*
 * Makes a scheduler for up to VRT_SCHED_DEVICES_MAX devices, none of which is ready. Devices of
 * one speed class (numbers below n_devices) are taken for equally fast until measured.
 * Return: 0, -ENOMEM.
 */
int vrt_sched_new(size_t n_devices, const int *speed_classes, struct vrt_sched **ret_sched)
    VRT_MUST_CHECK;

/* After all jobs were removed and all kinds freed. Return: NULL. */
struct vrt_sched *vrt_sched_free(struct vrt_sched *sched);

/* Says whether device `d` takes work (it isn't lost, quarantined or stopping), and how many shards
 * it may hold: up to VRT_SCHED_IN_FLIGHT. */
void vrt_sched_set_device(struct vrt_sched *sched, size_t d, bool ready, int n_in_flight_max);

/* How many shards device `d` holds, dropped ones included. */
int vrt_sched_n_in_flight(const struct vrt_sched *sched, size_t d);

/* Makes a kind of shards, which every device may take and nobody has measured: jobs whose shards
 * take the same time and may run on the same devices can share it. Return: 0, -ENOMEM. */
int vrt_sched_kind_new(const struct vrt_sched *sched, struct vrt_sched_kind **ret_kind)
    VRT_MUST_CHECK;

/* Once no job has it any more. Return: NULL. */
struct vrt_sched_kind *vrt_sched_kind_free(struct vrt_sched_kind *kind);

/* Says which devices may take its next shards. */
void vrt_sched_kind_set_devices(struct vrt_sched_kind *kind, const struct vrt_sched_set *devices);

/* Takes the time of a shard that device `d` did into account. */
void vrt_sched_kind_measure(struct vrt_sched_kind *kind, size_t d, double sample_s);

/* Lists a job, last among its user's, and a new user last among the users. Until it is removed it
 * stays where it is. Return: 0; -ENOMEM: it isn't listed. */
int vrt_sched_job_add(struct vrt_sched *sched, struct vrt_sched_job *job) VRT_MUST_CHECK;

/* After its fields changed. */
void vrt_sched_job_update(struct vrt_sched *sched, struct vrt_sched_job *job);

/* Once no device holds a shard of it, but dropped ones. */
void vrt_sched_job_remove(struct vrt_sched *sched, struct vrt_sched_job *job);

/* What is to be handed out now, if anything: *ret_choice is written only then. */
bool vrt_sched_pick(struct vrt_sched *sched, double now_s, struct vrt_sched_choice *ret_choice);

/* What was chosen is with the device: the job had its turn. `run` stays where it is until its
 * end. */
void vrt_sched_run_begin(struct vrt_sched *sched, struct vrt_sched_run *run,
                         const struct vrt_sched_choice *choice, double now_s);

/* The run isn't wanted any more, though the device still has it; the job may be removed. */
void vrt_sched_run_drop(struct vrt_sched_run *run);

/* The device has it no longer, whatever became of it. */
void vrt_sched_run_end(struct vrt_sched *sched, struct vrt_sched_run *run, double now_s);

/*
 * Seconds until a device is free: `expected_s` is the sum over the shards it holds (as each was
 * chosen), `elapsed_s` the time since it began the oldest. One that is late is taken to need as
 * long again as it is late, so that nobody waits for a device that hangs.
 */
double vrt_sched_free_in_s(double expected_s, double elapsed_s);

/*
 * Seconds that a device still needs for a shard that it began `elapsed_s` ago: as above where it
 * was measured; one that never was is taken to be half way, whatever was hoped of it.
 */
double vrt_sched_left_s(double expected_s, double elapsed_s, bool is_measured);

/* The estimate after a shard that took `sample_s`: `estimate_s` is 0 before the first one. */
double vrt_sched_measure(double estimate_s, double sample_s);

VRT_DEFINE_CLEANUP(struct vrt_sched, vrt_sched_free)
VRT_DEFINE_CLEANUP(struct vrt_sched_kind, vrt_sched_kind_free)
