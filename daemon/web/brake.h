/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Failed logins, slowed by address
 *
 * The first few cost nothing; after each further one an address is not listened to for twice as
 * long as before, up to some minutes, and all is forgotten when none failed for a while. The table
 * has so many places at most: where it is full, the address that was quiet longest makes room.
 *
 * Pure: `now_ns` is a clock that doesn't jump. Thread: one at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include "daemon/access/access.h"

#define VRT_BRAKE_ADDRESSES 512
#define VRT_BRAKE_FREE 5                    /* failures that cost nothing */
#define VRT_BRAKE_MAX_S 300
#define VRT_BRAKE_FORGET_S 3600

/* Embedded; zero-initialised: nobody failed. */
struct vrt_brake {
    struct {
        char address[VRT_PEER_ADDRESS_BYTES];   /* "": the place is free */
        int n_failed;
        int64_t failed_ns, until_ns;
    } addresses[VRT_BRAKE_ADDRESSES];
};

/* For how many seconds, rounded up, the address isn't listened to; 0: it is. */
int64_t vrt_brake_wait_s(const struct vrt_brake *brake, const char *address, int64_t now_ns);

/* A login of this address failed. Return: how often it did. */
int vrt_brake_failed(struct vrt_brake *brake, const char *address, int64_t now_ns);

/* One succeeded: it begins anew. */
void vrt_brake_passed(struct vrt_brake *brake, const char *address);
