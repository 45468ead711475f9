/* SPDX-License-Identifier: MIT */

#include "daemon/access/media-step.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

int vrt_media_step(int folder_fd, const char *name, int flags)
{
    const struct open_how how = {
        .flags = (unsigned)flags | O_CLOEXEC | O_NOFOLLOW,
        .mode = flags & O_CREAT ? S_IRUSR | S_IWUSR : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_SYMLINKS,
    };

    long fd = syscall(SYS_openat2, folder_fd, name, &how, sizeof(how));
    return fd < 0 ? -errno : (int)fd;
}

int vrt_media_check_steps(void)
{
    int fd = vrt_media_step(AT_FDCWD, ".", O_PATH | O_DIRECTORY);

    if (fd < 0)
        return fd == -ENOSYS || fd == -EPERM ? -ENOSYS : 0;
    close(fd);
    return 0;
}

bool vrt_media_has_acl(int fd)
{
    char link[40];

    /* An O_PATH descriptor has no attributes of its own. */
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return getxattr(link, "system.posix_acl_access", NULL, 0) >= 0 ||
           (errno != ENODATA && errno != EOPNOTSUPP);
}
