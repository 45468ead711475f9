/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What is compiled, in files: a folder that outlives the process where VRT_XPU_CACHE names one,
 * else one of its own in $TMPDIR that is removed at its end. PoCL's cache is in it as well.
 */

#include <stddef.h>
#include <stdint.h>

/* Locked. Makes the folder, and tells PoCL of it. Return: 0, -errno. */
int drv_cache_open(void);

/* Removes the folder if it is this process's own. */
void drv_cache_close(void);

/*
 * While something is compiled no other process with the same folder compiles: it finds in the cache
 * what this one has made. Thread: one at a time.
 */
void drv_cache_lock(void);
void drv_cache_unlock(void);

/* The folder. */
const char *drv_cache_path(void);

/* The name of what is made of these bytes, without a folder: 16 digits. */
void drv_cache_name(const void *data, size_t n_bytes, char ret_name[17]);

/* Reads a whole file. Return: its bytes, to be freed, NULL: it can't be read. */
uint8_t *drv_file_read(const char *path, size_t *ret_n_bytes);

/* Writes one. Return: 0, -errno. */
int drv_file_write(const char *path, const void *data, size_t n_bytes);
