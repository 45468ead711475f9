/* SPDX-License-Identifier: MIT */

#include "daemon/web/sessions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"

struct session {
    char digest[VRT_SECRET_DIGEST_BYTES];
    int64_t id;
    int64_t token_id;                   /* 0: the place is free */
    int64_t opened_ns, used_ns;
};

struct vrt_sessions {
    struct session all[VRT_SESSIONS_MAX];
    int64_t last_id;
};

int vrt_sessions_new(struct vrt_sessions **ret_sessions)
{
    struct vrt_sessions *sessions = calloc(1, sizeof(*sessions));

    if (!sessions)
        return vrt_raise(-ENOMEM);
    *ret_sessions = sessions;
    return 0;
}

struct vrt_sessions *vrt_sessions_free(struct vrt_sessions *sessions)
{
    free(sessions);
    return NULL;
}

static bool is_over(const struct session *session, int64_t now_ns)
{
    return now_ns - session->opened_ns >= VRT_SESSION_MAX_S * VRT_NS_PER_S ||
           now_ns - session->used_ns >= VRT_SESSION_IDLE_MAX_S * VRT_NS_PER_S;
}

/* A free place, or that of who makes room: of the token's own sessions, where it has as many as one
 * may have. */
static struct session *find_place(struct vrt_sessions *sessions, int64_t token_id, int64_t now_ns)
{
    struct session *oldest = NULL, *own = NULL, *unused = NULL;
    int n_own = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(sessions->all); i++) {
        struct session *s = &sessions->all[i];
        if (!s->token_id || is_over(s, now_ns)) {
            unused = s;
            continue;
        }
        if (!oldest || s->used_ns < oldest->used_ns)
            oldest = s;
        if (s->token_id != token_id)
            continue;
        n_own++;
        if (!own || s->used_ns < own->used_ns)
            own = s;
    }
    return n_own >= VRT_SESSIONS_PER_TOKEN_MAX ? own : unused ? unused : oldest;
}

int vrt_sessions_open(struct vrt_sessions *sessions, int64_t token_id, int64_t now_ns,
                      char ret_secret[VRT_SECRET_BYTES])
{
    int r = vrt_secret_make(ret_secret);

    if (r < 0)
        return vrt_fold(r);
    struct session *session = find_place(sessions, token_id, now_ns);
    *session = (struct session){
        .id = ++sessions->last_id,
        .token_id = token_id,
        .opened_ns = now_ns,
        .used_ns = now_ns,
    };
    vrt_secret_digest(ret_secret, strlen(ret_secret), session->digest);
    return 0;
}

/* The session of this secret, or NULL. */
static struct session *find(struct vrt_sessions *sessions, const char *secret)
{
    char digest[VRT_SECRET_DIGEST_BYTES];

    vrt_secret_digest(secret, strlen(secret), digest);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(sessions->all); i++)
        if (sessions->all[i].token_id && strcmp(sessions->all[i].digest, digest) == 0)
            return &sessions->all[i];
    return NULL;
}

int64_t vrt_sessions_use(struct vrt_sessions *sessions, const char *secret, int64_t now_ns,
                         int64_t *ret_id)
{
    struct session *session = find(sessions, secret);

    if (!session || is_over(session, now_ns))
        return 0;
    session->used_ns = now_ns;
    *ret_id = session->id;
    return session->token_id;
}

void vrt_sessions_close(struct vrt_sessions *sessions, const char *secret)
{
    struct session *session = find(sessions, secret);

    if (session)
        session->token_id = 0;
}

void vrt_sessions_drop(struct vrt_sessions *sessions, int64_t token_id)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(sessions->all); i++)
        if (sessions->all[i].token_id == token_id)
            sessions->all[i].token_id = 0;
}
