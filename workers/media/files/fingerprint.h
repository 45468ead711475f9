/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Whether a file is the one that it was, when nothing is left of it but a few bytes
 *
 * Its size, and a checksum of blocks spread over it with both ends: another video, or the same one
 * edited, has another fingerprint. It is no protection against somebody who makes a file to have
 * it: he has only his own job to spoil.
 *
 * Thread: any; it waits for the disk.
 */

#include <stdbool.h>
#include <stdint.h>

struct vrt_error;
struct vrt_files;

struct vrt_fingerprint {
    int64_t size_bytes;
    uint64_t checksum;
};

/*
 * Reads up to 4 MiB of the regular file `fd`, by position. Return: 0, -errno.
 */
int vrt_fingerprint_take(int fd, struct vrt_fingerprint *ret_fingerprint);

/* Refuses a file, `name` in sentences, that hasn't this fingerprint. Return: 0; -ESTALE
 * (input.other); -errno. Thread and disk as above. */
int vrt_fingerprint_check(int fd, const char *name, const struct vrt_fingerprint *expected,
                          struct vrt_error *error);

/* The same of the pictures of a folder, by their names, sizes, and both ends of each. Return: 0;
 * -errno with a sentence. */
int vrt_fingerprint_take_pictures(const struct vrt_files *files,
                                  struct vrt_fingerprint *ret_fingerprint,
                                  struct vrt_error *error);

/* Refuses a file that hasn't the fingerprint expected: as vrt_fingerprint_check(). */
int vrt_fingerprint_compare(const struct vrt_fingerprint *found, const char *name,
                            const struct vrt_fingerprint *expected, struct vrt_error *error);

/* Takes that of a job's input, video or pictures, or refuses one that hasn't what was taken before.
 * What comes by a pipe has none. Return: as vrt_fingerprint_check(). */
int vrt_fingerprint_settle(const struct vrt_files *files, bool is_known,
                           struct vrt_fingerprint *fingerprint, struct vrt_error *error);

bool vrt_fingerprint_is_same(const struct vrt_fingerprint *a, const struct vrt_fingerprint *b);
