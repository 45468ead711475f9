/* SPDX-License-Identifier: MIT */

/* The scheduler's devices, what they hold, and how long shards take there. */

#include "daemon/sched/sched.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/sched/sched-impl.h"

/* Weight of the newest sample: three shards bring the estimate two thirds of the way. */
#define SAMPLE_WEIGHT 0.3

int vrt_sched_new(size_t n_devices, const int *speed_classes, struct vrt_sched **ret_sched)
{
    VRT_CLEANUP(vrt_sched_freep) struct vrt_sched *sched = calloc(1, sizeof(*sched));

    vrt_assert(n_devices <= VRT_SCHED_DEVICES_MAX);
    if (!sched)
        return vrt_raise(-ENOMEM);
    sched->n_devices = n_devices;
    vrt_list_init(&sched->ready_kinds);
    vrt_list_init(&sched->spare_users);
    vrt_list_init(&sched->spare_lanes);
    for (size_t i = 0; i < VRT_SCHED_LEVELS; i++) {
        vrt_list_init(&sched->levels[i].users);
        vrt_list_init(&sched->levels[i].idle_users);
        vrt_list_init(&sched->levels[i].held_up);
    }
    sched->devices = calloc(n_devices + 1, sizeof(*sched->devices));
    sched->free_in_s = calloc(n_devices + 1, sizeof(*sched->free_in_s));
    sched->of_class_s = calloc(n_devices + 1, sizeof(*sched->of_class_s));
    if (!sched->devices || !sched->free_in_s || !sched->of_class_s)
        return vrt_raise(-ENOMEM);
    for (size_t d = 0; d < n_devices; d++) {
        vrt_assert(speed_classes[d] >= 0 && (size_t)speed_classes[d] < n_devices);
        sched->devices[d].speed_class = speed_classes[d];
        vrt_list_init(&sched->devices[d].runs);
    }
    *ret_sched = VRT_STEAL(sched);
    return 0;
}

struct vrt_sched *vrt_sched_free(struct vrt_sched *sched)
{
    if (!sched)
        return NULL;
    vrt_assert(vrt_list_is_empty(&sched->spare_users) && vrt_list_is_empty(&sched->spare_lanes));
    free(sched->devices);
    free(sched->free_in_s);
    free(sched->of_class_s);
    free(sched);
    return NULL;
}

static void note_room(struct vrt_sched *sched, size_t d)
{
    const struct vrt_sched_device *device = &sched->devices[d];

    vrt_sched_set_put(&sched->ready, d, device->ready);
    vrt_sched_set_put(&sched->room, d,
                      device->ready && device->n_in_flight < device->n_in_flight_max);
    vrt_sched_set_put(&sched->idle, d, device->ready && device->n_in_flight == 0);
}

void vrt_sched_set_device(struct vrt_sched *sched, size_t d, bool ready, int n_in_flight_max)
{
    sched->devices[d].ready = ready;
    sched->devices[d].n_in_flight_max = VRT_MIN(n_in_flight_max, VRT_SCHED_IN_FLIGHT);
    note_room(sched, d);
}

int vrt_sched_n_in_flight(const struct vrt_sched *sched, size_t d)
{
    return sched->devices[d].n_in_flight;
}

void vrt_sched_run_begin(struct vrt_sched *sched, struct vrt_sched_run *run,
                         const struct vrt_sched_choice *choice, double now_s)
{
    struct vrt_sched_device *device = &sched->devices[choice->device];

    run->job = choice->job;
    run->device = choice->device;
    run->expected_s = choice->expected_s;
    run->twin = choice->straggler;
    if (run->twin) {
        run->twin->twin = run;
        run->copiers = run->twin->copiers;
        vrt_sched_set_put(&run->copiers, run->twin->device, true);
        vrt_sched_set_put(&run->copiers, run->device, false);
    }
    vrt_list_append(&run->job->runs, &run->job_link);
    vrt_list_append(&device->runs, &run->device_link);
    if (device->n_in_flight++ == 0)
        device->began_s = now_s;
    device->expected_s += run->expected_s;
    note_room(sched, run->device);
    vrt_sched_job_end_turn(sched, run->job);
}

/* What is left of the two is alone. */
static void part(struct vrt_sched_run *run)
{
    if (run->twin)
        run->twin->twin = NULL;
    run->twin = NULL;
}

void vrt_sched_run_drop(struct vrt_sched_run *run)
{
    part(run);
    vrt_list_remove(&run->job_link);
    run->job = NULL;
}

void vrt_sched_run_end(struct vrt_sched *sched, struct vrt_sched_run *run, double now_s)
{
    struct vrt_sched_device *device = &sched->devices[run->device];

    part(run);
    /* What is oldest from now on begins now. */
    if (device->runs.next == &run->device_link)
        device->began_s = now_s;
    vrt_list_remove(&run->job_link);
    vrt_list_remove(&run->device_link);
    device->n_in_flight--;
    /* Not a difference that rounding has made. */
    device->expected_s = device->n_in_flight ? device->expected_s - run->expected_s : 0;
    note_room(sched, run->device);
}

int vrt_sched_kind_new(const struct vrt_sched *sched, struct vrt_sched_kind **ret_kind)
{
    VRT_CLEANUP(vrt_sched_kind_freep) struct vrt_sched_kind *kind = calloc(1, sizeof(*kind));
    size_t n = sched->n_devices;

    if (!kind)
        return vrt_raise(-ENOMEM);
    kind->sched = sched;
    vrt_list_init(&kind->link);
    kind->is_stale = true;
    kind->measured_s = calloc(3 * n + 1, sizeof(*kind->measured_s));
    if (!kind->measured_s)
        return vrt_raise(-ENOMEM);
    kind->expected_s = kind->measured_s + n;
    kind->cost_s = kind->expected_s + n;
    for (size_t d = 0; d < n; d++)
        vrt_sched_set_put(&kind->devices, d, true);
    *ret_kind = VRT_STEAL(kind);
    return 0;
}

struct vrt_sched_kind *vrt_sched_kind_free(struct vrt_sched_kind *kind)
{
    if (!kind)
        return NULL;
    free(kind->measured_s);
    free(kind);
    return NULL;
}

void vrt_sched_kind_set_devices(struct vrt_sched_kind *kind, const struct vrt_sched_set *devices)
{
    if (memcmp(&kind->devices, devices, sizeof(*devices)) == 0)
        return;
    kind->devices = *devices;
    kind->is_stale = true;
}

void vrt_sched_kind_measure(struct vrt_sched_kind *kind, size_t d, double sample_s)
{
    kind->measured_s[d] = vrt_sched_measure(kind->measured_s[d], sample_s);
    kind->is_stale = true;
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
