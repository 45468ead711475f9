/* SPDX-License-Identifier: MIT */

#include "tests/unit/http/http-client.h"

#include <errno.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/test.h"

int http_client_connect(const char *path)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    const struct timeval patience = { .tv_sec = 60 };
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    expect_true(fd >= 0);
    memcpy(address.sun_path, path, strlen(path) + 1);
    expect_int(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    expect_int(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
    expect_int(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)), 0);
    return fd;
}

void http_client_send(int fd, const void *data, size_t size)
{
    const char *next = data;

    while (size > 0) {
        ssize_t n = send(fd, next, size, MSG_NOSIGNAL);
        if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
            return;
        if (n < 0 && errno == EINTR)
            continue;
        expect_true(n > 0);
        next += n;
        size -= (size_t)n;
    }
}

void http_client_send_files(int fd, const char *two_bytes, const int *fds, int n_fds)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int) * 64)];
        struct cmsghdr align;
    } control = { .bytes = { 0 } };
    struct iovec piece = { .iov_base = (void *)(uintptr_t)two_bytes, .iov_len = strlen(two_bytes) };
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.bytes,
        .msg_controllen = CMSG_SPACE(sizeof(int) * (size_t)n_fds),
    };
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);

    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * (size_t)n_fds);
    memcpy(CMSG_DATA(header), fds, sizeof(int) * (size_t)n_fds);
    expect_int(sendmsg(fd, &message, MSG_NOSIGNAL), strlen(two_bytes));
}

ssize_t http_client_receive(int fd, char *buffer, size_t size)
{
    ssize_t n;

    do
        n = recv(fd, buffer, size, 0);
    while (n < 0 && errno == EINTR);
    return n < 0 && errno == ECONNRESET ? 0 : n;
}

void http_client_receive_all(int fd, char *buffer, size_t size)
{
    while (size > 0) {
        ssize_t n = http_client_receive(fd, buffer, size);
        expect_true(n > 0);
        buffer += n;
        size -= (size_t)n;
    }
}

int http_client_read(int fd, char *buffer, size_t size)
{
    size_t n = 0, wanted = 0;
    int status = 0;

    for (;;) {
        /* A byte at a time up to the header's end: the next answer must stay in the socket. */
        size_t step = wanted ? wanted - n : 1;
        expect_true(n + step < size);
        ssize_t got = step ? http_client_receive(fd, buffer + n, step) : 0;
        expect_true(got >= 0);
        n += (size_t)got;
        buffer[n] = '\0';
        if (step && got == 0)
            return 0;
        if (wanted && n == wanted)
            return status;
        if (wanted || n < 4 || strcmp(buffer + n - 4, "\r\n\r\n") != 0)
            continue;
        expect_int(sscanf(buffer, "HTTP/1.1 %d", &status), 1);
        const char *length = strstr(buffer, "Content-Length: ");
        wanted = n + (length ? strtoul(length + 16, NULL, 10) : 0);
        if (wanted == n)
            return status;
    }
}

bool http_client_is_closed(int fd)
{
    char byte;
    ssize_t n = http_client_receive(fd, &byte, 1);

    return n == 0 || (n < 0 && errno == EPIPE);
}
