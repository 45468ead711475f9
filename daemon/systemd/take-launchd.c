/* SPDX-License-Identifier: MIT */

/*
 * launchd makes the sockets that a job's property list has under Sockets, and starts the job when
 * somebody connects. It hands them over, once, to a process that it started itself; of others it
 * says that it doesn't know them.
 */

#include "daemon/systemd/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <launch.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

/* What the socket is called in vrtd.plist. */
#define SOCKET_NAME "vrtd"

static bool is_unix_stream(int fd)
{
    struct sockaddr_un address = { .sun_family = AF_UNSPEC };
    socklen_t size = sizeof(address), type_size = sizeof(int);
    int type = 0;

    return getsockname(fd, (struct sockaddr *)&address, &size) == 0 &&
           address.sun_family == AF_UNIX &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_size) == 0 && type == SOCK_STREAM;
}

static int set_flags(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
           fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? 0 : vrt_raise(-errno);
}

int vrt_notify_take(void (*file)(void *ctx, const char *name, int fd), void *ctx,
                    int *ret_listen_fd, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int listen_fd = -1;
    int *fds = NULL;
    size_t n = 0;

    (void)file;
    (void)ctx;
    int r = launch_activate_socket(SOCKET_NAME, &fds, &n);
    /* Started by hand, or by a property list without a socket. */
    if (r == ESRCH || r == ENOENT) {
        *ret_listen_fd = -1;
        return 0;
    }
    if (r != 0)
        return vrt_refuse_errno(error, vrt_raise(-r), "taking the socket from launchd");
    if (n > 0)
        listen_fd = fds[0];
    for (size_t i = 1; i < n; i++)
        close(fds[i]);
    free(fds);
    if (n != 1 || !is_unix_stream(listen_fd))
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage", "launchd must hand over one socket, "
                          "a Unix one of streams: see Sockets in vrtd.plist");
    r = set_flags(listen_fd);
    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), "taking the socket from launchd");
    *ret_listen_fd = VRT_STEAL_FD(listen_fd);
    return 0;
}
