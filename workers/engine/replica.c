/* SPDX-License-Identifier: MIT */

/*
 * The store, its seats, and letting go
 *
 * A hold is listed from the moment that its device asks for the weights, so that others see who
 * is coming. What is lent is not freed: a device that copies from another one's replica has it as
 * a loan, and who wants to let go waits for that, though not for ever. A copy that was torn away
 * fails its checksum.
 */

#include "engine/replica.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "engine/replica-impl.h"

#define VRT_LOG_TOPIC "replica"

#define CHUNK_BYTES ((size_t)8 << 20)
#define GROUP_MIN_BYTES ((size_t)32 << 20)
#define GATHER_NS (50 * VRT_NS_PER_MS)  /* that devices of one start may come after another */
#define PATIENCE_NS (20 * VRT_NS_PER_S)  /* for one that doesn't come; then each loads for itself */

/* How often those who wait look up. */
#define MOMENT_NS (50 * VRT_NS_PER_MS)

int vrt_replica_store_new(const struct vrt_replica_store_params *params,
                          struct vrt_replica_store **ret_store)
{
    struct vrt_replica_store *store = calloc(1, sizeof(*store));

    if (!store)
        return vrt_raise(-ENOMEM);
    store->params = *params;
    if (!store->params.chunk_bytes)
        store->params.chunk_bytes = CHUNK_BYTES;
    if (!store->params.group_min_bytes)
        store->params.group_min_bytes = GROUP_MIN_BYTES;
    if (!store->params.gather_ns)
        store->params.gather_ns = GATHER_NS;
    if (!store->params.patience_ns)
        store->params.patience_ns = PATIENCE_NS;
    store->n_refs = 1;
    vrt_list_init(&store->seats);
    vrt_list_init(&store->weights);
    pthread_mutex_init(&store->lock, NULL);
    pthread_cond_init(&store->changed, NULL);
    *ret_store = store;
    return 0;
}

struct vrt_replica_store *vrt_replica_store_ref(struct vrt_replica_store *store)
{
    pthread_mutex_lock(&store->lock);
    store->n_refs++;
    pthread_mutex_unlock(&store->lock);
    return store;
}

struct vrt_replica_store *vrt_replica_store_unref(struct vrt_replica_store *store)
{
    if (!store)
        return NULL;
    pthread_mutex_lock(&store->lock);
    const bool is_last = --store->n_refs == 0;
    pthread_mutex_unlock(&store->lock);
    if (is_last) {
        pthread_cond_destroy(&store->changed);
        pthread_mutex_destroy(&store->lock);
        free(store);
    }
    return NULL;
}

/* Should the clock jump back, whoever waits is still woken by what changes. */
void vrt_replica_store_wait(struct vrt_replica_store *store)
{
    vrt_clock_wait_moment(&store->changed, &store->lock, MOMENT_NS);
}

static size_t count_holds(const struct vrt_replica_store *store)
{
    struct vrt_weights *weights;
    struct vrt_replica_hold *hold;
    size_t n = 0;

    VRT_LIST_FOREACH(weights, &store->weights, link)
        VRT_LIST_FOREACH(hold, &weights->holds, link)
            n++;
    return n;
}

static struct vrt_replica_entry describe(const struct vrt_replica_hold *hold)
{
    const struct vrt_weights *weights = hold->weights;
    struct vrt_replica_entry entry = {
        .weights = weights->id,
        .dtype = weights->dtype,
        .bytes = (int64_t)weights->size_bytes,
        .state = hold->state,
    };

    snprintf(entry.device, sizeof(entry.device), "%s", hold->seat->info->name);
    return entry;
}

int vrt_replica_store_list(struct vrt_replica_store *store,
                           struct vrt_replica_entry **ret_entries, size_t *ret_n_entries)
{
    struct vrt_replica_entry *entries;
    struct vrt_weights *weights;
    struct vrt_replica_hold *hold;
    size_t n = 0;

    pthread_mutex_lock(&store->lock);
    entries = calloc(count_holds(store) + 1, sizeof(*entries));
    if (entries)
        VRT_LIST_FOREACH(weights, &store->weights, link)
            VRT_LIST_FOREACH(hold, &weights->holds, link)
                if (!hold->seat->gone)
                    entries[n++] = describe(hold);
    pthread_mutex_unlock(&store->lock);
    if (!entries)
        return vrt_raise(-ENOMEM);
    *ret_entries = entries;
    *ret_n_entries = n;
    return 0;
}

struct vrt_packed *vrt_replica_hold_end_taking(struct vrt_replica_hold *hold)
{
    struct vrt_weights *weights = hold->weights;

    if (!hold->taking)
        return NULL;
    hold->taking = false;
    hold->may_join = false;
    if (--weights->n_takers > 0)
        return NULL;
    free(weights->chunk_ends);
    weights->chunk_ends = NULL;
    weights->n_chunks = weights->n_chunks_max = 0;
    weights->ready_bytes = 0;
    weights->gathering = VRT_GATHERING_NONE;
    return VRT_STEAL(weights->packed);
}

/* Ends what a device that doesn't answer was taking. It keeps its own reference of the bytes.
 * Return: whether there is more. The lock is held, but given up meanwhile. */
static bool forget_taking(struct vrt_replica_store *store)
{
    struct vrt_weights *weights;
    struct vrt_replica_hold *hold;

    VRT_LIST_FOREACH(weights, &store->weights, link)
        VRT_LIST_FOREACH(hold, &weights->holds, link)
            if (hold->seat->gone && hold->taking) {
                struct vrt_packed *packed = vrt_replica_hold_end_taking(hold);
                pthread_mutex_unlock(&store->lock);
                vrt_packed_unref(packed);
                pthread_mutex_lock(&store->lock);
                return true;
            }
    return false;
}

void vrt_replica_store_forget(struct vrt_replica_store *store, const struct vrt_device_info *info)
{
    struct vrt_replica_seat *seat;

    pthread_mutex_lock(&store->lock);
    VRT_LIST_FOREACH(seat, &store->seats, link)
        if (seat->info == info)
            seat->gone = true;
    while (forget_taking(store))
        ;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
}

int vrt_replica_seat_new(struct vrt_replica_store *store, struct vrt_device *device,
                         struct vrt_replica_seat **ret_seat)
{
    struct vrt_replica_seat *seat = calloc(1, sizeof(*seat));

    if (!seat)
        return vrt_raise(-ENOMEM);
    seat->store = vrt_replica_store_ref(store);
    seat->device = device;
    seat->info = vrt_device_info(device);
    pthread_mutex_lock(&store->lock);
    vrt_list_append(&store->seats, &seat->link);
    pthread_mutex_unlock(&store->lock);
    *ret_seat = seat;
    return 0;
}

struct vrt_replica_seat *vrt_replica_seat_free(struct vrt_replica_seat *seat)
{
    if (!seat)
        return NULL;
    pthread_mutex_lock(&seat->store->lock);
    vrt_list_remove(&seat->link);
    pthread_cond_broadcast(&seat->store->changed);
    pthread_mutex_unlock(&seat->store->lock);
    vrt_replica_store_unref(seat->store);
    free(seat);
    return NULL;
}

struct vrt_replica *vrt_replica_hold_get(const struct vrt_replica_hold *hold)
{
    return hold->replica;
}

void vrt_replica_hold_mark(struct vrt_replica_hold *hold, bool in_use)
{
    struct vrt_replica_store *store = hold->seat->store;

    pthread_mutex_lock(&store->lock);
    hold->state = in_use ? VRT_REPLICA_IN_USE : VRT_REPLICA_IDLE;
    pthread_mutex_unlock(&store->lock);
}

/* Takes the hold off the list of those that lend, and waits until nobody copies from it any more.
 * Return: whether it may be freed. */
static bool withdraw(struct vrt_replica_hold *hold)
{
    struct vrt_replica_store *store = hold->seat->store;
    const int64_t start_ns = vrt_clock_now_ns();
    struct vrt_weights *weights = hold->weights;

    pthread_mutex_lock(&store->lock);
    vrt_list_remove(&hold->link);
    /* Those who have them now may give them back while it waits: from here on they are theirs. */
    const bool is_last = vrt_list_is_empty(&weights->holds);
    if (is_last)
        vrt_list_remove(&weights->link);
    hold->weights = NULL;
    pthread_cond_broadcast(&store->changed);
    while (hold->n_loans > 0 && vrt_clock_now_ns() - start_ns < store->params.patience_ns)
        vrt_replica_store_wait(store);
    hold->orphan = hold->n_loans > 0;
    const bool may_free = !hold->orphan;
    pthread_mutex_unlock(&store->lock);
    if (is_last)
        free(weights);
    return may_free;
}

struct vrt_replica_hold *vrt_replica_hold_free(struct vrt_replica_hold *hold)
{
    if (!hold)
        return NULL;
    struct vrt_device *device = hold->seat->device;
    struct vrt_replica *replica = hold->replica;
    if (withdraw(hold))
        free(hold);
    else
        vrt_log_warning("%s: another device copies weights from it and does not come to an end, "
                        "ignoring", vrt_device_info(device)->name);
    vrt_replica_free(device, replica);
    return NULL;
}
