/* SPDX-License-Identifier: MIT */

#include "workers/media/files/output-copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/macro.h"
#include "base/io/write.h"

#define VRT_LOG_TOPIC "encode"

/* Written last: a block of most disks, so that the rest can be shared. */
#define HEAD_BYTES 4096

/* A cancellation is looked at after each. */
#define RANGE_BYTES ((size_t)64 << 20)
#define CHUNK_BYTES ((size_t)1 << 20)

#define SHOWN_BYTES 160

static int refuse(const struct vrt_output_copy *copy, int r, struct vrt_error *error)
{
    char shown[SHOWN_BYTES];

    vrt_printable(copy->to_name, shown, sizeof(shown));
    if (r == -ECANCELED)
        return vrt_refuse(error, r, "cancelled", "cancelled");
    if (vrt_is_disk_full(r))
        return vrt_refuse(error, r, "output.full",
                          "the disk of %s is full: free some space and try again", shown);
    if (r == -ESTALE)
        return vrt_refuse(error, r, "output.write", "%s doesn't hold what was written to it: "
                          "another program writes to it, or has its descriptor append", shown);
    return vrt_refuse(error, r, "output.write", "%s cannot be written: %s", shown, strerror(-r));
}

/* Reads back what was written: whoever shares the descriptor may have it append at any time, and
 * then it is elsewhere. Return: 0; -ESTALE: it isn't there; -errno. */
static int check_written(const struct vrt_output_copy *copy, int64_t offset, const uint8_t *wanted,
                         size_t size, uint8_t *buffer)
{
    int r = vrt_read_at(copy->to_fd, buffer, size, offset);

    if (r < 0 && r != -ENODATA)
        return vrt_fold(r);
    return r < 0 || memcmp(buffer, wanted, size) != 0 ? vrt_raise(-ESTALE) : 0;
}

/* Copies `size` bytes at `offset` by reading and writing. */
static int copy_plainly(const struct vrt_output_copy *copy, int64_t offset, size_t size)
{
    VRT_CLEANUP(vrt_freep) uint8_t *buffer = malloc(2 * CHUNK_BYTES);

    if (!buffer)
        return vrt_raise(-ENOMEM);
    for (size_t n; size > 0; offset += (int64_t)n, size -= n) {
        n = VRT_MIN(size, CHUNK_BYTES);
        int r = vrt_read_at(copy->from_fd, buffer, n, offset);
        if (r < 0)
            return vrt_fold(r);
        r = vrt_write_at(copy->to_fd, buffer, n, offset);
        if (r < 0)
            return vrt_fold(r);
        r = check_written(copy, offset, buffer, n, buffer + CHUNK_BYTES);
        if (r < 0)
            return vrt_fold(r);
    }
    return 0;
}

/* Copies what lies between `offset` and `end`, and syncs it. */
static int copy_part(const struct vrt_output_copy *copy, int64_t offset, int64_t end)
{
    bool by_kernel = true;

    while (offset < end) {
        size_t size = (size_t)VRT_MIN(end - offset, (int64_t)RANGE_BYTES);
        ssize_t n = by_kernel ? vrt_output_copy_range(copy, offset, size) : 0;
        if (atomic_load(copy->cancel))
            return vrt_raise(-ECANCELED);
        if (n < 0)
            return vrt_raise((int)n);
        by_kernel = n > 0;
        if (!by_kernel) {
            int r = copy_plainly(copy, offset, size);
            if (r < 0)
                return vrt_fold(r);
            n = (ssize_t)size;
        }
        offset += n;
    }
    /* Where there is nothing to sync (EINVAL), there is nothing to lose. */
    return fsync(copy->to_fd) < 0 && errno != EINVAL && errno != ENOTSUP ? vrt_raise(-errno) : 0;
}

/* Asks before the output loses what it holds whether the result has room in its place. Who fills
 * the disk meanwhile is found out by the copy. */
static int check_room(const struct vrt_output_copy *copy, int64_t size_bytes,
                      struct vrt_error *error)
{
    const double needed = (double)size_bytes;
    char shown[SHOWN_BYTES];
    struct statvfs disk;
    struct stat st;
    double room;

    /* Some file systems know neither their size nor what is free. */
    if (fstat(copy->to_fd, &st) < 0 || fstatvfs(copy->to_fd, &disk) < 0 || disk.f_blocks == 0)
        return 0;
    room = (double)disk.f_bavail * (double)disk.f_frsize + (double)st.st_blocks * 512;
    if (needed <= room)
        return 0;
    return vrt_refuse(error, vrt_raise(-ENOSPC), "output.full",
                      "the disk of %s is full: the result needs %.1f MiB, and there are %.1f; free "
                      "some space and try again",
                      vrt_printable(copy->to_name, shown, sizeof(shown)), needed / 1048576,
                      room / 1048576);
}

int vrt_output_copy(const struct vrt_output_copy *copy, struct vrt_error *error)
{
    struct stat st, found;
    int r;

    if (fstat(copy->from_fd, &st) < 0)
        return vrt_refuse_errno(error, vrt_raise(-errno), "the finished file");
    r = check_room(copy, st.st_size, error);
    if (r < 0)
        return vrt_fold(r);
    r = ftruncate(copy->to_fd, 0) < 0 ? vrt_raise(-errno) : 0;
    if (r == 0)
        r = copy_part(copy, VRT_MIN(st.st_size, HEAD_BYTES), st.st_size);
    if (r == 0)
        r = copy_part(copy, 0, VRT_MIN(st.st_size, HEAD_BYTES));
    if (r == 0 && (fstat(copy->to_fd, &found) < 0 || found.st_size != st.st_size))
        r = vrt_raise(-EIO);
    if (r == 0)
        return 0;
    if (ftruncate(copy->to_fd, 0) < 0)
        vrt_log_warning("an incomplete output can't be emptied: %s, ignoring", strerror(errno));
    return refuse(copy, r, error);
}
