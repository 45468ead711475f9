/* SPDX-License-Identifier: MIT */

#include "tests/simulators/common/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static struct {
    char path[PATH_MAX];
    pid_t owner;                        /* who removes it; 0: nobody */
    int lock;                           /* a file of it */
} cache = { .lock = -1 };

int sim_cache_open(const char *variable, const char *name)
{
    const char *given = getenv(variable), *parent = getenv("TMPDIR");
    char lock[PATH_MAX + 8];

    if (given && *given) {
        snprintf(cache.path, sizeof(cache.path), "%s", given);
        if (mkdir(cache.path, 0700) != 0 && errno != EEXIST)
            return -errno;
    } else {
        snprintf(cache.path, sizeof(cache.path), "%s/%s.XXXXXX", parent ? parent : "/tmp", name);
        if (!mkdtemp(cache.path))
            return -errno;
        cache.owner = getpid();
    }
    snprintf(lock, sizeof(lock), "%s/lock", cache.path);
    cache.lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    return cache.lock < 0 ? -errno : 0;
}

void sim_cache_lock(void)
{
    while (flock(cache.lock, LOCK_EX) != 0 && errno == EINTR)
        ;
}

void sim_cache_unlock(void)
{
    flock(cache.lock, LOCK_UN);
}

static int remove_one(const char *path, const struct stat *what, int type, struct FTW *where)
{
    (void)what, (void)type, (void)where;
    remove(path);
    return 0;
}

void sim_cache_close(void)
{
    if (cache.owner == getpid())
        nftw(cache.path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *sim_cache_path(void)
{
    return cache.path;
}

void sim_cache_name(const void *data, size_t n_bytes, char ret_name[17])
{
    const unsigned char *bytes = data;
    uint64_t hash = 0xcbf29ce484222325u;            /* FNV-1a */
    for (size_t i = 0; i < n_bytes; i++)
        hash = (hash ^ bytes[i]) * 0x100000001b3u;
    snprintf(ret_name, 17, "%016llx", (unsigned long long)hash);
}

uint8_t *sim_file_read(const char *path, size_t *ret_n_bytes)
{
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
    VRT_CLEANUP(vrt_freep) uint8_t *data = NULL;
    struct stat stat;

    if (fd < 0 || fstat(fd, &stat) != 0 || stat.st_size > INT_MAX)
        return NULL;
    data = malloc((size_t)stat.st_size + 1);
    if (!data || read(fd, data, (size_t)stat.st_size) != stat.st_size)
        return NULL;
    data[stat.st_size] = 0;
    *ret_n_bytes = (size_t)stat.st_size;
    return VRT_STEAL(data);
}

int sim_file_write(const char *path, const void *data, size_t n_bytes)
{
    VRT_CLEANUP(vrt_closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, n_bytes) != (ssize_t)n_bytes)
        return -(errno ? errno : EIO);
    return 0;
}
