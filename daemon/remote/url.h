/* SPDX-License-Identifier: MIT */
#pragma once

/* The addresses that clients, the catalogue and the configuration give: which are taken. Pure. */

#include <stddef.h>

#include "base/error.h"
#include "base/macro.h"

/*
 * Checks that `url` is one that may be fetched: http or https, a host, no user's name or password
 * in it (they would be told to whoever may see the job), nothing but printable ASCII.
 * Return: 0; -EINVAL (remote.url) and the sentence in error; -ENOMEM.
 */
int vrt_url_check(const char *url, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * The name of the file that a checked URL leads to: the last part of its path, decoded, made
 * printable, without anything that a file system could take for a folder or a hidden file; in
 * `buffer`, "" where the path names none. Return: buffer.
 */
const char *vrt_url_file_name(const char *url, char *buffer, int size);

/* The URL without its query and fragment, which may hold keys: for logs. Return: buffer. */
const char *vrt_url_shown(const char *url, char *buffer, int size);
