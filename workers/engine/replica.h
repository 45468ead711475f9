/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who has which weights: the one place where the threads of all devices meet over replicas
 *
 * A device takes a seat, and holds on to replicas of weights there. Those that want the same
 * weights at the same time share the packing of them: whoever needs bytes that nobody has packed
 * yet packs the next chunk, while what is packed goes to the devices; so one that fails or hangs
 * is simply left out. A device that comes later takes them from one that has them. Whatever way
 * the bytes came, a checksum made by the device is compared with that of what was packed.
 *
 * What is packed is kept on the host for as long as a device is taking it, or shares it.
 *
 * Threads: the store, any; a seat and its holds, that of the device.
 */

#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "backend/replica.h"
#include "base/cleanup.h"

struct vrt_replica_hold;
struct vrt_replica_seat;
struct vrt_replica_store;

enum vrt_replica_state {
    VRT_REPLICA_PACKING,            /* on the host, by the device's thread */
    VRT_REPLICA_COPYING,            /* on its way to the device */
    VRT_REPLICA_READY,              /* whole, and not used yet */
    VRT_REPLICA_IN_USE,
    VRT_REPLICA_IDLE,               /* kept for whoever comes */
    VRT_REPLICA_STATE_COUNT,
};

/* Zeros: defaults. */
struct vrt_replica_store_params {
    size_t chunk_bytes;             /* packed at a time; 0: 8 MiB */
    size_t group_min_bytes;         /* weights for which a group is worth its making; 0: 32 MiB */
    int64_t gather_ns;              /* how long a group waits for more devices; 0: 50 ms */
    int64_t patience_ns;            /* how long one waits for another; 0: 20 s */
};

/* Return: 0, -ENOMEM. */
int vrt_replica_store_new(const struct vrt_replica_store_params *params,
                          struct vrt_replica_store **ret_store);

/* Return: store. */
struct vrt_replica_store *vrt_replica_store_ref(struct vrt_replica_store *store);

/* The last reference frees it; each seat has one. NULL is fine. Return: NULL. */
struct vrt_replica_store *vrt_replica_store_unref(struct vrt_replica_store *store);

/* What a device holds. */
struct vrt_replica_entry {
    char device[32];                /* "cpu:0" */
    uint64_t weights;               /* which: as of struct vrt_replica_want */
    enum vrt_dtype dtype;
    int64_t bytes;                  /* of the device */
    enum vrt_replica_state state;
};

/* All that devices hold now. Return: 0, -ENOMEM. The caller frees *ret_entries by free(). */
int vrt_replica_store_list(struct vrt_replica_store *store,
                           struct vrt_replica_entry **ret_entries, size_t *ret_n_entries);

/* The device's thread was given up: nobody waits for its seat, or copies from it, any more. */
void vrt_replica_store_forget(struct vrt_replica_store *store, const struct vrt_device_info *info);

/* A seat for the device, which must outlive it. Return: 0, -ENOMEM. */
int vrt_replica_seat_new(struct vrt_replica_store *store, struct vrt_device *device,
                         struct vrt_replica_seat **ret_seat);

/* Whatever it held must have been let go. NULL is fine. Return: NULL. */
struct vrt_replica_seat *vrt_replica_seat_free(struct vrt_replica_seat *seat);

/* Which weights a device wants. */
struct vrt_replica_want {
    uint64_t weights;               /* the same for the same params: their checksum */
    struct vrt_pack pack;           /* must live until the call returns */
    struct vrt_replica_watch watch; /* asked several times a second; go_on NULL: nobody is */
};

/*
 * Brings weights to the seat's device. It may wait for other devices, not without end.
 * Return: 0; outcome of the device; VRT_BACKEND_E_FAILED also where its checksum stays wrong;
 * -ECANCELED: the watch said no; -errno.
 */
int vrt_replica_seat_take(struct vrt_replica_seat *seat, const struct vrt_replica_want *want,
                          struct vrt_replica_hold **ret_hold);

/* The replica, which is the hold's. */
struct vrt_replica *vrt_replica_hold_get(const struct vrt_replica_hold *hold);

/* Has the device compute the checksum of its bytes anew: whether it is still that of what was
 * packed. Return: 0; outcome; -errno. */
int vrt_replica_hold_check(struct vrt_replica_hold *hold, bool *ret_is_right);

/* Says whether it is in use, for those who list; at first it is READY. */
void vrt_replica_hold_mark(struct vrt_replica_hold *hold, bool in_use);

/* Frees the replica; waits while another device copies from it. NULL is fine. Return: NULL. */
struct vrt_replica_hold *vrt_replica_hold_free(struct vrt_replica_hold *hold);

VRT_DEFINE_CLEANUP(struct vrt_replica_store, vrt_replica_store_unref)
