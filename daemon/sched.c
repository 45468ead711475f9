/* SPDX-License-Identifier: MIT */

#include "daemon/sched.h"

#include <math.h>

/* Weight of the newest sample: three shards bring the estimate two thirds of the way. */
#define SAMPLE_WEIGHT 0.3

/* Sums of doubles that should be equal differ by less than this, relatively. */
#define ROUNDING 1e-9

/* A shard is run twice where that should take less than the rest of the first run, divided by so
 * much, and where so many seconds are to be won: estimates vary, and a copy that loses was for
 * nothing. */
#define CLEARLY 1.5
#define CLEARLY_S 0.1

/* Whether the device takes part in the job at all, now or as soon as it has room. */
static bool takes_part(const struct vrt_sched *now, const struct vrt_sched_job *job, size_t d)
{
    return now->devices[d].ready && job->shard_s[d] >= 0;
}

/*
 * Expected seconds of the job's next shard on device `d`. One that was not measured is taken to
 * be as fast as the fastest of its class that was, else as the fastest of all, so that it gets a
 * shard and is measured.
 */
static double shard_s(const struct vrt_sched *now, const struct vrt_sched_job *job, size_t d)
{
    double of_class = INFINITY, of_all = INFINITY;

    if (job->shard_s[d] > 0)
        return job->shard_s[d];
    for (size_t e = 0; e < now->n_devices; e++) {
        if (!(job->shard_s[e] > 0))
            continue;
        of_all = fmin(of_all, job->shard_s[e]);
        if (now->devices[e].speed_class == now->devices[d].speed_class)
            of_class = fmin(of_class, job->shard_s[e]);
    }
    if (isfinite(of_class))
        return of_class;
    return isfinite(of_all) ? of_all : 1.0;
}

/* Whether device `d` was measured with this job, or one of its class was. */
static bool is_measured(const struct vrt_sched *now, const struct vrt_sched_job *job, size_t d)
{
    for (size_t e = 0; e < now->n_devices; e++)
        if (job->shard_s[e] > 0 && now->devices[e].speed_class == now->devices[d].speed_class)
            return true;
    return false;
}

/* Whether devices of different classes take part: an unmeasured one may be far slower. */
static bool is_mixed(const struct vrt_sched *now, const struct vrt_sched_job *job)
{
    size_t first = now->n_devices;

    for (size_t d = 0; d < now->n_devices; d++) {
        if (!takes_part(now, job, d))
            continue;
        if (first == now->n_devices)
            first = d;
        else if (now->devices[d].speed_class != now->devices[first].speed_class)
            return true;
    }
    return false;
}

/* Whether `d` has room for a shard of the job: among unlike devices, one until it is measured. */
static bool has_room(const struct vrt_sched *now, const struct vrt_sched_job *job, size_t d)
{
    int room = VRT_SCHED_IN_FLIGHT;

    if (now->devices[d].n_in_flight > 0 && is_mixed(now, job) && !is_measured(now, job, d))
        room = 1;
    return now->devices[d].n_in_flight < room;
}

/* Whether the devices other than `d` would finish `n_shards` more before `done_s`. */
static bool others_finish(const struct vrt_sched *now, const struct vrt_sched_job *job, size_t d,
                          double done_s, int n_shards)
{
    double n_done = 0;

    for (size_t e = 0; e < now->n_devices && n_done < n_shards; e++) {
        if (e == d || !takes_part(now, job, e))
            continue;
        double time_s = done_s * (1 - ROUNDING) - now->devices[e].free_in_s;
        if (time_s > 0)
            n_done += floor(time_s / shard_s(now, job, e));
    }
    return n_done >= n_shards;
}

/* The device that should take the job's next shard, or n_devices. */
static size_t pick_device(const struct vrt_sched *now, const struct vrt_sched_job *job)
{
    size_t best = now->n_devices;
    double best_s = INFINITY;

    for (size_t d = 0; d < now->n_devices; d++) {
        if (!takes_part(now, job, d) || !has_room(now, job, d))
            continue;
        double done_s = now->devices[d].free_in_s + shard_s(now, job, d);
        if (done_s < best_s) {
            best = d;
            best_s = done_s;
        }
    }
    int n_shards = job->n_left < job->n_window ? job->n_left : job->n_window;
    if (best < now->n_devices && others_finish(now, job, best, best_s, n_shards))
        return now->n_devices;
    return best;
}

/* The device that should run the job's straggler once more, or n_devices. */
static size_t pick_copier(const struct vrt_sched *now, const struct vrt_sched_job *job)
{
    size_t best = now->n_devices;
    double best_s = fmin(job->straggler_s / CLEARLY, job->straggler_s - CLEARLY_S);

    for (size_t d = 0; d < now->n_devices; d++) {
        if (!takes_part(now, job, d) || now->devices[d].n_in_flight > 0 ||
            !is_measured(now, job, d))
            continue;
        double done_s = shard_s(now, job, d);
        if (done_s < best_s) {
            best = d;
            best_s = done_s;
        }
    }
    return best;
}

/* Whether all of the job is with the devices, or waits for what is: then one may be run twice. */
static bool is_held_up(const struct vrt_sched_job *job)
{
    return job->n_ready <= 0 && job->straggler_s > 0;
}

/* Whether `a` goes before `b`. */
static bool goes_first(const struct vrt_sched_job *a, const struct vrt_sched_job *b)
{
    if (a->priority != b->priority)
        return a->priority > b->priority;
    if (is_held_up(a) != is_held_up(b))
        return is_held_up(b);
    if (a->turn != b->turn)
        return a->turn < b->turn;
    return a->order < b->order;
}

bool vrt_sched_pick(const struct vrt_sched *now, struct vrt_sched_choice *ret_choice)
{
    bool found = false;

    for (size_t j = 0; j < now->n_jobs; j++) {
        const struct vrt_sched_job *job = &now->jobs[j];
        bool is_copy = is_held_up(job);
        if ((job->n_ready <= 0 && !is_copy) ||
            (found && !goes_first(job, &now->jobs[ret_choice->job])))
            continue;
        size_t d = is_copy ? pick_copier(now, job) : pick_device(now, job);
        if (d == now->n_devices)
            continue;
        *ret_choice = (struct vrt_sched_choice){
            .job = j,
            .device = d,
            .is_copy = is_copy,
            .expected_s = shard_s(now, job, d),
        };
        found = true;
    }
    return found;
}

double vrt_sched_free_in_s(double expected_s, double elapsed_s)
{
    return fabs(expected_s - elapsed_s);
}

double vrt_sched_left_s(double expected_s, double elapsed_s, bool is_measured)
{
    return is_measured ? vrt_sched_free_in_s(expected_s, elapsed_s) : elapsed_s;
}

double vrt_sched_measure(double estimate_s, double sample_s)
{
    if (estimate_s <= 0)
        return sample_s;
    return estimate_s + (sample_s - estimate_s) * SAMPLE_WEIGHT;
}
