/* SPDX-License-Identifier: MIT */

#include "backend/mps/queue.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/macro.h"

#define MOMENT_NS (100 * VRT_NS_PER_MS)

/* Of a block's flags: it isn't copied, nor freed. */
#define IS_GLOBAL (1 << 28)

static const struct {
    unsigned long reserved, size_bytes;
} descriptor = { 0, sizeof(struct vrt_mps_flight) };

/* Notes that number n failed; the lock is held. */
static void note(struct vrt_mps_queue *queue, uint64_t n, long code)
{
    struct vrt_mps_failure *failures = queue->failures, *last;

    last = queue->n_failures > 0 ? &failures[queue->n_failures - 1] : NULL;
    if (last && last->last + 1 == n && last->code == code) {
        last->last = n;
        return;
    }
    if (queue->n_failures == VRT_MPS_FAILURES) {
        failures[1].first = VRT_MIN(failures[0].first, failures[1].first);
        failures[1].last = VRT_MAX(failures[0].last, failures[1].last);
        memmove(failures, failures + 1, (VRT_MPS_FAILURES - 1) * sizeof(failures[0]));
        queue->n_failures--;
    }
    failures[queue->n_failures++] = (struct vrt_mps_failure){ n, n, code };
}

/* Called by Metal, on a thread of its own. */
static void land(struct vrt_mps_flight *flight, vrt_metal_id commands)
{
    VRT_METAL_POOL;
    struct vrt_mps_queue *queue = flight->queue;
    const bool is_well = VRT_METAL(status, commands) == VRT_METAL_COMPLETED;
    vrt_metal_id error = is_well ? NULL : VRT_METAL(error, commands);
    const long code = is_well ? 0 : VRT_METAL(code, error);

    pthread_mutex_lock(&queue->lock);
    if (!is_well) {
        note(queue, flight->number, code ? code : VRT_METAL_INTERNAL);
        vrt_metal_why(error, queue->why, sizeof(queue->why));
    }
    flight->is_done = true;
    pthread_cond_broadcast(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

bool vrt_mps_queue_init(struct vrt_mps_queue *queue, vrt_metal_id device)
{
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->changed, NULL);
    for (int i = 0; i < VRT_MPS_IN_FLIGHT; i++)
        queue->flights[i] = (struct vrt_mps_flight){
            .class = vrt_metal.block_class,
            .flags = IS_GLOBAL,
            .invoke = land,
            .descriptor = &descriptor,
            .queue = queue,
        };
    queue->queue = VRT_METAL(new_queue, device);
    return queue->queue != NULL;
}

void vrt_mps_queue_done(struct vrt_mps_queue *queue)
{
    if (!queue->flights[0].queue)
        return;
    vrt_metal_drop(&queue->queue);
    pthread_cond_destroy(&queue->changed);
    pthread_mutex_destroy(&queue->lock);
}

vrt_metal_id vrt_mps_queue_begin(struct vrt_mps_queue *queue)
{
    return VRT_METAL(commands, queue->queue);
}

/* Waits for the next that isn't finished. Return: whether it is done. */
static bool await_next(struct vrt_mps_queue *queue, uint64_t patience_ns)
{
    struct vrt_mps_flight *flight = &queue->flights[(queue->n_finished + 1) % VRT_MPS_IN_FLIGHT];
    uint64_t waited_ns = 0;
    bool is_done;

    /* What is longer than a moment, because the machine slept, isn't the GPU's fault. */
    pthread_mutex_lock(&queue->lock);
    while (!flight->is_done && waited_ns < patience_ns) {
        const int64_t began_ns = vrt_clock_now_ns();
        vrt_clock_wait_moment(&queue->changed, &queue->lock, MOMENT_NS);
        waited_ns += (uint64_t)VRT_MIN(vrt_clock_now_ns() - began_ns, MOMENT_NS);
    }
    is_done = flight->is_done;
    pthread_mutex_unlock(&queue->lock);
    queue->n_finished += is_done;
    return is_done;
}

static bool await_up_to(struct vrt_mps_queue *queue, uint64_t n, uint64_t patience_ns)
{
    while (queue->n_finished < n)
        if (!await_next(queue, patience_ns))
            return false;
    return true;
}

long vrt_mps_queue_commit(struct vrt_mps_queue *queue, vrt_metal_id commands, uint64_t patience_ns)
{
    const uint64_t n = queue->n_committed + 1;
    struct vrt_mps_flight *flight = &queue->flights[n % VRT_MPS_IN_FLIGHT];

    if (!commands)
        return VRT_METAL_OUT_OF_MEMORY;
    if (n > VRT_MPS_IN_FLIGHT && !await_up_to(queue, n - VRT_MPS_IN_FLIGHT, patience_ns))
        return VRT_MPS_STUCK;
    flight->number = n;
    flight->is_done = false;
    VRT_METAL(when_completed, commands, flight);
    VRT_METAL(commit, commands);
    queue->n_committed = n;
    return 0;
}

long vrt_mps_queue_await(struct vrt_mps_queue *queue, uint64_t n, uint64_t patience_ns)
{
    return await_up_to(queue, n, patience_ns) ? 0 : VRT_MPS_STUCK;
}

long vrt_mps_queue_failure(struct vrt_mps_queue *queue, uint64_t after, uint64_t n, char *ret_why,
                           size_t size)
{
    long code = 0;

    pthread_mutex_lock(&queue->lock);
    for (int i = 0; i < queue->n_failures && !code; i++)
        if (queue->failures[i].last > after && queue->failures[i].first <= n)
            code = queue->failures[i].code;
    snprintf(ret_why, size, "%s", queue->why);
    pthread_mutex_unlock(&queue->lock);
    return code;
}
