/* SPDX-License-Identifier: MIT */
#pragma once

/* What macOS lacks, or has by other names: included before each source there (meson.build). */

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define st_mtim st_mtimespec
#define st_ctim st_ctimespec

/* The one program that is started gets no descriptor that it isn't given (child-spawn-darwin.c). */
#define SOCK_CLOEXEC 0
#define MSG_CMSG_CLOEXEC 0

/* poll() says POLLHUP without being asked. */
#define POLLRDHUP 0

/* Pages come when they are touched, and are as large as the system likes. */
#define MAP_POPULATE 0
#define MADV_HUGEPAGE MADV_NORMAL

/* To look at, not to read: of media roots, which media-step-none.c has nobody use. */
#define O_PATH O_EVTONLY

extern char **environ;

/* fsync() hands the bytes to the drive, which may keep them where a cut of power loses them; what
 * has it write them isn't known to every file system. Return: 0; -1 with errno. */
static inline int vrt_darwin_fsync(int fd)
{
    return fcntl(fd, F_FULLFSYNC) == 0 ? 0 : fsync(fd);
}

#define fsync vrt_darwin_fsync

/* As realloc(), of n items. Return: NULL with errno: ENOMEM. */
static inline void *reallocarray(void *items, size_t n, size_t item_bytes)
{
    size_t bytes;

    if (__builtin_mul_overflow(n, item_bytes, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(items, bytes);
}

/* The last of n bytes that is `byte`. Return: NULL: none is. */
static inline void *memrchr(const void *bytes, int byte, size_t n)
{
    const unsigned char *all = bytes;

    while (n-- > 0)
        if (all[n] == (unsigned char)byte)
            return (void *)(uintptr_t)&all[n];
    return NULL;
}

/* Zeroes n bytes, also where nobody reads them again. */
static inline void explicit_bzero(void *bytes, size_t n)
{
    volatile unsigned char *all = bytes;

    while (n-- > 0)
        all[n] = 0;
}
