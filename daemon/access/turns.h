/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Turns: which of many users' admissions is begun next, where only so many may go on at a time
 *
 * A user has only a part of the places, and of those who wait one of the user with the fewest
 * goes first; his, and those of equals, in the order in which they came. So one user's thousand
 * submissions hold nobody else's first one up, save for what goes on already.
 *
 * Thread: one at a time. Pure.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "base/list.h"

/* Embedded in what waits. */
struct vrt_turn {
    struct vrt_list link;           /* in one of the lists below */
    uid_t uid;
    bool is_going;
};

/* Embedded; made by vrt_turns_init(). */
struct vrt_turns {
    int max, max_per_user;          /* that go on at a time */
    int n_going;
    struct vrt_list waiting, going; /* of struct vrt_turn.link, oldest first */
};

/* Nobody waits. */
void vrt_turns_init(struct vrt_turns *turns, int max, int max_per_user);

/* It waits from now on. */
void vrt_turns_wait(struct vrt_turns *turns, struct vrt_turn *turn, uid_t uid);

/* The next one that may begin, which goes on from now on; NULL: none may. */
struct vrt_turn *vrt_turns_next(struct vrt_turns *turns);

/* It waits or goes on no more; so vrt_turns_next() may know another one. */
void vrt_turns_leave(struct vrt_turns *turns, struct vrt_turn *turn);
