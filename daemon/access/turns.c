/* SPDX-License-Identifier: MIT */

#include "daemon/access/turns.h"

#include "base/macro.h"

void vrt_turns_init(struct vrt_turns *turns, int max, int max_per_user)
{
    *turns = (struct vrt_turns){ .max = max, .max_per_user = max_per_user };
    vrt_list_init(&turns->waiting);
    vrt_list_init(&turns->going);
}

void vrt_turns_wait(struct vrt_turns *turns, struct vrt_turn *turn, uid_t uid)
{
    *turn = (struct vrt_turn){ .uid = uid };
    vrt_list_append(&turns->waiting, &turn->link);
}

/* How many of the user's go on. */
static int count_going(const struct vrt_turns *turns, uid_t uid)
{
    struct vrt_turn *turn;
    int n = 0;

    VRT_LIST_FOREACH(turn, &turns->going, link)
        n += turn->uid == uid;
    return n;
}

struct vrt_turn *vrt_turns_next(struct vrt_turns *turns)
{
    struct vrt_turn *turn, *best = NULL;
    int fewest = turns->max_per_user;

    if (turns->n_going >= turns->max)
        return NULL;
    VRT_LIST_FOREACH(turn, &turns->waiting, link) {
        int n = count_going(turns, turn->uid);
        if (n >= fewest)
            continue;
        fewest = n;
        best = turn;
    }
    if (!best)
        return NULL;
    vrt_list_remove(&best->link);
    vrt_list_append(&turns->going, &best->link);
    best->is_going = true;
    turns->n_going++;
    return best;
}

void vrt_turns_leave(struct vrt_turns *turns, struct vrt_turn *turn)
{
    vrt_list_remove(&turn->link);
    turns->n_going -= turn->is_going;
    turn->is_going = false;
}
