/* SPDX-License-Identifier: MIT */

#include "daemon/service/claim.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/io/write.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "claim"

/* Enough for a burst of clients. Whoever connects stands behind all that a flooder has put there:
 * a long queue would only make him wait longer. */
#define BACKLOG 512

/* Opens and locks. Return: 0; -EAGAIN: what was locked is not at the path any more; -errno. */
static int lock(const char *path, int *ret_fd)
{
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat locked, there;

    if (fd < 0)
        return -errno;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? -EBUSY : -errno;
    if (fstat(fd, &locked) < 0)
        return -errno;
    /* Its former owner may have removed it between our open() and flock(). */
    if (stat(path, &there) < 0 || locked.st_ino != there.st_ino || locked.st_dev != there.st_dev)
        return -EAGAIN;
    *ret_fd = VRT_STEAL_FD(fd);
    return 0;
}

int vrt_claim_take(const char *path, const char *what, struct vrt_claim *claim,
                   struct vrt_error *error)
{
    int r = -EAGAIN, fd = -1;

    if (strlen(path) >= sizeof(claim->path))
        return vrt_refuse(error, vrt_raise(-ENAMETOOLONG), "usage", "the path %.100s... is too "
                          "long", path);
    /* What fails shows when it is opened. */
    (void)!vrt_folder_make(path, 0755, 0);
    for (int i = 0; i < 10 && r == -EAGAIN; i++)
        r = lock(path, &fd);
    if (r == -EBUSY)
        return vrt_refuse(error, vrt_raise(r), "usage",
                          "another vrtd has %s: stop it, or give another", what);
    if (r < 0)
        return vrt_refuse(error, vrt_raise(r), "usage", "cannot lock %s: %s", path, strerror(-r));
    claim->fd = fd;
    memcpy(claim->path, path, strlen(path) + 1);
    return 0;
}

void vrt_claim_release(struct vrt_claim *claim)
{
    if (claim->fd < 0)
        return;
    unlink(claim->path);
    close(claim->fd);
    claim->fd = -1;
}

/* Whether somebody answers at the address. */
static bool is_alive(const struct sockaddr_un *address)
{
    VRT_CLEANUP(vrt_closep) int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    return fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0;
}

/* Removes a socket that nobody listens on. Return: 0, -errno. */
static int clear(const struct sockaddr_un *address, struct vrt_error *error)
{
    const char *path = address->sun_path;
    struct stat st;

    if (lstat(path, &st) < 0)
        return errno == ENOENT ? 0 : vrt_refuse_errno(error, vrt_raise(-errno), path);
    if (!S_ISSOCK(st.st_mode))
        return vrt_refuse(error, vrt_raise(-EADDRINUSE), "usage",
                          "%s is in the way, and is no socket: remove it, or give another with "
                          "--socket", path);
    if (is_alive(address))
        return vrt_refuse(error, vrt_raise(-EADDRINUSE), "usage",
                          "something listens on %s already: stop it, or give another with "
                          "--socket", path);
    vrt_log_info("%s was left behind: replaced", path);
    return unlink(path) < 0 ? vrt_refuse_errno(error, vrt_raise(-errno), path) : 0;
}

int vrt_claim_listen(const char *path, int *ret_fd, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_closep) int fd = -1;
    struct sockaddr_un address = { .sun_family = AF_UNIX };

    if (strlen(path) >= sizeof(address.sun_path))
        return vrt_refuse(error, vrt_raise(-ENAMETOOLONG), "usage",
                          "the socket's path %.100s... has over %zu bytes: give a shorter one with "
                          "--socket", path, sizeof(address.sun_path) - 1);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int r = clear(&address, error);
    if (r < 0)
        return vrt_fold(r);
    fd = socket(AF_UNIX, SOCK_STREAM, 0);
    /* Nobody may connect before the mode is right: bind() makes it by the umask. */
    mode_t umask_before = umask(0177);
    r = fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
    umask(umask_before);
    if (r == 0 && (chmod(path, 0660) < 0 || listen(fd, BACKLOG) < 0))
        r = -errno;
    if (r == 0 && (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0))
        r = -errno;
    if (r < 0)
        return vrt_refuse(error, vrt_raise(r), "usage", "cannot listen on %s: %s", path,
                          strerror(-r));
    *ret_fd = VRT_STEAL_FD(fd);
    return 0;
}

int vrt_claim_folder(const char *path, int *ret_fd, struct vrt_error *error)
{
    if (strlen(path) >= sizeof(((struct vrt_claim *)0)->path))
        return vrt_refuse(error, vrt_raise(-ENAMETOOLONG), "usage", "the path %.100s... is too "
                          "long", path);
    (void)!vrt_folder_make(path, 0755, 0700);
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return vrt_refuse(error, vrt_raise(-errno), "usage", "cannot use the folder %s: %s", path,
                          strerror(errno));
    if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0) {
        int r = -errno;
        close(fd);
        return vrt_refuse(error, vrt_raise(r), "usage", "cannot write to the folder %s: %s", path,
                          strerror(-r));
    }
    *ret_fd = fd;
    return 0;
}

int vrt_claim_folder_in(int folder_fd, const char *name, int *ret_fd, struct vrt_error *error)
{
    if (mkdirat(folder_fd, name, 0700) < 0 && errno != EEXIST)
        return vrt_refuse_errno(error, vrt_raise(-errno), name);
    int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), name);
    *ret_fd = fd;
    return 0;
}
