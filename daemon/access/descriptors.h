/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How many files the daemon may have open
 *
 * Each job that waits holds up to four of them, for as long as it waits. So that they never take
 * what running jobs, connections and the store need, the last quarter of RLIMIT_NOFILE, and at most
 * 2048, is not for files that a client hands over: a job that would need those is refused. What is
 * open needs no counting: a new descriptor has the lowest number that is free, so that one in the
 * last quarter says that all below are in use.
 *
 * Thread: any.
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

struct vrt_peer_files;

/* Whether files that a client handed over may be kept; -1 is none. Return: 0; -EMFILE with
 * `error`. */
int vrt_descriptors_check(const int *fds, int n, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Moves the file `index` of those that came with a request to *ret_fd, of which the old one is
 * closed; VRT_UNKNOWN: none is wanted. Return: 0; -EBADF with `error` on `field`: there is none, or
 * it was taken.
 */
int vrt_descriptors_take(struct vrt_peer_files *files, int64_t index, const char *field,
                         int *ret_fd, struct vrt_error *error) VRT_MUST_CHECK;

/* Says that there are no more descriptors. Return: -EMFILE. */
int vrt_descriptors_refuse(struct vrt_error *error);

/* Whether that is what the error says: it passes when other files are closed. */
bool vrt_descriptors_are_out(const struct vrt_error *error);
