/* SPDX-License-Identifier: MIT */

#include "tests/unit/http/http-play.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uv.h>

#include "api.h"
#include "base/buf.h"
#include "daemon/http/listener.h"
#include "tests/unit/http/http-client.h"
#include "tests/unit/test.h"

#define LATER_MS 30
#define LARGE_BYTES (1 << 20)
#define KEPT_MAX 64

struct http_play {
    uv_loop_t loop;
    uv_async_t stop;
    pthread_t thread;
    struct vrt_quota *quota;
    struct vrt_listener *listener;
    char folder[64], path[96];
    int n_fds_before;
    atomic_int n_gone;
    int kept[KEPT_MAX], n_kept;
    bool halted;
};

/* An answer that comes later, or a stream. */
struct later {
    struct http_play *play;
    struct vrt_conn_watch watch;
    uv_timer_t timer;
    struct vrt_buf text;
};

static void on_later_closed(uv_handle_t *handle)
{
    struct later *later = vrt_container_of(handle, struct later, timer);

    vrt_buf_done(&later->text);
    free(later);
}

static void end_later(struct later *later)
{
    uv_close((uv_handle_t *)&later->timer, on_later_closed);
}

static void on_gone(struct vrt_conn_watch *watch)
{
    struct later *later = vrt_container_of(watch, struct later, watch);

    atomic_fetch_add(&later->play->n_gone, 1);
    end_later(later);
}

static void reply(struct vrt_conn *conn, const struct vrt_buf *text)
{
    vrt_conn_reply(conn, &(struct vrt_response){
        .status = 200, .body = text->data, .body_bytes = text->size_bytes,
    });
}

static void on_later(uv_timer_t *timer)
{
    struct later *later = vrt_container_of(timer, struct later, timer);

    reply(later->watch.conn, &later->text);
    end_later(later);
}

static void on_tick(uv_timer_t *timer)
{
    static const char event[] = "event: tick\ndata: {\"text\":\"some text to fill the queue\"}\n\n";
    struct later *later = vrt_container_of(timer, struct later, timer);

    vrt_conn_stream_write(later->watch.conn, event, sizeof(event) - 1);
}

static void on_turn(uv_timer_t *timer)
{
    vrt_conn_receive_on(vrt_container_of(timer, struct later, timer)->watch.conn);
}

static bool on_piece(struct vrt_conn_watch *watch, const char *data, size_t size)
{
    struct later *later = vrt_container_of(watch, struct later, watch);

    if (size == 0) {
        reply(watch->conn, &later->text);
        end_later(later);
        return true;
    }
    expect_int(vrt_buf_append(&later->text, data, size), 0);
    if (size >= HTTP_PLAY_PIECE_BYTES)
        return true;
    uv_timer_start(&later->timer, on_turn, 0, 0);
    return false;
}

static void print_request(const struct vrt_request *request, struct vrt_buf *text)
{
    expect_int(vrt_buf_printf(text, "%s\n%s\n%s\n%.*s\n%d\n", request->method, request->path,
                              request->query, (int)request->body_bytes, request->body,
                              request->is_json), 0);
}

static void print_headers(const struct vrt_http_headers *h, struct vrt_buf *text)
{
    const char *const values[] = { h->content_type, h->expect, h->host, h->origin, h->authorization,
                                   h->cookie, h->forwarded_for, h->fetch_site, h->if_none_match,
                                   h->if_range, h->range };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(values); i++)
        expect_int(vrt_buf_printf(text, "%s\n", values[i]), 0);
}

static void print_files(struct http_play *play, const struct vrt_request *request, bool keep,
                        struct vrt_buf *text)
{
    expect_int(vrt_buf_printf(text, "%d\n", request->files->n), 0);
    for (int i = 0; i < request->files->n; i++) {
        char start[32] = "";
        ssize_t n = pread(request->files->fds[i], start, sizeof(start) - 1, 0);
        expect_int(vrt_buf_printf(text, "%.*s\n", n > 0 ? (int)n : 0, start), 0);
        if (keep && play->n_kept < KEPT_MAX)
            play->kept[play->n_kept++] = VRT_STEAL_FD(request->files->fds[i]);
    }
}

static void answer_later(struct http_play *play, struct vrt_conn *conn,
                         const struct vrt_request *request)
{
    struct later *later = calloc(1, sizeof(*later));

    expect_true(later != NULL);
    later->play = play;
    later->watch.gone = on_gone;
    uv_timer_init(&play->loop, &later->timer);
    if (strcmp(request->path, "/stream") == 0) {
        vrt_conn_stream_start(conn, &later->watch, "", 0);
        uv_timer_start(&later->timer, on_tick, 1, 1);
        return;
    }
    if (request->is_streamed) {
        later->watch.piece = on_piece;
        vrt_conn_receive(conn, &later->watch);
        return;
    }
    print_request(request, &later->text);
    vrt_conn_watch(conn, &later->watch);
    if (strcmp(request->path, "/later") == 0)
        uv_timer_start(&later->timer, on_later, LATER_MS, 0);
}

static void on_request(void *ctx, struct vrt_conn *conn, const struct vrt_request *request)
{
    struct http_play *play = ctx;
    struct vrt_buf text = { .limit_bytes = 0 };
    struct vrt_error error = { .id = NULL };
    const char *path = request->path;

    if (strcmp(path, "/later") == 0 || strcmp(path, "/never") == 0 ||
        strcmp(path, "/stream") == 0 || (request->is_streamed && !request->query[0])) {
        answer_later(play, conn, request);
        return;
    }
    if (strcmp(path, "/echo") == 0) {
        print_request(request, &text);
    } else if (strcmp(path, "/headers") == 0) {
        print_headers(request->headers, &text);
    } else if (strcmp(path, "/files") == 0 || strcmp(path, "/keep") == 0) {
        print_files(play, request, path[1] == 'k', &text);
    } else if (strcmp(path, "/large") == 0) {
        for (int i = 0; i < LARGE_BYTES / 16; i++)
            expect_int(vrt_buf_append(&text, "0123456789abcdef", 16), 0);
    } else {
        vrt_refuse(&error, -ENOENT, VRT_E(ROUTE_NOT_FOUND), "nothing is at %s", path);
        vrt_conn_refuse(conn, &error);
        return;
    }
    reply(conn, &text);
    vrt_buf_done(&text);
}

static void on_stopped(void *ctx)
{
    *(struct vrt_listener **)ctx = NULL;
}

static void on_stop(uv_async_t *async)
{
    struct http_play *play = vrt_container_of(async, struct http_play, stop);

    vrt_listener_stop(play->listener, on_stopped, &play->listener);
    uv_close((uv_handle_t *)async, NULL);
}

static void *run(void *ctx)
{
    struct http_play *play = ctx;

    uv_run(&play->loop, UV_RUN_DEFAULT);
    return NULL;
}

struct http_play *http_play_start(const struct vrt_conn_limits *limits,
                                  struct vrt_quota_limit conns)
{
    struct http_play *play = calloc(1, sizeof(*play));
    const struct vrt_quota_limit quotas[VRT_QUOTA_KIND_COUNT] = {
        [VRT_QUOTA_CONNECTIONS] = conns,
        [VRT_QUOTA_UNREAD_BYTES] = { HTTP_PLAY_UNREAD_BYTES, HTTP_PLAY_UNREAD_BYTES },
    };
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    expect_true(play != NULL);
    snprintf(play->folder, sizeof(play->folder), "/tmp/vrt-http-XXXXXX");
    expect_true(mkdtemp(play->folder) != NULL);
    snprintf(play->path, sizeof(play->path), "%s/s", play->folder);
    memcpy(address.sun_path, play->path, strlen(play->path) + 1);
    /* The first loop of a process opens descriptors for all that follow. */
    expect_int(uv_loop_init(&play->loop), 0);
    expect_int(uv_loop_close(&play->loop), 0);
    play->n_fds_before = test_open_fds();
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    expect_true(fd >= 0);
    expect_int(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    expect_int(listen(fd, 64), 0);
    expect_int(vrt_quota_new(quotas, &play->quota), 0);
    expect_int(uv_loop_init(&play->loop), 0);
    expect_int(uv_async_init(&play->loop, &play->stop, on_stop), 0);
    expect_int(vrt_listener_new(fd, &(struct vrt_listener_params){
        .loop = &play->loop, .quota = play->quota, .limits = *limits,
        .request = on_request, .ctx = play,
    }, &play->listener), 0);
    expect_int(pthread_create(&play->thread, NULL, run, play), 0);
    return play;
}

struct http_play *http_play_start_usual(void)
{
    struct vrt_conn_limits limits;

    vrt_conn_limits_init(&limits);
    return http_play_start(&limits, HTTP_PLAY_MANY);
}

void http_play_halt(struct http_play *play)
{
    uv_async_send(&play->stop);
    pthread_join(play->thread, NULL);
    expect_true(play->listener == NULL);
    play->halted = true;
}

void http_play_stop(struct http_play *play)
{
    if (!play->halted)
        http_play_halt(play);
    expect_int(vrt_quota_held(play->quota, VRT_QUOTA_CONNECTIONS, getuid()), 0);
    expect_int(vrt_quota_held(play->quota, VRT_QUOTA_UNREAD_BYTES, getuid()), 0);
    vrt_quota_free(play->quota);
    expect_int(uv_loop_close(&play->loop), 0);
    for (int i = 0; i < play->n_kept; i++)
        close(play->kept[i]);
    expect_int(test_open_fds(), play->n_fds_before);
    unlink(play->path);
    rmdir(play->folder);
    free(play);
}

int http_play_n_gone(const struct http_play *play)
{
    return atomic_load(&play->n_gone);
}

int http_play_connect(const struct http_play *play)
{
    return http_client_connect(play->path);
}
