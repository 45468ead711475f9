/* SPDX-License-Identifier: MIT */

#include "daemon/log/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "daemon/log/format.h"

/* What is in force. Writers hold the lock while they write: what they write to isn't closed. */
static struct {
    pthread_mutex_t mutex;
    int format;         /* AUTO: text, until it is said */
    char file[PATH_MAX];
    struct sockaddr_un journal;
    int fd;                             /* of the file, or the journal's socket; -1: neither */
} output = { .mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

/* What AUTO means here. */
static int settle(const struct vrt_log_target *target)
{
    if (target->format != VRT_CONF_LOG_AUTO)
        return target->format;
    return vrt_log_stderr() == VRT_LOG_STDERR_JOURNAL && !target->file[0] ? VRT_CONF_LOG_JOURNAL :
                                                                            VRT_CONF_LOG_TEXT;
}

static int refuse_file(struct vrt_error *error, int r, const char *file)
{
    char shown[256];

    return vrt_refuse(error, r, "config.invalid", "%s can't be written: %s",
                      vrt_printable(file, shown, sizeof(shown)), strerror(-r));
}

/* Opens the file; where `may_make` is false, only one that is there. Return: 0; -errno. */
static int open_file(const char *file, bool may_make, int *ret_fd)
{
    VRT_CLEANUP(vrt_closep) int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY |
                                          O_NONBLOCK | (may_make ? O_CREAT : 0), 0640);
    struct stat st;

    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (!S_ISREG(st.st_mode))
        return -EINVAL;
    *ret_fd = VRT_STEAL_FD(fd);
    return 0;
}

int vrt_log_check(const struct vrt_log_target *target, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    const char *file = target->file, *name = strrchr(file, '/');
    char folder[PATH_MAX];

    if (!file[0])
        return 0;
    if (target->format == VRT_CONF_LOG_JOURNAL)
        return vrt_refuse(error, -EINVAL, "config.invalid", "the journal takes no file: leave "
                          "that empty, or have the format text or json");
    if (file[0] != '/')
        return vrt_refuse(error, -EINVAL, "config.invalid", "the file must be named by an absolute "
                          "path, from / on");
    int r = open_file(file, false, &fd);
    if (r == -ENOENT) {
        snprintf(folder, sizeof(folder), "%.*s/", (int)(name - file), file);
        r = access(folder, W_OK | X_OK) < 0 ? -errno : 0;
    }
    return r < 0 ? refuse_file(error, r, file) : 0;
}

/* Opens what the target needs to be open. Return: 0, also where it needs nothing; -errno. */
static int open_target(int format, const char *file, int *ret_fd)
{
    *ret_fd = -1;
    if (file[0])
        return open_file(file, true, ret_fd);
    if (format == VRT_CONF_LOG_JOURNAL)
        *ret_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return format == VRT_CONF_LOG_JOURNAL && *ret_fd < 0 ? -errno : 0;
}

/* Return: whether all of it was written. */
static bool write_all(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        data += n;
        size -= (size_t)n;
    }
    return true;
}

/* Return: whether the journal took it. It isn't waited for: standard error is as good. */
static bool send_journal(const char *data, size_t size)
{
    return sendto(output.fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT,
                  (const struct sockaddr *)&output.journal, sizeof(output.journal)) >= 0;
}

/* Where base/log.c has lines written, once vrt_log_open() was called. */
static void write_line(const struct vrt_log_record *record)
{
    char line[VRT_LOG_BYTES_MAX];
    bool is_written = false;
    size_t n;

    pthread_mutex_lock(&output.mutex);
    const bool has_file = output.file[0];
    if (output.format == VRT_CONF_LOG_JOURNAL) {
        n = vrt_log_print_journal(record, line);
        is_written = send_journal(line, n);
    }
    if (!is_written) {
        n = output.format == VRT_CONF_LOG_JSON ? vrt_log_print_json(record, line) :
            vrt_log_print(record, has_file ? VRT_LOG_STDERR_OTHER : vrt_log_stderr(), line);
        is_written = write_all(has_file ? output.fd : STDERR_FILENO, line, n);
    }
    if (!is_written && has_file)
        (void)!write_all(STDERR_FILENO, line, n);
    pthread_mutex_unlock(&output.mutex);
}

int vrt_log_open(const struct vrt_log_target *target, struct vrt_error *error)
{
    const char *journal = target->journal ? target->journal : VRT_LOG_JOURNAL_SOCKET;
    const int format = settle(target);
    VRT_CLEANUP(vrt_closep) int fd = -1;

    int r = open_target(format, target->file, &fd);
    if (r < 0)
        return target->file[0] ? refuse_file(error, r, target->file) :
                                 vrt_refuse_errno(error, r, "the journal");
    pthread_mutex_lock(&output.mutex);
    int former = output.fd;
    output.fd = VRT_STEAL_FD(fd);
    output.format = format;
    snprintf(output.file, sizeof(output.file), "%s", target->file);
    output.journal = (struct sockaddr_un){ .sun_family = AF_UNIX };
    snprintf(output.journal.sun_path, sizeof(output.journal.sun_path), "%s", journal);
    pthread_mutex_unlock(&output.mutex);
    vrt_closep(&former);
    vrt_log_set_output(write_line);
    return 0;
}

int vrt_log_reopen(struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    char file[PATH_MAX];

    pthread_mutex_lock(&output.mutex);
    memcpy(file, output.file, sizeof(file));
    pthread_mutex_unlock(&output.mutex);
    if (!file[0])
        return 0;
    int r = open_file(file, true, &fd);
    if (r < 0)
        return refuse_file(error, r, file);
    pthread_mutex_lock(&output.mutex);
    int former = output.fd;
    output.fd = VRT_STEAL_FD(fd);
    pthread_mutex_unlock(&output.mutex);
    vrt_closep(&former);
    return 0;
}
