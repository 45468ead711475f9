/* SPDX-License-Identifier: MIT */

#include "daemon/access/rights.h"

bool vrt_rights_allow(const struct vrt_peer *peer, const struct vrt_rights_target *target,
                      unsigned wanted)
{
    unsigned mode = (unsigned)target->mode;
    unsigned owner = mode >> 6 & 7, group = mode >> 3 & 7, others = mode & 7;
    bool may_be_owner = peer->uid == target->uid;
    bool may_be_member = vrt_peer_in_group(peer, target->gid);
    unsigned allowed = may_be_owner ? owner : may_be_member ? group : others;

    /* Two who are unmapped look the same, and needn't be. */
    if (may_be_owner && target->uid == VRT_RIGHTS_UNMAPPED)
        allowed = owner & group & others;
    else if (!may_be_owner && may_be_member && target->gid == VRT_RIGHTS_UNMAPPED)
        allowed = group & others;
    return (wanted & ~allowed) == 0;
}
