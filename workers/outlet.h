/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The thread of a job that writes: blends what several shards made of a frame, encodes frames in
 * order into segments, then joins them into the output and reads that back
 *
 * Segments are files "JOB-00000.seg" in the spool folder, removed when the outlet ends.
 *
 * Thread: vrt_outlet_new() and the tasks' done: the loop's.
 */

#include "frames/container.h"
#include "frames/encoder.h"
#include "frames/joiner.h"
#include "workers/files.h"
#include "workers/mailbox.h"
#include "workers/runner.h"

/* Tasks that a outlet may hold. */
#define VRT_OUTLET_CAPACITY 4

enum vrt_outlet_request {
    VRT_OUTLET_ENCODE,                /* appends what a shard became to the video */
    VRT_OUTLET_FINISH,                /* makes the file of what was encoded, and verifies it */
};

/* Made by vrt_outlet_task_new(). */
struct vrt_outlet_task {
    struct vrt_task task;
    enum vrt_outlet_request request;
    struct vrt_shard_frames frames; /* ENCODE: restored, references */
    int64_t n_frames, span_ns;      /* FINISH: what the result must have */
    void *ctx;                      /* the loop's */

    /* The answer. */
    int result;                     /* 0, -errno with `error` */
    struct vrt_error error;
    struct vrt_warnings *warnings;  /* FINISH: streams that were left out; NULL: none */
    int n_encoded;                  /* ENCODE: frames; those shared with the next shard wait */
    int64_t busy_ns;
};

/* What it points to, and the descriptors, must live until `ended`. */
struct vrt_outlet_params {
    struct vrt_outbox *outbox;
    const char *job_id;
    int spool_fd;
    const struct vrt_files *files;  /* lives until `ended`, as do its descriptors and names */
    const struct vrt_encoder_params *encoder;
    enum vrt_container container;
    int64_t segment_frames;
    const atomic_bool *cancel;
    void (*ended)(void *ctx, bool abandoned);
    void *ctx;
};

/* Starts the thread. Return: 0, -errno. */
int vrt_outlet_new(const struct vrt_outlet_params *params, struct vrt_mailbox **ret_mailbox);

/* Return: NULL: no memory. */
struct vrt_outlet_task *vrt_outlet_task_new(enum vrt_outlet_request request,
                                        void (*done)(struct vrt_task *task), void *ctx);

/* Frees it with the references it holds. Return: NULL. */
struct vrt_outlet_task *vrt_outlet_task_free(struct vrt_outlet_task *task);

VRT_DEFINE_CLEANUP(struct vrt_outlet_task, vrt_outlet_task_free)
