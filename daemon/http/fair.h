/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The loop's time, shared by users
 *
 * Pure. In each turn of the loop a user may have so much of its time; what more he asks for waits
 * for the next turn, in which everybody else is served first, however many connections he has. Who
 * is alone is not slowed down: the next turn comes at once.
 *
 * Thread: one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define VRT_FAIR_USERS_MAX 64           /* those beyond, in one turn, are not counted */

/* Embedded; zero-initialised: no turn yet. */
struct vrt_fair {
    uint64_t turn;
    size_t n_users;
    struct {
        uid_t uid;
        int64_t spent_ns;
    } users[VRT_FAIR_USERS_MAX];
};

/* Whether the user has less than `limit_ns` behind him in this turn. */
bool vrt_fair_may(const struct vrt_fair *fair, uint64_t turn, uid_t uid, int64_t limit_ns);

/* Notes what he was given in this turn. */
void vrt_fair_spend(struct vrt_fair *fair, uint64_t turn, uid_t uid, int64_t spent_ns);
