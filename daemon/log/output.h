/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Where log lines go: standard error, a file, or systemd's journal
 *
 * Until vrt_log_open() is called that is standard error, in text. A line that can't be written
 * where it should goes to standard error; where that is gone, too, nothing helps.
 *
 * Thread: the loop's, or the first; lines that others write meanwhile go to the old place or to the
 * new one, none to both.
 */

#include "base/error.h"
#include "config/conf.h"

#define VRT_LOG_JOURNAL_SOCKET "/run/systemd/journal/socket"

struct vrt_log_target {
    int format;                     /* enum vrt_conf_log_format */
    const char *file;               /* an absolute path; "": standard error, or the journal */
    const char *journal;            /* its socket; NULL: VRT_LOG_JOURNAL_SOCKET */
};

/* Whether lines could go there: nothing is made or changed. Return: 0; -errno, and `error` says
 * why not. */
int vrt_log_check(const struct vrt_log_target *target, struct vrt_error *error) VRT_MUST_CHECK;

/* Lines go there from now on. Return: 0; -errno, and `error` says why not: then it is as it was. */
int vrt_log_open(const struct vrt_log_target *target, struct vrt_error *error) VRT_MUST_CHECK;

/* Opens the file, if there is one, by its name again, which may be another's since it was moved
 * away. Return: as vrt_log_open(). */
int vrt_log_reopen(struct vrt_error *error) VRT_MUST_CHECK;
