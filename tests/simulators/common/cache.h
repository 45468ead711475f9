/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What a simulator has compiled, in files: a folder that outlives the process where a variable of
 * the environment names one, else one of its own in $TMPDIR that is removed at its end
 */

#include <stddef.h>
#include <stdint.h>

/*
 * Makes the folder that the variable of the environment names, or one that is called `name` and
 * something. Before all else here. Thread: one. Return: 0, -errno.
 */
int sim_cache_open(const char *variable, const char *name);

/* Removes the folder if it is this process's own. */
void sim_cache_close(void);

/*
 * While something is compiled no other process with the same folder compiles: it finds in the cache
 * what this one has made. Thread: one at a time.
 */
void sim_cache_lock(void);
void sim_cache_unlock(void);

/* The folder. */
const char *sim_cache_path(void);

/* The name of what is made of these bytes, without a folder: 16 digits. */
void sim_cache_name(const void *data, size_t n_bytes, char ret_name[17]);

/* Reads a whole file. Return: its bytes, to be freed, NULL: it can't be read. */
uint8_t *sim_file_read(const char *path, size_t *ret_n_bytes);

/* Writes one. Return: 0, -errno. */
int sim_file_write(const char *path, const void *data, size_t n_bytes);
