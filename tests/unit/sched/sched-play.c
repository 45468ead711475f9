/* SPDX-License-Identifier: MIT */

#include "tests/unit/sched/sched-play.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "daemon/sched/sched.h"

#define IN_FLIGHT 2                     /* of a device that doesn't compute beside the host */

/* How much longer a device that has gone slow takes. */
#define SLOW 10

struct job {
    struct vrt_sched_job sched;
    struct sched_play_job *told;
    bool *done;                 /* [n_shards] */
    int *lost, n_lost;          /* shards to be handed out again */
    int next, first_undone;
};

struct run {
    struct vrt_sched_run sched;
    struct job *job;
    int index;
    double true_s;
    double death;               /* the part of it after which the device is lost; 2: never */
    bool fails;
};

struct device {
    struct run *held[IN_FLIGHT];      /* the oldest first */
    double started_s;                           /* when it began the oldest */
    double back_s;                              /* it is lost until then; 0: it isn't */
};

struct state {
    const struct sched_play *play;
    struct sched_story *story;
    struct vrt_sched *sched;
    struct vrt_sched_kind **kinds;
    struct device *devices;
    struct job *jobs;
    double *free_s;             /* for those who are told */
    size_t n_jobs, n_arrived, n_done;
    double now_s;
    uint64_t random;
};

/* In [0, 1). */
static double draw(struct state *s)
{
    s->random = s->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(s->random >> 11) / (double)(1ULL << 53);
}

static int n_held(const struct state *s, size_t d)
{
    return vrt_sched_n_in_flight(s->sched, d);
}

/* Describes the job: lost shards may be handed out, and new ones inside the window. */
static void update(struct state *s, struct job *job)
{
    int ahead = job->first_undone + job->told->n_window - job->next;
    int n_new = job->told->n_shards - job->next;

    job->sched.n_ready = job->n_lost + (ahead < n_new ? ahead : n_new);
    job->sched.n_left = job->n_lost + n_new;
    job->sched.is_held_up = !s->play->no_copies && !vrt_list_is_empty(&job->sched.runs);
    vrt_sched_job_update(s->sched, &job->sched);
}

/* Device `d` begins the oldest of what it holds. */
static void begin(struct state *s, size_t d)
{
    struct device *device = &s->devices[d];
    bool is_slow = s->play->slow_at_s && s->now_s >= s->play->slow_at_s[d];

    device->started_s = s->now_s;
    if (device->held[0] && is_slow)
        device->held[0]->true_s *= SLOW;
}

/* When device `d` will have done what it holds. */
static double free_s(const struct state *s, size_t d)
{
    const struct device *device = &s->devices[d];
    double done_s = n_held(s, d) ? device->started_s : s->now_s;

    for (int i = 0; i < n_held(s, d); i++)
        done_s += device->held[i]->true_s;
    return done_s;
}

static void tell(struct state *s, const struct vrt_sched_choice *choice, const struct job *job)
{
    if (!s->play->handed)
        return;
    for (size_t d = 0; d < s->play->n_devices; d++)
        s->free_s[d] = s->devices[d].back_s > s->now_s ? INFINITY : free_s(s, d);
    s->play->handed(s->play->ctx, &(struct sched_play_turn){
        .now_s = s->now_s,
        .job = (size_t)(job - s->jobs),
        .device = choice->device,
        .is_copy = choice->straggler != NULL,
        .n_left = job->sched.n_left,
        .free_s = s->free_s,
    });
}

static void take(struct state *s, const struct vrt_sched_choice *choice)
{
    struct device *device = &s->devices[choice->device];
    struct job *job = vrt_container_of(choice->job, struct job, sched);
    struct run *run = calloc(1, sizeof(*run));
    int slot = n_held(s, choice->device);

    vrt_assert(run && slot < IN_FLIGHT);
    run->job = job;
    run->true_s = s->play->shard_s[choice->device] * (1 + s->play->noise * (2 * draw(s) - 1));
    run->death = s->play->loss_rate > 0 && draw(s) < s->play->loss_rate ? draw(s) : 2;
    run->fails = s->play->fail_rate > 0 && draw(s) < s->play->fail_rate;
    if (choice->straggler) {
        run->index = vrt_container_of(choice->straggler, struct run, sched)->index;
        s->story->n_copies++;
    } else {
        run->index = job->n_lost ? job->lost[--job->n_lost] : job->next++;
        for (size_t d = 0; d < s->play->n_devices; d++)
            vrt_sched_set_put(&run->sched.copiers, d, d != choice->device);
    }
    device->held[slot] = run;
    vrt_sched_run_begin(s->sched, &run->sched, choice, s->now_s);
    update(s, job);
    if (slot == 0)
        begin(s, choice->device);
    if (job->told->n_handed++ == 0)
        job->told->began_s = s->now_s;
    tell(s, choice, job);
}

/* The thread's own time: others on the machine don't count. */
static int64_t cpu_ns(void)
{
    struct timespec t = { 0 };

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool pick(struct state *s, struct vrt_sched_choice *ret_choice)
{
    int64_t began_ns = s->play->pick_us ? cpu_ns() : 0;
    bool found = vrt_sched_pick(s->sched, s->now_s, ret_choice);

    if (s->play->pick_us && s->story->n_picks < s->play->n_picks_max)
        s->play->pick_us[s->story->n_picks++] = (float)(cpu_ns() - began_ns) / 1000;
    return found;
}

static void hand_out(struct state *s)
{
    struct vrt_sched_choice choice;

    while (pick(s, &choice))
        take(s, &choice);
}

/* Takes what is at `slot` away from the device, and frees it. */
static void end_run(struct state *s, size_t d, int slot)
{
    struct device *device = &s->devices[d];
    struct run *run = device->held[slot];

    vrt_sched_run_end(s->sched, &run->sched, s->now_s);
    if (slot == 0)
        device->held[0] = device->held[1];
    device->held[1] = NULL;
    if (slot == 0)
        begin(s, d);
    free(run);
}

/* Another run of the shard; NULL: there is none. */
static struct run *find_other(const struct run *run)
{
    struct run *other;

    VRT_LIST_FOREACH(other, &run->job->sched.runs, sched.job_link)
        if (other != run && other->index == run->index)
            return other;
    return NULL;
}

/* The run has come to nothing: its shard is to be handed out again, unless it runs elsewhere. */
static void give_back(struct state *s, size_t d, int slot)
{
    struct run *run = s->devices[d].held[slot];
    struct job *job = run->job;

    if (!find_other(run))
        job->lost[job->n_lost++] = run->index;
    end_run(s, d, slot);
    update(s, job);
}

/* The first run of a shard is done: another is cancelled. */
static void finish_oldest(struct state *s, size_t d)
{
    struct run *run = s->devices[d].held[0], *other = find_other(run);
    struct job *job = run->job;

    if (!s->play->known)
        vrt_sched_kind_measure(job->sched.kind, d, run->true_s);
    if (run->fails) {
        s->story->n_failed++;
        give_back(s, d, 0);
        return;
    }
    if (other)
        end_run(s, other->sched.device, s->devices[other->sched.device].held[0] != other);
    s->story->counts[d]++;
    job->done[run->index] = true;
    while (job->first_undone < job->told->n_shards && job->done[job->first_undone])
        job->first_undone++;
    end_run(s, d, 0);
    update(s, job);
    if (++job->told->n_done < job->told->n_shards)
        return;
    job->told->done_s = s->now_s;
    s->n_done++;
}

static void lose(struct state *s, size_t d, double back_s)
{
    struct sched_story *story = s->story;

    s->devices[d].back_s = back_s;
    if (story->n_outages < SCHED_OUTAGES_MAX)
        story->outages[story->n_outages++] = (struct sched_outage){ d, s->now_s, back_s };
    vrt_sched_set_device(s->sched, d, false, IN_FLIGHT);
    while (n_held(s, d) > 0)
        give_back(s, d, n_held(s, d) - 1);
}

static void bring_back(struct state *s, size_t d)
{
    s->devices[d].back_s = 0;
    vrt_sched_set_device(s->sched, d, true, IN_FLIGHT);
}

static void arrive(struct state *s)
{
    struct job *job = &s->jobs[s->n_arrived++];
    int r = vrt_sched_job_add(s->sched, &job->sched);

    vrt_assert(!r);
    update(s, job);
}

/* What may happen next to a device: `ret_what` does it. Return: when. */
static double next_of(const struct state *s, size_t d, void (**ret_what)(struct state *, size_t))
{
    const struct device *device = &s->devices[d];

    if (device->back_s > 0) {
        *ret_what = bring_back;
        return device->back_s;
    }
    *ret_what = finish_oldest;
    return device->held[0] ? device->started_s + device->held[0]->true_s : INFINITY;
}

/* When device `d` is lost next. */
static double lost_s(const struct state *s, size_t d)
{
    const struct device *device = &s->devices[d];
    double at_s = s->play->lost_at_s && !device->back_s ? s->play->lost_at_s[d] : INFINITY;

    if (device->held[0] && device->held[0]->death < 1)
        at_s = fmin(at_s, device->started_s + device->held[0]->death * device->held[0]->true_s);
    return at_s;
}

/* Goes to the next event, or tick. Return: whether there is anything to come. */
static bool step(struct state *s)
{
    size_t n = s->play->n_devices, which = n;
    void (*what)(struct state *, size_t) = NULL, (*candidate)(struct state *, size_t);
    double when_s = s->n_arrived < s->n_jobs ? s->jobs[s->n_arrived].told->arrives_s : INFINITY;

    for (size_t d = 0; d < n; d++) {
        double at_s = next_of(s, d, &candidate);
        if (lost_s(s, d) < at_s) {
            at_s = lost_s(s, d);
            candidate = NULL;
        }
        if (at_s < when_s) {
            when_s = at_s;
            which = d;
            what = candidate;
        }
    }
    if (isinf(when_s) || (s->play->until_s > 0 && when_s > s->play->until_s))
        return false;
    if (s->play->tick_s > 0 && s->now_s + s->play->tick_s < when_s) {
        s->now_s += s->play->tick_s;
        return true;
    }
    s->now_s = when_s;
    if (which == n)
        arrive(s);
    else if (what)
        what(s, which);
    else
        lose(s, which, s->play->loss_rate > 0 ? s->now_s + s->play->repair_s : INFINITY);
    return true;
}

static void set_up_sched(struct state *s)
{
    size_t n = s->play->n_devices, n_kinds = s->play->kinds ? s->play->n_kinds : 1;
    int *classes = calloc(n + 1, sizeof(*classes));

    s->kinds = calloc(n_kinds, sizeof(*s->kinds));
    vrt_assert(classes && s->kinds);
    for (size_t d = 0; d < n; d++)
        classes[d] = s->play->unlike ? (int)d : 0;
    int r = vrt_sched_new(n, classes, &s->sched);
    vrt_assert(!r);
    free(classes);
    for (size_t d = 0; d < n; d++)
        vrt_sched_set_device(s->sched, d, true, IN_FLIGHT);
    for (size_t k = 0; k < n_kinds; k++) {
        r = vrt_sched_kind_new(s->sched, &s->kinds[k]);
        vrt_assert(!r);
        if (s->play->kinds)
            vrt_sched_kind_set_devices(s->kinds[k], &s->play->kinds[k]);
        for (size_t d = 0; s->play->known && d < n; d++)
            vrt_sched_kind_measure(s->kinds[k], d, s->play->shard_s[d]);
    }
}

static void set_up_jobs(struct state *s, struct sched_play_job *tolds)
{
    s->jobs = calloc(s->n_jobs, sizeof(*s->jobs));
    vrt_assert(s->jobs);
    for (size_t j = 0; j < s->n_jobs; j++) {
        struct job *job = &s->jobs[j];
        job->told = &tolds[j];
        job->told->n_handed = job->told->n_done = 0;
        job->told->began_s = job->told->done_s = INFINITY;
        job->done = calloc((size_t)job->told->n_shards + 1, sizeof(*job->done));
        job->lost = calloc((size_t)job->told->n_shards + 1, sizeof(*job->lost));
        vrt_assert(job->done && job->lost);
        job->sched.uid = (uid_t)job->told->uid;
        job->sched.priority = job->told->priority;
        job->sched.kind = s->kinds[job->told->kind];
        job->sched.n_window = job->told->n_window;
    }
}

static void tear_down(struct state *s)
{
    for (size_t d = 0; d < s->play->n_devices; d++)
        while (n_held(s, d) > 0)
            end_run(s, d, n_held(s, d) - 1);
    for (size_t j = 0; j < s->n_jobs; j++) {
        if (j < s->n_arrived)
            vrt_sched_job_remove(s->sched, &s->jobs[j].sched);
        free(s->jobs[j].done);
        free(s->jobs[j].lost);
    }
    for (size_t k = 0; k < (s->play->kinds ? s->play->n_kinds : 1); k++)
        vrt_sched_kind_free(s->kinds[k]);
    free(s->kinds);
    vrt_sched_free(s->sched);
    free(s->jobs);
    free(s->devices);
    free(s->free_s);
}

double sched_play(const struct sched_play *play, struct sched_story *ret_story)
{
    struct sched_play_job only = { .n_shards = play->n_shards, .n_window = play->n_window };
    struct sched_story *story = calloc(1, sizeof(*story));
    struct state s = {
        .play = play,
        .story = story,
        .devices = calloc(play->n_devices + 1, sizeof(*s.devices)),
        .free_s = calloc(play->n_devices + 1, sizeof(*s.free_s)),
        .n_jobs = play->jobs ? play->n_jobs : 1,
        .random = play->seed,
    };
    double end_s;

    vrt_assert(story && s.devices && s.free_s);
    set_up_sched(&s);
    set_up_jobs(&s, play->jobs ? play->jobs : &only);
    while (s.n_arrived < s.n_jobs && s.jobs[s.n_arrived].told->arrives_s <= 0)
        arrive(&s);
    hand_out(&s);
    while (s.n_done < s.n_jobs && step(&s) &&
           (!play->pick_us || story->n_picks < play->n_picks_max))
        hand_out(&s);
    end_s = story->end_s = s.n_done == s.n_jobs ? s.now_s : INFINITY;
    tear_down(&s);
    if (ret_story)
        *ret_story = *story;
    free(story);
    return end_s;
}

double sched_play_fluid_s(const struct sched_play *play, int n_shards)
{
    double rate = 0;

    for (size_t d = 0; d < play->n_devices; d++)
        rate += 1 / play->shard_s[d];
    return n_shards / rate;
}

/* Shards that device `d` can do until `end_s`. The outages of a device are in order. */
static double n_possible(const struct sched_play *play, size_t d, double end_s,
                         const struct sched_story *story)
{
    double up_s = 0, n = 0;

    for (size_t i = 0; story && i < story->n_outages && up_s < end_s; i++) {
        const struct sched_outage *outage = &story->outages[i];
        if (outage->device != d)
            continue;
        n += floor((fmin(outage->from_s, end_s) - up_s) / play->shard_s[d] + 1e-9);
        up_s = outage->to_s;
    }
    return up_s < end_s ? n + floor((end_s - up_s) / play->shard_s[d] + 1e-9) : n;
}

double sched_play_best_s(const struct sched_play *play, int n_shards,
                         const struct sched_story *story)
{
    double low_s = 0, high_s = 1e9;

    for (int i = 0; i < 100; i++) {
        double middle_s = (low_s + high_s) / 2, n = 0;
        for (size_t d = 0; d < play->n_devices; d++)
            n += n_possible(play, d, middle_s, story);
        *(n < n_shards ? &low_s : &high_s) = middle_s;
    }
    return high_s;
}
