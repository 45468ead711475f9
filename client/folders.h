/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Folders of pictures, in the place of videos: as inputs, and for results
 *
 * Every refusal is one sentence that names the folder and the cure.
 */

#include "base/codecs.h"
#include "client/files.h"

/* An operand that is a folder of pictures. */
struct vrt_folder_input {
    char *path;                 /* of the folder, without slashes at its end; NULL: it is none */
    const char *pattern;        /* of names in it, a part of the operand; "": all pictures */
};

/* What an operand is: a folder, or names in one (frames/%04d.png). Return: 0, and path is to be
 * freed; -ENOMEM. */
int vrt_folder_parse(const char *operand, struct vrt_folder_input *ret_input);

/* Opens a folder that is there. Return: 0; -errno. */
int vrt_folder_open(const char *path, struct vrt_file *ret_file, struct vrt_error *error);

/* Makes a folder for results, and those that it is in, where they aren't there. Return: 0; -errno
 * with `error`. */
int vrt_folder_make_output(const char *folder, struct vrt_error *error) VRT_MUST_CHECK;

/* Whether there is nothing in a folder that can be read. */
bool vrt_folder_is_empty(const char *path);

/*
 * Opens the folder for results, making it where it isn't there. One that holds something is refused
 * unless `overwrite`; it may not be `input`. Return: 0; -errno.
 */
int vrt_folder_open_output(const char *path, bool overwrite, const struct vrt_file *input,
                           struct vrt_file *ret_file, struct vrt_error *error);

/* The codec by which results are of the kind of the folder's pictures, as far as that kind is
 * written. */
enum vrt_codec vrt_folder_codec(const struct vrt_folder_input *input);

/* Whether a path is called as one file, of whatever kind. */
bool vrt_folder_is_file_name(const char *path);

/*
 * Where the pictures of `operand` go: into `output`, or, as one of several, into a folder of its
 * own there; beside the operand where that is NULL: "frames" as "frames.restored", "film.mp4" as
 * "film.restored". `nth` 0; where that is taken 1 ("film.mp4.restored"), 2 ("film.mp4.2.restored").
 * Return: a path to free; NULL: no memory.
 */
char *vrt_folder_default_output(const char *operand, const struct vrt_folder_input *input,
                                const char *output, bool is_one_of_several, int nth);
