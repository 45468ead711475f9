/* SPDX-License-Identifier: MIT */

/* The choice: which job's shard goes to which device now. The rules are in daemon/sched/sched.h. */

#include <math.h>
#include <string.h>

#include "daemon/sched/sched-impl.h"

/* Sums of doubles that should be equal differ by less than this, relatively. */
#define ROUNDING 1e-9

/* A shard is run twice where that should take less than the rest of the first run, divided by so
 * much, and where so many seconds are to be won: estimates vary, and a copy that loses was for
 * nothing. */
#define CLEARLY 1.5
#define CLEARLY_S 0.1

/* So many jobs of a level are looked at, one by one, before all of them are taken together. */
#define LOOKS_MAX 4

/* So many of those held up are looked at in one choice; the others with the next ones. */
#define COPY_LOOKS_MAX 16

/* More shards than anybody has, which still fit an int. */
#define PLENTY 1e9

/*
 * Works out the expected seconds on each device. One that was not measured is taken to be as fast
 * as the fastest of its class that was, else as the fastest of all, so that it gets a shard and is
 * measured.
 */
static void refresh(struct vrt_sched_kind *kind)
{
    const struct vrt_sched *sched = kind->sched;
    double *of_class_s = sched->of_class_s, of_all_s = INFINITY;

    if (!kind->is_stale)
        return;
    for (size_t d = 0; d < sched->n_devices; d++)
        of_class_s[d] = INFINITY;
    for (size_t d = 0; d < sched->n_devices; d++) {
        double *best_s = &of_class_s[sched->devices[d].speed_class];
        if (kind->measured_s[d] > 0) {
            *best_s = fmin(*best_s, kind->measured_s[d]);
            of_all_s = fmin(of_all_s, kind->measured_s[d]);
        }
    }
    for (size_t d = 0; d < sched->n_devices; d++) {
        double class_s = of_class_s[sched->devices[d].speed_class];
        bool is_known = isfinite(class_s);
        double guess_s = is_known ? class_s : isfinite(of_all_s) ? of_all_s : 1;
        kind->expected_s[d] = kind->measured_s[d] > 0 ? kind->measured_s[d] : guess_s;
        kind->cost_s[d] = vrt_sched_set_has(&kind->devices, d) ? kind->expected_s[d] : INFINITY;
        vrt_sched_set_put(&kind->known, d, is_known);
    }
    kind->is_stale = false;
}

/* Whether devices of different classes take part: an unmeasured one may be far slower. */
static bool is_mixed(const struct vrt_sched_kind *kind)
{
    const struct vrt_sched *sched = kind->sched;
    int speed_class = -1;

    VRT_SCHED_SET_FOREACH(d, &sched->ready, &kind->devices) {
        if (speed_class >= 0 && speed_class != sched->devices[d].speed_class)
            return true;
        speed_class = sched->devices[d].speed_class;
    }
    return false;
}

/* Shards that the devices other than `d` would have done in `done_s`. */
static double count_others(const struct vrt_sched_kind *kind, size_t d, double done_s)
{
    const struct vrt_sched *sched = kind->sched;
    double n_done = 0;

    done_s *= 1 - ROUNDING;
    for (size_t e = 0; e < sched->n_devices; e++) {
        double n = (done_s - sched->free_in_s[e]) / kind->cost_s[e];
        n_done += e == d || !(n > 0) ? 0 : (int)(n < PLENTY ? n : PLENTY);
    }
    return n_done;
}

/* The devices that could take a shard of the kind now. Among unlike ones, each gets one shard until
 * it is measured. */
static struct vrt_sched_set find_room(const struct vrt_sched_kind *kind)
{
    const struct vrt_sched *sched = kind->sched;
    struct vrt_sched_set room, trusted;
    bool is_all = true;

    for (size_t w = 0; w < VRT_SCHED_SET_WORDS; w++) {
        room.words[w] = sched->room.words[w] & kind->devices.words[w];
        trusted.words[w] = room.words[w] & (sched->idle.words[w] | kind->known.words[w]);
        is_all = is_all && room.words[w] == trusted.words[w];
    }
    return is_all || !is_mixed(kind) ? room : trusted;
}

/* Finds out who would take the kind's next shard, once for each choice. */
static const struct vrt_sched_offer *ask(struct vrt_sched_kind *kind)
{
    const struct vrt_sched *sched = kind->sched;
    struct vrt_sched_offer *offer = &kind->offer;
    double best_s = INFINITY;

    if (offer->n_choices == sched->n_choices)
        return offer;
    *offer = (struct vrt_sched_offer){ .n_choices = sched->n_choices,
                                       .device = sched->n_devices };
    refresh(kind);
    const struct vrt_sched_set room = find_room(kind);
    VRT_SCHED_SET_FOREACH(d, &room, &room) {
        double done_s = sched->free_in_s[d] + kind->cost_s[d];
        if (done_s < best_s) {
            offer->device = d;
            best_s = done_s;
        }
    }
    if (offer->device < sched->n_devices) {
        offer->expected_s = kind->cost_s[offer->device];
        offer->n_others = count_others(kind, offer->device, best_s);
    }
    return offer;
}

/* Whether a device has room for any shard that is ready. */
static bool any_offer(const struct vrt_sched *sched)
{
    struct vrt_sched_kind *kind;

    VRT_LIST_FOREACH(kind, &sched->ready_kinds, link)
        if (ask(kind)->device < sched->n_devices)
            return true;
    return false;
}

/* The next of the user's jobs, in one choice, for which a device has room; NULL: that was all. */
static struct vrt_sched_job *next_job(const struct vrt_sched *sched, struct vrt_sched_user *user)
{
    if (user->n_choices != sched->n_choices) {
        user->n_choices = sched->n_choices;
        user->at_lane = &user->lanes;
        user->at_job = NULL;
    }
    for (;;) {
        if (user->at_job) {
            struct vrt_sched_lane *lane =
                vrt_container_of(user->at_lane, struct vrt_sched_lane, turn.link);
            user->at_job = user->at_job->next;
            if (user->at_job != &lane->jobs)
                return vrt_container_of(user->at_job, struct vrt_sched_job, turn.link);
        }
        user->at_job = NULL;
        if (user->at_lane->next == &user->lanes)
            return NULL;
        user->at_lane = user->at_lane->next;
        struct vrt_sched_lane *lane =
            vrt_container_of(user->at_lane, struct vrt_sched_lane, turn.link);
        if (ask(lane->kind)->device < sched->n_devices)
            user->at_job = &lane->jobs;
    }
}

/* The one whose turn comes last, of those for which a device has room; NULL: there is none. */
static struct vrt_sched_job *last_job(const struct vrt_sched *sched,
                                      const struct vrt_sched_level *level)
{
    for (struct vrt_list *u = level->users.previous; u != &level->users; u = u->previous) {
        struct vrt_sched_user *user = vrt_container_of(u, struct vrt_sched_user, turn.link);
        for (struct vrt_list *l = user->lanes.previous; l != &user->lanes; l = l->previous) {
            struct vrt_sched_lane *lane = vrt_container_of(l, struct vrt_sched_lane, turn.link);
            if (ask(lane->kind)->device < sched->n_devices)
                return vrt_container_of(lane->jobs.previous, struct vrt_sched_job, turn.link);
        }
    }
    return NULL;
}

/* What the job's kind was offered becomes the choice, where the others' time is not enough. */
static bool accept(struct vrt_sched_job *job, double load, struct vrt_sched_choice *ret_choice)
{
    if (load <= 1 + ROUNDING)
        return false;
    *ret_choice = (struct vrt_sched_choice){
        .job = job,
        .device = job->kind->offer.device,
        .expected_s = job->kind->offer.expected_s,
    };
    return true;
}

/*
 * Rules 1 to 3: goes through the level's jobs in the order of turns, one of each user and again,
 * until a device is wanted. *load is the share of the others' time, until that device would be
 * done, that all jobs so far would take: a share above one wants the device. Where the first ones
 * leave it and there are many more, it is for the last one to say whether it is wanted.
 */
static bool pick_ready(const struct vrt_sched *sched, struct vrt_sched_level *level, double *load,
                       struct vrt_sched_choice *ret_choice)
{
    double load_before = *load;
    struct vrt_sched_user *user;
    struct vrt_sched_job *job;
    int n_looks = 0;
    bool any;

    do {
        any = false;
        VRT_LIST_FOREACH(user, &level->users, turn.link) {
            job = next_job(sched, user);
            if (!job)
                continue;
            any = true;
            *load += VRT_MIN(job->n_left, job->n_window) / job->kind->offer.n_others;
            if (accept(job, *load, ret_choice))
                return true;
            if (++n_looks == LOOKS_MAX)
                break;
        }
    } while (any && n_looks < LOOKS_MAX);
    if (!any)
        return false;
    job = last_job(sched, level);
    *load = load_before + (double)level->n_shards / job->kind->offer.n_others;
    return accept(job, *load, ret_choice);
}

static bool may_be_copied(const struct vrt_sched_run *run)
{
    const struct vrt_sched_set *copiers = &run->copiers;

    return !run->twin && vrt_sched_set_next(copiers, copiers, 0) < VRT_SCHED_DEVICES_MAX;
}

/* Which of the job's runs ends last, of those that have no copy and may have one; NULL: none. */
static struct vrt_sched_run *find_straggler(const struct vrt_sched *sched,
                                            const struct vrt_sched_job *job, double now_s,
                                            double *ret_left_s)
{
    struct vrt_sched_run *run, *ahead, *last = NULL;
    double last_s = 0;

    VRT_LIST_FOREACH(run, &job->runs, job_link) {
        const struct vrt_sched_device *device = &sched->devices[run->device];
        double elapsed_s = now_s - device->began_s, left_s = 0;
        if (!may_be_copied(run))
            continue;
        VRT_LIST_FOREACH(ahead, &device->runs, device_link) {
            bool is_measured = ahead->job && ahead->job->kind->measured_s[run->device] > 0;
            left_s += vrt_sched_left_s(ahead->expected_s, elapsed_s, is_measured);
            elapsed_s = 0;
            if (ahead == run)
                break;
        }
        if (left_s > last_s) {
            last = run;
            last_s = left_s;
        }
    }
    *ret_left_s = last_s;
    return last;
}

/* The least seconds that an idle device would take for a shard of the kind, by measurements. */
static double fastest_idle_s(struct vrt_sched_kind *kind)
{
    const struct vrt_sched *sched = kind->sched;

    if (kind->n_idle_choices == sched->n_choices)
        return kind->idle_s;
    refresh(kind);
    kind->n_idle_choices = sched->n_choices;
    kind->idle_s = INFINITY;
    VRT_SCHED_SET_FOREACH(d, &sched->idle, &kind->known)
        kind->idle_s = fmin(kind->idle_s, kind->expected_s[d]);
    return kind->idle_s;
}

/* In how many seconds a device that is busy now would have copied the straggler. Where anything is
 * ready that comes first, and nobody knows when. */
static double busy_copy_s(const struct vrt_sched_kind *kind, const struct vrt_sched_run *straggler)
{
    const struct vrt_sched *sched = kind->sched;
    double best_s = INFINITY;

    if (!vrt_list_is_empty(&sched->ready_kinds))
        return INFINITY;
    VRT_SCHED_SET_FOREACH(d, &straggler->copiers, &kind->known)
        if (!vrt_sched_set_has(&sched->idle, d))
            best_s = fmin(best_s, sched->free_in_s[d] + kind->expected_s[d]);
    return best_s;
}

/* Rule 4, of one job. */
static bool pick_copy_of(const struct vrt_sched *sched, struct vrt_sched_job *job, double now_s,
                         struct vrt_sched_choice *ret_choice)
{
    struct vrt_sched_kind *kind = job->kind;
    double left_s, best_s;
    bool found = false;
    struct vrt_sched_run *straggler = find_straggler(sched, job, now_s, &left_s);

    if (!straggler)
        return false;
    best_s = fmin(left_s / CLEARLY, left_s - CLEARLY_S);
    if (best_s <= fastest_idle_s(kind))
        return false;
    VRT_SCHED_SET_FOREACH(d, &sched->idle, &straggler->copiers) {
        if (!vrt_sched_set_has(&kind->known, d) || kind->expected_s[d] >= best_s)
            continue;
        best_s = kind->expected_s[d];
        found = true;
        *ret_choice = (struct vrt_sched_choice){
            .job = job,
            .device = d,
            .straggler = straggler,
            .expected_s = best_s,
        };
    }
    return found && best_s <= busy_copy_s(kind, straggler);
}

/* Rule 4: goes through the level's jobs that are held up. Those that nobody could help go last. */
static bool pick_copy(const struct vrt_sched *sched, struct vrt_sched_level *level, double now_s,
                      struct vrt_sched_choice *ret_choice)
{
    struct vrt_sched_job *job, *first = NULL;

    for (int i = 0; i < COPY_LOOKS_MAX; i++) {
        job = VRT_LIST_FIRST(&level->held_up, struct vrt_sched_job, turn.link);
        if (!job || job == first)
            break;
        if (pick_copy_of(sched, job, now_s, ret_choice))
            return true;
        first = first ? first : job;
        vrt_list_remove(&job->turn.link);
        vrt_list_append(&level->held_up, &job->turn.link);
    }
    return false;
}

/* Since when each device is free is the same for all jobs. */
static void note_free(struct vrt_sched *sched, double now_s)
{
    for (size_t d = 0; d < sched->n_devices; d++) {
        const struct vrt_sched_device *device = &sched->devices[d];
        sched->free_in_s[d] = !device->ready ? INFINITY : !device->n_in_flight ? 0 :
            vrt_sched_free_in_s(device->expected_s, now_s - device->began_s);
    }
}

bool vrt_sched_pick(struct vrt_sched *sched, double now_s, struct vrt_sched_choice *ret_choice)
{
    bool any_idle = vrt_sched_set_next(&sched->idle, &sched->idle, 0) < VRT_SCHED_DEVICES_MAX;
    double load = 0;

    if (vrt_sched_set_next(&sched->room, &sched->room, 0) == VRT_SCHED_DEVICES_MAX)
        return false;
    sched->n_choices++;
    note_free(sched, now_s);
    bool any = any_offer(sched);
    VRT_SCHED_SET_FOREACH(i, &sched->busy_levels, &sched->busy_levels) {
        struct vrt_sched_level *level = &sched->levels[i];
        if ((any && pick_ready(sched, level, &load, ret_choice)) ||
            (any_idle && pick_copy(sched, level, now_s, ret_choice)))
            return true;
    }
    return false;
}
