/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Videos that are uploaded, until a job takes them
 *
 * An upload is a file of the spool folder, charged to its user as it grows, or at once where it is
 * known how large it will be. It goes when its user goes away before its end, an hour after that,
 * and with the daemon; whatever a crash leaves of it the next start finds to be nobody's. Writing
 * and syncing are done on threads, while the next piece comes.
 *
 * Thread: the loop's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/macro.h"

struct uv_loop_s;
struct vrt_quota;
struct vrt_upload;
struct vrt_uploads;

#define VRT_UPLOAD_NAME_BYTES 40

struct vrt_uploads_params {
    struct uv_loop_s *loop;
    struct vrt_quota *quota;
    int spool_fd;                       /* stays the caller's */
    int64_t (*free_bytes)(int fd);      /* on the disk that `fd` is on */
    int64_t max_bytes;                  /* of one */
};

/* What is told of an upload, never from within the calls about it. */
struct vrt_upload_events {
    /* There is room for more. */
    void (*more)(void *ctx);
    /* It is over, once: *size_bytes are on the disk for good; or it is gone, for `error`. */
    void (*done)(void *ctx, int64_t size_bytes, const struct vrt_error *error);
    void *ctx;
};

/* Return: 0, -ENOMEM. It is freed by vrt_uploads_free(), after the loop's end. */
int vrt_uploads_new(const struct vrt_uploads_params *params, struct vrt_uploads **ret_uploads);

/* From now on one may be so large. */
void vrt_uploads_set_max(struct vrt_uploads *uploads, int64_t max_bytes);

/* What is left of them is removed. Return: NULL. */
struct vrt_uploads *vrt_uploads_free(struct vrt_uploads *uploads);

/* Begins one; `size_bytes` is how large it will be, -1 where nobody knows. Return: 0; -errno with
 * `error`. */
int vrt_upload_begin(struct vrt_uploads *uploads, uid_t uid, int64_t size_bytes,
                     const struct vrt_upload_events *events, struct vrt_upload **ret_upload,
                     struct vrt_error *error) VRT_MUST_CHECK;

/* Its number. */
int64_t vrt_upload_id(const struct vrt_upload *upload);

/* Appends. Return: 0; 1, taken, and there is no room for more until `more`; -errno with `error`:
 * it must be dropped. */
int vrt_upload_write(struct vrt_upload *upload, const void *data, size_t size,
                     struct vrt_error *error) VRT_MUST_CHECK;

/* That was all: `done` will be called. Afterwards it is no longer its caller's. */
void vrt_upload_finish(struct vrt_upload *upload);

/* Nobody wants it: neither `more` nor `done` will be called. */
void vrt_upload_drop(struct vrt_upload *upload);

/* Opens what a user uploaded. Return: 0; -ENOENT, -errno with `error`. */
int vrt_uploads_open(const struct vrt_uploads *uploads, int64_t id, uid_t uid, int *ret_fd,
                     struct vrt_error *error) VRT_MUST_CHECK;

/* Where an upload is, in the spool folder, and how large. Return: 0; -ENOENT with `error`. */
int vrt_uploads_look(const struct vrt_uploads *uploads, int64_t id,
                     char ret_name[VRT_UPLOAD_NAME_BYTES], int64_t *ret_bytes,
                     struct vrt_error *error) VRT_MUST_CHECK;

/* It has another name, and is another's to remove and to be charged for. */
void vrt_uploads_forget(struct vrt_uploads *uploads, int64_t id);

/* Removes one that a user uploaded. Return: 0; -ENOENT. */
int vrt_uploads_remove(struct vrt_uploads *uploads, int64_t id, uid_t uid);

/* Removes those that no job has taken for an hour. To be called now and then. */
void vrt_uploads_expire(struct vrt_uploads *uploads);

VRT_DEFINE_CLEANUP(struct vrt_uploads, vrt_uploads_free)
