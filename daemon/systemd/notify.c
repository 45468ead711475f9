/* SPDX-License-Identifier: MIT */
/* systemd. */

#include "daemon/systemd/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "notify"

static void tell(int r)
{
    if (r < 0)
        vrt_log_warning("the service manager could not be told (%d), ignoring", r);
}

static void free_names(char **names)
{
    for (size_t i = 0; names && names[i]; i++)
        free(names[i]);
    free(names);
}

/* The socket is known by what it is: its name is the administrator's choice. */
static bool is_listening_socket(int fd)
{
    return sd_is_socket_unix(fd, SOCK_STREAM, 1, NULL, 0) > 0;
}

int vrt_notify_take(void (*file)(void *ctx, const char *name, int fd), void *ctx,
                    int *ret_listen_fd, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int listen_fd = -1;
    char **names = NULL;
    int n_unfit = 0;

    int n = sd_listen_fds_with_names(1, &names);
    if (n < 0)
        return vrt_refuse_errno(error, vrt_raise(n), "taking descriptors from systemd");
    for (int i = 0; i < n; i++) {
        int fd = SD_LISTEN_FDS_START + i;
        if (listen_fd < 0 && is_listening_socket(fd)) {
            listen_fd = fd;
        } else if (sd_is_socket(fd, AF_UNSPEC, 0, -1) > 0) {
            n_unfit++;
            close(fd);
        } else {
            file(ctx, names[i], fd);
        }
    }
    free_names(names);
    if (n_unfit > 0)
        return vrt_refuse(error, vrt_raise(-EINVAL), "usage",
                          "systemd must hand over one listening Unix socket, and handed over %d "
                          "more sockets: see vrtd.socket", n_unfit);
    if (listen_fd >= 0 && fcntl(listen_fd, F_SETFL, fcntl(listen_fd, F_GETFL) | O_NONBLOCK) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "taking the socket from systemd");
    *ret_listen_fd = VRT_STEAL_FD(listen_fd);
    return 0;
}

int vrt_notify_store_max(void)
{
    /* systemd 254 and later. */
    const char *text = getenv("FDSTORE");
    char *end;

    errno = 0;
    long n = text ? strtol(text, &end, 10) : -1;
    return !text || errno || end == text || *end || n < 0 || n > INT32_MAX ? -1 : (int)n;
}

int vrt_notify_store(const char *name, int fd)
{
    char text[VRT_NOTIFY_NAME_MAX + 40];

    vrt_assert(name[0] && strlen(name) <= VRT_NOTIFY_NAME_MAX && !strchr(name, ':'));
    /* Not watched: a file is kept for as long as its job, whatever becomes of its other end. */
    snprintf(text, sizeof(text), "FDSTORE=1\nFDNAME=%s\nFDPOLL=0", name);
    int r = sd_pid_notify_with_fds(0, 0, text, &fd, 1);
    return r < 0 ? vrt_raise(r) : r == 0 ? VRT_NOTIFY_E_NOBODY : 0;
}

int vrt_notify_unstore(const char *name)
{
    int r = sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);

    return r < 0 ? vrt_raise(r) : r == 0 ? VRT_NOTIFY_E_NOBODY : 0;
}

void vrt_notify_ready(void)
{
    tell(sd_notify(0, "READY=1\nSTATUS=Ready"));
}

void vrt_notify_reloading(void)
{
    /* With the time of it, which systemd 253 and later want. */
    tell(sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" PRId64, vrt_clock_now_ns() / 1000));
}

void vrt_notify_stopping(void)
{
    tell(sd_notify(0, "STOPPING=1"));
}

void vrt_notify_extend(int seconds)
{
    tell(sd_notifyf(0, "EXTEND_TIMEOUT_USEC=%d000000", seconds));
}

void vrt_notify_status(const char *text)
{
    tell(sd_notifyf(0, "STATUS=%s", text));
}

int64_t vrt_notify_watchdog_ms(void)
{
    uint64_t us = 0;
    int r = sd_watchdog_enabled(0, &us);

    tell(r);
    return r > 0 ? (int64_t)VRT_MIN(us / 1000, (uint64_t)INT32_MAX) : 0;
}

void vrt_notify_alive(void)
{
    tell(sd_notify(0, "WATCHDOG=1"));
}
