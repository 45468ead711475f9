/* SPDX-License-Identifier: MIT */

#include "base/io/write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"

int vrt_write_at(int fd, const void *data, size_t size, int64_t offset)
{
    const char *next = data;

    while (size > 0) {
        ssize_t n = pwrite(fd, next, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return vrt_raise(n < 0 ? -errno : -EIO);
        next += n;
        size -= (size_t)n;
        offset += n;
    }
    return 0;
}

int vrt_read_at(int fd, void *data, size_t size, int64_t offset)
{
    char *next = data;

    while (size > 0) {
        ssize_t n = pread(fd, next, size, offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return vrt_raise(n < 0 ? -errno : -ENODATA);
        next += n;
        size -= (size_t)n;
        offset += n;
    }
    return 0;
}

void vrt_sync_name(const char *path)
{
    size_t n = strlen(path);

    while (n > 1 && path[n - 1] == '/')
        n--;
    while (n > 0 && path[n - 1] != '/')
        n--;
    VRT_CLEANUP(vrt_freep) char *folder = strndup(n > 0 ? path : ".", n > 0 ? n : 1);
    VRT_CLEANUP(vrt_closep) int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

    if (fd >= 0)
        fsync(fd);
}

int vrt_folder_make(const char *folder, mode_t above, mode_t mode)
{
    VRT_CLEANUP(vrt_freep) char *path = strdup(folder);
    char *slash = path;

    if (!path)
        return vrt_raise(-ENOMEM);
    for (char *at = path; slash; at = slash) {
        slash = strchr(at + strspn(at, "/"), '/');
        if (!slash && !mode)
            break;
        if (slash)
            *slash = '\0';
        if (mkdir(path, slash ? above : mode) == 0)
            vrt_sync_name(path);
        else if (errno != EEXIST)
            return vrt_raise(-errno);
        if (slash)
            *slash = '/';
    }
    return 0;
}
