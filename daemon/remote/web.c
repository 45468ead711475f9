/* SPDX-License-Identifier: MIT */

/*
 * libcurl says which sockets it waits for and when it wants to be woken; libuv waits for them. What
 * has ended is looked for after each such step, outside of libcurl, so that whoever is told may do
 * anything but free the object itself.
 *
 * Private addresses are refused where the socket is made, with the very address it is for: a name
 * that resolves to something else the second time, or a redirect, comes by here as well. There are
 * no connections kept for later: each passes the check by itself.
 *
 * The resolver must be libcurl's threaded one or c-ares. QUICK_EXIT keeps a call that is cancelled
 * from waiting for a resolver's thread, which ends by itself.
 */

#include "daemon/remote/web-impl.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <uv.h>

#include "api.h"
#include "base/cleanup.h"
#include "base/thread.h"
#include "daemon/remote/address.h"

#define REDIRECTS_MAX 5            /* a mirror, its cache, its signature */
#define STALL_BYTES_PER_S 100       /* slower is as good as gone */
#define RETRY_MAX_MS (60 * 1000)    /* between two tries of our own accord */
#define ASKED_MAX_S 600             /* that a server may ask us to wait */
#define BUFFER_BYTES (64 * 1024)

struct vrt_web {
    struct vrt_web_params params;
    char *proxy, *ca_file;
    CURLM *multi;
    uv_timer_t timer;
    bool is_global_ready;
    struct vrt_list unwatched;      /* calls whose sockets can't be watched: they are to end */
    int n_calls;
    void (*stopped)(void *ctx);
    void *stopped_ctx;
};

/* A socket of libcurl's that libuv waits for. */
struct watched {
    uv_poll_t poll;
    struct vrt_web *web;
    curl_socket_t fd;
};

void vrt_web_params_init(struct vrt_web_params *params)
{
    *params = (struct vrt_web_params){
        .proxy = "",
        .ca_file = "",
        .connect_ms = 20 * 1000,
        .stall_s = 60,
        .retry_ms = 1000,
    };
}

const struct vrt_web_params *vrt_web_params(const struct vrt_web *web)
{
    return &web->params;
}

/* Tells those whose calls have ended. The message is gone as soon as its call is removed. */
static void tell_ended(struct vrt_web *web)
{
    CURLMsg *message;
    int n_left;

    while ((message = curl_multi_info_read(web->multi, &n_left))) {
        struct vrt_web_call *call = NULL;
        CURLcode code = message->data.result;
        if (message->msg != CURLMSG_DONE)
            continue;
        curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&call);
        vrt_list_remove(&call->unwatched);
        call->done(call, code);
    }
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
    struct watched *watched = vrt_container_of(poll, struct watched, poll);
    struct vrt_web *web = watched->web;
    int flags = status < 0 ? CURL_CSELECT_ERR : 0, n_running;

    flags |= events & UV_READABLE ? CURL_CSELECT_IN : 0;
    flags |= events & UV_WRITABLE ? CURL_CSELECT_OUT : 0;
    curl_multi_socket_action(web->multi, watched->fd, flags, &n_running);
    tell_ended(web);
}

static void on_watched_closed(uv_handle_t *handle)
{
    free(vrt_container_of(handle, struct watched, poll));
}

static int watch(struct vrt_web *web, curl_socket_t fd, struct watched **ret_watched)
{
    struct watched *watched = calloc(1, sizeof(*watched));

    if (!watched)
        return vrt_raise(-ENOMEM);
    watched->web = web;
    watched->fd = fd;
    int r = uv_poll_init_socket(web->params.loop, &watched->poll, fd);
    if (r < 0) {
        free(watched);
        return vrt_raise(r);
    }
    curl_multi_assign(web->multi, fd, watched);
    *ret_watched = watched;
    return 0;
}

static void on_time(uv_timer_t *timer)
{
    struct vrt_web *web = timer->data;
    int n_running;

    while (!vrt_list_is_empty(&web->unwatched)) {
        struct vrt_web_call *call = VRT_LIST_FIRST(&web->unwatched, struct vrt_web_call, unwatched);
        vrt_list_remove(&call->unwatched);
        curl_multi_remove_handle(web->multi, call->easy);
        call->done(call, CURLE_OUT_OF_MEMORY);
    }
    /* Behind them: then it says anew when it wants to be called. */
    curl_multi_socket_action(web->multi, CURL_SOCKET_TIMEOUT, 0, &n_running);
    tell_ended(web);
}

/* libcurl begins, changes or ends its waiting for a socket. Return: 0. */
static int on_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *slot)
{
    struct vrt_web *web = ctx;
    struct watched *watched = slot;
    struct vrt_web_call *call = NULL;

    if (what == CURL_POLL_REMOVE) {
        if (watched)
            uv_close((uv_handle_t *)&watched->poll, on_watched_closed);
        return 0;
    }
    int r = watched ? 0 : watch(web, fd, &watched);
    int events = (what & CURL_POLL_IN ? UV_READABLE : 0) | (what & CURL_POLL_OUT ? UV_WRITABLE : 0);
    if (r == 0)
        r = uv_poll_start(&watched->poll, events, on_ready);
    if (r < 0 && curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&call) == CURLE_OK && call) {
        /* Not from within libcurl, and not all calls, as it would. */
        call->watch_r = r;
        vrt_list_remove(&call->unwatched);
        vrt_list_append(&web->unwatched, &call->unwatched);
        uv_timer_start(&web->timer, on_time, 0, 0);
    }
    return 0;
}

/* Even "now" is later: libcurl must not be called from its own callbacks. */
static int on_timeout_wanted(CURLM *multi, long timeout_ms, void *ctx)
{
    struct vrt_web *web = ctx;

    (void)multi;
    if (!vrt_list_is_empty(&web->unwatched))
        return 0;
    if (timeout_ms < 0)
        return uv_timer_stop(&web->timer);
    return uv_timer_start(&web->timer, on_time, (uint64_t)timeout_ms, 0);
}

/* Makes the socket for one address that a name, a redirect or a proxy led to. */
static curl_socket_t on_open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct vrt_web_call *call = ctx;
    const struct vrt_web *web = call->web;

    /* A proxy is the administrator's choice, wherever it stands. */
    if (purpose != CURLSOCKTYPE_IPCXN ||
        (!web->params.private_addresses && !web->proxy[0] &&
         !vrt_address_is_public(&address->addr))) {
        call->private_refused = true;
        vrt_address_print(&address->addr, call->refused, sizeof(call->refused));
        return CURL_SOCKET_BAD;
    }
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int check_libcurl(struct vrt_error *error)
{
    const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);

    if (!(info->features & CURL_VERSION_ASYNCHDNS))
        return vrt_refuse(error, vrt_raise(-ENOTSUP), VRT_E(REMOTE_OFF),
                          "this libcurl (%s) resolves names while everybody waits: nothing is "
                          "fetched", info->version);
    return 0;
}

static struct vrt_web *web_free(struct vrt_web *web)
{
    curl_multi_cleanup(web->multi);
    if (web->is_global_ready)
        curl_global_cleanup();
    free(web->proxy);
    free(web->ca_file);
    free(web);
    return NULL;
}

bool vrt_web_has_network(void)
{
    struct ifaddrs *all = NULL;
    bool has_network = false;

    if (getifaddrs(&all) < 0)
        return true;
    for (const struct ifaddrs *one = all; one && !has_network; one = one->ifa_next)
        has_network = (one->ifa_flags & IFF_UP) && !(one->ifa_flags & IFF_LOOPBACK);
    freeifaddrs(all);
    return has_network;
}

int vrt_web_new(const struct vrt_web_params *params, struct vrt_web **ret_web,
                struct vrt_error *error)
{
    struct vrt_web *web = calloc(1, sizeof(*web));

    vrt_assert_thread(VRT_THREAD_LOOP);
    if (!web)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "starting libcurl");
    web->params = *params;
    web->is_global_ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    int r = web->is_global_ready ? check_libcurl(error) : vrt_raise(-ENOMEM);
    if (r == 0) {
        web->proxy = strdup(params->proxy);
        web->ca_file = strdup(params->ca_file);
        vrt_list_init(&web->unwatched);
        web->multi = curl_multi_init();
        r = web->proxy && web->ca_file && web->multi ? 0 : vrt_raise(-ENOMEM);
    }
    if (r < 0) {
        web_free(web);
        return vrt_refuse_errno(error, vrt_fold(r), "starting libcurl");
    }
    web->params.proxy = web->proxy;
    web->params.ca_file = web->ca_file;
    uv_timer_init(params->loop, &web->timer);
    web->timer.data = web;
    curl_multi_setopt(web->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(web->multi, CURLMOPT_SOCKETDATA, web);
    curl_multi_setopt(web->multi, CURLMOPT_TIMERFUNCTION, on_timeout_wanted);
    curl_multi_setopt(web->multi, CURLMOPT_TIMERDATA, web);
    *ret_web = web;
    return 0;
}

static void on_timer_closed(uv_handle_t *handle)
{
    struct vrt_web *web = handle->data;
    void (*stopped)(void *ctx) = web->stopped;
    void *ctx = web->stopped_ctx;

    web_free(web);
    stopped(ctx);
}

void vrt_web_stop(struct vrt_web *web, void (*stopped)(void *ctx), void *ctx)
{
    vrt_assert_thread(VRT_THREAD_LOOP);
    vrt_assert(web->n_calls == 0);
    web->stopped = stopped;
    web->stopped_ctx = ctx;
    /* While the timer can still be stopped. */
    curl_multi_cleanup(VRT_STEAL(web->multi));
    uv_close((uv_handle_t *)&web->timer, on_timer_closed);
}

/* What all calls have in common. Return: whether libcurl had the memory for it. */
static bool prepare(struct vrt_web_call *call, const char *url, bool follows)
{
    const struct vrt_web *web = call->web;
    bool is_https = strncasecmp(url, "https:", 6) == 0;
    CURL *easy = call->easy;
    bool good = true;

    /* These hold texts, and may fail for want of memory. */
    good &= curl_easy_setopt(easy, CURLOPT_URL, url) == CURLE_OK;
    good &= curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK;
    good &= curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR,
                             is_https ? "https" : "http,https") == CURLE_OK;
    good &= curl_easy_setopt(easy, CURLOPT_PROXY, web->proxy) == CURLE_OK;
    good &= curl_easy_setopt(easy, CURLOPT_NOPROXY, "") == CURLE_OK;
    if (web->ca_file[0])
        good &= curl_easy_setopt(easy, CURLOPT_CAINFO, web->ca_file) == CURLE_OK &&
                curl_easy_setopt(easy, CURLOPT_CAPATH, NULL) == CURLE_OK;
    good &= curl_easy_setopt(easy, CURLOPT_USERAGENT, "vrtd/" VRT_VERSION) == CURLE_OK;

    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, follows ? 1L : 0L);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
    curl_easy_setopt(easy, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    /* A call that is held up holds up its own connection only, which stops its sender. */
    curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1);
    curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, 1L);
    curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);
    curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, (long)BUFFER_BYTES);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)web->params.connect_ms);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_LIMIT, (long)STALL_BYTES_PER_S);
    curl_easy_setopt(easy, CURLOPT_LOW_SPEED_TIME, (long)web->params.stall_s);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, call);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, call->problem);
    curl_easy_setopt(easy, CURLOPT_PRIVATE, call);
    return good;
}

int vrt_web_call_begin(struct vrt_web_call *call, struct vrt_web *web, const char *url,
                       bool follows)
{
    vrt_assert(!call->easy);
    call->web = web;
    call->private_refused = false;
    call->watch_r = 0;
    vrt_list_init(&call->unwatched);
    call->problem[0] = '\0';
    call->easy = curl_easy_init();
    if (!call->easy)
        return vrt_raise(-ENOMEM);
    web->n_calls++;
    if (prepare(call, url, follows))
        return 0;
    vrt_web_call_end(call);
    return vrt_raise(-ENOMEM);
}

int vrt_web_call_start(struct vrt_web_call *call)
{
    return curl_multi_add_handle(call->web->multi, call->easy) == CURLM_OK ? 0 :
                                                                             vrt_raise(-ENOMEM);
}

void vrt_web_call_end(struct vrt_web_call *call)
{
    if (!call->easy)
        return;
    /* One that was never added is none of its own: libcurl says so, which doesn't matter. */
    curl_multi_remove_handle(call->web->multi, call->easy);
    vrt_list_remove(&call->unwatched);
    curl_easy_cleanup(call->easy);
    call->easy = NULL;
    call->web->n_calls--;
}

bool vrt_web_call_is_passing(const struct vrt_web_call *call, CURLcode code)
{
    switch (code) {
    case CURLE_COULDNT_CONNECT:
        return !call->private_refused;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
        return true;
    default:
        return false;
    }
}

bool vrt_web_status_is_passing(long status)
{
    return status == 408 || status == 425 || status == 429 || (status >= 500 && status != 501);
}

int vrt_web_call_refuse(const struct vrt_web_call *call, CURLcode code, const char *shown,
                        struct vrt_error *error)
{
    char problem[CURL_ERROR_SIZE];

    if (call->private_refused && code == CURLE_COULDNT_CONNECT)
        return vrt_refuse(error, vrt_raise(-EIO), VRT_E(REMOTE_ADDRESS),
                          "%s leads to the private address %s, which isn't connected to: see "
                          "private_addresses in vrtd.conf(5)", shown, call->refused);
    if (code == CURLE_TOO_MANY_REDIRECTS)
        return vrt_refuse(error, vrt_raise(-EIO), VRT_E(REMOTE_FAILED),
                          "%s redirects more than %d times", shown, REDIRECTS_MAX);
    if (code == CURLE_UNSUPPORTED_PROTOCOL)
        return vrt_refuse(error, vrt_raise(-EIO), VRT_E(REMOTE_URL),
                          "%s redirects to something other than http:// and https://, or from the "
                          "latter to the former", shown);
    if (code == CURLE_LOGIN_DENIED)
        return vrt_refuse(error, vrt_raise(-EIO), VRT_E(REMOTE_URL),
                          "%s redirects to an address with a user's name or password in it", shown);
    if (code == CURLE_OUT_OF_MEMORY)
        return vrt_refuse_errno(error, vrt_raise(call->watch_r ? call->watch_r : -ENOMEM), shown);
    const char *said = call->problem[0] ? call->problem : curl_easy_strerror(code);
    if (code == CURLE_PEER_FAILED_VERIFICATION)
        return vrt_refuse(error, vrt_raise(-EIO), VRT_E(REMOTE_FAILED),
                          "%s: its certificate isn't trusted: %s: see ca_file in vrtd.conf(5)",
                          shown, vrt_printable(said, problem, sizeof(problem)));
    return vrt_refuse(error, vrt_raise(-EIO), VRT_E(REMOTE_FAILED), "%s: %s", shown,
                      vrt_printable(said, problem, sizeof(problem)));
}

int vrt_web_retry_ms(const struct vrt_web *web, int n_failed, long asked_s)
{
    int64_t wait_ms = (int64_t)web->params.retry_ms << VRT_MIN(n_failed, 16);

    wait_ms = VRT_MIN(wait_ms, RETRY_MAX_MS);
    return (int)VRT_MAX(wait_ms, (int64_t)VRT_MIN(asked_s, ASKED_MAX_S) * 1000);
}
