/* SPDX-License-Identifier: MIT */
/* daemon/conn, peer, http: open files that come with requests, bodies in pieces, and headers. */

#include "tests/unit/test.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/macro.h"
#include "tests/unit/http/http-client.h"
#include "tests/unit/http/http-play.h"

static char buffer[1 << 16];

static int temporary_file(const char *text)
{
    char path[] = "/tmp/vrt-file-XXXXXX";
    int fd = mkostemp(path, O_CLOEXEC);

    expect_true(fd >= 0);
    unlink(path);
    expect_int(write(fd, text, strlen(text)), strlen(text));
    return fd;
}

static void test_files(void)
{
    static const char request[] = "GET /files HTTP/1.1\r\n" HOST "\r\n";
    struct http_play *play = http_play_start_usual();
    int fds[3] = { temporary_file("one"), temporary_file("two"), temporary_file("three") };
    int fd = http_play_connect(play);

    http_client_send_text(fd, request);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
    expect_contains(buffer, "\r\n\r\n0\n");
    /* With each request of one connection others, or none. */
    http_client_send_files(fd, "\r\n", fds, 2);
    http_client_send_text(fd, request);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
    expect_contains(buffer, "\r\n\r\n2\none\ntwo\n");
    http_client_send_text(fd, request);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
    expect_contains(buffer, "\r\n\r\n0\n");
    /* In two messages, split from a request in single bytes, and kept by the route. */
    http_client_send_files(fd, "\r\n", fds + 2, 1);
    test_sleep_ms(20);
    http_client_send_files(fd, "\r\n", fds, 3);
    for (const char *byte = "GET /keep HTTP/1.1\r\n" HOST "\r\n"; *byte; byte++)
        http_client_send(fd, byte, 1);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
    expect_contains(buffer, "\r\n\r\n4\nthree\none\ntwo\nthree\n");
    close(fd);
    for (int i = 0; i < 3; i++)
        close(fds[i]);
    http_play_stop(play);
}

/* Too many, at once and in sum; with other bytes, and within a request. */
static void test_files_refused(void)
{
    static const struct {
        const char *first;
        int n_first;
        const char *then;
        int n_then;
    } cases[] = { { "\r\n", 20, NULL, 0 }, { "\r\n", 3, "\r\n", 2 }, { "GE", 1, NULL, 0 },
                  { "GET /files HTTP/1.1\r\n", 0, "\r\n", 1 } };
    struct http_play *play = http_play_start_usual();
    int one = temporary_file("one");
    int fds[20], fd;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        fds[i] = one;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++, close(fd)) {
        fd = http_play_connect(play);
        http_client_send_files(fd, cases[i].first, fds, cases[i].n_first);
        test_sleep_ms(20);
        if (cases[i].then)
            http_client_send_files(fd, cases[i].then, fds, cases[i].n_then);
        expect_int(http_client_read(fd, buffer, sizeof(buffer)), 400);
        expect_contains(buffer, "request.descriptors");
    }
    /* And a client that goes away at once. */
    fd = http_play_connect(play);
    http_client_send_files(fd, "\r\n", fds, 4);
    close(fd);
    close(one);
    http_play_stop(play);
}

/* Files without a request: the time for one begins with them, although no byte of it came. */
static void test_files_alone(void)
{
    struct vrt_conn_limits limits;
    int fds[4] = { 0, 1, 2, 0 };

    vrt_conn_limits_init(&limits);
    limits.request_ms = 100;
    struct http_play *play = http_play_start(&limits, HTTP_PLAY_MANY);
    int fd = http_play_connect(play);
    http_client_send_files(fd, "\r\n", fds, 4);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 408);
    close(fd);
    http_play_stop(play);
}

/* Sends as much of a body as a period wants, and no more. Return: how long it was waited for. */
static int64_t wait_refused(struct http_play *play)
{
    const int64_t start_ns = vrt_clock_now_ns();
    int fd = http_play_connect(play);

    http_client_send_text(fd, "POST /v1/uploads HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
                          "Content-Length: 1001\r\n\r\n");
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 100);
    memset(buffer, 'x', HTTP_PLAY_PIECE_BYTES);
    http_client_send(fd, buffer, HTTP_PLAY_PIECE_BYTES);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 408);
    expect_true(http_client_is_closed(fd));
    close(fd);
    return (vrt_clock_now_ns() - start_ns) / 1000000;
}

/* A body is waited for by the period: who sends enough in one has another one. On a busy machine
 * the first may be over before he has. */
static void test_pieces(void)
{
    struct vrt_conn_limits limits;
    int n = 1;

    vrt_conn_limits_init(&limits);
    limits.piece_ms = 100;
    limits.piece_bytes = HTTP_PLAY_PIECE_BYTES;
    struct http_play *play = http_play_start(&limits, HTTP_PLAY_MANY);
    for (; wait_refused(play) < 180; n++)
        continue;
    expect_int(http_play_n_gone(play), n);
    http_play_stop(play);
}

/* The headers that mean something, and the room of each: longer, it is as good as none, or cut. */
static const struct {
    const char *name;
    size_t room;
    bool is_cut;
} headers[] = {
    { "Content-Type", 63, true }, { "Expect", 31, true }, { "HOST", 255, false },
    { "Origin", 255, false }, { "Authorization", 127, false }, { "Cookie", 4095, false },
    { "X-Forwarded-For", 127, false }, { "Sec-Fetch-Site", 15, false },
    { "If-None-Match", 63, true }, { "If-Range", 63, true }, { "Range", 63, false },
};

/* One of them with n bytes; behind the body it means nothing. */
static void check_header(struct http_play *play, size_t h, size_t n)
{
    const bool is_host = h == 2, is_refused = h == 5 && n > headers[h].room;
    struct vrt_buf request = { .limit_bytes = 0 };
    int fd = http_play_connect(play);

    expect_int(vrt_buf_printf(&request, "POST /headers HTTP/1.1\r\n%s: %0*d\r\n%s"
                              "Transfer-Encoding: chunked\r\n\r\n0\r\n%s: trailer\r\n\r\n",
                              headers[h].name, (int)n, 0, is_host ? "" : HOST, headers[h].name), 0);
    http_client_send(fd, request.data, request.size_bytes);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), is_refused ? 431 : 200);
    const char *line = strstr(buffer, "\r\n\r\n") + 4;
    for (size_t k = 0; k < VRT_ARRAY_SIZE(headers) && !is_refused; k++) {
        const size_t wanted = n <= headers[h].room ? n : headers[h].is_cut ? headers[h].room : 0;
        expect_int(strcspn(line, "\n"), k == h ? wanted : k == 2);
        line = strchr(line, '\n') + 1;
    }
    vrt_buf_done(&request);
    close(fd);
}

static void test_headers(void)
{
    struct http_play *play = http_play_start_usual();

    for (size_t h = 0; h < VRT_ARRAY_SIZE(headers); h++) {
        check_header(play, h, headers[h].room);
        check_header(play, h, headers[h].room + 1);
        check_header(play, h, 5000);
    }
    http_play_stop(play);
}

TEST_MAIN(
    { "files", test_files },
    { "files-refused", test_files_refused },
    { "files-alone", test_files_alone },
    { "pieces", test_pieces },
    { "headers", test_headers },
)
