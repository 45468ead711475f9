/* SPDX-License-Identifier: MIT */

/* FNV-1a over the blocks and the file's size. */

#include "workers/media/files/fingerprint.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/io/write.h"
#include "base/macro.h"
#include "workers/media/files/files.h"

#define N_BLOCKS 64
#define BLOCK_BYTES (64 * 1024)

/* Of each picture of a folder, at its beginning and at its end. */
#define PICTURE_END_BYTES 4096

static uint64_t mix(uint64_t hash, const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Adds the block at `offset` to *hash. Return: 0; -ESTALE: the file became shorter; -errno. */
static int add_block(int fd, int64_t offset, size_t size, uint8_t *buffer, uint64_t *hash)
{
    int r = vrt_read_at(fd, buffer, size, offset);

    if (r < 0)
        return r == -ENODATA ? vrt_raise(-ESTALE) : vrt_fold(r);
    *hash = mix(*hash, buffer, size);
    return 0;
}

int vrt_fingerprint_take(int fd, struct vrt_fingerprint *ret_fingerprint)
{
    VRT_CLEANUP(vrt_freep) uint8_t *buffer = malloc(BLOCK_BYTES);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    struct stat st;
    int r = 0;

    if (!buffer)
        return vrt_raise(-ENOMEM);
    if (fstat(fd, &st) < 0)
        return vrt_raise(-errno);

    const int64_t size = st.st_size, last = VRT_MAX(size - BLOCK_BYTES, 0);
    /* A small file is read from end to end, a large one here and there. */
    const int64_t step = VRT_MAX(last / (N_BLOCKS - 1), BLOCK_BYTES);
    const size_t block = (size_t)VRT_MIN(size, BLOCK_BYTES);
    for (int64_t at = 0; r == 0 && at < last; at += step)
        r = add_block(fd, at, block, buffer, &hash);
    if (r < 0)
        return vrt_fold(r);
    r = add_block(fd, last, block, buffer, &hash);
    if (r < 0)
        return vrt_fold(r);
    *ret_fingerprint = (struct vrt_fingerprint){ .size_bytes = size, .checksum = hash };
    return 0;
}

bool vrt_fingerprint_is_same(const struct vrt_fingerprint *a, const struct vrt_fingerprint *b)
{
    return a->size_bytes == b->size_bytes && a->checksum == b->checksum;
}

int vrt_fingerprint_compare(const struct vrt_fingerprint *found, const char *name,
                            const struct vrt_fingerprint *expected, struct vrt_error *error)
{
    char shown[160];

    if (vrt_fingerprint_is_same(found, expected))
        return 0;
    return vrt_refuse(error, vrt_raise(-ESTALE), "input.other",
                      "%s is not the file that this job was submitted for: it has other "
                      "bytes; hand that one over, or submit a new job",
                      vrt_printable(name, shown, sizeof(shown)));
}

int vrt_fingerprint_check(int fd, const char *name, const struct vrt_fingerprint *expected,
                          struct vrt_error *error)
{
    struct vrt_fingerprint found;
    int r = vrt_fingerprint_take(fd, &found);

    if (r < 0)
        return vrt_refuse_errno(error, vrt_fold(r), name);
    return vrt_fold(vrt_fingerprint_compare(&found, name, expected, error));
}

/* Adds a picture to the fingerprint. Return: 0; -errno. */
static int add_picture(const char *name, int fd, uint8_t *buffer, struct vrt_fingerprint *sum)
{
    struct stat st;

    if (fstat(fd, &st) < 0)
        return vrt_raise(-errno);
    const size_t size = (size_t)VRT_MIN(st.st_size, PICTURE_END_BYTES);
    sum->checksum = mix(sum->checksum, (const uint8_t *)name, strlen(name) + 1);
    sum->size_bytes += st.st_size;
    int r = add_block(fd, 0, size, buffer, &sum->checksum);
    return r < 0 ? vrt_fold(r) : vrt_fold(add_block(fd, st.st_size - (int64_t)size, size, buffer,
                                                    &sum->checksum));
}

int vrt_fingerprint_take_pictures(const struct vrt_files *files,
                                  struct vrt_fingerprint *ret_fingerprint,
                                  struct vrt_error *error)
{
    struct vrt_fingerprint sum = { .checksum = UINT64_C(0xcbf29ce484222325) };
    uint8_t buffer[PICTURE_END_BYTES];

    for (size_t i = 0; i < files->sequence.n; i++) {
        const char *name = files->sequence.names[i];
        VRT_CLEANUP(vrt_closep) int fd = vrt_files_open_picture(files, i, error);
        if (fd < 0)
            return vrt_fold(fd);
        int r = add_picture(name, fd, buffer, &sum);
        if (r < 0)
            return vrt_refuse_errno(error, vrt_fold(r), name);
    }
    *ret_fingerprint = sum;
    return 0;
}

static int settle_pictures(const struct vrt_files *files, bool is_known,
                           struct vrt_fingerprint *fingerprint, struct vrt_error *error)
{
    struct vrt_fingerprint found;
    int r = vrt_fingerprint_take_pictures(files, &found, error);

    if (r < 0)
        return vrt_fold(r);
    if (is_known)
        return vrt_fold(vrt_fingerprint_compare(&found, files->input_name, fingerprint, error));
    *fingerprint = found;
    return 0;
}

int vrt_fingerprint_settle(const struct vrt_files *files, bool is_known,
                           struct vrt_fingerprint *fingerprint, struct vrt_error *error)
{
    if (files->is_piped)
        return 0;
    if (files->is_sequence)
        return vrt_fold(settle_pictures(files, is_known, fingerprint, error));
    if (is_known)
        return vrt_fold(vrt_fingerprint_check(files->input_fd, files->input_name, fingerprint,
                                              error));
    int r = vrt_fingerprint_take(files->input_fd, fingerprint);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), files->input_name) : 0;
}
