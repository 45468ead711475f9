/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who is at the other end, and what he may do
 *
 *     who                             sees a job's names    may cancel it, pause it, ...
 *     its owner, root, vrtd's user,
 *     a member of the admin group     yes                   yes
 *     everybody else who may connect  no                    no
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

/* Embedded; made by vrt_peer_init() or vrt_peer_copy(), freed by vrt_peer_done(). */
struct vrt_peer {
    uid_t uid;
    gid_t *gids;                /* every group, in no order */
    size_t n_gids;
};

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

/* Whether everybody's jobs are his to see and to control. */
bool vrt_access_is_admin(const struct vrt_access *access, const struct vrt_peer *peer);

/* Whether he may see the names of, and control, what belongs to `owner`. */
bool vrt_access_may_control(const struct vrt_access *access, const struct vrt_peer *peer,
                            uid_t owner);

VRT_DEFINE_CLEANUP(struct vrt_access, vrt_access_free)
