/* SPDX-License-Identifier: MIT */
/* systemd. */

#include "daemon/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>

#include "base/log.h"

#define VRT_LOG_TOPIC "notify"

static void tell(int r)
{
    if (r < 0)
        vrt_log_warning("the service manager could not be told (%d), ignoring", r);
}

int vrt_notify_take_socket(int *ret_fd, struct vrt_error *error)
{
    int n = sd_listen_fds(1), fd = SD_LISTEN_FDS_START;

    *ret_fd = -1;
    if (n < 0)
        return vrt_refuse_errno(error, vrt_raise(n), "taking sockets from systemd");
    if (n == 0)
        return 0;
    if (n > 1 || sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) <= 0)
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage",
                          "systemd must hand over one listening Unix socket, not %d descriptors: "
                          "see vrtd.socket", n);
    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "taking the socket from systemd");
    *ret_fd = fd;
    return 0;
}

void vrt_notify_ready(void)
{
    tell(sd_notify(0, "READY=1"));
}

void vrt_notify_stopping(void)
{
    tell(sd_notify(0, "STOPPING=1"));
}

void vrt_notify_status(const char *text)
{
    tell(sd_notifyf(0, "STATUS=%s", text));
}
