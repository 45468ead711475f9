/* SPDX-License-Identifier: MIT */
#pragma once

/* What differs between systems when vrt-media is started. Thread: any. */

#include <spawn.h>
#include <stdbool.h>

/* Two ends of a connection that keeps packets apart; closed on exec. Return: 0, -errno. */
int vrt_child_pair(int ret_ends[2]);

/* What starts the program that fd is open on, even where another file has got its path since;
 * `path` where the system can't. Return: buffer, or path. */
const char *vrt_child_path(int fd, const char *path, char *buffer, int size);

/* Has the program begin with none of our descriptors but 0 to `last`. The attributes' flags are set
 * already. Return: 0, or an errno, as of posix_spawn's other functions. */
int vrt_child_keep(posix_spawn_file_actions_t *files, posix_spawnattr_t *attributes, int last);

/* Has processes that our own leave behind become ours, to be waited for. Return: whether it can. */
bool vrt_child_adopts(void);
