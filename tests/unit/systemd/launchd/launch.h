/* SPDX-License-Identifier: MIT */
#pragma once

/* Of macOS's header of this name the one function that vrtd calls; test-take-launchd.c has it. */

#include <stddef.h>

/* Return: 0, with *ret_fds the caller's to free, and its descriptors his; a number of errno.h. */
int launch_activate_socket(const char *name, int **ret_fds, size_t *ret_n);
