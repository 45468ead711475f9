/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Errors
 *
 * A function returns 0, or -errno: fatal to the caller's purpose, to be passed on unchanged.
 * (A positive value is a function's own outcome, named in its contract, handled by its caller.)
 * An errno is born with vrt_raise(-ENOMEM) and passed on with vrt_fold(r); on failure the debug
 * log then holds the path it took.
 *
 * Where a *user* will want to know why, the function also takes a `struct vrt_error *error`, and
 * fills it by vrt_refuse() with one sentence that names the thing and the cure. The contract of
 * every such function: whenever it returns non-zero, error->message is not empty.
 */

#include <errno.h>
#include <stdbool.h>

#include "base/macro.h"

/* One refusal, as a client is told of it. By value: it owns nothing. */
struct vrt_error {
    const char *id;         /* "job.not_found": static storage, see proto/api.h; NULL: none yet */
    char field[64];         /* the request's field at fault, "" if none */
    char message[512];      /* one sentence */
};

#define vrt_raise(r) vrt_error_raise((r), __FILE__, __LINE__, __func__)
#define vrt_fold(r) vrt_error_fold((r), __FILE__, __LINE__, __func__)

/* Logs, at debug level, where `r` was born. Return: r. Thread: any. */
int vrt_error_raise(int r, const char *file, int line, const char *func);

/* Logs, at debug level, that a non-zero `r` passed here. Return: r. Thread: any. */
int vrt_error_fold(int r, const char *file, int line, const char *func);

/*
 * Fills `error` (NULL: the caller doesn't want to know) with `id` and a sentence, unless it holds
 * one already: the first, most specific sentence stands. A `%s` from outside must have passed
 * through vrt_printable() where it may hold control characters.
 * Return: r, for `return vrt_refuse(error, -EINVAL, ...)`. Thread: any.
 */
int vrt_refuse(struct vrt_error *error, int r, const char *id, const char *format, ...)
    VRT_PRINTF(4, 5);

/* Whether `r` says that a disk, or one's share of it, is full. Thread: any. */
static inline bool vrt_is_disk_full(int r)
{
    return r == -ENOSPC || r == -EDQUOT;
}

/* Whether `error` holds a sentence with this id. Thread: any. */
bool vrt_error_is(const struct vrt_error *error, const char *id);

/*
 * For failures of the system underneath (r is -errno): fills `error` with `what` and strerror(),
 * unless it holds a sentence already. Return: r. Thread: any.
 */
int vrt_refuse_errno(struct vrt_error *error, int r, const char *what);

/* Names the request's field at fault. NULL error: nothing. Thread: any. */
void vrt_error_set_field(struct vrt_error *error, const char *field);

/*
 * A copy of `text` in `buffer` (of `size` bytes, at least 4) whose control characters and
 * non-UTF-8 bytes are shown as '?', cut with "..." where it is too long: for names from outside.
 * Return: buffer. Thread: any.
 */
const char *vrt_printable(const char *text, char *buffer, int size);

/* Ends the process with a message: a broken invariant of ours, never a user's or device's fault. */
#define vrt_assert(condition) \
    (VRT_LIKELY(condition) ? (void)0 : vrt_assert_failed(#condition, __FILE__, __LINE__))

/* The end of vrt_assert(): logs and aborts, never returns. */
VRT_NORETURN void vrt_assert_failed(const char *condition, const char *file, int line);
