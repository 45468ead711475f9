/* SPDX-License-Identifier: MIT */
#pragma once

/* What a store is made of: private to workers/engine/replica*.c. */

#include <pthread.h>

#include "base/list.h"
#include "engine/replica.h"

struct vrt_replica_store {
    pthread_mutex_t lock;           /* never held while a device is asked for anything */
    pthread_cond_t changed;         /* anything below */
    struct vrt_replica_store_params params;

    /* under lock */
    int n_refs;
    struct vrt_list seats;          /* of struct vrt_replica_seat.link */
    struct vrt_list weights;        /* of struct vrt_weights.link */
};

struct vrt_replica_seat {
    struct vrt_list link;           /* under lock */
    bool gone;                      /* under lock: its thread was given up */
    struct vrt_replica_store *store;        /* a reference */
    struct vrt_device *device;
    const struct vrt_device_info *info;
};

/* How far the making of a group is. */
enum vrt_gathering {
    VRT_GATHERING_NONE,             /* nobody thought of it yet */
    VRT_GATHERING_OPEN,             /* who comes may be of it */
    VRT_GATHERING_CLOSING,          /* somebody makes the key */
    VRT_GATHERING_FORMED,           /* its ranks spread the bytes */
    VRT_GATHERING_OVER,             /* it failed, or came to nothing: each copies for itself */
};

/* The weights of one network, in one precision, for devices of one packing_id. All under lock. It
 * goes with its last hold. */
struct vrt_weights {
    struct vrt_list link;
    uint64_t id;
    enum vrt_dtype dtype;
    char packing_id[64];
    struct vrt_list holds;          /* of struct vrt_replica_hold.link */
    bool stuck;                     /* somebody packs and does not come to an end: keep away */

    /* While somebody takes them from the host. */
    int n_takers;
    struct vrt_packed *packed;      /* a reference; NULL: not laid out */
    bool packing;                   /* somebody lays it out, or packs a chunk */
    size_t ready_bytes;             /* packed, final */
    size_t *chunk_ends;             /* what was ready after each chunk */
    size_t n_chunks, n_chunks_max;
    int64_t progress_ns;            /* when something last came of the packing */

    enum vrt_gathering gathering;
    int64_t gathering_ns;           /* since when */
    struct vrt_group_key key;
    int n_ranks;

    bool is_known;                  /* the next two are */
    size_t size_bytes;
    uint64_t checksum;
};

struct vrt_replica_hold {
    struct vrt_list link;           /* under lock */
    struct vrt_replica_seat *seat;
    struct vrt_weights *weights;
    enum vrt_replica_state state;   /* under lock */
    struct vrt_replica *replica;    /* the device's thread; whole, and as a loan, others as well */
    struct vrt_packed *packed;      /* a reference, while it takes */
    bool taking;                    /* under lock: counts among the weights' takers */
    int n_loans;                    /* under lock: devices that copy from it now */
    bool orphan;                    /* under lock: the last of these frees it */
    bool may_join;                  /* under lock: waits to be of a group */
    int rank;                       /* under lock: of the group; -1: not of it */
};

/* Beside outcomes and -errno: who packs does not come to an end, others shall begin anew. */
#define VRT_REPLICA_E_STUCK 128

/* Waits until something changes, or a moment passes; the lock is held. */
void vrt_replica_store_wait(struct vrt_replica_store *store);

/* No longer counts as a taker; the lock is held. Return: a reference to be dropped without it, or
 * NULL. */
struct vrt_packed *vrt_replica_hold_end_taking(struct vrt_replica_hold *hold);

/*
 * The next step of whoever needs bytes that aren't packed: packs a chunk (lays out first), or waits
 * a moment for who does. The lock is held, but given up meanwhile.
 * Return: 0: look again; VRT_REPLICA_E_STUCK; -ECANCELED: the watch said no; outcome; -errno.
 */
int vrt_weights_advance(struct vrt_replica_hold *hold, const struct vrt_replica_want *want);

/* Waits until it is decided whether there will be a group, and packs meanwhile. *ret_is_rank: there
 * is, with this hold. Return: as vrt_weights_advance(). */
int vrt_replica_hold_gather(struct vrt_replica_hold *hold, const struct vrt_replica_want *want,
                            bool *ret_is_rank);

/* The hold's part in a group that has formed. Return: 0; outcome; -ECANCELED: the group fell apart,
 * or the watch said no; VRT_REPLICA_E_STUCK; -errno. */
int vrt_replica_hold_join(struct vrt_replica_hold *hold, const struct vrt_replica_want *want);
