/* SPDX-License-Identifier: MIT */

#include "daemon/access/access.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "daemon/access/accounts.h"

#define VRT_LOG_TOPIC "access"

struct vrt_access {
    struct vrt_accounts *groups;
    uid_t own_uid;
    struct group {
        bool is_there;
        gid_t gid;
    } admins, hurried;
    bool may_hwaccel;
};

bool vrt_peer_in_group(const struct vrt_peer *peer, gid_t gid)
{
    for (size_t i = 0; i < peer->n_gids; i++)
        if (peer->gids[i] == gid)
            return true;
    return false;
}

int vrt_peer_copy(const struct vrt_peer *peer, struct vrt_peer *ret_peer)
{
    gid_t *gids = calloc(VRT_MAX(peer->n_gids, (size_t)1), sizeof(*gids));

    if (!gids)
        return vrt_raise(-ENOMEM);
    if (peer->n_gids > 0)
        memcpy(gids, peer->gids, peer->n_gids * sizeof(*gids));
    *ret_peer = *peer;
    ret_peer->gids = gids;
    return 0;
}

void vrt_peer_done(struct vrt_peer *peer)
{
    free(peer->gids);
    *peer = (struct vrt_peer){ .gids = NULL };
}

int vrt_access_new(struct vrt_accounts *groups, struct vrt_access **ret_access)
{
    struct vrt_access *access = calloc(1, sizeof(*access));

    if (!access)
        return vrt_raise(-ENOMEM);
    access->groups = groups;
    access->own_uid = geteuid();
    *ret_access = access;
    return 0;
}

struct vrt_access *vrt_access_free(struct vrt_access *access)
{
    free(access);
    return NULL;
}

/* Finds the group; `what` is said where there is none. */
static void set_group(struct vrt_access *access, const char *name, struct group *group,
                      const char *what)
{
    uint32_t gid;
    char shown[80];

    *group = (struct group){ .is_there = false };
    if (!name[0])
        return;
    if (vrt_accounts_id(access->groups, name, &gid) < 0)
        vrt_log_info("there is no group %s: %s", vrt_printable(name, shown, sizeof(shown)), what);
    else
        *group = (struct group){ .is_there = true, .gid = (gid_t)gid };
}

static bool is_member(const struct vrt_peer *peer, const struct group *group)
{
    return group->is_there && vrt_peer_in_group(peer, group->gid);
}

void vrt_access_set_admin_group(struct vrt_access *access, const char *name)
{
    set_group(access, name, &access->admins, "only root and vrtd's own user administer");
}

void vrt_access_set_priority_group(struct vrt_access *access, const char *name)
{
    set_group(access, name, &access->hurried, "only administrators give priorities over 0");
}

bool vrt_access_may_hurry(const struct vrt_access *access, const struct vrt_peer *peer)
{
    return vrt_access_is_admin(access, peer) || is_member(peer, &access->hurried);
}

void vrt_access_set_hwaccel(struct vrt_access *access, bool is_allowed)
{
    access->may_hwaccel = is_allowed;
}

bool vrt_access_may_hwaccel(const struct vrt_access *access)
{
    return access->may_hwaccel;
}

bool vrt_access_is_admin(const struct vrt_access *access, const struct vrt_peer *peer)
{
    return peer->is_admin || peer->uid == 0 || peer->uid == access->own_uid ||
           is_member(peer, &access->admins);
}

bool vrt_access_may_control(const struct vrt_access *access, const struct vrt_peer *peer,
                            uid_t owner)
{
    return peer->uid == owner || vrt_access_is_admin(access, peer);
}

bool vrt_access_may_see(const struct vrt_access *access, const struct vrt_peer *peer, uid_t owner)
{
    return !vrt_uid_is_web(peer->uid) || vrt_access_may_control(access, peer, owner);
}
