/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The user's files: opened here, with the user's own rights, and handed to the daemon
 *
 * Every refusal is one sentence that names the file and the cure.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/error.h"

/* An open file. */
struct vrt_file {
    int fd;
    dev_t device;
    ino_t inode;
    bool created;               /* by us: it was not there before */
};

/* Nothing open; no file is the same. */
#define VRT_FILE_NONE ((struct vrt_file){ .fd = -1 })

/* Closes it; the file itself stays. */
void vrt_file_close(struct vrt_file *file);

/* Opens a regular file that isn't empty, for reading. Return: 0; -errno. */
int vrt_file_open_input(const char *path, struct vrt_file *ret_file, struct vrt_error *error);

/* Opens a model's file; where that is one of two (ncnn's .param and .bin), both, as one that has no
 * name. Return: 0; -errno. */
int vrt_file_open_model(const char *path, struct vrt_file *ret_file, struct vrt_error *error);

/*
 * Opens the file for a result, making it where it isn't there. An existing one that holds something
 * is refused unless `overwrite`, and then keeps it. It may not be `input`, under any name.
 * Return: 0; -errno.
 */
int vrt_file_open_output(const char *path, bool overwrite, const struct vrt_file *input,
                         struct vrt_file *ret_file, struct vrt_error *error);

/* Whether vrt_file_open_output() would open such a file, as far as can be said without making it.
 * Return: 0; -errno. */
int vrt_file_check_output(const char *path, bool overwrite, const struct vrt_file *input,
                          struct vrt_error *error);

/*
 * Opens the file for the result of a job that goes on: also where it is there already, as long as
 * it holds nothing, or only a part of a result that was being written, whose beginning comes last.
 * Return: 0; -errno.
 */
int vrt_file_open_output_again(const char *path, bool overwrite, const struct vrt_file *input,
                               struct vrt_file *ret_file, struct vrt_error *error);

/*
 * The path from the root on, for somebody who stands in another folder. Return: buffer; "" where
 * it doesn't fit, or cannot be said in UTF-8 without control characters.
 */
const char *vrt_file_absolute(const char *path, char *buffer, int size);

/* Removes what `path` names if it is still the empty file, or folder, that we created. */
void vrt_file_remove_created(const char *path, const struct vrt_file *file);

/* Removes the empty file that a submission made for the output of a job that came to nothing:
 * nobody has touched it since the job was made, at `since_ns` of the wall clock. */
void vrt_file_remove_placeholder(const char *path, int64_t since_ns);

/* Whether `text` is no path, but something for the daemon to fetch: http://... or https://... */
bool vrt_file_is_url(const char *text);

/* The name of the file that a URL leads to, as it is written there; "input" where it names none.
 * Return: buffer. */
const char *vrt_file_url_name(const char *url, char *buffer, int size);

/* The name without folders, printable. Return: buffer. */
const char *vrt_file_name(const char *path, char *buffer, int size);

/* Whether --output names a folder for results: one that is there, or that ends in a slash. */
bool vrt_file_is_folder(const char *path);

/*
 * Where the result of `input` goes if nobody says: into `folder`, or where that is NULL beside it
 * (of a URL: in the working folder), "video.mp4" as "video.restored.mp4" with the word "restored".
 * The ending stays where that container can be written and can hold `codec` (VRT_UNKNOWN: one as
 * configured); else it is the codec's usual one, most often .mkv. Where others have that name,
 * `nth` is over 0, and it is part of the name besides, then a number: "video.avi.restored.mkv",
 * "video.avi.2.restored.mkv".
 * Return: a path to free; NULL: no memory.
 */
char *vrt_file_default_output(const char *input, const char *folder, const char *word,
                              int nth, int codec);

/* Whether --model names a file: it holds a slash, or is a regular file of this folder. */
bool vrt_file_is_model_path(const char *model);
