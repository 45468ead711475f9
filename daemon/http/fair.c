/* SPDX-License-Identifier: MIT */

#include "daemon/http/fair.h"

bool vrt_fair_may(const struct vrt_fair *fair, uint64_t turn, uid_t uid, int64_t limit_ns)
{
    for (size_t i = 0; i < fair->n_users && turn == fair->turn; i++)
        if (fair->users[i].uid == uid)
            return fair->users[i].spent_ns < limit_ns;
    return true;
}

void vrt_fair_spend(struct vrt_fair *fair, uint64_t turn, uid_t uid, int64_t spent_ns)
{
    if (turn != fair->turn)
        *fair = (struct vrt_fair){ .turn = turn };
    for (size_t i = 0; i < fair->n_users; i++) {
        if (fair->users[i].uid != uid)
            continue;
        fair->users[i].spent_ns += spent_ns;
        return;
    }
    if (fair->n_users == VRT_FAIR_USERS_MAX)
        return;
    fair->users[fair->n_users].uid = uid;
    fair->users[fair->n_users++].spent_ns = spent_ns;
}
