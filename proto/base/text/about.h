/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which job and which user a log line is about, by what its format is given
 *
 * A line says it in words, "job 7 of uid 1000 is done"; names of files that say the like are no
 * part of the format, and so are taken for nothing. Pure.
 */

#include <stdarg.h>
#include <stdint.h>

/* Looks for the numbers behind "job " and "uid " in `format`, which printf() was given with `args`;
 * a job's may be a text. *ret_job is 0, *ret_uid -1, where there is none. */
void vrt_log_find_about(const char *format, va_list args, int64_t *ret_job, int64_t *ret_uid);
