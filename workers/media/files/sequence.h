/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The pictures of a folder, as a video: which there are, in which order, and what their results are
 * called
 *
 * Numbers in names count as numbers: 2.png comes before 10.png. What isn't called as a picture is
 * no part of it, nor what is hidden.
 *
 * Thread: any; it waits for the disk.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codecs.h"
#include "base/error.h"
#include "frames/warnings.h"

#define VRT_SEQUENCE_NAME_BYTES 256

/* How names in a folder that a client handed over are opened: as he may, and in no other place. */
struct vrt_folder_access {
    /* Return: a descriptor; -errno with the sentence in `error`. */
    int (*open)(void *ctx, int folder_fd, const char *name, struct vrt_error *error);
    /* A file that isn't there, for reading and writing. Likewise. */
    int (*create)(void *ctx, int folder_fd, const char *name, struct vrt_error *error);
    /* Whether files may be made in the folder. Return: 0; -errno with the sentence. */
    int (*check_writable)(void *ctx, int folder_fd, const char *folder_name,
                          struct vrt_error *error);
    void *ctx;
};

/* Embedded; zero-initialised is empty. */
struct vrt_sequence {
    char **names;               /* [n], sorted */
    size_t n;
};

/*
 * Finds the pictures of a folder, `folder_name` in sentences. `pattern`: a name with one number in
 * it, as printf() has it (%d, %04d); "": all pictures.
 * Return: 0, and `ret_sequence` needs vrt_sequence_done(); -ENOENT: there are none; -EINVAL: it is
 * no pattern; -EEXIST: two differ by their endings alone; -ENAMETOOLONG; -errno. With a sentence.
 */
int vrt_sequence_list(int folder_fd, const char *folder_name, const char *pattern,
                      struct vrt_sequence *ret_sequence, struct vrt_error *error) VRT_MUST_CHECK;

void vrt_sequence_done(struct vrt_sequence *sequence);

/* Says which numbers are missing between those that there are. */
void vrt_sequence_warn(const struct vrt_sequence *sequence, struct vrt_warnings *warnings);

/*
 * What the result of picture `k`, from 0, is called: as the picture, with the container's ending.
 * NULL sequence: a number. Return: buffer.
 */
const char *vrt_sequence_result_name(const struct vrt_sequence *sequence, int64_t k,
                                     enum vrt_container container,
                                     char buffer[VRT_SEQUENCE_NAME_BYTES]);

/* Whether the folder holds nothing. Return: 1: nothing; 0: something; -errno. */
int vrt_folder_is_empty(int folder_fd);
