/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The models a job may name, and those that came with one: each read once, then shared
 *
 * Known by name are those inside the binary and the files (folder.c has their endings) of one
 * folder, which is looked into whenever somebody asks: a file put there is known at once. A job
 * may also bring a checkpoint of its own as an open file. What was read is kept by the file's
 * identity (device, inode, size, times), up to VRT_MODELS_KEPT_BYTES: of the user who has most of
 * that, what was used least recently goes first.
 *
 * Thread: making and freeing, any; all the rest, any but the loop's, because it reads files.
 * Several may ask at a time: who wants what another one reads waits, and finds it; of other files
 * as many are read at a time as VRT_MODELS_READING_BYTES allows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/macro.h"
#include "model/network.h"
#include "msg_device.h"

struct vrt_models;

/* Of networks that stay in memory though no job uses them. */
#define VRT_MODELS_KEPT_BYTES (INT64_C(1) << 30)

/* Of files that are read at a time; a larger one is read alone. */
#define VRT_MODELS_READING_BYTES (INT64_C(1) << 30)

/* Who asks for what belongs to the daemon itself. */
#define VRT_MODELS_NOBODY ((uid_t)-1)

struct vrt_models_params {
    const char *folder;             /* need not exist; copied, as the next one */
    const char *default_name;       /* of jobs that name none; "": the one that is built in */
    int64_t kept_bytes;             /* 0: VRT_MODELS_KEPT_BYTES */
};

/* Return: 0, -ENOMEM. It is freed by vrt_models_free(). */
int vrt_models_new(const struct vrt_models_params *params,
                   struct vrt_models **ret_models) VRT_MUST_CHECK;

/* Nobody may be asking it any more. Return: NULL. */
struct vrt_models *vrt_models_free(struct vrt_models *models);

/* From now on this is the model of jobs that name none, as of the params. Thread: any.
 * Return: 0; -ENOMEM, it stays as it was. */
int vrt_models_set_default(struct vrt_models *models, const char *name) VRT_MUST_CHECK;

/* What a job that names no model gets. It lives as long as `models`. Thread: any. */
const char *vrt_models_default(struct vrt_models *models);

/*
 * The network called `name`: the name as GET /v1/models has it, or that of a file with its
 * ending. Return: 0, *ret_network is a reference of the caller's; -errno, and `error` says why.
 */
int vrt_models_find(struct vrt_models *models, const char *name,
                    struct vrt_network **ret_network, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * What lies between that network and the one beside it that was trained to keep noise, whose name
 * has "wdn-" before its last part: realesr-general-x4v3 and realesr-general-wdn-x4v3. So much of
 * the first, 0 to 1, as Real-ESRGAN's own program has it. Return: as of vrt_models_find().
 */
int vrt_models_find_between(struct vrt_models *models, const char *name, double denoise,
                            struct vrt_network **ret_network,
                            struct vrt_error *error) VRT_MUST_CHECK;

/* A checkpoint of somebody's own. */
struct vrt_models_file {
    int fd;                             /* stays the caller's */
    const char *name;                   /* for messages */
    uid_t uid;                          /* whose it is: what is kept of it counts as his */
};

/* The network in the file, which its descriptor must be able to read. Return: as of
 * vrt_models_find(). */
int vrt_models_read(struct vrt_models *models, const struct vrt_models_file *file,
                    struct vrt_network **ret_network, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Whether a file of this name in the folder is taken for a checkpoint; the name that jobs call it
 * by is in `buffer` then. Thread: any.
 */
bool vrt_models_name_of(const char *file, char *buffer, size_t size);

/*
 * Every model known by name, the built-in ones first, then by name. Files that hold none are
 * listed without an architecture. Return: 0; -errno. The caller frees *ret_reports by free().
 */
int vrt_models_list(struct vrt_models *models, struct vrt_model_report **ret_reports,
                    size_t *ret_n_reports) VRT_MUST_CHECK;

VRT_DEFINE_CLEANUP(struct vrt_models, vrt_models_free)
