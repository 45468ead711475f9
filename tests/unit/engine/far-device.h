/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Devices with a memory of their own and nothing else, for what brings weights there: each way can
 * be made to fail, to change a byte, or to hang until it is let go.
 *
 * Thread: as devices; what a test sets is set before threads run, but for `hold` (any).
 */

#include <stdatomic.h>

#include "backend/backend-impl.h"
#include "backend/fault/fault.h"

/* What goes wrong on a device; counts are from 1, 0: never. */
struct far_faults {
    int fail_fill, corrupt_fill, corrupt_fill_twice;    /* the how many-th */
    bool fail_begin;
    bool fail_receive, corrupt_receive;
    int pack_ms, receive_ms;        /* a param, or all of the bytes, take so long */
    bool fail_join, never_joins;
    int fail_spread, corrupt_spread;        /* the how many-th chunk */
    bool no_group, no_receive;
    atomic_bool *hang_fill;         /* hangs in the first fill while it is set */
    atomic_bool *hang_pack;         /* likewise, in the packing of the first param */
};

struct far_device {
    struct vrt_device base;
    struct vrt_device_info info;
    struct far_faults faults;
    struct vrt_fault_state state;
    atomic_int n_fills, n_received, n_spread, n_packed;
    atomic_bool is_held;            /* it came to where it hangs, or to the bytes it receives */
};

/* The device behind what would have it fail by a schedule, which is empty; to be closed. */
struct vrt_device *far_device_wrap(struct far_device *far);

/* Packed weights that exist now, all told. */
extern atomic_int far_n_packed_alive;

/* Device `i`, on a card of its own. */
void far_device_init(struct far_device *far, int i);

/* The bytes that a replica has there. */
const unsigned char *far_replica_data(const struct vrt_replica *replica);
