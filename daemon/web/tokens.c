/* SPDX-License-Identifier: MIT */

#include "daemon/web/tokens.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/store/store.h"

#define VRT_LOG_TOPIC "web"

struct vrt_tokens {
    struct vrt_store *store;
    struct vrt_token *all;              /* in the order of numbers */
    size_t n;
    int64_t last_id;
};

/* A write on its way. The tokens outlive the store, which tells of each. */
struct change {
    struct vrt_tokens *tokens;
    int64_t id;
    bool is_new;
    void (*done)(void *ctx, int64_t id, int r);
    void *ctx;
};

size_t vrt_tokens_n(const struct vrt_tokens *tokens)
{
    return tokens->n;
}

const struct vrt_token *vrt_tokens_at(const struct vrt_tokens *tokens, size_t i)
{
    return &tokens->all[i];
}

bool vrt_token_has_expired(const struct vrt_token *token)
{
    return token->expires_at && vrt_clock_wall_ns() >= token->expires_at;
}

const struct vrt_token *vrt_tokens_find(const struct vrt_tokens *tokens, const char *shown)
{
    char digest[VRT_SECRET_DIGEST_BYTES];

    vrt_secret_digest(shown, strlen(shown), digest);
    for (size_t i = 0; i < tokens->n; i++)
        if (strcmp(tokens->all[i].digest, digest) == 0)
            return vrt_token_has_expired(&tokens->all[i]) ? NULL : &tokens->all[i];
    return NULL;
}

const struct vrt_token *vrt_tokens_by_id(const struct vrt_tokens *tokens, int64_t id)
{
    for (size_t i = 0; i < tokens->n; i++)
        if (tokens->all[i].id == id)
            return &tokens->all[i];
    return NULL;
}

static int add(struct vrt_tokens *tokens, const struct vrt_token *token)
{
    struct vrt_token *all = reallocarray(tokens->all, tokens->n + 1, sizeof(*all));

    if (!all)
        return vrt_raise(-ENOMEM);
    tokens->all = all;
    all[tokens->n++] = *token;
    return 0;
}

static void drop(struct vrt_tokens *tokens, int64_t id)
{
    size_t i = 0;

    while (i < tokens->n && tokens->all[i].id != id)
        i++;
    if (i == tokens->n)
        return;
    memmove(&tokens->all[i], &tokens->all[i + 1], (--tokens->n - i) * sizeof(tokens->all[0]));
}

static int take_stored(void *ctx, const struct vrt_store_token *stored)
{
    struct vrt_token token = {
        .id = stored->id,
        .is_admin = stored->is_admin,
        .created_at = stored->created_at,
        .expires_at = stored->expires_at,
    };

    snprintf(token.name, sizeof(token.name), "%s", stored->name);
    snprintf(token.digest, sizeof(token.digest), "%s", stored->digest);
    return vrt_fold(add(ctx, &token));
}

int vrt_tokens_new(struct vrt_store *store, struct vrt_tokens **ret_tokens,
                   struct vrt_error *error)
{
    VRT_CLEANUP(vrt_tokens_freep) struct vrt_tokens *tokens = calloc(1, sizeof(*tokens));
    int r = 0;

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!tokens)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "reading the tokens");
    tokens->store = store;
    if (store)
        r = vrt_store_load_tokens(store, take_stored, tokens, &tokens->last_id, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_tokens = VRT_STEAL(tokens);
    return 0;
}

struct vrt_tokens *vrt_tokens_free(struct vrt_tokens *tokens)
{
    if (!tokens)
        return NULL;
    free(tokens->all);
    free(tokens);
    return NULL;
}

/* A name that is told of in lists and logs as it is. */
static int check_name(const struct vrt_tokens *tokens, const char *name, struct vrt_error *error)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
        "._-";

    if (!name[0] || name[strspn(name, letters)] || name[0] == '-') {
        vrt_error_set_field(error, "name");
        return vrt_refuse(error, vrt_raise(-EINVAL), VRT_E(REQUEST_FIELD), "name: a token's name "
                          "has from 1 to %d letters, digits, '.', '_' and '-', and doesn't begin "
                          "with '-'", VRT_TOKEN_NAME_BYTES - 1);
    }
    for (size_t i = 0; i < tokens->n; i++)
        if (strcmp(tokens->all[i].name, name) == 0)
            return vrt_refuse(error, vrt_raise(-EEXIST), VRT_E(TOKEN_EXISTS), "there is a token %s "
                              "already: revoke it first, or choose another name", name);
    return 0;
}

static void on_stored(void *ctx, int r)
{
    struct change *change = ctx;

    if (r < 0 && change->is_new)
        drop(change->tokens, change->id);
    if (r < 0)
        vrt_log_error("token %" PRId64 " can't be %s: %s", change->id,
                      change->is_new ? "stored" : "removed from the store, and would be back after "
                      "a restart", strerror(-r));
    change->done(change->ctx, change->id, r);
    free(change);
}

static struct change *new_change(struct vrt_tokens *tokens, int64_t id,
                                 void (*done)(void *ctx, int64_t id, int r), void *ctx)
{
    struct change *change = calloc(1, sizeof(*change));

    if (change)
        *change = (struct change){ .tokens = tokens, .id = id, .done = done, .ctx = ctx };
    return change;
}

int vrt_tokens_make(struct vrt_tokens *tokens, const struct vrt_token *wanted,
                    char ret_shown[VRT_TOKEN_BYTES],
                    void (*done)(void *ctx, int64_t id, int r), void *ctx,
                    struct vrt_error *error)
{
    VRT_CLEANUP(vrt_freep) struct change *change = NULL;
    struct vrt_token token = *wanted;
    char secret[VRT_SECRET_BYTES];

    int r = check_name(tokens, wanted->name, error);
    if (r < 0)
        return vrt_fold(r);
    if (tokens->n >= VRT_TOKENS_MAX || tokens->last_id >= VRT_WEB_UID_LAST - VRT_WEB_UID)
        return vrt_refuse(error, vrt_raise(-ENOSPC), VRT_E(TOKEN_EXISTS), "there are %d tokens "
                          "already: revoke some first", VRT_TOKENS_MAX);
    r = vrt_secret_make(secret);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "making a token");
    snprintf(ret_shown, VRT_TOKEN_BYTES, VRT_TOKEN_PREFIX "%s", secret);
    vrt_secret_digest(ret_shown, strlen(ret_shown), token.digest);
    token.id = tokens->last_id + 1;
    token.created_at = vrt_clock_wall_ns();
    change = new_change(tokens, token.id, done, ctx);
    r = change ? add(tokens, &token) : vrt_raise(-ENOMEM);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "making a token");
    tokens->last_id++;
    change->is_new = true;
    vrt_store_put_token(tokens->store, &(struct vrt_store_token){
        .id = token.id,
        .name = token.name,
        .digest = token.digest,
        .is_admin = token.is_admin,
        .created_at = token.created_at,
        .expires_at = token.expires_at,
    }, (struct vrt_store_done){ on_stored, VRT_STEAL(change) });
    return 0;
}

int vrt_tokens_revoke(struct vrt_tokens *tokens, int64_t id,
                      void (*done)(void *ctx, int64_t id, int r), void *ctx)
{
    struct change *change = NULL;

    if (!vrt_tokens_by_id(tokens, id))
        return vrt_raise(-ENOENT);
    change = new_change(tokens, id, done, ctx);
    if (!change)
        return vrt_raise(-ENOMEM);
    drop(tokens, id);
    vrt_store_remove_token(tokens->store, id, (struct vrt_store_done){ on_stored, change });
    return 0;
}
