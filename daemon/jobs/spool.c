/* SPDX-License-Identifier: MIT */

#include "daemon/jobs/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "daemon/jobs/job.h"
#include "frames/encode/container.h"

#define VRT_LOG_TOPIC "spool"

#define NAME_BYTES 24
#define NAMES_MAX 1000              /* files that are being made */
#define RESULT_ENDING ".result"

static void folder_name(int64_t job_id, char name[NAME_BYTES])
{
    snprintf(name, NAME_BYTES, "%" PRId64, job_id);
}

int vrt_spool_open(int spool_fd, int64_t job_id, int *ret_fd)
{
    char name[NAME_BYTES];

    folder_name(job_id, name);
    if (mkdirat(spool_fd, name, 0700) < 0 && errno != EEXIST)
        return vrt_raise(-errno);
    int fd = openat(spool_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return vrt_raise(-errno);
    /* What is stored in it shall not be lost with it. */
    fsync(spool_fd);
    *ret_fd = fd;
    return 0;
}

int vrt_spool_make_file(int spool_fd, int *ret_fd)
{
    char name[NAME_BYTES];
    int fd = -1;

    /* One that another thread makes has its name for a moment. */
    for (int i = 0; fd < 0 && i < NAMES_MAX; i++) {
        snprintf(name, sizeof(name), "pipe-%d", i);
        fd = openat(spool_fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0 && errno != EEXIST)
            return vrt_raise(-errno);
    }
    if (fd < 0)
        return vrt_raise(-EEXIST);
    unlinkat(spool_fd, name, 0);
    *ret_fd = fd;
    return 0;
}

/* The place of a file that was fetched or uploaded for a job. Return: path. */
static const char *name_file(int64_t job_id, enum vrt_job_file file, char path[2 * NAME_BYTES])
{
    snprintf(path, 2 * NAME_BYTES, "%" PRId64 "/%s", job_id, vrt_job_file_names[file]);
    return path;
}

int vrt_spool_open_file(int spool_fd, int64_t job_id, enum vrt_job_file file)
{
    char path[2 * NAME_BYTES];

    return openat(spool_fd, name_file(job_id, file, path), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

int64_t vrt_spool_file_bytes(int spool_fd, int64_t job_id, enum vrt_job_file file)
{
    char path[2 * NAME_BYTES];
    struct stat st;

    return fstatat(spool_fd, name_file(job_id, file, path), &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 :
           (int64_t)st.st_size;
}

int vrt_spool_give_file(int spool_fd, const char *name, int64_t job_id, enum vrt_job_file file)
{
    VRT_CLEANUP(vrt_closep) int folder_fd = -1;

    int r = vrt_spool_open(spool_fd, job_id, &folder_fd);
    if (r < 0)
        return vrt_fold(r);
    if (renameat(spool_fd, name, folder_fd, vrt_job_file_names[file]) < 0)
        return vrt_raise(-errno);
    return fsync(folder_fd) < 0 ? vrt_raise(-errno) : 0;
}

static const char *name_result(int64_t job_id, char *name, size_t size)
{
    snprintf(name, size, "%" PRId64 RESULT_ENDING, job_id);
    return name;
}

int vrt_spool_make_result(int spool_fd, int64_t job_id, int *ret_fd)
{
    char name[2 * NAME_BYTES];
    int fd = openat(spool_fd, name_result(job_id, name, sizeof(name)),
                    O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0)
        return vrt_raise(-errno);
    fsync(spool_fd);
    *ret_fd = fd;
    return 0;
}

int vrt_spool_open_result(int spool_fd, int64_t job_id)
{
    char name[2 * NAME_BYTES];

    return openat(spool_fd, name_result(job_id, name, sizeof(name)),
                  O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
}

static void complain(const char *name)
{
    vrt_log_warning("%s stays in the spool folder: %s, ignoring", name, strerror(errno));
}

/* Removes what is in the folder `fd`, which it closes. There are no folders in it. */
static void empty(int fd)
{
    DIR *folder = fdopendir(fd);
    struct dirent *entry;

    if (!folder) {
        complain("a job's folder");
        close(fd);
        return;
    }
    while ((entry = readdir(folder)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            unlinkat(dirfd(folder), entry->d_name, 0) < 0)
            complain(entry->d_name);
    closedir(folder);
}

void vrt_spool_remove(int spool_fd, const char *name)
{
    /* Whoever lists a folder and forgets that it is among its entries would lose what is above. */
    vrt_assert(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
    int fd = openat(spool_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return;
    if (fd >= 0)
        empty(fd);
    if (unlinkat(spool_fd, name, fd >= 0 ? AT_REMOVEDIR : 0) < 0 && errno != ENOENT)
        complain(name);
}

/* Gives a job's folder or its result another name, by the clock, which no two of one job share; no
 * number of a job looks like it. */
static int detach(int spool_fd, const char *name, char *ret_name, size_t size)
{
    snprintf(ret_name, size, "%s.%" PRId64, name, vrt_clock_now_ns());
    return renameat(spool_fd, name, spool_fd, ret_name) < 0 ? -errno : 0;
}

int vrt_spool_detach(int spool_fd, int64_t job_id, char *ret_name, size_t size)
{
    char name[NAME_BYTES];

    folder_name(job_id, name);
    return detach(spool_fd, name, ret_name, size);
}

int vrt_spool_detach_result(int spool_fd, int64_t job_id, char *ret_name, size_t size)
{
    char name[2 * NAME_BYTES];

    return detach(spool_fd, name_result(job_id, name, sizeof(name)), ret_name, size);
}

void vrt_spool_take_back(int spool_fd, const char *from, int64_t job_id)
{
    char name[NAME_BYTES], old[2 * NAME_BYTES + 64], new[2 * NAME_BYTES];

    folder_name(job_id, name);
    for (int i = 0; i < VRT_JOB_FILE_COUNT; i++) {
        snprintf(old, sizeof(old), "%s/%s", from, vrt_job_file_names[i]);
        if (faccessat(spool_fd, old, F_OK, 0) < 0)
            continue;
        if ((mkdirat(spool_fd, name, 0700) < 0 && errno != EEXIST) ||
            renameat(spool_fd, old, spool_fd, name_file(job_id, i, new)) < 0)
            complain(old);
    }
}

/* The number that a folder of ours is called by, or a result; or 0. */
static int64_t number_of(const char *name, bool *ret_is_result)
{
    char *end, again[2 * NAME_BYTES];

    errno = 0;
    int64_t id = strtoll(name, &end, 10);
    if (errno || id <= 0)
        return 0;
    *ret_is_result = *end;
    folder_name(id, again);
    if (*ret_is_result)
        name_result(id, again, sizeof(again));
    return strcmp(name, again) == 0 ? id : 0;
}

int vrt_spool_clean(int spool_fd, bool (*is_wanted)(void *ctx, int64_t job_id, bool is_result),
                    void *ctx)
{
    int fd = openat(spool_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *entry;

    if (!folder) {
        int r = vrt_raise(-errno);
        vrt_closep(&fd);
        return r;
    }
    while ((entry = readdir(folder))) {
        bool is_result = false;
        int64_t id = number_of(entry->d_name, &is_result);
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 ||
            (id && is_wanted(ctx, id, is_result)))
            continue;
        vrt_log_info("%s in the spool folder belongs to no job: removed", entry->d_name);
        vrt_spool_remove(spool_fd, entry->d_name);
    }
    closedir(folder);
    return 0;
}

int64_t vrt_spool_free_bytes(int fd)
{
    struct statvfs disk;

    /* Some file systems know neither their size nor what is free. */
    if (fstatvfs(fd, &disk) < 0 || disk.f_blocks == 0)
        return INT64_MAX;
    return (int64_t)disk.f_bavail * (int64_t)disk.f_frsize;
}

int64_t vrt_spool_held_bytes(int fd)
{
    struct stat st;

    return fd < 0 || fstat(fd, &st) < 0 ? 0 : (int64_t)st.st_blocks * 512;
}

int64_t vrt_spool_free_above_bytes(int spool_fd)
{
    VRT_CLEANUP(vrt_closep) int fd = openat(spool_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 ? INT64_MAX : vrt_spool_free_bytes(fd);
}

int64_t vrt_spool_joined_bytes(int spool_fd, int64_t job_id)
{
    char path[2 * NAME_BYTES];
    struct stat st;

    for (int i = 0; i < VRT_CONTAINER_COUNT; i++) {
        snprintf(path, sizeof(path), "%" PRId64 "/joined.%s", job_id,
                 vrt_container_name((enum vrt_container)i));
        if (fstatat(spool_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0)
            return st.st_size;
    }
    return 0;
}

static int64_t bytes_of(const struct vrt_segment_record *segment)
{
    return VRT_MIN(VRT_MAX(segment->size_bytes, 0), VRT_SPOOL_BYTES_MAX);
}

int64_t vrt_spool_stored_bytes(const struct vrt_job *job)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < job->n_segments; i++)
        bytes = VRT_MIN(bytes + bytes_of(&job->segments[i]), VRT_SPOOL_BYTES_MAX);
    return bytes;
}

int64_t vrt_spool_output_bytes(const struct vrt_job *job)
{
    int64_t stored = vrt_spool_stored_bytes(job);
    double n_frames = 0, bytes = (double)job->output_bytes;

    for (size_t i = 0; i < job->n_segments; i++)
        n_frames += (double)job->segments[i].n_frames;
    if (n_frames > 0 && job->info.frames_total > 0)
        bytes = (double)stored / n_frames * (double)job->info.frames_total;
    return bytes >= (double)VRT_SPOOL_BYTES_MAX ? VRT_SPOOL_BYTES_MAX :
           VRT_MAX((int64_t)bytes, stored);
}

int64_t vrt_spool_needed_bytes(const struct vrt_job *job)
{
    return 2 * vrt_spool_output_bytes(job) - vrt_spool_stored_bytes(job);
}

int64_t vrt_spool_next_bytes(const struct vrt_job *job)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < job->n_segments; i++)
        bytes = VRT_MAX(bytes, bytes_of(&job->segments[i]));
    return 2 * bytes;
}
