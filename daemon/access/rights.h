/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Whether a user may do something to a file, by its owner, group and mode
 *
 * Pure. The answer is never "yes" where the kernel would tell the user "no": it is the kernel's
 * rule, but without root's exception (a process of root's may have given that up), and where an
 * owner is shown as "unmapped", because he belongs to another user namespace, only what every
 * class that he could be in may do.
 */

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/access/access.h"

/* As in a mode: the bits of one class. */
#define VRT_RIGHTS_READ 4U
#define VRT_RIGHTS_WRITE 2U
#define VRT_RIGHTS_ENTER 1U             /* of a folder */

/* What the kernel shows for a user or group that has no number in this namespace. */
#define VRT_RIGHTS_UNMAPPED 65534U

/* Of a file or folder, as fstat() tells. */
struct vrt_rights_target {
    uid_t uid;
    gid_t gid;
    mode_t mode;
};

/* Whether `peer` may do all that is `wanted`, VRT_RIGHTS_* or'ed. Thread: any. */
bool vrt_rights_allow(const struct vrt_peer *peer, const struct vrt_rights_target *target,
                      unsigned wanted);
