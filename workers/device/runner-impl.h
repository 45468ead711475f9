/* SPDX-License-Identifier: MIT */
#pragma once

/* What a runner is made of: private to workers/runner*.c. */

#include "base/list.h"
#include "workers/device/runner.h"

struct vrt_held_replica {
    struct vrt_list link;
    uint64_t checksum;
    enum vrt_dtype dtype;
    struct vrt_replica_hold *hold;
    struct vrt_replica *replica;    /* the hold's */
    int n_kits;                     /* that refer to it; 0: idle */
    int64_t used_ns;
};

struct vrt_held_kit {
    struct vrt_list link;
    struct vrt_work *work;          /* a reference */
    enum vrt_dtype dtype;
    struct vrt_held_replica *replica;
    struct vrt_kit *kit;
    int64_t used_ns;
};

struct vrt_runner {
    struct vrt_device *device;
    struct vrt_runner_params params;
    struct vrt_replica_seat *seat;
    struct vrt_list replicas;       /* of struct vrt_held_replica.link */
    struct vrt_list kits;           /* of struct vrt_held_kit.link */
    int64_t peak_bytes;
};

/* The network's replica in `dtype`, made if there is none, and idle where no kit has it. Return: as
 * vrt_replica_seat_take(). */
int vrt_runner_get_replica(struct vrt_runner *runner, const struct vrt_network *network,
                           enum vrt_dtype dtype, struct vrt_held_replica **ret_held);

/* Gives it up with the kits that use it, all of which are made again when they are next needed. */
void vrt_runner_drop_replica(struct vrt_runner *runner, struct vrt_held_replica *held);
