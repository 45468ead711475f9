/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a scheduler is made of: private to the folder. Pure.
 *
 *     level (a priority) -> users, by turns -> lanes (a kind of shards), by turns -> jobs, by turns
 *
 * Only what has shards ready is in those lists, the one whose turn is next first. A lane's turn is
 * that of its first job: so the next of a user's jobs is found without looking at those of kinds
 * for which no device has room. Jobs that a straggler holds up are in a list of their own.
 */

#include "api.h"
#include "daemon/sched/sched.h"

#define VRT_SCHED_LEVELS (VRT_API_PRIORITY_MAX - VRT_API_PRIORITY_MIN + 1)

struct vrt_sched_lane {
    struct vrt_sched_turn turn;
    struct vrt_sched_user *user;
    struct vrt_sched_kind *kind;
    struct vrt_list jobs;       /* of struct vrt_sched_job.turn.link */
    int n_jobs;                 /* with nothing ready too */
    bool is_ready;              /* one of them has something */
};

struct vrt_sched_user {
    struct vrt_sched_turn turn;
    struct vrt_sched_level *level;
    uid_t uid;
    struct vrt_list lanes;      /* of struct vrt_sched_lane.turn.link */
    struct vrt_list idle_lanes; /* likewise: those with nothing ready */
    int n_lanes;
    /* Where vrt_sched_pick() is with his jobs, in one choice. */
    uint64_t n_choices;
    struct vrt_list *at_lane, *at_job;
};

struct vrt_sched_level {
    struct vrt_list users;      /* of struct vrt_sched_user.turn.link */
    struct vrt_list idle_users; /* likewise: those with nothing ready */
    struct vrt_list held_up;    /* of struct vrt_sched_job.turn.link */
    int64_t n_shards;           /* of the users' jobs: left, or in their windows */
};

struct vrt_sched_device {
    bool ready;
    int speed_class;
    int n_in_flight, n_in_flight_max;
    double expected_s;          /* of the shards it holds */
    double began_s;             /* the oldest of them */
    struct vrt_list runs;       /* of struct vrt_sched_run.device_link, the oldest first */
};

/* Who would take the next shard of a kind, and what the others could do by then. */
struct vrt_sched_offer {
    uint64_t n_choices;         /* the choice it was made for */
    size_t device;              /* n_devices: there is none */
    double expected_s;
    double n_others;            /* shards that the others would have done when it has */
};

struct vrt_sched_kind {
    const struct vrt_sched *sched;
    struct vrt_list link;       /* of sched->ready_kinds */
    int n_ready_lanes;
    struct vrt_sched_set devices;       /* that may take its shards */
    double *measured_s;         /* [n_devices] 0: not yet */
    bool is_stale;              /* what follows is to be worked out anew */
    double *expected_s;         /* [n_devices] by what was measured there, or of its class */
    double *cost_s;             /* [n_devices] the same; INFINITY: it may not take them */
    struct vrt_sched_set known; /* devices that were measured, or one of their class was */
    /* For one choice. */
    struct vrt_sched_offer offer;
    uint64_t n_idle_choices;
    double idle_s;              /* the least that is expected of an idle device */
};

struct vrt_sched {
    size_t n_devices;
    struct vrt_sched_device *devices;
    struct vrt_sched_set ready;         /* devices that take work */
    struct vrt_sched_set room;          /* devices that could take a shard now */
    struct vrt_sched_set idle;          /* those of them that hold none */
    double *free_in_s;          /* [n_devices] in this choice; INFINITY: it takes no work */
    double *of_class_s;         /* [n_devices] for the moment */

    struct vrt_sched_level levels[VRT_SCHED_LEVELS];    /* the highest first */
    struct vrt_sched_set busy_levels;
    struct vrt_list ready_kinds;        /* of struct vrt_sched_kind.link: those in users' lanes */
    uint64_t n_turns, n_choices;
    /* Each job brings one of each along, so that nothing but its adding can fail. */
    struct vrt_list spare_users, spare_lanes;
};

/* Puts the job, which had its turn, last. */
void vrt_sched_job_end_turn(struct vrt_sched *sched, struct vrt_sched_job *job);
