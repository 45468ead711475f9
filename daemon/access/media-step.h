/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What of media.c differs between operating systems: media-step-linux.c and media-step-none.c
 *
 * Thread: any.
 */

#include <stdbool.h>

/*
 * Opens `name`, one component, in a folder, with these flags; never through a link, never out of
 * the folder. What it makes has mode 0600. Return: a descriptor, -errno (-ELOOP: a link).
 */
int vrt_media_step(int folder_fd, const char *name, int flags);

/* Whether the system can do that. Return: 0; -ENOSYS. */
int vrt_media_check_steps(void);

/* Whether what `fd` (O_PATH or not) is open for has an access control list beyond its mode. Where
 * that can't be found out it has one. */
bool vrt_media_has_acl(int fd);
