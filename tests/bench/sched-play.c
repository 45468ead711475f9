/* SPDX-License-Identifier: MIT */

#include "tests/bench/sched-play.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "daemon/sched.h"

/* How much longer a device that has gone slow takes. */
#define SLOW 10

struct shard {
    int index;
    double expected_s, true_s;
};

struct device {
    struct shard held[VRT_SCHED_IN_FLIGHT];     /* the oldest first */
    double started_s;                           /* when it began the oldest */
};

struct state {
    const struct sched_play *play;
    struct vrt_sched_device *scheds;
    struct device *devices;
    double *estimates_s;
    int *counts;
    bool *done;                 /* [n_shards] */
    int *runs;                  /* [n_shards] devices that hold it */
    int *lost, n_lost;          /* shards to be handed out again */
    int next, first_undone, n_done;
    double now_s;
    uint64_t random;
};

/* In [-1, 1). */
static double draw(struct state *s)
{
    s->random = s->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (double)(int64_t)(s->random >> 11) / (double)(1ULL << 52) - 1.0;
}

static void refresh(struct state *s)
{
    for (size_t d = 0; d < s->play->n_devices; d++) {
        double expected_s = 0;
        for (int i = 0; i < s->scheds[d].n_in_flight; i++)
            expected_s += s->devices[d].held[i].expected_s;
        s->scheds[d].free_in_s = s->scheds[d].n_in_flight ?
            vrt_sched_free_in_s(expected_s, s->now_s - s->devices[d].started_s) : 0;
    }
}

/* Shards that may be handed out now: lost ones, and new ones inside the window. */
static int n_ready(const struct state *s)
{
    int ahead = s->first_undone + s->play->n_window - s->next;
    int n_new = s->play->n_shards - s->next;

    return s->n_lost + (ahead < n_new ? ahead : n_new);
}

/* Device `d` begins the oldest of what it holds. */
static void begin(struct state *s, size_t d)
{
    struct device *device = &s->devices[d];
    bool is_slow = s->play->slow_at_s && s->now_s >= s->play->slow_at_s[d];

    device->started_s = s->now_s;
    if (s->scheds[d].n_in_flight > 0 && is_slow)
        device->held[0].true_s *= SLOW;
}

/* The shard that is expected last of those that one device holds, and until when; -1: none. */
static int find_straggler(const struct state *s, double *ret_left_s)
{
    double longest_s = 0;
    int index = -1;

    for (size_t d = 0; d < s->play->n_devices; d++) {
        const struct device *device = &s->devices[d];
        double left_s = 0;
        for (int i = 0; i < s->scheds[d].n_in_flight; i++) {
            const struct shard *shard = &device->held[i];
            left_s += vrt_sched_left_s(shard->expected_s, i ? 0 : s->now_s - device->started_s,
                                       s->estimates_s[d] > 0);
            if (s->runs[shard->index] == 1 && left_s > longest_s) {
                longest_s = left_s;
                index = shard->index;
            }
        }
    }
    *ret_left_s = longest_s;
    return index;
}

static void take(struct state *s, const struct vrt_sched_choice *choice, int index)
{
    struct device *device = &s->devices[choice->device];
    int slot = s->scheds[choice->device].n_in_flight++;

    vrt_assert(slot < VRT_SCHED_IN_FLIGHT && s->runs[index] < 2);
    device->held[slot] = (struct shard){
        .index = index,
        .expected_s = choice->expected_s,
        .true_s = s->play->shard_s[choice->device] * (1 + s->play->noise * draw(s)),
    };
    s->runs[index]++;
    if (slot == 0)
        begin(s, choice->device);
}

static void hand_out(struct state *s)
{
    struct vrt_sched_choice choice;

    for (;;) {
        double left_s;
        int straggler = find_straggler(s, &left_s);
        refresh(s);
        const struct vrt_sched_job job = {
            .n_ready = n_ready(s),
            .n_left = s->play->n_shards - s->next + s->n_lost,
            .n_window = s->play->n_window,
            .shard_s = s->estimates_s,
            .straggler_s = n_ready(s) > 0 || s->play->no_copies ? 0 : left_s,
        };
        const struct vrt_sched now = { s->scheds, s->play->n_devices, &job, 1 };
        if (!vrt_sched_pick(&now, &choice))
            return;
        if (choice.is_copy)
            take(s, &choice, straggler);
        else
            take(s, &choice, s->n_lost ? s->lost[--s->n_lost] : s->next++);
    }
}

/* Takes what is at `slot` away from the device. */
static void drop(struct state *s, size_t d, int slot)
{
    struct device *device = &s->devices[d];

    s->runs[device->held[slot].index]--;
    s->scheds[d].n_in_flight--;
    if (slot == 0) {
        device->held[0] = device->held[1];
        begin(s, d);
    }
}

/* The first run of a shard is done: another is cancelled. */
static void drop_copy(struct state *s, int index)
{
    for (size_t d = 0; d < s->play->n_devices && s->runs[index] > 0; d++)
        for (int i = 0; i < s->scheds[d].n_in_flight; i++)
            if (s->devices[d].held[i].index == index) {
                drop(s, d, i);
                break;
            }
}

static void finish_oldest(struct state *s, size_t d)
{
    struct shard shard = s->devices[d].held[0];

    drop(s, d, 0);
    drop_copy(s, shard.index);
    s->counts[d]++;
    s->done[shard.index] = true;
    s->n_done++;
    while (s->first_undone < s->play->n_shards && s->done[s->first_undone])
        s->first_undone++;
    if (!s->play->known)
        s->estimates_s[d] = vrt_sched_measure(s->estimates_s[d], shard.true_s);
}

static void lose(struct state *s, size_t d)
{
    s->scheds[d].ready = false;
    for (int i = s->scheds[d].n_in_flight - 1; i >= 0; i--) {
        int index = s->devices[d].held[i].index;
        if (--s->runs[index] == 0)
            s->lost[s->n_lost++] = index;
    }
    s->scheds[d].n_in_flight = 0;
}

/* Goes to the next event, or tick. Return: whether there is anything to come. */
static bool step(struct state *s)
{
    size_t n = s->play->n_devices, which = n;
    bool is_loss = false;
    double when_s = INFINITY;

    for (size_t d = 0; d < n; d++) {
        const struct device *device = &s->devices[d];
        double done_s = s->scheds[d].n_in_flight ?
            device->started_s + device->held[0].true_s : INFINITY;
        double lost_s = s->scheds[d].ready && s->play->lost_at_s ? s->play->lost_at_s[d] : INFINITY;
        if (fmin(done_s, lost_s) < when_s) {
            when_s = fmin(done_s, lost_s);
            which = d;
            is_loss = lost_s < done_s;
        }
    }
    if (which == n)
        return false;
    if (s->play->tick_s > 0 && s->now_s + s->play->tick_s < when_s) {
        s->now_s += s->play->tick_s;
        return true;
    }
    s->now_s = when_s;
    if (is_loss)
        lose(s, which);
    else
        finish_oldest(s, which);
    return true;
}

double sched_play(const struct sched_play *play, int *ret_counts)
{
    size_t n = play->n_devices;
    struct state s = {
        .play = play,
        .scheds = calloc(n, sizeof(*s.scheds)),
        .devices = calloc(n, sizeof(*s.devices)),
        .estimates_s = calloc(n, sizeof(*s.estimates_s)),
        .counts = calloc(n, sizeof(*s.counts)),
        .done = calloc((size_t)play->n_shards + 1, sizeof(*s.done)),
        .runs = calloc((size_t)play->n_shards + 1, sizeof(*s.runs)),
        .lost = calloc(n * VRT_SCHED_IN_FLIGHT, sizeof(*s.lost)),
        .random = play->seed,
    };

    vrt_assert(s.scheds && s.devices && s.estimates_s && s.counts && s.done && s.runs &&
               s.lost);
    for (size_t d = 0; d < n; d++) {
        s.scheds[d] = (struct vrt_sched_device){
            .ready = true,
            .speed_class = play->unlike ? (int)d : 0,
        };
        s.estimates_s[d] = play->known ? play->shard_s[d] : 0;
    }
    hand_out(&s);
    while (s.n_done < play->n_shards && step(&s))
        hand_out(&s);
    for (size_t d = 0; ret_counts && d < n; d++)
        ret_counts[d] = s.counts[d];
    double end_s = s.n_done == play->n_shards ? s.now_s : INFINITY;
    free(s.scheds);
    free(s.devices);
    free(s.estimates_s);
    free(s.counts);
    free(s.done);
    free(s.runs);
    free(s.lost);
    return end_s;
}

double sched_play_fluid_s(const struct sched_play *play)
{
    double rate = 0;

    for (size_t d = 0; d < play->n_devices; d++)
        rate += 1 / play->shard_s[d];
    return play->n_shards / rate;
}
