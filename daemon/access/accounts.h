/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Names of users or groups, as /etc/passwd or /etc/group has them
 *
 * The file alone is read, not the machine's whole name service: that may ask a network, for
 * minutes, and runs others' code within the daemon. Whom the file doesn't have is told as a
 * number, which a client on the same machine can look up for itself. The file is read again when
 * it has changed.
 *
 * Thread: one at a time.
 */

#include <stddef.h>
#include <stdint.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/macro.h"

#define VRT_ACCOUNTS_USERS "/etc/passwd"
#define VRT_ACCOUNTS_GROUPS "/etc/group"

struct vrt_accounts;
struct vrt_peer;

/*
 * Nothing is read yet; `path` lives longer. A file that isn't there, or can't be read, has nobody.
 * Return: 0, -ENOMEM. It is freed by vrt_accounts_free().
 */
int vrt_accounts_new(const char *path, struct vrt_accounts **ret_accounts) VRT_MUST_CHECK;

/* Return: NULL. */
struct vrt_accounts *vrt_accounts_free(struct vrt_accounts *accounts);

/* Who has this number: the name, or the number as text; cut to `size`. Return: buffer. */
const char *vrt_accounts_name(struct vrt_accounts *accounts, uint32_t id, char *buffer,
                              size_t size);

/* What whoever connected is called: by his number, or as his token is. Return: buffer. */
const char *vrt_accounts_peer(struct vrt_accounts *accounts, const struct vrt_peer *peer,
                              char buffer[VRT_API_OWNER_BYTES]);

/* The number of `name`, which may be a number itself. Return: 0; -ENOENT: nobody is called so. */
int vrt_accounts_id(struct vrt_accounts *accounts, const char *name, uint32_t *ret_id);

VRT_DEFINE_CLEANUP(struct vrt_accounts, vrt_accounts_free)
