/* SPDX-License-Identifier: MIT */

/* What vrtd makes of the sockets that launchd hands over. There is no launchd here: the one
 * function of it that is called is this file's. */

#include <errno.h>
#include <fcntl.h>
#include <launch.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/macro.h"
#include "daemon/systemd/notify.h"
#include "tests/unit/test.h"

/* What launchd does when it is asked next. */
static struct {
    int r, fds[2];
    size_t n;
} answer;

int launch_activate_socket(const char *name, int **ret_fds, size_t *ret_n)
{
    expect_str(name, "vrtd");
    if (answer.r)
        return answer.r;
    *ret_fds = calloc(2, sizeof(**ret_fds));
    expect_true(*ret_fds);
    memcpy(*ret_fds, answer.fds, sizeof(answer.fds));
    *ret_n = answer.n;
    return 0;
}

static void no_file(void *ctx, const char *name, int fd)
{
    (void)ctx;
    test_fail("launchd keeps no files, and handed over %s as %d", name, fd);
}

static int make_socket(int family, int type)
{
    int fd = socket(family, type, 0);

    expect_true(fd >= 0);
    return fd;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void test_nobody(void)
{
    static const int codes[] = { ESRCH, ENOENT };
    struct vrt_error error = { .id = NULL };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(codes); i++) {
        int fd = 7;
        answer.r = codes[i];
        expect_int(vrt_notify_take(no_file, NULL, &fd, &error), 0);
        expect_int(fd, -1);
    }
}

static void test_socket(void)
{
    struct vrt_error error = { .id = NULL };
    int fd = -1;

    answer.r = 0;
    answer.n = 1;
    answer.fds[0] = make_socket(AF_UNIX, SOCK_STREAM);
    expect_int(vrt_notify_take(no_file, NULL, &fd, &error), 0);
    expect_int(fd, answer.fds[0]);
    expect_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    expect_int(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
}

/* What can't be used is refused, and closed. */
static void test_unfit(void)
{
    const struct {
        int fds[2];
        size_t n;
    } cases[] = {
        { { -1, -1 }, 0 },
        { { make_socket(AF_INET, SOCK_STREAM), -1 }, 1 },
        { { make_socket(AF_UNIX, SOCK_DGRAM), -1 }, 1 },
        { { open("/dev/null", O_RDONLY | O_CLOEXEC), -1 }, 1 },
        { { make_socket(AF_UNIX, SOCK_STREAM), make_socket(AF_UNIX, SOCK_STREAM) }, 2 },
    };

    answer.r = 0;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { .id = NULL };
        int fd = 7;
        memcpy(answer.fds, cases[i].fds, sizeof(answer.fds));
        answer.n = cases[i].n;
        expect_int(vrt_notify_take(no_file, NULL, &fd, &error), -EINVAL);
        expect_int(fd, 7);
        expect_contains(error.message, "launchd must hand over one socket");
        for (size_t k = 0; k < cases[i].n; k++)
            expect_true(!is_open(cases[i].fds[k]));
    }
}

static void test_failure(void)
{
    struct vrt_error error = { .id = NULL };
    int fd = 7;

    answer.r = EALREADY;
    expect_int(vrt_notify_take(no_file, NULL, &fd, &error), -EALREADY);
    expect_int(fd, 7);
    expect_contains(error.message, "taking the socket from launchd");
}

TEST_MAIN(
    { "nobody", test_nobody },
    { "socket", test_socket },
    { "unfit", test_unfit },
    { "failure", test_failure },
)
