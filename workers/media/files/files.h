/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job's files, and whether they are still what they were when it was admitted
 *
 * Hours may lie between admission and the end. An input that somebody wrote to meanwhile would
 * give a result with the pictures of one video and the sound of another; an output that somebody
 * deleted, none at all. Either may be a folder: of pictures, or for them.
 *
 * Thread: any, one at a time.
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/error.h"
#include "workers/media/files/sequence.h"

/* By what a file counts as the one that it was. */
struct vrt_file_stamp {
    int64_t size_bytes;
    struct timespec modified;
};

struct vrt_files {
    int input_fd;                               /* the caller's, like the names */
    bool is_piped;                              /* input_fd grows, by what comes from this: */
    int pipe_fd;
    int output_fd;                              /* likewise; -1: none, only a plan is made */
    const char *input_name, *output_name;
    int reference_fd;                           /* what the result is compared with, likewise; -1:
                                                 * nothing, or it can't be opened any more */
    const char *reference_name;                 /* NULL: none was asked for */
    struct vrt_folder_access access;            /* to what is in folders; zero: none are taken */
    bool may_replace;                           /* files in an output that is a folder */
    const char *pattern;                        /* of the input's names; NULL: all pictures */

    /* As they were, by vrt_files_note(). */
    struct vrt_file_stamp input;
    bool output_has_name;                       /* else nobody can have deleted it */
    bool is_sequence;                           /* the input is a folder of pictures: */
    struct vrt_sequence sequence;               /* these, */
    struct vrt_file_stamp *pictures;            /* [sequence.n] as they were */
    bool output_is_folder;
};

/*
 * Notes what the files are now. Return: 0; -errno with a sentence: no result can be made of them
 * (the input must be a regular file, the output another one that can be read back; or folders, of
 * pictures that may be read and aren't empty).
 * Whatever it returns, vrt_files_done() frees what was found.
 */
int vrt_files_note(struct vrt_files *files, struct vrt_error *error) VRT_MUST_CHECK;

/* Frees what was noted. */
void vrt_files_done(struct vrt_files *files);

/* Return: 0; -ESTALE with a sentence: they are not what was noted. A few microseconds. Of a folder
 * of pictures each is looked at when it is opened; what else comes into it or goes is no matter. */
int vrt_files_check(const struct vrt_files *files, struct vrt_error *error) VRT_MUST_CHECK;

/* Opens picture `k` of the sequence for reading. Return: a descriptor; -ESTALE: it is not what was
 * noted; -errno. With a sentence that names it. */
int vrt_files_open_picture(const struct vrt_files *files, size_t k, struct vrt_error *error);
