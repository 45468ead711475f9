/* SPDX-License-Identifier: MIT */

#include "daemon/web/gate.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/http/listener.h"
#include "daemon/web/brake.h"
#include "daemon/web/origin.h"
#include "daemon/web/page.h"
#include "daemon/web/sessions.h"
#include "daemon/web/tcp.h"
#include "daemon/web/tokens.h"
#include "web/msg_token.h"

#define VRT_LOG_TOPIC "web"

#define TICK_MS 2000                    /* how often tokens that expired are looked for */
#define FAILURES_PER_LINE 20            /* of an address; the first is logged too */
#define COOKIE "vrtd_session"
#define COOKIES_MAX 4                   /* of that name, that are looked at */
#define SESSION_PATH "/v1/session"

/* Of each answer: what a page of ours may do is what its own files say, nobody shows it within
 * another's, and nothing is told to whom it links to. */
static const char headers[] =
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self' blob:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; "
    "form-action 'self'\r\n"
    "X-Content-Type-Options: nosniff\r\n"
    "X-Frame-Options: DENY\r\n"
    "Referrer-Policy: no-referrer\r\n"
    "Cross-Origin-Opener-Policy: same-origin\r\n"
    "Cross-Origin-Resource-Policy: same-origin\r\n"
    "Permissions-Policy: camera=(), microphone=(), geolocation=()\r\n"
    "Vary: Cookie, Authorization\r\n";

struct vrt_gate {
    struct vrt_gate_params params;
    struct vrt_listener *listeners[VRT_TCP_ADDRESSES_MAX];
    int n_listeners;
    struct vrt_sessions *sessions;
    struct vrt_brake logins;            /* that failed */
    struct vrt_brake programs;          /* that show a wrong token: they would lock out, once a
                                         * scrape, whoever logs in from where they run */
    uv_timer_t tick;
    int n_waited_for;                   /* while it stops: listeners and the timer */
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* Whoever sends a request. */
struct visitor {
    const struct vrt_token *token;      /* NULL: nobody that is known */
    int64_t session_id;                 /* whose cookie said so; 0: none did */
    bool is_wrong;                      /* a program that shows a token that is none */
};

/* What failed logins are counted by; of a proxy that is believed, by the address that it says came
 * last. */
static void name_address(const struct vrt_gate *gate, const struct vrt_request *request,
                         char text[VRT_PEER_ADDRESS_BYTES])
{
    const char *forwarded = request->headers->forwarded_for, *address = request->peer->address;
    const char *last = strrchr(forwarded, ',');
    struct in6_addr six;
    struct in_addr four;

    last = last ? last + 1 : forwarded;
    last += strspn(last, " \t");
    if (vrt_peer_is_listed(gate->params.proxy, address) &&
        (inet_pton(AF_INET, last, &four) == 1 || inet_pton(AF_INET6, last, &six) == 1))
        address = last;
    vrt_peer_name_origin(address, text);
}

/* The values of cookies called as ours: another server on the same host name may have set one too,
 * and which comes first is up to the browser. Return: how many there are. */
static int find_cookies(const char *cookies, char values[COOKIES_MAX][VRT_SECRET_BYTES])
{
    const size_t n = sizeof(COOKIE) - 1;
    int n_found = 0;

    for (const char *at = cookies + strspn(cookies, "; "); *at && n_found < COOKIES_MAX;
         at += strspn(at, "; ")) {
        size_t length = strcspn(at, ";");
        if (length > n + 1 && length - n - 1 < VRT_SECRET_BYTES &&
            memcmp(at, COOKIE "=", n + 1) == 0)
            snprintf(values[n_found++], VRT_SECRET_BYTES, "%.*s", (int)(length - n - 1),
                     at + n + 1);
        at += length;
    }
    return n_found;
}

static struct visitor identify(struct vrt_gate *gate, const struct vrt_request *request)
{
    static const char bearer[] = "Bearer ";
    const char *shown = request->headers->authorization;
    struct visitor visitor = { .token = NULL };
    char secrets[COOKIES_MAX][VRT_SECRET_BYTES];

    if (strncasecmp(shown, bearer, sizeof(bearer) - 1) == 0) {
        shown += sizeof(bearer) - 1;
        visitor.token = vrt_tokens_find(gate->params.tokens, shown + strspn(shown, " "));
        visitor.is_wrong = !visitor.token;
        return visitor;
    }
    const int n = find_cookies(request->headers->cookie, secrets);
    for (int i = 0; i < n && !visitor.token; i++) {
        int64_t session_id = 0;
        int64_t id = vrt_sessions_use(gate->sessions, secrets[i], vrt_clock_now_ns(), &session_id);
        const struct vrt_token *token = id ? vrt_tokens_by_id(gate->params.tokens, id) : NULL;
        if (token && !vrt_token_has_expired(token))
            visitor = (struct visitor){ .token = token, .session_id = session_id };
    }
    return visitor;
}

static void refuse(struct vrt_conn *conn, int r, const char *id, const char *header,
                   const char *why)
{
    struct vrt_error error = { .id = NULL };

    vrt_refuse(&error, r, id, "%s", why);
    vrt_conn_refuse_with(conn, &error, header);
}

/* Nobody who is known sends it; `brake` (NULL: no token was shown) counts that. */
static void refuse_stranger(const struct vrt_gate *gate, struct vrt_conn *conn,
                            const struct vrt_request *request, struct vrt_brake *brake)
{
    char address[VRT_PEER_ADDRESS_BYTES], header[64];
    const int64_t now_ns = vrt_clock_now_ns();

    name_address(gate, request, address);
    if (brake) {
        int64_t wait_s = vrt_brake_wait_s(brake, address, now_ns);
        int n = wait_s ? 0 : vrt_brake_failed(brake, address, now_ns);
        if (n % FAILURES_PER_LINE == 1)
            vrt_log_warning("login %d of %s failed: no such token, or it has expired", n, address);
        if (wait_s) {
            snprintf(header, sizeof(header), "Retry-After: %" PRId64, wait_s);
            refuse(conn, -EBUSY, VRT_E(WEB_SLOW), header, "too many logins of this address "
                   "failed: try again later");
            return;
        }
    }
    refuse(conn, -EACCES, VRT_E(WEB_LOGIN), "WWW-Authenticate: Bearer realm=\"vrtd\"",
           brake ? "no such token, or it has expired: an administrator makes one with vrtctl "
           "token new" : "log in first, or show a token (Authorization: Bearer)");
}

/* What a page of somebody else's has a browser send. Return: whether it was refused. */
static bool refuse_foreign(struct vrt_gate *gate, struct vrt_conn *conn,
                           const struct vrt_request *request, const struct visitor *visitor)
{
    const struct vrt_http_headers *h = request->headers;
    const bool reads = strcmp(request->method, "GET") == 0;
    const char *site = h->fetch_site;

    if (h->origin[0] && !vrt_origin_is_page(h->origin, h->host, gate->params.is_https))
        refuse(conn, -EPERM, VRT_E(WEB_ORIGIN), NULL, "the request comes from a page of another "
               "origin (where a proxy speaks TLS with browsers, [web] https = on is missing)");
    else if (visitor->session_id && !reads && !h->origin[0])
        refuse(conn, -EPERM, VRT_E(WEB_ORIGIN), NULL, "a request that changes something needs the "
               "header Origin, where a cookie says who sends it");
    else if (visitor->session_id && site[0] && strcasecmp(site, "same-origin") != 0 &&
             strcasecmp(site, "none") != 0)
        refuse(conn, -EPERM, VRT_E(WEB_ORIGIN), NULL, "the request comes from another site");
    else
        return false;
    return true;
}

static void serve_file(struct vrt_conn *conn, const struct vrt_request *request,
                       const struct vrt_page_file *file)
{
    char etag[VRT_PAGE_ETAG_BYTES], header[64];

    snprintf(header, sizeof(header), "ETag: %s", vrt_page_etag(file, etag));
    const bool is_known = strstr(request->headers->if_none_match, etag);
    /* Kept, but asked for again each time, so that the next version of vrtd has its own page. */
    vrt_conn_reply(conn, &(struct vrt_response){
        .status = is_known ? 304 : 200,
        .type = vrt_page_type(file),
        .header = header,
        .cache = "no-cache",
        .body = is_known ? NULL : (const char *)file->data,
        .body_bytes = is_known ? 0 : file->size_bytes,
    });
}

static void on_request(void *ctx, struct vrt_conn *conn, const struct vrt_request *request)
{
    struct vrt_gate *gate = ctx;
    const bool reads = strcmp(request->method, "GET") == 0;
    struct vrt_request passed = *request;
    struct vrt_peer peer = *request->peer;

    vrt_assert_thread(VRT_THREAD_LOOP);
    /* Whoever the last request on this connection came from: a proxy has one for many. */
    peer.uid = VRT_WEB_UID;
    vrt_listener_name(conn, peer.uid, 0);
    if (!vrt_origin_is_host_ours(request->headers->host, peer.local, gate->params.host)) {
        refuse(conn, -EPERM, VRT_E(WEB_HOST), NULL, "this is no name of vrtd's: where it shall be "
               "one, [web] host in vrtd.conf must hold it");
        return;
    }
    struct visitor visitor = identify(gate, request);
    if (refuse_foreign(gate, conn, request, &visitor))
        return;
    const struct vrt_page_file *file = vrt_page_find(request->path, visitor.token);
    if (reads && file && (visitor.token || (!visitor.is_wrong && vrt_page_is_public(file)))) {
        serve_file(conn, request, file);
        return;
    }
    if (!visitor.token && (visitor.is_wrong || strcmp(request->path, SESSION_PATH) != 0 ||
                           strcmp(request->method, "POST") != 0)) {
        refuse_stranger(gate, conn, request, visitor.is_wrong ? &gate->programs : NULL);
        return;
    }
    if (visitor.token) {
        peer.uid = vrt_token_uid(visitor.token);
        peer.is_admin = visitor.token->is_admin;
        snprintf(peer.name, sizeof(peer.name), "token:%s", visitor.token->name);
    }
    vrt_listener_name(conn, peer.uid, visitor.session_id);
    passed.peer = &peer;
    gate->params.request(gate->params.ctx, conn, &passed);
}

/* "Set-Cookie: ...", whose value "" takes it away. */
static void print_cookie(const struct vrt_gate *gate, const char *value, char *header, size_t size)
{
    snprintf(header, size, "Set-Cookie: " COOKIE "=%s; Path=/; HttpOnly; SameSite=Strict; "
             "Max-Age=%d%s", value, value[0] ? VRT_SESSION_MAX_S : 0,
             gate->params.is_https ? "; Secure" : "");
}

/* The token that a login shows. Return: 0; -errno with `error`, in whose stead *ret_token is NULL
 * where it is none of ours. */
static int read_login(const struct vrt_gate *gate, const struct vrt_request *request,
                      const struct vrt_token **ret_token, struct vrt_error *error)
{
    struct vrt_session_request login;

    int r = vrt_session_request_parse(request->body, request->body_bytes, &login, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_token = vrt_tokens_find(gate->params.tokens, login.token);
    return 0;
}

void vrt_gate_login(struct vrt_gate *gate, struct vrt_conn *conn,
                    const struct vrt_request *request)
{
    char secret[VRT_SECRET_BYTES], header[256], address[VRT_PEER_ADDRESS_BYTES];
    struct vrt_buf body = { .limit_bytes = 0 };
    const struct vrt_token *token = NULL;
    struct vrt_error error = { .id = NULL };
    const int64_t now_ns = vrt_clock_now_ns();

    name_address(gate, request, address);
    /* Not even a right one: who types it may wait. What programs show isn't slowed while it is
     * right, or one of them that isn't would lock out the others. */
    if (vrt_brake_wait_s(&gate->logins, address, now_ns)) {
        refuse_stranger(gate, conn, request, &gate->logins);
        return;
    }
    int r = read_login(gate, request, &token, &error);
    if (r == 0 && !token) {
        refuse_stranger(gate, conn, request, &gate->logins);
        return;
    }
    if (r == 0)
        r = vrt_sessions_open(gate->sessions, token->id, now_ns, secret);
    if (r == 0) {
        struct vrt_session_report report = { .admin = token->is_admin };
        snprintf(report.user, sizeof(report.user), "token:%s", token->name);
        r = vrt_fields_print(vrt_session_fields, &report, &body);
    }
    if (r < 0) {
        vrt_refuse_errno(&error, vrt_fold(r), "logging in");
        vrt_conn_refuse(conn, &error);
    } else {
        vrt_brake_passed(&gate->logins, address);
        vrt_log_info("token %s: login from %s", token->name, address);
        print_cookie(gate, secret, header, sizeof(header));
        vrt_conn_reply(conn, &(struct vrt_response){
            .status = 200,
            .header = header,
            .body = body.data,
            .body_bytes = body.size_bytes,
        });
    }
    vrt_buf_done(&body);
}

void vrt_gate_logout(struct vrt_gate *gate, struct vrt_conn *conn,
                     const struct vrt_request *request)
{
    char secrets[COOKIES_MAX][VRT_SECRET_BYTES], header[256];
    const int n = find_cookies(request->headers->cookie, secrets);

    /* What a session began ends with it, and nothing of the user's other ones. */
    for (int i = 0; i < n; i++) {
        int64_t id = 0;
        int64_t token_id = vrt_sessions_use(gate->sessions, secrets[i], vrt_clock_now_ns(), &id);
        vrt_sessions_close(gate->sessions, secrets[i]);
        for (int j = 0; token_id && j < gate->n_listeners; j++)
            vrt_listener_cut(gate->listeners[j], VRT_WEB_UID + (uid_t)token_id, id, conn);
    }
    print_cookie(gate, "", header, sizeof(header));
    vrt_conn_reply(conn, &(struct vrt_response){ .status = 204, .header = header });
}

void vrt_gate_cut(struct vrt_gate *gate, int64_t token_id)
{
    vrt_sessions_drop(gate->sessions, token_id);
    for (int i = 0; i < gate->n_listeners; i++)
        vrt_listener_cut(gate->listeners[i], VRT_WEB_UID + (uid_t)token_id, 0, NULL);
}

/* Those that expired are found at their next request anyway; streams make none. */
static void on_tick(uv_timer_t *timer)
{
    struct vrt_gate *gate = timer->data;

    for (size_t i = 0; i < vrt_tokens_n(gate->params.tokens); i++) {
        const struct vrt_token *token = vrt_tokens_at(gate->params.tokens, i);
        if (vrt_token_has_expired(token))
            vrt_gate_cut(gate, token->id);
    }
}

int vrt_gate_check(const struct vrt_gate_params *params, bool is_insecure, struct vrt_error *error)
{
    struct vrt_tcp_address addresses[VRT_TCP_ADDRESSES_MAX];
    int n = vrt_tcp_parse(params->listen, addresses, error);

    for (int i = 0; i < n && !is_insecure; i++)
        if (!vrt_tcp_is_loopback(&addresses[i]))
            return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "others can reach %s, "
                              "and what they say to vrtd would be read on the way: have a proxy "
                              "with TLS lead to 127.0.0.1 (docs/web.md), or set insecure = yes",
                              addresses[i].text);
    if (n >= 0 && !vrt_tcp_are_addresses(params->proxy))
        return vrt_refuse(error, vrt_raise(-EINVAL), "config.invalid", "proxy holds addresses, "
                          "without ports, and spaces between: 127.0.0.1 ::1");
    return n < 0 ? vrt_fold(n) : 0;
}

/* Return: 0; -errno with `error`. */
static int listen_on(struct vrt_gate *gate, const struct vrt_tcp_address *address,
                     struct vrt_error *error)
{
    struct vrt_listener_params params = {
        .loop = gate->params.loop,
        .quota = gate->params.quota,
        .per_address = gate->params.per_address,
        .exempt = gate->params.proxy,
        .headers = headers,
        .request = on_request,
        .ctx = gate,
    };

    vrt_conn_limits_init(&params.limits);
    int fd = vrt_tcp_listen(address, error);
    if (fd < 0)
        return vrt_fold(fd);
    int r = vrt_listener_new(fd, &params, &gate->listeners[gate->n_listeners]);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), address->text);
    gate->n_listeners++;
    vrt_log_info("vrtd serves http://%s", address->text);
    return 0;
}

static void on_failed(void *ctx)
{
    (void)ctx;
}

int vrt_gate_new(const struct vrt_gate_params *params, struct vrt_gate **ret_gate,
                 struct vrt_error *error)
{
    struct vrt_tcp_address addresses[VRT_TCP_ADDRESSES_MAX];
    struct vrt_gate *gate = calloc(1, sizeof(*gate));

    vrt_assert_thread(VRT_THREAD_LOOP);
    int r = gate ? vrt_sessions_new(&gate->sessions) : vrt_raise(-ENOMEM);
    if (r < 0) {
        free(gate);
        return vrt_refuse_errno(error, vrt_fold(r), "listening");
    }
    gate->params = *params;
    uv_timer_init(params->loop, &gate->tick);
    gate->tick.data = gate;
    int n = vrt_tcp_parse(params->listen, addresses, error);
    r = VRT_MIN(n, 0);
    for (int i = 0; r == 0 && i < n; i++)
        r = listen_on(gate, &addresses[i], error);
    if (r < 0) {
        vrt_gate_stop(gate, on_failed, NULL);
        return vrt_fold(r);
    }
    if (n > 0)
        uv_timer_start(&gate->tick, on_tick, TICK_MS, TICK_MS);
    *ret_gate = gate;
    return 0;
}

size_t vrt_gate_n_conns(const struct vrt_gate *gate)
{
    size_t n = 0;

    for (int i = 0; i < gate->n_listeners; i++)
        n += vrt_listener_n_conns(gate->listeners[i]);
    return n;
}

static void count_down(void *ctx)
{
    struct vrt_gate *gate = ctx;
    void (*stopped)(void *ctx) = gate->stopped;
    void *stopped_ctx = gate->stopped_ctx;

    if (--gate->n_waited_for > 0)
        return;
    vrt_sessions_free(gate->sessions);
    free(gate);
    stopped(stopped_ctx);
}

static void on_timer_closed(uv_handle_t *handle)
{
    count_down(handle->data);
}

void vrt_gate_stop(struct vrt_gate *gate, void (*stopped)(void *ctx), void *ctx)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    gate->stopped = stopped;
    gate->stopped_ctx = ctx;
    gate->n_waited_for = gate->n_listeners + 1;
    for (int i = 0; i < gate->n_listeners; i++)
        vrt_listener_stop(gate->listeners[i], count_down, gate);
    uv_close((uv_handle_t *)&gate->tick, on_timer_closed);
}
