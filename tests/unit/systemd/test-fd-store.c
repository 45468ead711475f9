/* SPDX-License-Identifier: MIT */
/* keep: what systemd is told to keep, what comes back from it, and what never may. */

#include "tests/unit/test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/systemd/fd-store.h"
#include "daemon/systemd/notify.h"

/* The service manager: a datagram socket of ours. */
struct told {
    char folder[32], path[48];
    int fd;
};

static struct told listen_for_notices(void)
{
    struct told told = { .folder = "/tmp/vrt-keep-XXXXXX" };
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (!mkdtemp(told.folder))
        test_fail("no temporary folder");
    snprintf(told.path, sizeof(told.path), "%s/notify", told.folder);
    memcpy(address.sun_path, told.path, strlen(told.path) + 1);
    told.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    expect_int(bind(told.fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    setenv("NOTIFY_SOCKET", told.path, 1);
    int probe = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int r = vrt_notify_store("probe", probe);
    close(probe);
    if (r == VRT_NOTIFY_E_NOBODY)
        test_skip("this build knows no service manager");
    expect_int(r, 0);
    char text[100];
    expect_true(recv(told.fd, text, sizeof(text), 0) > 0);
    return told;
}

static void end_notices(struct told *told)
{
    unsetenv("NOTIFY_SOCKET");
    close(told->fd);
    unlink(told->path);
    rmdir(told->folder);
}

/* The next notice; "" if there is none. A descriptor that came along is looked at and closed. */
static const char *next_notice(const struct told *told, bool *ret_has_file)
{
    static char text[300];
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int)) + 64];
    } control;
    struct iovec iov = { .iov_base = text, .iov_len = sizeof(text) - 1 };
    struct msghdr message = {
        .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control,
        .msg_controllen = sizeof(control),
    };

    *ret_has_file = false;
    ssize_t n = recvmsg(told->fd, &message, MSG_CMSG_CLOEXEC);
    text[n < 0 ? 0 : n] = '\0';
    for (struct cmsghdr *c = n < 0 ? NULL : CMSG_FIRSTHDR(&message); c;
         c = CMSG_NXTHDR(&message, c)) {
        int fd;
        if (c->cmsg_type != SCM_RIGHTS)
            continue;
        memcpy(&fd, CMSG_DATA(c), sizeof(fd));
        expect_int(c->cmsg_len, CMSG_LEN(sizeof(int)));
        *ret_has_file = fcntl(fd, F_GETFD) >= 0;
        close(fd);
    }
    return text;
}

static void expect_notice(const struct told *told, const char *wanted, bool wants_file)
{
    bool has_file;

    expect_str(next_notice(told, &has_file), wanted);
    expect_int(has_file, wants_file);
}

static struct vrt_fd_store *new_keep(void)
{
    struct vrt_fd_store *fd_store = NULL;

    expect_int(vrt_fd_store_new(&fd_store), 0);
    return fd_store;
}

static int open_null(int flags)
{
    int fd = open("/dev/null", flags | O_CLOEXEC);

    expect_true(fd >= 0);
    return fd;
}

static void test_put_and_drop(void)
{
    struct told told = listen_for_notices();
    VRT_CLEANUP(vrt_fd_store_freep) struct vrt_fd_store *fd_store = new_keep();
    VRT_CLEANUP(vrt_closep) int fd = open_null(O_RDWR);

    vrt_fd_store_put(fd_store, 12, VRT_FD_STORE_INPUT, fd);
    expect_notice(&told, "FDSTORE=1\nFDNAME=12i\nFDPOLL=0", true);
    vrt_fd_store_put(fd_store, 12, VRT_FD_STORE_OUTPUT, fd);
    expect_notice(&told, "FDSTORE=1\nFDNAME=12o\nFDPOLL=0", true);
    vrt_fd_store_put(fd_store, 7, VRT_FD_STORE_MODEL, fd);
    expect_notice(&told, "FDSTORE=1\nFDNAME=7m\nFDPOLL=0", true);
    vrt_fd_store_put(fd_store, 7, VRT_FD_STORE_REFERENCE, fd);
    expect_notice(&told, "FDSTORE=1\nFDNAME=7r\nFDPOLL=0", true);
    /* Another file in the same role replaces the first. */
    vrt_fd_store_put(fd_store, 12, VRT_FD_STORE_OUTPUT, fd);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=12o", false);
    expect_notice(&told, "FDSTORE=1\nFDNAME=12o\nFDPOLL=0", true);
    /* What was put isn't handed over: it is the caller's already. */
    expect_int(vrt_fd_store_take(fd_store, 12, VRT_FD_STORE_INPUT), -ENOENT);
    /* One of which nobody could be told takes nothing of the others away. */
    setenv("NOTIFY_SOCKET", "/tmp/vrt-keep-nowhere/notify", 1);
    vrt_fd_store_put(fd_store, 12, VRT_FD_STORE_MODEL, fd);
    expect_int(vrt_log_count(VRT_LOG_WARNING), 1);
    setenv("NOTIFY_SOCKET", told.path, 1);
    vrt_fd_store_drop(fd_store, 7);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=7m", false);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=7r", false);
    vrt_fd_store_drop(fd_store, 7);
    vrt_fd_store_drop(fd_store, 99);
    vrt_fd_store_drop(fd_store, 12);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=12i", false);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=12o", false);
    vrt_fd_store_sweep(fd_store);
    expect_notice(&told, "", false);
    end_notices(&told);
}

static void test_adopt_take_sweep(void)
{
    struct told told = listen_for_notices();
    VRT_CLEANUP(vrt_fd_store_freep) struct vrt_fd_store *fd_store = new_keep();
    int input = open_null(O_RDONLY), output = open_null(O_RDWR), left = open_null(O_RDONLY);

    vrt_fd_store_adopt(fd_store, "5o", output);
    vrt_fd_store_adopt(fd_store, "5i", input);
    vrt_fd_store_adopt(fd_store, "3i", left);
    expect_int(vrt_fd_store_take(fd_store, 5, VRT_FD_STORE_MODEL), -ENOENT);
    expect_int(vrt_fd_store_take(fd_store, 5, VRT_FD_STORE_REFERENCE), -ENOENT);
    expect_int(vrt_fd_store_take(fd_store, 4, VRT_FD_STORE_INPUT), -ENOENT);
    expect_int(vrt_fd_store_take(fd_store, 5, VRT_FD_STORE_INPUT), input);
    expect_int(vrt_fd_store_take(fd_store, 5, VRT_FD_STORE_INPUT), -ENOENT);
    expect_int(vrt_fd_store_take(fd_store, 5, VRT_FD_STORE_OUTPUT), output);
    expect_notice(&told, "", false);
    vrt_fd_store_sweep(fd_store);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=3i", false);
    expect_notice(&told, "", false);
    expect_int(fcntl(left, F_GETFD), -1);
    /* What was taken is the caller's, and still kept. */
    expect_true(fcntl(input, F_GETFD) >= 0);
    vrt_fd_store_drop(fd_store, 5);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=5i", false);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=5o", false);
    /* What nobody has taken is closed at the end. */
    vrt_fd_store_adopt(fd_store, "1i", input);
    vrt_fd_store_adopt(fd_store, "2o", output);
    fd_store = vrt_fd_store_free(fd_store);
    expect_int(fcntl(input, F_GETFD), -1);
    expect_int(fcntl(output, F_GETFD), -1);
    end_notices(&told);
}

/* Whatever comes back under a name that was never given, or can't be what its name says. */
static void test_hostile_names(void)
{
    static const struct {
        const char *name;
        int flags;
    } cases[] = {
        { "", O_RDONLY }, { "i", O_RDONLY }, { "12", O_RDONLY }, { "12x", O_RDONLY },
        { "12ii", O_RDONLY }, { " 12i", O_RDONLY }, { "+12i", O_RDONLY }, { "-12i", O_RDONLY },
        { "0i", O_RDONLY }, { "012i", O_RDONLY }, { "9223372036854775808i", O_RDONLY },
        { "0x12i", O_RDONLY }, { "stored", O_RDONLY }, { "\033[31m", O_RDONLY },
        { "12i", O_WRONLY }, { "12o", O_RDONLY }, { "12m", O_WRONLY },
    };
    struct told told = listen_for_notices();
    VRT_CLEANUP(vrt_fd_store_freep) struct vrt_fd_store *fd_store = new_keep();
    char wanted[100];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int fd = open_null(cases[i].flags);
        vrt_fd_store_adopt(fd_store, cases[i].name, fd);
        snprintf(wanted, sizeof(wanted), "FDSTOREREMOVE=1\nFDNAME=%s", cases[i].name);
        expect_notice(&told, wanted, false);
        expect_int(fcntl(fd, F_GETFD), -1);
        expect_int(vrt_fd_store_take(fd_store, 12, VRT_FD_STORE_INPUT), -ENOENT);
    }
    int last = open_null(O_RDONLY);
    vrt_fd_store_adopt(fd_store, "9223372036854775807i", last);
    expect_int(vrt_fd_store_take(fd_store, INT64_MAX, VRT_FD_STORE_INPUT), last);
    close(last);
    end_notices(&told);
}

/* The store's own limit, where systemd says it. */
static void test_full(void)
{
    struct told told = listen_for_notices();

    setenv("FDSTORE", "2", 1);
    VRT_CLEANUP(vrt_fd_store_freep) struct vrt_fd_store *fd_store = new_keep();
    unsetenv("FDSTORE");
    VRT_CLEANUP(vrt_closep) int fd = open_null(O_RDWR);
    vrt_fd_store_put(fd_store, 1, VRT_FD_STORE_INPUT, fd);
    vrt_fd_store_put(fd_store, 1, VRT_FD_STORE_OUTPUT, fd);
    vrt_fd_store_put(fd_store, 2, VRT_FD_STORE_INPUT, fd);
    expect_notice(&told, "FDSTORE=1\nFDNAME=1i\nFDPOLL=0", true);
    expect_notice(&told, "FDSTORE=1\nFDNAME=1o\nFDPOLL=0", true);
    expect_notice(&told, "", false);
    vrt_fd_store_drop(fd_store, 2);
    expect_notice(&told, "", false);
    vrt_fd_store_drop(fd_store, 1);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=1i", false);
    expect_notice(&told, "FDSTOREREMOVE=1\nFDNAME=1o", false);
    vrt_fd_store_put(fd_store, 2, VRT_FD_STORE_INPUT, fd);
    expect_notice(&told, "FDSTORE=1\nFDNAME=2i\nFDPOLL=0", true);
    /* One that comes back twice is one. */
    const int twice = open_null(O_RDONLY);
    vrt_fd_store_adopt(fd_store, "2i", twice);
    vrt_fd_store_adopt(fd_store, "2i", open_null(O_RDONLY));
    expect_int(fcntl(twice, F_GETFD), -1);
    vrt_fd_store_put(fd_store, 3, VRT_FD_STORE_INPUT, fd);
    expect_notice(&told, "FDSTORE=1\nFDNAME=3i\nFDPOLL=0", true);
    setenv("FDSTORE", "0", 1);
    VRT_CLEANUP(vrt_fd_store_freep) struct vrt_fd_store *none = new_keep();
    unsetenv("FDSTORE");
    vrt_fd_store_put(none, 1, VRT_FD_STORE_INPUT, fd);
    expect_notice(&told, "", false);
    end_notices(&told);
}

/* As many as may be: what systemd will hand over fits the one variable that the system allows. */
static void test_many(void)
{
    struct told told = listen_for_notices();
    VRT_CLEANUP(vrt_fd_store_freep) struct vrt_fd_store *fd_store = new_keep();
    VRT_CLEANUP(vrt_closep) int fd = open_null(O_RDWR);
    const int64_t n_warnings = vrt_log_count(VRT_LOG_WARNING);
    size_t n_kept = 0, n_bytes = 0;
    bool has_file;

    for (int i = 0; i < 15000; i++) {
        vrt_fd_store_put(fd_store, 1000000 + i, VRT_FD_STORE_INPUT, fd);
        vrt_fd_store_put(fd_store, 1000000 + i, VRT_FD_STORE_OUTPUT, fd);
        for (const char *text; (text = next_notice(&told, &has_file))[0]; n_kept++)
            n_bytes += strcspn(strstr(text, "FDNAME=") + 7, "\n") + 1;
    }
    expect_int(n_kept, 129000 / strlen("1000000i:"));
    expect_int(vrt_log_count(VRT_LOG_WARNING), n_warnings + 1);
    expect_true(n_bytes + strlen("LISTEN_FDNAMES=") + 256 < 128 * 1024);
    for (int i = 14999; i >= 0; i--) {
        vrt_fd_store_drop(fd_store, 1000000 + i);
        for (const char *text; (text = next_notice(&told, &has_file))[0]; n_kept--)
            expect_contains(text, "FDSTOREREMOVE=1\n");
    }
    expect_int(n_kept, 0);
    end_notices(&told);
}

static void test_nobody_listens(void)
{
    VRT_CLEANUP(vrt_fd_store_freep) struct vrt_fd_store *fd_store = new_keep();
    VRT_CLEANUP(vrt_closep) int fd = open_null(O_RDWR);

    unsetenv("NOTIFY_SOCKET");
    vrt_fd_store_put(fd_store, 1, VRT_FD_STORE_INPUT, fd);
    expect_int(vrt_fd_store_take(fd_store, 1, VRT_FD_STORE_INPUT), -ENOENT);
    vrt_fd_store_drop(fd_store, 1);
    vrt_fd_store_sweep(fd_store);
    expect_int(vrt_notify_store("1i", fd), VRT_NOTIFY_E_NOBODY);
    expect_int(vrt_notify_unstore("1i"), VRT_NOTIFY_E_NOBODY);
    /* It went away while we run. */
    setenv("NOTIFY_SOCKET", "/tmp/vrt-keep-nowhere/notify", 1);
    vrt_fd_store_put(fd_store, 1, VRT_FD_STORE_INPUT, fd);
    vrt_fd_store_put(fd_store, 1, VRT_FD_STORE_OUTPUT, fd);
    vrt_fd_store_drop(fd_store, 1);
    unsetenv("NOTIFY_SOCKET");
}

/* What systemd says in the environment: how many files it keeps, and how soon it loses patience. */
static void test_environment(void)
{
    static const struct {
        const char *name, *value;
        int64_t means;
    } cases[] = {
        { "FDSTORE", NULL, -1 }, { "FDSTORE", "", -1 }, { "FDSTORE", "7x", -1 },
        { "FDSTORE", "-1", -1 }, { "FDSTORE", "0", 0 }, { "FDSTORE", "7", 7 },
        { "FDSTORE", "2147483647", INT32_MAX }, { "FDSTORE", "2147483648", -1 },
        { "FDSTORE", "99999999999999999999", -1 },
        { "WATCHDOG_USEC", NULL, 0 }, { "WATCHDOG_USEC", "3000999", 3000 },
        { "WATCHDOG_USEC", "3000000000000", INT32_MAX }, { "WATCHDOG_USEC", "soon", 0 },
    };
    struct told told = listen_for_notices();

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t n_warnings = vrt_log_count(VRT_LOG_WARNING);
        if (cases[i].value)
            setenv(cases[i].name, cases[i].value, 1);
        expect_int(cases[i].name[0] == 'F' ? vrt_notify_store_max() : vrt_notify_watchdog_ms(),
                   cases[i].means);
        expect_int(vrt_log_count(VRT_LOG_WARNING) - n_warnings, i == 12);
        unsetenv(cases[i].name);
    }
    end_notices(&told);
}

TEST_MAIN(
    { "put-and-drop", test_put_and_drop },
    { "adopt-take-sweep", test_adopt_take_sweep },
    { "hostile-names", test_hostile_names },
    { "full", test_full },
    { "many", test_many },
    { "nobody-listens", test_nobody_listens },
    { "environment", test_environment },
)
