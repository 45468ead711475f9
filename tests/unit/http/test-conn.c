/* SPDX-License-Identifier: MIT */
/* daemon/listener, conn, http, peer: a real server, and clients that do what clients do. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "api.h"
#include "base/buf.h"
#include "base/macro.h"
#include "tests/unit/http/http-client.h"
#include "tests/unit/http/http-play.h"

#define ECHO "GET /echo HTTP/1.1\r\n" HOST "\r\n"
#define LATER "POST /later HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}"
#define LARGE "GET /large HTTP/1.1\r\n" HOST "\r\n"
#define UPLOAD "POST /v1/uploads HTTP/1.1\r\n" HOST
#define ECHOED "\r\n\r\nGET\n/echo\n\n\n1\n"

static char buffer[2 << 20];

/* Sends a request. Return: the status of the answer, which is in `buffer`. */
static int ask(int fd, const char *request)
{
    http_client_send_text(fd, request);
    return http_client_read(fd, buffer, sizeof(buffer));
}

/* Connects, and sends the beginning of one. */
static int begin(struct http_play *play, const char *text)
{
    int fd = http_play_connect(play);

    http_client_send_text(fd, text);
    return fd;
}

/* Requests with the status that each must get, and whether more may follow on the connection. */
static const struct {
    const char *request;
    int status;
    bool stays;
} cases[] = {
    { ECHO, 200, true },
    { "\r\n" ECHO, 200, true },
    { "GET /echo HTTP/1.0\r\n\r\n", 200, false },
    { "GET /echo HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", 200, false },
    { "GET /echo HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", 200, false },
    { "GET http://x/echo HTTP/1.1\r\n" HOST "\r\n", 200, true },
    { "HEAD /none HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n", 404, false },
    { "GET /none HTTP/1.1\r\n" HOST "\r\n", 404, true },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 200, true },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 200, true },
    { "POST /echo HTTP/1.1\r\n" HOST "\r\n", 200, true },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 200,
      true },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n2;a=b\r\n{}\r\n0\r\n"
      "Host: y\r\n\r\n", 200, true },
    { "GET /echo HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 200, true },
    { "GET /echo HTTP/1.1\r\n\r\n", 400, false },
    { "GET /echo HTTP/1.1\r\n" HOST HOST "\r\n", 400, false },
    { "GET /echo HTTP/1.1\r\nHost : x\r\n\r\n", 400, false },
    { "GET /echo HTTP/2.0\r\n" HOST "\r\n", 400, false },
    { "GETT /echo HTTP/1.1\r\n" HOST "\r\n", 400, false },
    { "GET /echo\r\n\r\n", 400, false },
    { "\x16\x03\x01\x02\r\n\r\n", 400, false },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
      "2\r\n{}\r\n0\r\n\r\n", 400, false },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\nContent-Length: 4\r\n\r\n{}{}", 400,
      false },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: -2\r\n\r\n{}", 400, false },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n\r\n{}", 400,
      false },
    { "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 65537\r\n\r\n", 413, false },
    { "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\nzz\r\n", 400, false },
    { UPLOAD "Content-Length: 5\r\n\r\nhello", 200, true },
    { UPLOAD "Content-Length: 0\r\n\r\n", 200, true },
    { "POST http://x/v1/uploads HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 200, true },
    { "POST HTTP://x/v1/uploads#y HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 200, true },
    { UPLOAD "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", 200, true },
    { UPLOAD "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\nzz\r\n", 400, false },
    { "POST /v1/uploads?x HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\nhello", 404, false },
};

static void check_case(struct http_play *play, size_t i, size_t piece)
{
    int fd = http_play_connect(play);
    const char *request = cases[i].request;
    size_t size = strlen(request);

    /* Also as the second one of a connection. */
    if (piece == SIZE_MAX) {
        expect_int(ask(fd, ECHO), 200);
    }
    for (size_t at = 0; at < size; at += VRT_MIN(piece, size))
        http_client_send(fd, request + at, VRT_MIN(piece, size - at));
    /* HEAD's answer says the length of a body that doesn't come. */
    if (strncmp(request, "HEAD", 4) == 0) {
        ssize_t n = 0, got;
        while ((got = recv(fd, buffer + n, 1000, 0)) > 0)
            n += got;
        buffer[n] = '\0';
        expect_contains(buffer, " 404 ");
        expect_str(buffer + n - 4, "\r\n\r\n");
        close(fd);
        return;
    }
    int status = http_client_read(fd, buffer, sizeof(buffer));
    if (status != cases[i].status)
        test_fail("case %zu in pieces of %zu: status %d: %s", i, piece, status, request);
    expect_true(!strstr(buffer, "\r\nConnection: close\r\n") == cases[i].stays);
    if (cases[i].stays) {
        expect_int(ask(fd, ECHO), 200);
        expect_contains(buffer, ECHOED);
    } else {
        expect_true(http_client_is_closed(fd));
    }
    close(fd);
}

static void test_requests(void)
{
    struct http_play *play = http_play_start_usual();

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        check_case(play, i, SIZE_MAX);
        check_case(play, i, 7);
        check_case(play, i, 1);
    }
    http_play_stop(play);
}

static void test_parts(void)
{
    struct http_play *play = http_play_start_usual();
    int fd = http_play_connect(play);

    expect_int(ask(fd, "POST /echo?a=1&b#c HTTP/1.1\r\n" HOST
                       "Content-Type: application/json; x=y\r\n"
                       "Content-Length: 5\r\n\r\nhello"), 200);
    expect_str(buffer, "HTTP/1.1 200 OK\r\nCache-Control: no-store\r\n"
               "Content-Type: application/json\r\nContent-Length: 25\r\n\r\n"
               "POST\n/echo\na=1&b\nhello\n1\n");
    expect_int(ask(fd, "POST /echo HTTP/1.1\r\n" HOST
                       "Content-Type: application/jsonx\r\n\r\n"), 200);
    expect_contains(buffer, "\r\n\r\nPOST\n/echo\n\n\n0\n");
    expect_int(ask(fd, "GET /none HTTP/1.1\r\n" HOST "\r\n"), 404);
    expect_contains(buffer, "\"id\":\"route.not_found\"");
    close(fd);
    http_play_stop(play);
}

static void test_pipelining(void)
{
    struct http_play *play = http_play_start_usual();
    int fd = http_play_connect(play);

    for (int i = 0; i < 200; i++)
        http_client_send_text(fd, i % 10 ? ECHO : LATER);
    for (int i = 0; i < 200; i++) {
        expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
        expect_contains(buffer, i % 10 ? ECHOED : "\r\n\r\nPOST\n/later\n\n{}\n");
    }
    /* What follows a request that was refused is never looked at. */
    expect_int(ask(fd, "GET /echo HTTP/1.1\r\n\r\n" ECHO), 400);
    expect_true(http_client_is_closed(fd));
    close(fd);
    http_play_stop(play);
}

static void fill(struct vrt_buf *buf, const char *text, size_t times)
{
    for (size_t i = 0; i < times; i++)
        expect_int(vrt_buf_append(buf, text, strlen(text)), 0);
}

/* A request with so many bytes of URL, of one header, or of headers of six bytes each. */
static void check_limit(struct http_play *play, const char *what, size_t n_bytes, int status)
{
    int fd = http_play_connect(play);
    bool is_url = strcmp(what, "url") == 0;
    struct vrt_buf request = { .limit_bytes = 0 };

    fill(&request, is_url ? "GET /" : "GET /echo", 1);
    fill(&request, "a", is_url ? n_bytes - 1 : 0);
    fill(&request, " HTTP/1.1\r\n" HOST, 1);
    if (strcmp(what, "header") == 0) {
        fill(&request, "X: ", 1);
        fill(&request, "a", n_bytes);
        fill(&request, "\r\n", 1);
    }
    fill(&request, "X: y\r\n", strcmp(what, "headers") == 0 ? n_bytes / 6 : 0);
    fill(&request, "\r\n", 1);
    http_client_send(fd, request.data, request.size_bytes);
    vrt_buf_done(&request);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), status);
    close(fd);
}

static void test_limits(void)
{
    struct http_play *play = http_play_start_usual();
    struct vrt_conn_limits limits;

    /* By api.h, and two seconds for what nobody wants any more. */
    vrt_conn_limits_init(&limits);
    expect_true(limits.request_ms == 10000 && limits.drain_ms == 2000);
    expect_true(limits.idle_ms == 60000 && limits.stall_ms == 60000);
    expect_int(limits.piece_ms, 1000 * VRT_API_UPLOAD_PERIOD_S);
    check_limit(play, "url", VRT_API_URL_MAX_BYTES, 404);
    check_limit(play, "url", VRT_API_URL_MAX_BYTES + 1, 414);
    check_limit(play, "url", 100000, 414);
    /* "Host: x" takes 9 bytes of it, "X" one. */
    check_limit(play, "header", VRT_API_HEADER_MAX_BYTES - 10, 200);
    check_limit(play, "header", VRT_API_HEADER_MAX_BYTES - 9, 431);
    check_limit(play, "header", 1000000, 431);
    check_limit(play, "headers", VRT_API_HEADER_MAX_BYTES - 100, 200);
    check_limit(play, "headers", VRT_API_HEADER_MAX_BYTES + 100, 431);
    http_play_stop(play);
}

/* An answer comes while the body is still being sent, and can be read although it is not over. */
static void test_large_body(void)
{
    struct http_play *play = http_play_start_usual();
    static const char *const heads[] = {
        "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 1048576\r\n\r\n",
        "POST /echo HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n100000\r\n",
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(heads); i++) {
        int fd = begin(play, heads[i]);
        memset(buffer, 'x', 1 << 20);
        http_client_send(fd, buffer, 1 << 20);
        expect_int(http_client_read(fd, buffer, sizeof(buffer)), 413);
        expect_true(http_client_is_closed(fd));
        close(fd);
    }
    int fd = begin(play, "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 65536\r\n\r\n");
    memset(buffer, 'x', 65536);
    http_client_send(fd, buffer, 65536);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
    close(fd);
    http_play_stop(play);
}

static void test_expect_continue(void)
{
    struct http_play *play = http_play_start_usual();
    int fd = http_play_connect(play);

    expect_int(ask(fd, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
                       "Content-Length: 2\r\n\r\n"), 100);
    expect_int(ask(fd, "{}"), 200);
    expect_int(ask(fd, "POST /echo HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n"
                       "Content-Length: 99999999\r\n\r\n"), 413);
    close(fd);
    http_play_stop(play);
}

/* A header every 50 ms: the deadline is for the whole request. */
static void test_slow(void)
{
    struct vrt_conn_limits limits;

    vrt_conn_limits_init(&limits);
    limits.request_ms = 300;
    struct http_play *play = http_play_start(&limits, HTTP_PLAY_MANY);
    int fd = begin(play, "GET /echo HTTP/1.1\r\n");
    for (int i = 0; i < 12; i++) {
        test_sleep_ms(50);
        http_client_send_text(fd, "X: y\r\n");
    }
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 408);
    expect_str(buffer, "HTTP/1.1 408 Request Timeout\r\nCache-Control: no-store\r\n"
               "Connection: close\r\nContent-Type: application/json\r\nContent-Length: 95\r\n\r\n"
               "{\"error\":{\"id\":\"http.timeout\",\"message\":\"the request took over 300 ms to "
               "arrive\",\"field\":null}}");
    expect_true(http_client_is_closed(fd));
    close(fd);
    http_play_stop(play);
}

/* One that says nothing, or nothing more, is closed after another time, without an answer. */
static void test_idle(void)
{
    struct vrt_conn_limits limits;

    vrt_conn_limits_init(&limits);
    limits.idle_ms = 100;
    struct http_play *play = http_play_start(&limits, HTTP_PLAY_MANY);
    int fd = http_play_connect(play);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 0);
    close(fd);
    int status = 0;     /* a busy machine may be idle for too long between the two steps */
    for (; status == 0; close(fd)) {
        fd = begin(play, LATER);
        status = http_client_read(fd, buffer, sizeof(buffer));
        expect_int(http_client_read(fd, buffer, sizeof(buffer)), 0);
    }
    expect_int(status, 200);
    http_play_stop(play);
}

static void test_half_close(void)
{
    struct http_play *play = http_play_start_usual();
    static const char *const requests[] = { ECHO, "GET /later HTTP/1.1\r\n" HOST "\r\n" };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(requests); i++) {
        int fd = begin(play, requests[i]);
        expect_int(shutdown(fd, SHUT_WR), 0);
        expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
        expect_true(http_client_is_closed(fd));
        close(fd);
    }
    int fd = begin(play, "GET /echo HT");
    expect_int(shutdown(fd, SHUT_WR), 0);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 0);
    close(fd);
    http_play_stop(play);
}

static void wait_gone(struct http_play *play, int wanted)
{
    while (http_play_n_gone(play) < wanted)
        test_sleep_ms(10);
    expect_int(http_play_n_gone(play), wanted);
}

/* The client of an answer vanishes; that of one that is due; that of a stream; and one that doesn't
 * read it. */
static void test_vanish(void)
{
    struct vrt_conn_limits limits;

    vrt_conn_limits_init(&limits);
    limits.stream_bytes = 4000;
    struct http_play *play = http_play_start(&limits, HTTP_PLAY_MANY);
    const int n_fds = test_open_fds();
    close(begin(play, LARGE));
    close(begin(play, "GET /never HTTP/1.1\r\n" HOST "\r\n"));
    wait_gone(play, 1);
    while (test_open_fds() > n_fds)
        test_sleep_ms(10);

    int fd = http_play_connect(play);
    expect_int(ask(fd, "GET /stream HTTP/1.1\r\n" HOST "\r\n"), 200);
    expect_true(recv(fd, buffer, 100, MSG_WAITALL) == 100);
    close(fd);
    wait_gone(play, 2);

    fd = begin(play, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    wait_gone(play, 3);
    close(fd);

    /* What follows a subscription ends it, also that of a client that reads. */
    fd = begin(play, "GET /stream HTTP/1.1\r\n" HOST "\r\n" ECHO);
    expect_true(recv(fd, buffer, 10000, MSG_WAITALL) < 10000);
    wait_gone(play, 4);
    close(fd);

    /* Half closed it goes on, until the client is really gone. */
    fd = begin(play, "GET /stream HTTP/1.1\r\n" HOST "\r\n");
    expect_int(shutdown(fd, SHUT_WR), 0);
    expect_true(recv(fd, buffer, 3000, MSG_WAITALL) == 3000);
    close(fd);
    wait_gone(play, 5);
    http_play_stop(play);
}

/* An answer larger than the socket takes waits for its reader, who comes back for half of it. */
static void test_large_answer(void)
{
    struct http_play *play = http_play_start_usual();
    int fd = begin(play, LARGE), n = 0;

    http_client_send_text(fd, ECHO);
    const ssize_t part = recv(fd, buffer, 450000, MSG_WAITALL);
    expect_int(part, 450000);
    for (; n < 80000; test_sleep_ms(1))
        expect_int(ioctl(fd, FIONREAD, &n), 0);
    const char *body = strstr(buffer, "\r\n\r\n") + 4;
    const ssize_t rest = body + (1 << 20) - buffer - part;
    expect_int(recv(fd, buffer + part, (size_t)rest, MSG_WAITALL), rest);
    expect_int(memcmp(body, "0123456789abcdef", 16) | memcmp(body, body + 16, (1 << 20) - 16), 0);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 200);
    expect_contains(buffer, ECHOED);
    close(fd);
    http_play_stop(play);
}

/* But not for ever. */
static void test_stall(void)
{
    struct vrt_conn_limits limits;

    vrt_conn_limits_init(&limits);
    limits.stall_ms = 100;
    struct http_play *play = http_play_start(&limits, HTTP_PLAY_MANY);
    int fd = http_play_connect(play);
    struct pollfd end = { .fd = fd };
    http_client_send_text(fd, LARGE);
    expect_int(poll(&end, 1, 60000), 1);
    expect_true(end.revents & POLLHUP);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 0);
    close(fd);
    http_play_stop(play);
}

/* Nor more of it than a user may leave waiting, on however many connections. */
static void test_unread(void)
{
    struct http_play *play = http_play_start_usual();
    int fds[16], n_closed = 0;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        fds[i] = begin(play, LARGE);
    while (n_closed < 8) {
        n_closed = 0;
        test_sleep_ms(10);
        for (size_t k = 0; k < VRT_ARRAY_SIZE(fds); k++) {
            struct pollfd end = { .fd = fds[k] };
            n_closed += poll(&end, 1, 0) == 1 && (end.revents & POLLHUP);
        }
    }
    /* Of each the socket takes a part, and the rest waits. */
    expect_true(n_closed <= 12);
    int fd = http_play_connect(play);
    expect_int(ask(fd, ECHO), 200);
    close(fd);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        close(fds[i]);
    http_play_stop(play);
}

/* Many requests at once, which are answered one in a turn of the loop, and one from elsewhere. */
static void test_turns(void)
{
    enum { N = 40 };
    struct http_play *play = http_play_start_usual();
    int greedy = http_play_connect(play), other = http_play_connect(play);
    struct pollfd answers[] = { { .fd = greedy, .events = POLLIN },
                                { .fd = other, .events = POLLIN } };

    for (int i = 0; i < N; i++)
        http_client_send_text(greedy, ECHO);
    expect_int(ask(other, ECHO), 200);
    for (int i = 0; i < N; i++)
        expect_int(http_client_read(greedy, buffer, sizeof(buffer)), 200);
    expect_int(poll(answers, 2, 0), 0);
    close(greedy);
    close(other);
    http_play_stop(play);
}

/* Without a descriptor for it a client waits; the daemon sleeps meanwhile. */
static void test_no_descriptors(void)
{
    struct http_play *play = http_play_start_usual();
    struct rlimit before, none;
    struct timespec start, end;
    int fd = http_play_connect(play);
    int next = open("/dev/null", O_RDONLY | O_CLOEXEC);

    expect_int(ask(fd, ECHO), 200);
    expect_int(getrlimit(RLIMIT_NOFILE, &before), 0);
    none = before;
    /* Room for this end of the connection, and none for the other. */
    none.rlim_cur = (rlim_t)next + 1;
    close(next);
    expect_int(setrlimit(RLIMIT_NOFILE, &none), 0);
    int waiting = http_play_connect(play);
    expect_int(waiting, next);
    http_client_send_text(waiting, ECHO);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
    test_sleep_ms(500);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
    expect_true((end.tv_sec - start.tv_sec) * 1000 + (end.tv_nsec - start.tv_nsec) / 1000000 < 100);
    struct pollfd answer = { .fd = waiting, .events = POLLIN };
    expect_int(poll(&answer, 1, 0), 0);
    expect_int(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_int(http_client_read(waiting, buffer, sizeof(buffer)), 200);
    close(waiting);
    close(fd);
    http_play_stop(play);
}

static void test_quota(void)
{
    struct vrt_conn_limits limits;
    int fds[8];

    vrt_conn_limits_init(&limits);
    struct http_play *play = http_play_start(&limits, (struct vrt_quota_limit){ 8, 8 });
    for (int i = 0; i < 8; i++) {
        fds[i] = http_play_connect(play);
        expect_int(ask(fds[i], ECHO), 200);
    }
    int fd = http_play_connect(play);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 503);
    expect_str(buffer, "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\n"
               "Content-Type: application/json\r\nContent-Length: 119\r\n\r\n"
               "{\"error\":{\"id\":\"http.too_many\",\"message\":\"too many connections are open: "
               "close some, or try again later\",\"field\":null}}");
    expect_true(http_client_is_closed(fd));
    close(fd);
    close(fds[3]);
    for (int status = 503; status == 503;) {
        test_sleep_ms(10);
        fds[3] = begin(play, ECHO);
        status = http_client_read(fds[3], buffer, sizeof(buffer));
        if (status == 503 || status == 0)
            close(fds[3]);
    }
    for (int i = 0; i < 8; i++)
        close(fds[i]);
    http_play_stop(play);
}

/* Requests go on as fast as ever beside four hundred that are half sent. */
static void test_many(void)
{
    struct vrt_conn_limits limits;
    int fds[400];

    vrt_conn_limits_init(&limits);
    limits.request_ms = 60000;
    struct http_play *play = http_play_start(&limits, HTTP_PLAY_MANY);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        fds[i] = begin(play, "GET /echo HT");
    int fd = http_play_connect(play);
    for (int i = 0; i < 200; i++)
        expect_int(ask(fd, ECHO), 200);
    close(fd);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++) {
        expect_int(ask(fds[i], "TP/1.1\r\n" HOST "\r\n"), 200);
        close(fds[i]);
    }
    http_play_stop(play);
}

/* The server stops while everything is in the air. */
static void test_stop(void)
{
    static const char *const requests[] = {
        "", "GET /ec", ECHO, "GET /later HTTP/1.1\r\n" HOST "\r\n",
        "GET /stream HTTP/1.1\r\n" HOST "\r\n", LARGE, "GET /echo HTTP/1.1\r\n\r\n",
    };
    int fds[VRT_ARRAY_SIZE(requests)];

    for (int wait_ms = 0; wait_ms < 30; wait_ms += 9) {
        struct http_play *play = http_play_start_usual();
        for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
            fds[i] = begin(play, requests[i]);
        test_sleep_ms(wait_ms);
        http_play_halt(play);
        for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
            close(fds[i]);
        http_play_stop(play);
    }
}

TEST_MAIN(
    { "requests", test_requests },
    { "parts", test_parts },
    { "pipelining", test_pipelining },
    { "limits", test_limits },
    { "unread", test_unread },
    { "turns", test_turns },
    { "no-descriptors", test_no_descriptors },
    { "large-body", test_large_body },
    { "expect-continue", test_expect_continue },
    { "slow", test_slow },
    { "idle", test_idle },
    { "half-close", test_half_close },
    { "vanish", test_vanish },
    { "large-answer", test_large_answer },
    { "stall", test_stall },
    { "quota", test_quota },
    { "many", test_many },
    { "stop", test_stop },
)
