/* SPDX-License-Identifier: MIT */
#pragma once

/* Where programs keep things. Thread: any, while nobody changes the environment. */

#include <stddef.h>

/*
 * The folder for what can be made again: $CACHE_DIRECTORY (systemd sets it), $XDG_CACHE_HOME/vrtd,
 * ~/.cache/vrtd (on macOS ~/Library/Caches/vrtd) or, for root without a home, /var/cache/vrtd. It
 * needn't exist.
 * Return: 0; -ENOENT: nobody says; -ENAMETOOLONG.
 */
int vrt_folder_of_cache(char *buffer, size_t size);

/*
 * The user's folder for what must last: $XDG_STATE_HOME/vrtd or ~/.local/state/vrtd (on macOS
 * ~/Library/Application Support/vrtd). It needn't exist.
 * Return: 0; -ENOENT: nobody says; -ENAMETOOLONG.
 */
int vrt_folder_of_state(char *buffer, size_t size);

/*
 * Where a part of the program is: in the build folder that it runs from, where it is `built` (below
 * that folder), else where it is installed.
 * Return: buffer; `installed` where that is too small.
 */
const char *vrt_folder_of_part(const char *built, const char *installed, char *buffer,
                               size_t size);
