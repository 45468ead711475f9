/* SPDX-License-Identifier: MIT */

/*
 * How weights come to a device: from another device that has them, in a group of those that want
 * them now, or from the host, which always works
 *
 * Nobody is in charge of the packing. Who needs bytes that aren't packed, while nobody packs, packs
 * the next chunk; who needs them while somebody does waits for that one. So a device that fails
 * holds up nobody, and one that hangs does so only if it hangs in the packing itself: then others
 * keep away from what it has begun, and begin anew.
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "engine/replica-impl.h"

#define VRT_LOG_TOPIC "replica"

/* The weights that are wanted, or NULL; the lock is held. */
static struct vrt_weights *find(struct vrt_replica_seat *seat, const struct vrt_replica_want *want)
{
    struct vrt_weights *weights;

    VRT_LIST_FOREACH(weights, &seat->store->weights, link)
        if (weights->id == want->weights && weights->dtype == want->pack.dtype &&
            strcmp(weights->packing_id, seat->info->packing_id) == 0 && !weights->stuck)
            return weights;
    return NULL;
}

static struct vrt_weights *make(struct vrt_replica_seat *seat, const struct vrt_replica_want *want)
{
    struct vrt_weights *weights = calloc(1, sizeof(*weights));

    if (!weights)
        return NULL;
    weights->id = want->weights;
    weights->dtype = want->pack.dtype;
    snprintf(weights->packing_id, sizeof(weights->packing_id), "%s", seat->info->packing_id);
    vrt_list_init(&weights->holds);
    vrt_list_append(&seat->store->weights, &weights->link);
    return weights;
}

/* A hold on the weights, which are still to come. */
static int enter(struct vrt_replica_seat *seat, const struct vrt_replica_want *want,
                 struct vrt_replica_hold **ret_hold)
{
    struct vrt_replica_hold *hold = calloc(1, sizeof(*hold));
    struct vrt_weights *weights;

    if (!hold)
        return vrt_raise(-ENOMEM);
    pthread_mutex_lock(&seat->store->lock);
    weights = find(seat, want);
    if (!weights)
        weights = make(seat, want);
    if (weights) {
        weights->n_takers++;
        *hold = (struct vrt_replica_hold){
            .seat = seat,
            .weights = weights,
            .state = VRT_REPLICA_COPYING,
            .taking = true,
            .rank = -1,
        };
        vrt_list_append(&weights->holds, &hold->link);
        pthread_cond_broadcast(&seat->store->changed);
    }
    pthread_mutex_unlock(&seat->store->lock);
    if (!weights) {
        free(hold);
        return vrt_raise(-ENOMEM);
    }
    *ret_hold = hold;
    return 0;
}

/* Asks the watch without the lock, which is held. */
static bool goes_on(struct vrt_replica_hold *hold, const struct vrt_replica_want *want)
{
    pthread_mutex_t *lock = &hold->seat->store->lock;

    if (!want->watch.go_on)
        return true;
    pthread_mutex_unlock(lock);
    const bool answer = want->watch.go_on(want->watch.ctx);
    pthread_mutex_lock(lock);
    return answer;
}

/* Takes over what was laid out or packed; the lock is held. */
static int publish(struct vrt_weights *weights, struct vrt_packed *packed, size_t ready_bytes,
                   size_t chunk_bytes)
{
    if (!weights->packed) {
        weights->n_chunks_max = vrt_packed_bytes(packed) / chunk_bytes + 1;
        weights->chunk_ends = calloc(weights->n_chunks_max, sizeof(weights->chunk_ends[0]));
        if (!weights->chunk_ends)
            return vrt_raise(-ENOMEM);
        weights->packed = vrt_packed_ref(packed);
        weights->size_bytes = vrt_packed_bytes(packed);
    }
    if (ready_bytes > weights->ready_bytes) {
        vrt_assert(weights->n_chunks < weights->n_chunks_max);
        weights->chunk_ends[weights->n_chunks++] = ready_bytes;
    }
    weights->ready_bytes = ready_bytes;
    if (ready_bytes == weights->size_bytes) {
        weights->checksum = vrt_packed_checksum(packed);
        weights->is_known = true;
    }
    return 0;
}

static int pack(struct vrt_replica_hold *hold, const struct vrt_replica_want *want)
{
    struct vrt_replica_store *store = hold->seat->store;
    struct vrt_weights *weights = hold->weights;
    VRT_CLEANUP(vrt_packed_unrefp) struct vrt_packed *packed = NULL;
    size_t ready_bytes = 0;
    int r;

    weights->packing = true;
    weights->progress_ns = vrt_clock_now_ns();
    hold->state = VRT_REPLICA_PACKING;
    if (weights->packed)
        packed = vrt_packed_ref(weights->packed);
    pthread_mutex_unlock(&store->lock);
    if (!packed)
        r = vrt_packed_new(hold->seat->device, &want->pack, &packed);
    else
        r = vrt_packed_fill(packed, &want->pack, store->params.chunk_bytes, &ready_bytes);
    pthread_mutex_lock(&store->lock);
    weights->packing = false;
    weights->progress_ns = vrt_clock_now_ns();
    hold->state = VRT_REPLICA_COPYING;
    if (r == 0 && hold->taking)
        r = publish(weights, packed, ready_bytes, store->params.chunk_bytes);
    pthread_cond_broadcast(&store->changed);
    return r;
}

/* Packed weights that a device shares, of which another may have a reference; the lock is held. */
static struct vrt_packed *find_shared(const struct vrt_weights *weights)
{
    struct vrt_replica_hold *other;

    VRT_LIST_FOREACH(other, &weights->holds, link)
        if (other->state >= VRT_REPLICA_READY && vrt_replica_packed(other->replica))
            return vrt_replica_packed(other->replica);
    return NULL;
}

int vrt_weights_advance(struct vrt_replica_hold *hold, const struct vrt_replica_want *want)
{
    struct vrt_replica_store *store = hold->seat->store;
    struct vrt_weights *weights = hold->weights;
    struct vrt_packed *shared;

    /* Taking was ended for it: its thread was given up, and came back. */
    if (!goes_on(hold, want) || !hold->taking)
        return -ECANCELED;
    if (weights->packing && weights->stuck)
        return VRT_REPLICA_E_STUCK;
    shared = weights->packed ? NULL : find_shared(weights);
    if (shared)
        return publish(weights, shared, vrt_packed_bytes(shared), store->params.chunk_bytes);
    if (!weights->packing)
        return pack(hold, want);
    if (vrt_clock_now_ns() - weights->progress_ns > store->params.patience_ns)
        weights->stuck = true;
    else
        vrt_replica_store_wait(store);
    return 0;
}

/* Waits until it is known where what is. */
static int lay_out(struct vrt_replica_hold *hold, const struct vrt_replica_want *want)
{
    struct vrt_weights *weights = hold->weights;
    int r = 0;

    pthread_mutex_lock(&hold->seat->store->lock);
    while (r == 0 && !weights->packed)
        r = vrt_weights_advance(hold, want);
    if (r == 0)
        hold->packed = vrt_packed_ref(weights->packed);
    pthread_mutex_unlock(&hold->seat->store->lock);
    return r;
}

/* All bytes from the host, chunk by chunk as they are packed. */
static int copy_from_host(struct vrt_replica_hold *hold, const struct vrt_replica_want *want)
{
    struct vrt_replica_store *store = hold->seat->store;
    struct vrt_weights *weights = hold->weights;
    size_t range[2] = { 0, 0 };
    int r = 0;

    pthread_mutex_lock(&store->lock);
    while (r == 0 && range[1] < weights->size_bytes) {
        if (weights->ready_bytes <= range[1]) {
            r = vrt_weights_advance(hold, want);
            continue;
        }
        range[0] = range[1];
        range[1] = weights->ready_bytes;
        pthread_mutex_unlock(&store->lock);
        r = vrt_replica_fill(hold->seat->device, hold->replica, hold->packed, range);
        pthread_mutex_lock(&store->lock);
    }
    pthread_mutex_unlock(&store->lock);
    return r;
}

/* A hold whose device has the bytes for itself, and may be copied from; the lock is held. */
static struct vrt_replica_hold *find_lender(const struct vrt_weights *weights)
{
    struct vrt_replica_hold *other;

    VRT_LIST_FOREACH(other, &weights->holds, link)
        if (other->state >= VRT_REPLICA_READY && !other->seat->gone &&
            !vrt_replica_packed(other->replica))
            return other;
    return NULL;
}

/* All bytes from a device that has them. *ret_done: whether there was one. */
static int copy_from_device(struct vrt_replica_hold *hold, bool *ret_done)
{
    struct vrt_replica_store *store = hold->seat->store;

    *ret_done = false;
    if (!vrt_replica_can_receive(hold->seat->device))
        return 0;
    pthread_mutex_lock(&store->lock);
    struct vrt_replica_hold *lender = find_lender(hold->weights);
    if (lender)
        lender->n_loans++;
    pthread_mutex_unlock(&store->lock);
    if (!lender)
        return 0;
    const int r = vrt_replica_receive(hold->seat->device, hold->replica, lender->replica);
    pthread_mutex_lock(&store->lock);
    const bool is_orphan = --lender->n_loans == 0 && lender->orphan;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
    if (is_orphan)
        free(lender);
    *ret_done = r == 0;
    return r == VRT_BACKEND_E_LOST ? r : 0;
}

/* In a group of all that want them now. *ret_done: whether it came to that. */
static int copy_in_group(struct vrt_replica_hold *hold, const struct vrt_replica_want *want,
                         bool *ret_done)
{
    struct vrt_replica_store *store = hold->seat->store;
    bool is_rank = false;

    *ret_done = false;
    if (!vrt_group_is_possible(hold->seat->device) ||
        vrt_packed_bytes(hold->packed) < store->params.group_min_bytes)
        return 0;
    int r = vrt_replica_hold_gather(hold, want, &is_rank);
    if (r != 0 || !is_rank)
        return r;
    r = vrt_replica_hold_join(hold, want);
    if (r != 0)
        vrt_log_info("%s: weights come from the host, as its group failed: %s",
                     hold->seat->info->name, vrt_backend_strerror(r));
    *ret_done = r == 0;
    return r == VRT_BACKEND_E_LOST ? r : 0;
}

int vrt_replica_hold_check(struct vrt_replica_hold *hold, bool *ret_is_right)
{
    struct vrt_weights *weights = hold->weights;
    uint64_t checksum;
    int r = vrt_replica_checksum(hold->seat->device, hold->replica, &checksum);

    if (r != 0)
        return r;
    pthread_mutex_lock(&hold->seat->store->lock);
    *ret_is_right = weights->is_known && checksum == weights->checksum;
    pthread_mutex_unlock(&hold->seat->store->lock);
    return 0;
}

static int copy_and_check(struct vrt_replica_hold *hold, const struct vrt_replica_want *want)
{
    bool is_done = false, is_right = false;
    int r = copy_from_device(hold, &is_done);

    if (r == 0 && !is_done)
        r = copy_in_group(hold, want, &is_done);
    if (r == 0 && !is_done)
        r = copy_from_host(hold, want);
    if (r == 0)
        r = vrt_replica_hold_check(hold, &is_right);
    if (r != 0 || is_right)
        return r;
    vrt_log_warning("%s: weights came with a wrong checksum, copying them once more",
                    hold->seat->info->name);
    r = copy_from_host(hold, want);
    if (r == 0)
        r = vrt_replica_hold_check(hold, &is_right);
    if (r != 0 || is_right)
        return r;
    vrt_log_error("%s: weights came with a wrong checksum again: its memory, or the way there, "
                  "changes what is written", hold->seat->info->name);
    return VRT_BACKEND_E_FAILED;
}

static int bring(struct vrt_replica_hold *hold, const struct vrt_replica_want *want)
{
    pthread_mutex_t *lock = &hold->seat->store->lock;
    int r = lay_out(hold, want);

    if (r == 0)
        r = vrt_replica_begin(hold->seat->device, hold->packed, &hold->replica);
    if (r == 0)
        r = copy_and_check(hold, want);
    pthread_mutex_lock(lock);
    struct vrt_packed *packed = vrt_replica_hold_end_taking(hold);
    if (r == 0)
        hold->state = VRT_REPLICA_READY;
    pthread_mutex_unlock(lock);
    /* Where it failed a copy may still be reading them. */
    if (r != 0 && hold->replica)
        hold->replica = vrt_replica_free(hold->seat->device, hold->replica);
    vrt_packed_unref(packed);
    hold->packed = vrt_packed_unref(hold->packed);
    return r;
}

int vrt_replica_seat_take(struct vrt_replica_seat *seat, const struct vrt_replica_want *want,
                          struct vrt_replica_hold **ret_hold)
{
    struct vrt_replica_hold *hold = NULL;
    int r;

    do {
        r = enter(seat, want, &hold);
        if (r == 0)
            r = bring(hold, want);
        if (r != 0)
            hold = vrt_replica_hold_free(hold);
    } while (r == VRT_REPLICA_E_STUCK);
    if (r != 0)
        return r < 0 && r != -ECANCELED ? vrt_fold(r) : r;
    *ret_hold = hold;
    return 0;
}
