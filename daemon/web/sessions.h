/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Sessions: what a browser has instead of the token that its user typed
 *
 * They are kept in memory alone, and so end with the daemon; a browser whose session is over asks
 * for the token again. A token has so many at most, and all together: the one that was used longest
 * ago makes room.
 *
 * Pure: `now_ns` is a clock that doesn't jump, from above 0. Thread: one at a time.
 */

#include <stdint.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "daemon/web/secret.h"

#define VRT_SESSIONS_MAX 1024
#define VRT_SESSIONS_PER_TOKEN_MAX 32
#define VRT_SESSION_MAX_S (7 * 86400)       /* from the login on, */
#define VRT_SESSION_IDLE_MAX_S 86400        /* and unused */

struct vrt_sessions;

/* Return: 0, -ENOMEM. It is freed by vrt_sessions_free(). */
int vrt_sessions_new(struct vrt_sessions **ret_sessions) VRT_MUST_CHECK;

/* Return: NULL. */
struct vrt_sessions *vrt_sessions_free(struct vrt_sessions *sessions);

/* Begins one; its secret is told this once. Return: 0; -errno. */
int vrt_sessions_open(struct vrt_sessions *sessions, int64_t token_id, int64_t now_ns,
                      char ret_secret[VRT_SECRET_BYTES]) VRT_MUST_CHECK;

/* Uses the session of this secret. *ret_id: its own number, which no other ever has. Return: its
 * token's number; 0: there is none, or no more. */
int64_t vrt_sessions_use(struct vrt_sessions *sessions, const char *secret, int64_t now_ns,
                         int64_t *ret_id);

/* Ends the session of this secret, if there is one. */
void vrt_sessions_close(struct vrt_sessions *sessions, const char *secret);

/* Ends all of the token's. */
void vrt_sessions_drop(struct vrt_sessions *sessions, int64_t token_id);

VRT_DEFINE_CLEANUP(struct vrt_sessions, vrt_sessions_free)
