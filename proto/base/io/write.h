/* SPDX-License-Identifier: MIT */
#pragma once

/* Files that are read and written by position, folders that are made, and names that last. */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/macro.h"

/* Writes all of it at `offset`, however often that takes. Return: 0; -errno: some of it may have
 * been written. Thread: any. */
int vrt_write_at(int fd, const void *data, size_t size, int64_t offset) VRT_MUST_CHECK;

/* Reads all of it at `offset`, however often that takes. Return: 0; -ENODATA: the file ends before;
 * -errno. Thread: any. */
int vrt_read_at(int fd, void *data, size_t size, int64_t offset) VRT_MUST_CHECK;

/* Has the disk know the name of a file or folder that was made: what is done is still there after a
 * crash. A folder that can't be synced is none the worse for it. */
void vrt_sync_name(const char *path);

/* Makes the folder, and those `above` that it is in, of such modes, where they aren't there; with
 * `mode` 0 only those above. Return: 0; -errno. */
int vrt_folder_make(const char *folder, mode_t above, mode_t mode) VRT_MUST_CHECK;
