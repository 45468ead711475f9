/* SPDX-License-Identifier: MIT */
/*
 * Tokens, which administrators make on the socket, and sessions: who asks, and logging in and out.
 * An answer about a token waits until the store has it: whoever was told of one can use it after a
 * crash, and whoever was told that one is revoked needn't fear it any more. Thread: loop.
 */

#include "daemon/api/web-routes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/access/access.h"
#include "daemon/access/accounts.h"
#include "daemon/api/routes.h"
#include "daemon/web/gate.h"
#include "daemon/web/tokens.h"
#include "web/msg_token.h"

#define VRT_LOG_TOPIC "api"

/* A request that waits for the store. */
struct answer {
    struct vrt_conn_watch watch;
    struct vrt_token_report report;
};

static void fill(const struct vrt_token *token, struct vrt_token_report *ret_report)
{
    *ret_report = (struct vrt_token_report){
        .id = token->id,
        .admin = token->is_admin,
        .expired = vrt_token_has_expired(token),
        .created_at = token->created_at,
        .expires_at = token->expires_at,
    };
    snprintf(ret_report->name, sizeof(ret_report->name), "%s", token->name);
}

static void on_stored(void *ctx, int64_t id, int r)
{
    struct answer *answer = ctx;
    struct vrt_conn *conn = answer->watch.conn;
    struct vrt_buf body = { .limit_bytes = 0 };
    struct vrt_error error = { .id = NULL };

    answer->report.id = id;
    if (conn && r < 0) {
        vrt_refuse(&error, r, r == -ENOSPC ? VRT_E(STORE_FULL) : VRT_E(STORE_FAILED),
                   "the store can't be written: %s", strerror(-r));
        vrt_conn_refuse(conn, &error);
    } else if (conn) {
        r = vrt_fields_print(vrt_token_fields, &answer->report, &body);
        vrt_api_reply(conn, r, &body, "telling of the token");
    }
    /* What it was shown once doesn't stay in our memory. */
    explicit_bzero(answer, sizeof(*answer));
    free(answer);
}

static void on_gone(struct vrt_conn_watch *watch)
{
    (void)watch;
}

/* Tokens are made and revoked on the socket: who took one over by a page of ours, or by a machine
 * that has it, makes no others. Return: whether he is refused. */
static bool refuse_others(const struct vrt_call *call)
{
    const struct vrt_peer *peer = call->request->peer;
    struct vrt_error error = { .id = NULL };

    if (!vrt_uid_is_web(peer->uid) && vrt_access_is_admin(call->api->access, peer))
        return false;
    vrt_refuse(&error, -EPERM, VRT_E(TOKEN_FORBIDDEN), "tokens are for administrators of vrtd, on "
               "its socket: root, vrtd's user and the members of its admin group");
    vrt_conn_refuse(call->conn, &error);
    return true;
}

void vrt_api_token_create(const struct vrt_call *call)
{
    struct vrt_token_request request;
    struct vrt_token wanted = { .id = 0 };
    struct vrt_error error = { .id = NULL };
    struct answer *answer = NULL;

    if (refuse_others(call))
        return;
    int r = vrt_token_request_parse(call->request->body, call->request->body_bytes, &request,
                                    &error);
    if (r == 0 && !(answer = calloc(1, sizeof(*answer))))
        r = vrt_raise(-ENOMEM);
    if (r == 0) {
        snprintf(wanted.name, sizeof(wanted.name), "%s", request.name);
        wanted.is_admin = request.admin;
        if (request.expires_s != VRT_UNKNOWN)
            wanted.expires_at = vrt_clock_wall_ns() + request.expires_s * VRT_NS_PER_S;
        fill(&wanted, &answer->report);
        answer->report.created_at = vrt_clock_wall_ns();
        answer->watch.gone = on_gone;
        r = vrt_tokens_make(call->api->tokens, &wanted, answer->report.token, on_stored, answer,
                            &error);
    }
    if (r < 0) {
        free(answer);
        vrt_refuse_errno(&error, vrt_fold(r), "making a token");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    vrt_log_info("token %s: made by uid %u%s", wanted.name, (unsigned)call->request->peer->uid,
                 wanted.is_admin ? ", an administrator's" : "");
    vrt_conn_watch(call->conn, &answer->watch);
}

void vrt_api_token_list(const struct vrt_call *call)
{
    struct vrt_tokens *tokens = call->api->tokens;
    struct vrt_tokens_report report = { .n_tokens = vrt_tokens_n(tokens) };
    struct vrt_buf body = { .limit_bytes = VRT_API_RESPONSE_MAX_BYTES };

    if (refuse_others(call))
        return;
    report.tokens = calloc(report.n_tokens + 1, sizeof(*report.tokens));
    int r = report.tokens ? 0 : vrt_raise(-ENOMEM);
    for (size_t i = 0; r == 0 && i < report.n_tokens; i++)
        fill(vrt_tokens_at(tokens, i), &report.tokens[i]);
    if (r == 0)
        r = vrt_fields_print(vrt_tokens_fields, &report, &body);
    free(report.tokens);
    vrt_api_reply(call->conn, r, &body, "listing the tokens");
}

void vrt_api_token_revoke(const struct vrt_call *call)
{
    const struct vrt_token *token = vrt_tokens_by_id(call->api->tokens, call->job_id);
    struct vrt_error error = { .id = NULL };
    struct answer *answer = NULL;

    if (refuse_others(call))
        return;
    if (!token) {
        vrt_refuse(&error, -ENOENT, VRT_E(TOKEN_NOT_FOUND), "no token has the number %" PRId64,
                   call->job_id);
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    answer = calloc(1, sizeof(*answer));
    int r = answer ? 0 : vrt_raise(-ENOMEM);
    if (r == 0) {
        fill(token, &answer->report);
        answer->watch.gone = on_gone;
        r = vrt_tokens_revoke(call->api->tokens, call->job_id, on_stored, answer);
    }
    if (r < 0) {
        free(answer);
        vrt_refuse_errno(&error, vrt_fold(r), "revoking the token");
        vrt_conn_refuse(call->conn, &error);
        return;
    }
    vrt_log_info("token %s: revoked by uid %u", answer->report.name,
                 (unsigned)call->request->peer->uid);
    vrt_conn_watch(call->conn, &answer->watch);
    vrt_gate_cut(call->api->gate, call->job_id);
}

/* On the socket nobody logs in. Return: whether it is said. */
static bool refuse_on_socket(const struct vrt_call *call)
{
    struct vrt_error error = { .id = NULL };

    if (vrt_uid_is_web(call->request->peer->uid))
        return false;
    vrt_refuse(&error, -EINVAL, VRT_E(WEB_ONLY), "the kernel says who you are on this socket: "
               "there is no session");
    vrt_conn_refuse(call->conn, &error);
    return true;
}

void vrt_api_session_open(const struct vrt_call *call)
{
    if (!refuse_on_socket(call))
        vrt_gate_login(call->api->gate, call->conn, call->request);
}

void vrt_api_session_close(const struct vrt_call *call)
{
    if (!refuse_on_socket(call))
        vrt_gate_logout(call->api->gate, call->conn, call->request);
}

void vrt_api_session_show(const struct vrt_call *call)
{
    const struct vrt_peer *peer = call->request->peer;
    struct vrt_session_report report = {
        .admin = vrt_access_is_admin(call->api->access, peer),
    };
    struct vrt_buf body = { .limit_bytes = 0 };

    vrt_accounts_peer(call->api->users, peer, report.user);
    vrt_api_reply(call->conn, vrt_fields_print(vrt_session_fields, &report, &body), &body,
                  "telling who asks");
}

bool vrt_api_refuse_web_user(const struct vrt_call *call)
{
    const struct vrt_peer *peer = call->request->peer;
    struct vrt_error error = { .id = NULL };

    if (!vrt_uid_is_web(peer->uid) || vrt_access_is_admin(call->api->access, peer))
        return false;
    vrt_refuse(&error, -EPERM, VRT_E(WEB_ADMIN), "over TCP this is for administrators: a token "
               "made with --admin");
    vrt_conn_refuse(call->conn, &error);
    return true;
}
