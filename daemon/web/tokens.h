/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Who may come by TCP: tokens, each of which is a user of its own
 *
 * What a user has to show is told once, when the token is made; its digest stays, in the store. A
 * token's number is never used again, so that what it owned becomes nobody's when it is revoked.
 *
 * Thread: the loop's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "daemon/access/access.h"
#include "daemon/web/secret.h"

struct vrt_store;
struct vrt_tokens;

#define VRT_TOKEN_NAME_BYTES 33
#define VRT_TOKEN_PREFIX "vrtd_"            /* so that who finds one knows what it is */
#define VRT_TOKEN_BYTES (sizeof(VRT_TOKEN_PREFIX) - 1 + VRT_SECRET_BYTES)
#define VRT_TOKENS_MAX 1000

struct vrt_token {
    int64_t id;
    char name[VRT_TOKEN_NAME_BYTES];
    char digest[VRT_SECRET_DIGEST_BYTES];
    bool is_admin;
    int64_t created_at, expires_at;         /* wall clock, ns; 0: it doesn't expire */
};

/* The user that the token is. */
static inline uid_t vrt_token_uid(const struct vrt_token *token)
{
    return VRT_WEB_UID + (uid_t)token->id;
}

/* Those in the store (NULL: none are kept), which lives longer. Before its first write. Return: 0;
 * -errno with `error`. It is freed by vrt_tokens_free(). */
int vrt_tokens_new(struct vrt_store *store, struct vrt_tokens **ret_tokens,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* Return: NULL. */
struct vrt_tokens *vrt_tokens_free(struct vrt_tokens *tokens);

/* How many there are, expired ones included, and one of them, in the order of numbers: it stays
 * where it is until the next that is made or revoked. */
size_t vrt_tokens_n(const struct vrt_tokens *tokens);
const struct vrt_token *vrt_tokens_at(const struct vrt_tokens *tokens, size_t i);

/* Whether it may be used no longer. */
bool vrt_token_has_expired(const struct vrt_token *token);

/* The token that somebody shows, or NULL: it is none of ours, or has expired. */
const struct vrt_token *vrt_tokens_find(const struct vrt_tokens *tokens, const char *shown);

/* The token of this number, expired or not, or NULL. */
const struct vrt_token *vrt_tokens_by_id(const struct vrt_tokens *tokens, int64_t id);

/*
 * Makes a token of the name, administrator and end in `wanted`. What its user shows is put into
 * `ret_shown`; `done` is called when it is stored, with 0, or with -errno: then there is none.
 * Return: 0; -EINVAL, -EEXIST, -ENOSPC, -errno with `error`, and `done` isn't called.
 */
int vrt_tokens_make(struct vrt_tokens *tokens, const struct vrt_token *wanted,
                    char ret_shown[VRT_TOKEN_BYTES],
                    void (*done)(void *ctx, int64_t id, int r), void *ctx,
                    struct vrt_error *error) VRT_MUST_CHECK;

/* Revokes one, at once; `done` is called when that is stored, with 0 or -errno. Return: 0; -ENOENT;
 * -ENOMEM, and `done` isn't called. */
int vrt_tokens_revoke(struct vrt_tokens *tokens, int64_t id,
                      void (*done)(void *ctx, int64_t id, int r), void *ctx) VRT_MUST_CHECK;

VRT_DEFINE_CLEANUP(struct vrt_tokens, vrt_tokens_free)
