/* SPDX-License-Identifier: MIT */

/*
 * Groups: devices that want the same weights at the same time, and whose vendor's library spreads
 * them faster than the host could
 *
 * The first that comes opens a gathering, and packs while it waits. When all devices of the kind
 * have come, or a moment has passed, those that came are the ranks, one for each card; the others
 * copy for themselves. Rank 0 copies each chunk from the host, then all ranks spread it. A rank
 * that fails says so to the others, whose waits then end: what a group is made for is speed, so
 * there is nothing to be saved of one that has fallen apart.
 */

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/macro.h"
#include "engine/replica-impl.h"

#define VRT_LOG_TOPIC "replica"

/* Whether every device that could come has; the lock is held. */
static bool all_came(const struct vrt_replica_hold *hold)
{
    struct vrt_replica_seat *seat;
    struct vrt_replica_hold *other;

    VRT_LIST_FOREACH(seat, &hold->seat->store->seats, link) {
        bool came = seat->gone || strcmp(seat->info->packing_id, hold->weights->packing_id) != 0;
        VRT_LIST_FOREACH(other, &hold->weights->holds, link)
            came = came || (other->seat == seat &&
                            (other->may_join || other->state >= VRT_REPLICA_READY));
        if (!came)
            return false;
    }
    return true;
}

/* Whether a rank is on the same card; the lock is held. */
static bool has_rank(const struct vrt_weights *weights, int card)
{
    struct vrt_replica_hold *other;

    VRT_LIST_FOREACH(other, &weights->holds, link)
        if (other->rank >= 0 && other->seat->info->card == card)
            return true;
    return false;
}

static int give_ranks(struct vrt_weights *weights)
{
    struct vrt_replica_hold *other;
    int n = 0;

    VRT_LIST_FOREACH(other, &weights->holds, link)
        if (other->may_join && !has_rank(weights, other->seat->info->card))
            other->rank = n++;
    return n;
}

static void set_over(struct vrt_weights *weights)
{
    struct vrt_replica_hold *other;

    weights->gathering = VRT_GATHERING_OVER;
    VRT_LIST_FOREACH(other, &weights->holds, link)
        other->rank = -1;
}

/* Decides whether there will be a group, if it is time to. The lock is held, but may be given up
 * meanwhile. */
static void close_gathering(struct vrt_replica_hold *hold)
{
    struct vrt_replica_store *store = hold->seat->store;
    struct vrt_weights *weights = hold->weights;
    struct vrt_group_key key;
    int r = 0;

    if (weights->gathering != VRT_GATHERING_OPEN ||
        (!all_came(hold) &&
         vrt_clock_now_ns() - weights->gathering_ns < store->params.gather_ns))
        return;
    weights->n_ranks = give_ranks(weights);
    weights->gathering = VRT_GATHERING_CLOSING;
    if (weights->n_ranks >= 2) {
        pthread_mutex_unlock(&store->lock);
        r = vrt_group_key_new(hold->seat->device, &key);
        pthread_mutex_lock(&store->lock);
    }
    if (weights->gathering != VRT_GATHERING_CLOSING)
        return;
    if (r != 0 || weights->n_ranks < 2) {
        set_over(weights);
    } else {
        weights->key = key;
        weights->gathering = VRT_GATHERING_FORMED;
    }
    pthread_cond_broadcast(&store->changed);
}

/* Whoever closes it may be stuck in the vendor's library. */
static void give_up_closing(struct vrt_replica_hold *hold)
{
    struct vrt_weights *weights = hold->weights;

    if (weights->gathering == VRT_GATHERING_CLOSING &&
        vrt_clock_now_ns() - weights->gathering_ns > hold->seat->store->params.patience_ns)
        set_over(weights);
}

static bool is_undecided(const struct vrt_weights *weights)
{
    return weights->gathering == VRT_GATHERING_OPEN ||
           weights->gathering == VRT_GATHERING_CLOSING;
}

int vrt_replica_hold_gather(struct vrt_replica_hold *hold, const struct vrt_replica_want *want,
                            bool *ret_is_rank)
{
    struct vrt_replica_store *store = hold->seat->store;
    struct vrt_weights *weights = hold->weights;
    int r = 0;

    pthread_mutex_lock(&store->lock);
    if (weights->gathering == VRT_GATHERING_NONE) {
        weights->gathering = VRT_GATHERING_OPEN;
        weights->gathering_ns = vrt_clock_now_ns();
    }
    hold->may_join = weights->gathering == VRT_GATHERING_OPEN;
    pthread_cond_broadcast(&store->changed);
    while (r == 0 && hold->may_join && is_undecided(weights)) {
        close_gathering(hold);
        give_up_closing(hold);
        if (!is_undecided(weights))
            break;
        if (weights->ready_bytes < weights->size_bytes)
            r = vrt_weights_advance(hold, want);
        else
            vrt_replica_store_wait(store);
    }
    hold->may_join = false;
    if (r != 0 && hold->rank >= 0)
        set_over(weights);
    *ret_is_rank = hold->rank >= 0;
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
    return r;
}

/* For the watch of a rank. */
struct part {
    struct vrt_replica_hold *hold;
    const struct vrt_replica_want *want;
    int64_t deadline_ns;
};

static bool go_on(void *ctx)
{
    const struct part *part = ctx;
    struct vrt_replica_store *store = part->hold->seat->store;
    const struct vrt_replica_watch *watch = &part->want->watch;

    pthread_mutex_lock(&store->lock);
    const bool is_whole = part->hold->weights->gathering == VRT_GATHERING_FORMED;
    pthread_mutex_unlock(&store->lock);
    return is_whole && vrt_clock_now_ns() < part->deadline_ns &&
           (!watch->go_on || watch->go_on(watch->ctx));
}

/* Where chunk `k` ends, once it is packed. */
static int await_chunk(struct vrt_replica_hold *hold, const struct vrt_replica_want *want, size_t k,
                       size_t *ret_end)
{
    struct vrt_weights *weights = hold->weights;
    int r = 0;

    pthread_mutex_lock(&hold->seat->store->lock);
    while (r == 0 && weights->n_chunks <= k) {
        if (weights->gathering != VRT_GATHERING_FORMED)
            r = -ECANCELED;
        else
            r = vrt_weights_advance(hold, want);
    }
    if (r == 0)
        *ret_end = weights->chunk_ends[k];
    pthread_mutex_unlock(&hold->seat->store->lock);
    return r;
}

static int spread(struct vrt_replica_hold *hold, const struct vrt_replica_want *want, int rank,
                  struct vrt_group *group)
{
    struct vrt_device *device = hold->seat->device;
    size_t range[2] = { 0, 0 };
    int r = 0;

    for (size_t k = 0; r == 0 && range[1] < vrt_packed_bytes(hold->packed); k++) {
        range[0] = range[1];
        r = await_chunk(hold, want, k, &range[1]);
        if (r != 0)
            return r;
        if (rank == 0)
            r = vrt_replica_fill(device, hold->replica, hold->packed, range);
        if (r != 0)
            return r;
        r = vrt_group_spread(device, group, hold->replica, range);
    }
    return r != 0 ? r : vrt_group_finish(device, group);
}

int vrt_replica_hold_join(struct vrt_replica_hold *hold, const struct vrt_replica_want *want)
{
    struct vrt_replica_store *store = hold->seat->store;
    struct vrt_device *device = hold->seat->device;
    struct part part = { hold, want, vrt_clock_now_ns() + store->params.patience_ns };
    struct vrt_group *group = NULL;
    struct vrt_group_seat seat = { .watch = { go_on, &part } };
    struct vrt_group_key key;

    pthread_mutex_lock(&store->lock);
    const bool is_whole = hold->weights->gathering == VRT_GATHERING_FORMED;
    key = hold->weights->key;
    seat.rank = hold->rank;
    seat.n_ranks = hold->weights->n_ranks;
    pthread_mutex_unlock(&store->lock);
    if (!is_whole)
        return -ECANCELED;
    seat.key = &key;
    int r = vrt_group_join(device, &seat, &group);
    if (r == 0)
        r = spread(hold, want, seat.rank, group);
    pthread_mutex_lock(&store->lock);
    if (r != 0 && hold->weights->gathering == VRT_GATHERING_FORMED)
        set_over(hold->weights);
    pthread_cond_broadcast(&store->changed);
    pthread_mutex_unlock(&store->lock);
    /* After the others were told: it breaks off what they wait for. */
    vrt_group_free(device, group);
    if (r != 0)
        return r;
    vrt_log_info("%s: weights came in a group of %d", hold->seat->info->name, seat.n_ranks);
    return 0;
}
