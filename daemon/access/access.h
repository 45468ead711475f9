/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who is at the other end, and what he may do
 *
 *     who                             sees a job's names    may cancel it, pause it, ...
 *     its owner, root, vrtd's user,
 *     a member of the admin group     yes                   yes
 *     everybody else who may connect  no                    no
 *     who comes by TCP with a token   as an owner of what is his own; of others' jobs he sees
 *                                     nothing, unless the token is an administrator's
 *
 * Who comes by TCP is a user of his own for each token (daemon/web/tokens.h): he has a number
 * behind those that systems give to users, and so owns jobs and is charged for them as any user,
 * also after restarts. He is in no group, and no path is opened for him.
 *
 * A peer's groups are those that his process had when it connected, as the kernel tells: nothing
 * is looked up for them. See docs/operations.md.
 *
 * Thread: the loop's, save where a function says otherwise.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/macro.h"

struct vrt_access;
struct vrt_accounts;

/* From here on to VRT_WEB_UID_LAST users have tokens: the token's number is added. This one is he
 * who has shown none yet. The upper half of all numbers is no real user's, but for -2 on some. */
#define VRT_WEB_UID ((uid_t)0x80000000)
#define VRT_WEB_UID_LAST ((uid_t)0x8fffffff)

/* Of an IPv4 or IPv6 address as text. */
#define VRT_PEER_ADDRESS_BYTES 46

/* Embedded; made by vrt_peer_init(), vrt_peer_init_tcp() or vrt_peer_copy(), freed by
 * vrt_peer_done(). */
struct vrt_peer {
    uid_t uid;
    gid_t *gids;                /* every group, in no order */
    size_t n_gids;
    bool is_admin;              /* his token says so */
    char name[48];              /* what such a user is called; "": see accounts.h */
    /* Of one who came by TCP: whence, and where to; an IPv4 address in IPv6 is one of IPv4. */
    char address[VRT_PEER_ADDRESS_BYTES], local[VRT_PEER_ADDRESS_BYTES];
};

/* Whether this user came by TCP, or would. Thread: any. */
static inline bool vrt_uid_is_web(uid_t uid)
{
    return uid >= VRT_WEB_UID && uid <= VRT_WEB_UID_LAST;
}

/* Whether he is a member of the group. Thread: any. */
bool vrt_peer_in_group(const struct vrt_peer *peer, gid_t gid);

/* Return: 0, and `ret_peer` needs vrt_peer_done(); -ENOMEM. Thread: any. */
int vrt_peer_copy(const struct vrt_peer *peer, struct vrt_peer *ret_peer) VRT_MUST_CHECK;

/* Frees what it holds; zero-initialised is fine. Thread: any. */
void vrt_peer_done(struct vrt_peer *peer);

/*
 * Nobody but root and the daemon's own user administers yet. `groups` lives longer.
 * Return: 0, -ENOMEM. It is freed by vrt_access_free().
 */
int vrt_access_new(struct vrt_accounts *groups, struct vrt_access **ret_access);

/* Return: NULL. */
struct vrt_access *vrt_access_free(struct vrt_access *access);

/*
 * Who administers from now on: the members of this group, a name or a number; "": nobody more.
 * A group that there isn't has no members, which is logged.
 */
void vrt_access_set_admin_group(struct vrt_access *access, const char *name);

/* Who, besides administrators, may give his jobs priorities over 0: likewise. */
void vrt_access_set_priority_group(struct vrt_access *access, const char *name);

/* Whether he may. */
bool vrt_access_may_hurry(const struct vrt_access *access, const struct vrt_peer *peer);

/* Whether anybody's jobs may be encoded and decoded by hardware: at first not. */
void vrt_access_set_hwaccel(struct vrt_access *access, bool is_allowed);
bool vrt_access_may_hwaccel(const struct vrt_access *access);

/* Whether everybody's jobs are his to see and to control. */
bool vrt_access_is_admin(const struct vrt_access *access, const struct vrt_peer *peer);

/* Whether he may see the names of, and control, what belongs to `owner`. */
bool vrt_access_may_control(const struct vrt_access *access, const struct vrt_peer *peer,
                            uid_t owner);

/* Whether he may know that there is what belongs to `owner`: everybody may who is a user of the
 * machine. */
bool vrt_access_may_see(const struct vrt_access *access, const struct vrt_peer *peer, uid_t owner);

VRT_DEFINE_CLEANUP(struct vrt_access, vrt_access_free)
