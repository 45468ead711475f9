/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How many files the daemon may have open
 *
 * Each job that waits holds up to three of them, for as long as it waits. So that they never take
 * what running jobs, connections and the store need, the last quarter of RLIMIT_NOFILE, and at most
 * 2048, is not for files that a client hands over: a job that would need those is refused. What is
 * open needs no counting: a new descriptor has the lowest number that is free, so that one in the
 * last quarter says that all below are in use.
 *
 * Thread: any.
 */

#include <stdbool.h>

#include "base/error.h"

/* Whether files that a client handed over may be kept; -1 is none. Return: 0; -EMFILE with
 * `error`. */
int vrt_descriptors_check(const int *fds, int n, struct vrt_error *error) VRT_MUST_CHECK;

/* Says that there are no more descriptors. Return: -EMFILE. */
int vrt_descriptors_refuse(struct vrt_error *error);

/* Whether that is what the error says: it passes when other files are closed. */
bool vrt_descriptors_are_out(const struct vrt_error *error);
