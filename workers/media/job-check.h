/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Whether a job can run at all, found out from its files: what its admission asks first
 *
 * Thread: the job's decode thread; it reads files and takes as long as those do.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "frames/encode/container.h"
#include "frames/encode/encoder.h"
#include "frames/decode/reader.h"
#include "frames/join/joiner.h"
#include "model/network.h"
#include "workers/media/files/files.h"
#include "workers/media/files/fingerprint.h"
#include "workers/plan/recipe.h"

struct vrt_job_check {
    /* What is asked. Strings, descriptors and settings outlive the check. */
    struct vrt_files files;         /* its descriptors and names; the rest is found out */
    int model_fd;
    int spool_fd;                   /* a folder on the disk of the working files; -1: none */
    const char *model_name;
    const struct vrt_job_settings *settings;
    const atomic_bool *cancel;
    bool is_alpha_pass;             /* the video is the input's transparency, gray, on its way into
                                     * a working file; it has a recipe */

    /* Of an earlier check. */
    bool has_recipe;                /* `recipe` is given: nothing of it is chosen */
    bool has_fingerprint;           /* `fingerprint` is given: the input must have it */
    uint64_t network_checksum;      /* the network must have it; 0: any will do */

    /* Given where the network is known already: a reference; else filled from model_fd. */
    struct vrt_network *network;

    /* What was found. */
    struct vrt_reader_info input;
    enum vrt_hwdec hwdec;           /* that decodes it, never auto */
    enum vrt_container container;   /* of the output, or of each picture in it: */
    bool is_folder;                 /* the output takes pictures */
    struct vrt_encoder_params encoder;
    int alpha;                      /* enum vrt_alpha, never auto; unknown: the input has none */
    struct vrt_recipe recipe;       /* its tile: the coarsest wanted, unless it was given */
    struct vrt_fingerprint fingerprint;
    struct vrt_joiner_rest rest;    /* of the result; how much where a size was asked for */
    int64_t output_bytes;           /* of the result, estimated; -1: unknown */
    struct vrt_warnings warnings;
};

/*
 * Fills in what is found. Whatever is returned, vrt_job_check_done() frees what it holds.
 * Return: 0; -errno: the job can't run, `error` says why.
 */
int vrt_job_check_run(struct vrt_job_check *check, struct vrt_error *error);

/* What a job is to restore of its input. Pure. */
struct vrt_reader_range vrt_job_check_range(const struct vrt_job_settings *settings);

/* What is done about HDR when frames are read: nothing where they are transparency. Pure. */
enum vrt_tonemap vrt_job_check_tonemap(const struct vrt_job_check *check);

/* Frames of the result, as far as the input tells; -1: unknown. Pure. */
int64_t vrt_job_check_n_frames(const struct vrt_job_check *check);

/* How transparency is read beside the frames: is_alpha: the input's; else what the network made of
 * it. Strings are the check's. */
struct vrt_reader_params vrt_job_check_alpha(const struct vrt_job_check *check);

/* Drops the reference to the network, and what was found of the files. */
void vrt_job_check_done(struct vrt_job_check *check);
