/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Models that are two files: ncnn's .param, which names the layers, and .bin with their weights
 *
 * They go around as one file, which has the text and the weights right behind its last line. Nobody
 * has to give it a name, but `cat x.param x.bin > x.ncnn` makes the same.
 */

#include <stdbool.h>

#include "base/error.h"

/* Whether the path ends as one of the two does. */
bool vrt_model_file_is_pair(const char *path);

/*
 * The other one's path, beside it: to be freed. NULL: no memory. Of vrt_model_file_is_pair() paths.
 */
char *vrt_model_file_other(const char *path) VRT_MUST_CHECK;

/*
 * Opens both files, given either's path (a relative one is within the folder `folder`, AT_FDCWD the
 * current one), and makes them one, of no name, in the folder for temporary files. A .bin that is a
 * checkpoint has no other one, and is opened as it is.
 * Return: 0, *ret_fd is the caller's; -errno, and `error` says what is missing.
 */
int vrt_model_file_join(int folder, const char *path, int *ret_fd,
                        struct vrt_error *error) VRT_MUST_CHECK;
