/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The file that a download is written to, by libuv's threads: the loop never waits for the disk
 *
 * One step goes on at a time; what arrives meanwhile is collected in memory, up to a limit, and
 * whoever brings it must wait then. Beside NAME stands NAME.from while the download isn't complete:
 * where it comes from, and the server's word for this version of it, so that a later run knows
 * whether the rest still belongs to what is there.
 *
 * Thread: the loop's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/text/digest.h"

struct uv_loop_s;
struct vrt_fetch_file;

#define VRT_FETCH_VERSION_BYTES 256     /* of a server's word for a version */

enum vrt_fetch_file_step {
    VRT_FETCH_FILE_OPEN,        /* what is there already is kept where it can be gone on with */
    VRT_FETCH_FILE_EMPTY,       /* begins anew, with another version */
    VRT_FETCH_FILE_WRITE,
    VRT_FETCH_FILE_FINISH,      /* synced, and NAME.from is gone */
    VRT_FETCH_FILE_REMOVE,      /* both are gone */
};

enum vrt_fetch_file_outcome {
    VRT_FETCH_FILE_E_BUSY = 1,  /* nothing was taken: again after `stepped`, which will come */
};

struct vrt_fetch_file_params {
    struct uv_loop_s *loop;
    int folder_fd;              /* stays the caller's, open until the file is freed */
    const char *name, *url;
    mode_t mode;
    bool wants_digest;          /* SHA-256 of everything */
    bool keeps_any;             /* what is there is kept without NAME.from: its digest is checked */
    void (*stepped)(void *ctx, enum vrt_fetch_file_step step, int result);  /* 0, -errno */
    void *ctx;
};

/* The texts of params are copied. Return: 0; -ENOMEM. */
int vrt_fetch_file_new(const struct vrt_fetch_file_params *params,
                       struct vrt_fetch_file **ret_file) VRT_MUST_CHECK;

/* No step goes on. Return: NULL. */
struct vrt_fetch_file *vrt_fetch_file_free(struct vrt_fetch_file *file);

/*
 * Begins a step; none goes on. `version` is for EMPTY ("": there is no going on with it); else
 * NULL. `stepped` comes once.
 */
void vrt_fetch_file_step(struct vrt_fetch_file *file, enum vrt_fetch_file_step step,
                         const char *version);

/*
 * Takes bytes that arrived, up to 64 KiB at a time, and begins to write where enough are there.
 * Return: 0; VRT_FETCH_FILE_E_BUSY.
 */
int vrt_fetch_file_append(struct vrt_fetch_file *file, const void *data,
                          size_t size) VRT_MUST_CHECK;

/* Whether a step goes on. */
bool vrt_fetch_file_is_busy(const struct vrt_fetch_file *file);

/* Whether bytes were taken that no step has begun to write. */
bool vrt_fetch_file_has_rest(const struct vrt_fetch_file *file);

/* Bytes in the file, as of the last step. */
int64_t vrt_fetch_file_size(const struct vrt_fetch_file *file);

/* The version of what is there, "" unknown; as of OPEN or EMPTY. */
const char *vrt_fetch_file_version(const struct vrt_fetch_file *file);

/* The digest of what is there, in lower case; no step goes on. Return: digest. */
const char *vrt_fetch_file_digest(const struct vrt_fetch_file *file,
                                  char digest[VRT_DIGEST_TEXT_BYTES]);
