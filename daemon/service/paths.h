/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where things are, where neither the command line nor the configuration says
 *
 * Thread: any, while nobody changes the environment.
 */

#include <stddef.h>

#include "base/error.h"

/* The socket. Return: 0; -errno, and `error` says what to set or give. */
int vrt_paths_socket(char *buffer, size_t size, struct vrt_error *error);

/* The state folder. Return: 0; -errno, and `error` says what to set or give. */
int vrt_paths_state_dir(char *buffer, size_t size, struct vrt_error *error);

/* The configuration, "" where there is none. Return: 0; -errno, see error. */
int vrt_paths_config(char *buffer, size_t size, struct vrt_error *error);

/* Where one is looked for, in this order, with commas between; as many as there is room for.
 * Return: buffer. */
const char *vrt_paths_list_configs(char *buffer, size_t size);
