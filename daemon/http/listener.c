/* SPDX-License-Identifier: MIT */

#include "daemon/http/listener.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/thread.h"
#include "daemon/http/fair.h"
#include "daemon/access/quota.h"

#define VRT_LOG_TOPIC "listener"

/* In a turn, whichever comes first. The kernel's queue is everybody's: it must not stay full. */
#define ACCEPTS_PER_TURN 512
#define ACCEPT_NS_PER_TURN (2 * 1000 * 1000)
#define USER_NS_PER_TURN (1000 * 1000)          /* of the loop's time; then the others': what
                                                   goes on for a submission takes many turns */
#define RETRY_MS 200            /* when the process has no descriptor left for a connection */
#define SAY_MS 10000            /* how often it is said that clients wait, or are turned away */

/* A connection as the listener knows it. */
struct client {
    struct vrt_listener *listener;
    struct vrt_conn *conn;
    struct vrt_peer peer;
    char origin[VRT_PEER_ADDRESS_BYTES];    /* of TCP: what its address is counted as */
    uid_t charged_uid;          /* whose connection it is */
    int64_t session_id;         /* that the last request was of; 0: none */
    struct vrt_list link;
};

struct vrt_listener {
    struct vrt_listener_params params;
    uv_poll_t poll;
    uv_timer_t retry;
    int n_handles;              /* of the two, not closed yet */
    int fd;
    struct vrt_list clients;    /* of struct client.link */
    size_t n_clients;
    struct vrt_fair fair;       /* a turn is a millisecond of the loop's clock: it stands still
                                   within one */
    uint64_t said_ms;           /* when that was last said; 0: never */
    void (*stopped)(void *ctx); /* not NULL: it is stopping */
    void *stopped_ctx;
};

static struct client *client_free(struct client *client)
{
    if (!client)
        return NULL;
    vrt_peer_done(&client->peer);
    free(client);
    return NULL;
}

VRT_DEFINE_CLEANUP(struct client, client_free)

static void free_if_stopped(struct vrt_listener *listener)
{
    if (!listener->stopped || listener->n_handles > 0 || listener->n_clients > 0)
        return;
    void (*stopped)(void *ctx) = listener->stopped;
    void *ctx = listener->stopped_ctx;
    free(listener);
    stopped(ctx);
}

static void on_conn_closed(void *ctx)
{
    struct client *client = ctx;
    struct vrt_listener *listener = client->listener;

    vrt_list_remove(&client->link);
    vrt_quota_give(listener->params.quota, VRT_QUOTA_CONNECTIONS, client->charged_uid);
    listener->n_clients--;
    client_free(client);
    free_if_stopped(listener);
}

static void on_request(void *ctx, struct vrt_conn *conn, const struct vrt_request *request)
{
    struct client *client = ctx;
    const struct vrt_listener_params *params = &client->listener->params;

    params->request(params->ctx, conn, request);
}

static bool may_go_on(void *ctx)
{
    const struct client *client = ctx;
    const struct vrt_listener *listener = client->listener;

    return vrt_fair_may(&listener->fair, uv_now(listener->params.loop), client->peer.uid,
                        USER_NS_PER_TURN);
}

static void on_spent(void *ctx, int64_t spent_ns)
{
    const struct client *client = ctx;
    struct vrt_listener *listener = client->listener;

    vrt_fair_spend(&listener->fair, uv_now(listener->params.loop), client->peer.uid, spent_ns);
}

static bool on_charge(void *ctx, int64_t n_bytes)
{
    const struct client *client = ctx;
    struct vrt_quota *quota = client->listener->params.quota;

    if (n_bytes > 0)
        return vrt_quota_take_amount(quota, VRT_QUOTA_UNREAD_BYTES, client->peer.uid,
                                     n_bytes) == 0;
    vrt_quota_give_amount(quota, VRT_QUOTA_UNREAD_BYTES, client->peer.uid, -n_bytes);
    return true;
}

/* Whether it may be said now that clients wait or are turned away. */
static bool may_say(struct vrt_listener *listener)
{
    uint64_t now_ms = uv_now(listener->params.loop);

    if (listener->said_ms && now_ms - listener->said_ms < SAY_MS)
        return false;
    listener->said_ms = now_ms;
    return true;
}

/* Tells a client that there is no room, as far as the socket takes it, and closes. */
static void turn_away(struct vrt_listener *listener, int fd, const struct vrt_peer *peer,
                      const char *why)
{
    static const char body[] = "{\"error\":{\"id\":\"http.too_many\",\"message\":\"too many "
        "connections are open: close some, or try again later\",\"field\":null}}";
    char answer[512], who[VRT_PEER_ADDRESS_BYTES];
    VRT_CLEANUP(vrt_closep) int socket_fd = fd;

    snprintf(who, sizeof(who), "uid %u", (unsigned)peer->uid);
    if (peer->address[0])
        memcpy(who, peer->address, sizeof(who));

    if (may_say(listener))
        vrt_log_warning("connections of %s are turned away: %s", who, why);
    int n = snprintf(answer, sizeof(answer), "HTTP/1.1 503 Service Unavailable\r\n"
                     "Connection: close\r\nContent-Type: application/json\r\n"
                     "Content-Length: %zu\r\n\r\n%s", sizeof(body) - 1, body);
    if (send(socket_fd, answer, (size_t)n, MSG_NOSIGNAL) < 0)
        vrt_log_debug("and was not told: %s", strerror(errno));
}

/* Whether as many came of the address as may. */
static bool is_crowded(const struct vrt_listener *listener, const struct client *newest)
{
    const struct client *client;
    int n = 0;

    if (!listener->params.per_address ||
        vrt_peer_is_listed(listener->params.exempt, newest->peer.address))
        return false;
    VRT_LIST_FOREACH(client, &listener->clients, link)
        n += strcmp(client->origin, newest->origin) == 0;
    return n >= listener->params.per_address;
}

/* Who came. A user whose number is one of those of tokens would be taken for another. */
static int init_peer(const struct vrt_listener *listener, int fd, struct vrt_peer *ret_peer)
{
    int r = listener->params.per_address ? vrt_peer_init_tcp(fd, ret_peer) :
            vrt_peer_init(fd, ret_peer);

    if (r == 0 && !listener->params.per_address && vrt_uid_is_web(ret_peer->uid)) {
        vrt_log_warning("uid %lu is not served: its number is one of those for tokens",
                        (unsigned long)ret_peer->uid);
        vrt_peer_done(ret_peer);
        return -ECONNABORTED;
    }
    /* One by TCP may be gone by now. */
    return r == -ENOTCONN || r == -EINVAL ? -ECONNABORTED : vrt_fold(r);
}

/* Serves an accepted connection, which it takes over. Return: 0, -errno. */
static int admit(struct vrt_listener *listener, int fd)
{
    VRT_CLEANUP(vrt_closep) int socket_fd = fd;
    VRT_CLEANUP(client_freep) struct client *client = calloc(1, sizeof(*client));

    if (!client)
        return vrt_raise(-ENOMEM);
    int r = init_peer(listener, socket_fd, &client->peer);
    if (r < 0)
        return r == -ECONNABORTED ? 0 : vrt_fold(r);
    uid_t uid = client->charged_uid = client->peer.uid;
    vrt_peer_name_origin(client->peer.address, client->origin);
    if (is_crowded(listener, client)) {
        turn_away(listener, VRT_STEAL_FD(socket_fd), &client->peer, "too many come of one address");
        return 0;
    }
    r = vrt_quota_take(listener->params.quota, VRT_QUOTA_CONNECTIONS, uid);
    if (r > 0)
        turn_away(listener, VRT_STEAL_FD(socket_fd), &client->peer, r == VRT_QUOTA_E_USER ?
                  "this user has too many" : "there are too many");
    if (r != 0)
        return r < 0 ? vrt_fold(r) : 0;
    client->listener = listener;
    r = vrt_conn_new(VRT_STEAL_FD(socket_fd), &(struct vrt_conn_params){
        .loop = listener->params.loop,
        .peer = &client->peer,
        .limits = &listener->params.limits,
        .headers = listener->params.headers,
        .request = on_request,
        .may_go_on = may_go_on,
        .spent = on_spent,
        .charge = on_charge,
        .closed = on_conn_closed,
        .ctx = client,
    }, &client->conn);
    if (r < 0) {
        vrt_quota_give(listener->params.quota, VRT_QUOTA_CONNECTIONS, uid);
        return vrt_fold(r);
    }
    vrt_list_append(&listener->clients, &client->link);
    listener->n_clients++;
    VRT_STEAL(client);
    return 0;
}

static void on_retry(uv_timer_t *timer);

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct vrt_listener *listener = poll->data;
    int64_t start_ns = vrt_clock_now_ns();

    (void)events;
    for (int i = 0; i < ACCEPTS_PER_TURN && vrt_clock_now_ns() - start_ns < ACCEPT_NS_PER_TURN;
         i++) {
        int fd = status < 0 ? status : vrt_peer_accept(listener->fd);
        /* Where there are more, the loop says so again. */
        if (fd == -EAGAIN || fd == -EINTR || fd == -ECONNABORTED)
            return;
        int r = fd < 0 ? fd : admit(listener, fd);
        if (r < 0) {
            /* The connection stays in the kernel's queue: asking again at once would spin. */
            if (may_say(listener))
                vrt_log_warning("clients have to wait: %s", strerror(-r));
            uv_poll_stop(&listener->poll);
            uv_timer_start(&listener->retry, on_retry, RETRY_MS, 0);
            return;
        }
    }
}

static void on_retry(uv_timer_t *timer)
{
    struct vrt_listener *listener = timer->data;

    uv_poll_start(&listener->poll, UV_READABLE, on_poll);
}

int vrt_listener_new(int fd, const struct vrt_listener_params *params,
                     struct vrt_listener **ret_listener)
{
    VRT_CLEANUP(vrt_closep) int socket_fd = fd;
    VRT_CLEANUP(vrt_freep) struct vrt_listener *listener = calloc(1, sizeof(*listener));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!listener)
        return vrt_raise(-ENOMEM);
    listener->params = *params;
    vrt_list_init(&listener->clients);
    int r = uv_poll_init(params->loop, &listener->poll, fd);
    if (r < 0)
        return vrt_raise(r);
    uv_timer_init(params->loop, &listener->retry);
    listener->poll.data = listener->retry.data = listener;
    listener->n_handles = 2;
    listener->fd = VRT_STEAL_FD(socket_fd);
    uv_poll_start(&listener->poll, UV_READABLE, on_poll);
    *ret_listener = VRT_STEAL(listener);
    return 0;
}

void vrt_listener_name(struct vrt_conn *conn, uid_t uid, int64_t session_id)
{
    struct client *client = vrt_conn_ctx(conn);

    vrt_assert(client->listener->params.per_address && vrt_uid_is_web(uid));
    client->peer.uid = uid;
    client->session_id = session_id;
}

void vrt_listener_cut(struct vrt_listener *listener, uid_t uid, int64_t session_id,
                      const struct vrt_conn *but)
{
    struct client *client;

    VRT_LIST_FOREACH(client, &listener->clients, link)
        if (client->peer.uid == uid && client->conn != but &&
            (!session_id || client->session_id == session_id))
            vrt_conn_finish(client->conn);
}

size_t vrt_listener_n_conns(const struct vrt_listener *listener)
{
    return listener->n_clients;
}

static void on_handle_closed(uv_handle_t *handle)
{
    struct vrt_listener *listener = handle->data;

    if (--listener->n_handles == 0)
        free_if_stopped(listener);
}

void vrt_listener_stop(struct vrt_listener *listener, void (*stopped)(void *ctx), void *ctx)
{
    struct client *client;

    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(!listener->stopped);
    listener->stopped = stopped;
    listener->stopped_ctx = ctx;
    uv_close((uv_handle_t *)&listener->poll, on_handle_closed);
    uv_close((uv_handle_t *)&listener->retry, on_handle_closed);
    close(listener->fd);
    VRT_LIST_FOREACH(client, &listener->clients, link)
        vrt_conn_finish(client->conn);
}
