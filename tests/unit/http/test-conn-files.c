/* SPDX-License-Identifier: MIT */
/* daemon/conn, peer: open files that come with requests, as they should and as they shouldn't. */

#include "tests/unit/test.h"

#include <fcntl.h>
#include <unistd.h>

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

static void test_files_refused(void)
{
    struct http_play *play = http_play_start_usual();
    int one = temporary_file("one");
    int fds[20];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(fds); i++)
        fds[i] = one;
    /* Too many, at once and in sum. */
    int fd = http_play_connect(play);
    http_client_send_files(fd, "\r\n", fds, 20);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 400);
    expect_contains(buffer, "request.descriptors");
    close(fd);
    fd = http_play_connect(play);
    http_client_send_files(fd, "\r\n", fds, 3);
    test_sleep_ms(20);
    http_client_send_files(fd, "\r\n", fds, 2);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 400);
    close(fd);
    /* With other bytes, and within a request. */
    fd = http_play_connect(play);
    http_client_send_files(fd, "GE", fds, 1);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 400);
    close(fd);
    fd = http_play_connect(play);
    http_client_send_text(fd, "GET /files HTTP/1.1\r\n");
    test_sleep_ms(20);
    http_client_send_files(fd, "\r\n", fds, 1);
    expect_int(http_client_read(fd, buffer, sizeof(buffer)), 400);
    close(fd);
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

TEST_MAIN(
    { "files", test_files },
    { "files-refused", test_files_refused },
    { "files-alone", test_files_alone },
)
