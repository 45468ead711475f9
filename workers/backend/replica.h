/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Weights on their way to devices: packed once on the host, then given to each device
 *
 * Devices with the same packing_id keep the same bytes. They are packed param by param, so that
 * what is packed already travels while the rest is being packed:
 *
 *     vrt_packed_new(device, &pack, &packed)         lays out: how many bytes, and which is where
 *     vrt_replica_begin(device, packed, &replica)    memory on the device, its bytes to come
 *     while vrt_packed_fill() finds more to pack     bytes [0, ready) of `packed` are final
 *         vrt_replica_fill(device, replica, from, ready)
 *     vrt_replica_checksum() == vrt_packed_checksum()
 *
 * A device without memory of its own (a CPU) keeps a reference to `packed` instead of a copy: all
 * of those share one. Others may also take the bytes from a device that has them, or several at a
 * time from one of them as a group.
 *
 * Threads: packed weights are filled by one thread; what of them is final may be read by any that
 *          heard of it from that one, under a lock of theirs; references may be counted by any.
 *          What takes a device, as everywhere: the thread that opened it.
 * Results: as in "backend/backend.h".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"

struct vrt_group;
struct vrt_packed;

/* What is to be packed. The params must live until all are. */
struct vrt_pack {
    const struct vrt_param *params;
    size_t n_params;
    enum vrt_dtype dtype;
};

/* Asked while something waits for other devices: whether to go on. */
struct vrt_replica_watch {
    bool (*go_on)(void *ctx);
    void *ctx;
};

/* Lays out weights for all devices of this device's packing_id. Return: 0; outcome; -errno. */
int vrt_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                   struct vrt_packed **ret_packed);

/*
 * Packs the next params, at least `chunk_bytes` of them or all that are left. Bytes
 * [0, *ret_ready_bytes) are final then; vrt_packed_bytes(): all. Thread: one, any.
 * Return: 0; VRT_BACKEND_E_NOMEM; -errno.
 */
int vrt_packed_fill(struct vrt_packed *packed, const struct vrt_pack *pack, size_t chunk_bytes,
                    size_t *ret_ready_bytes);

/* What a replica takes of a device. */
size_t vrt_packed_bytes(const struct vrt_packed *packed);

/* By "backend/checksum.h", of what is final. */
uint64_t vrt_packed_checksum(const struct vrt_packed *packed);

/* Return: packed. */
struct vrt_packed *vrt_packed_ref(struct vrt_packed *packed);

/* The last reference frees it. NULL is fine. Return: NULL. */
struct vrt_packed *vrt_packed_unref(struct vrt_packed *packed);

/*
 * Takes memory for a replica of `packed`, laid out at least and of the device's packing_id. Nothing
 * may use it but vrt_replica_free(), until all of its bytes have come. Return: 0; outcome; -errno.
 */
int vrt_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                      struct vrt_replica **ret_replica);

/*
 * Copies bytes [from, to) of the packed weights it was begun with to the replica; may return before
 * that is done, vrt_device_finish() waits. Return: 0; outcome; -errno.
 */
int vrt_replica_fill(struct vrt_device *device, struct vrt_replica *replica,
                     struct vrt_packed *packed, const size_t range[2]);

/* Whether the device can take the bytes of a replica from another device. */
bool vrt_replica_can_receive(const struct vrt_device *device);

/*
 * Copies all bytes from `source`, a whole replica of the same weights on another device, which
 * nobody frees meanwhile; waits. Return: 0; outcome; -errno.
 */
int vrt_replica_receive(struct vrt_device *device, struct vrt_replica *replica,
                        const struct vrt_replica *source);

/* Waits for what comes in, and computes the checksum on the device, over the bytes that are there.
 * Return: 0; outcome; -errno. */
int vrt_replica_checksum(struct vrt_device *device, const struct vrt_replica *replica,
                         uint64_t *ret_checksum);

/* The packed weights that the replica shares, of which it holds a reference; NULL: it has bytes of
 * its own. Thread: any that knows that it isn't freed. */
struct vrt_packed *vrt_replica_packed(const struct vrt_replica *replica);

/* By what devices find each other that become a group. */
struct vrt_group_key {
    unsigned char bytes[128];
};

/* Whether the device can be in a group: its vendor's library is there. */
bool vrt_group_is_possible(const struct vrt_device *device);

/* Makes a key for one group. Return: 0; outcome; -errno. */
int vrt_group_key_new(struct vrt_device *device, struct vrt_group_key *ret_key);

/* How a device takes its place in a group. */
struct vrt_group_seat {
    const struct vrt_group_key *key;
    int rank, n_ranks;              /* rank 0 has the bytes */
    struct vrt_replica_watch watch;
};

/*
 * Becomes one of a group, which every rank must do at the same time; waits for the others as long
 * as the watch says so. Return: 0; outcome; -ECANCELED: the watch said no; -errno.
 */
int vrt_group_join(struct vrt_device *device, const struct vrt_group_seat *seat,
                   struct vrt_group **ret_group);

/*
 * Spreads bytes [range[0], range[1]) of rank 0's replica to those of all ranks, which must all call
 * this for the same ranges in the same order; may return before that is done.
 * Return: as vrt_group_join().
 */
int vrt_group_spread(struct vrt_device *device, struct vrt_group *group,
                     struct vrt_replica *replica, const size_t range[2]);

/* Waits until all that was spread has come, or the watch says no. Return: as vrt_group_join(). */
int vrt_group_finish(struct vrt_device *device, struct vrt_group *group);

/* Leaves; what is still under way is broken off, for all ranks. Return: NULL. */
struct vrt_group *vrt_group_free(struct vrt_device *device, struct vrt_group *group);

VRT_DEFINE_CLEANUP(struct vrt_packed, vrt_packed_unref)
