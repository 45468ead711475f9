/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The thread of a job that writes: blends what several shards made of a frame, encodes frames in
 * order into segments, then joins them, reads that back, and copies it to the output
 *
 * Its files in the job's spool folder, of which it removes only what it left half done:
 *
 *     00000.seg       a segment (frames/encode/segment.h): whole shards
 *     00000.tail      what it shares with the next (frames/encode/tail.h), where they share frames
 *     joining         the finished file, on its way
 *     joined.mp4      the finished file: complete and verified
 *
 * Thread: vrt_encode_thread_new() and the tasks' done: the loop's.
 */

#include <stdatomic.h>

#include "frames/encode/container.h"
#include "frames/encode/encoder.h"
#include "frames/join/joiner.h"
#include "workers/media/files.h"
#include "workers/mailbox.h"
#include "workers/device/device-executor.h"
#include "workers/media/segment-record.h"

/* Tasks that an encode thread may hold. */
#define VRT_ENCODE_THREAD_CAPACITY 4

enum vrt_encode_thread_request {
    VRT_ENCODE_THREAD_RESUME,              /* looks at what is there; the first of its tasks */
    VRT_ENCODE_THREAD_ENCODE,              /* appends what a shard became to the video */
    VRT_ENCODE_THREAD_END,                 /* there are no more: completes the last segment */
    VRT_ENCODE_THREAD_FINISH,              /* makes the file of the segments, and verifies it */
};

/* Made by vrt_encode_thread_task_new(). */
struct vrt_encode_thread_task {
    struct vrt_task task;
    enum vrt_encode_thread_request request;
    int64_t shard;                  /* ENCODE: its index */
    struct vrt_shard_frames frames; /* ENCODE: restored, references */
    int64_t n_frames, span_ns;      /* FINISH: what the result must have; span -1: not known */
    void *ctx;                      /* the loop's */

    /* The answer. */
    int result;                     /* 0, -errno with `error` */
    struct vrt_error error;
    struct vrt_warnings *warnings;  /* FINISH: streams that were left out; NULL: none */
    int64_t n_segments;             /* RESUME: of those given, the first so many are good */
    bool is_joined;                 /* RESUME: and so is the file made of all there are */
    int n_encoded;                  /* ENCODE: frames; those shared with the next shard wait */
    int64_t n_open;                 /* ENCODE: frames in the segment that isn't complete */
    bool has_segment;               /* ENCODE, END: it became complete */
    struct vrt_segment_record segment;
    int64_t busy_ns;
};

/* What it points to, and the descriptors, must live until `ended`. */
struct vrt_encode_thread_params {
    struct vrt_outbox *outbox;
    const char *job_id;
    int spool_fd;                   /* the job's own folder */
    const struct vrt_files *files;  /* lives until `ended`, as do its descriptors and names */
    const struct vrt_encoder_params *encoder;
    enum vrt_container container;
    int64_t segment_frames;         /* a segment ends with the shard that makes it so many */
    const struct vrt_segment_record *segments;  /* that are complete already */
    size_t n_segments;
    const atomic_llong *committed;  /* the last segment whose record is safe; -1: none */
    const atomic_bool *cancel;
    void (*ended)(void *ctx, bool abandoned);
    void *ctx;
};

/* Starts the thread. Return: 0, -errno. */
int vrt_encode_thread_new(const struct vrt_encode_thread_params *params,
                          struct vrt_mailbox **ret_mailbox);

/* Return: NULL: no memory. */
struct vrt_encode_thread_task *vrt_encode_thread_task_new(enum vrt_encode_thread_request request,
                                        void (*done)(struct vrt_task *task), void *ctx);

/* Frees it with the references it holds. Return: NULL. */
struct vrt_encode_thread_task *vrt_encode_thread_task_free(struct vrt_encode_thread_task *task);

VRT_DEFINE_CLEANUP(struct vrt_encode_thread_task, vrt_encode_thread_task_free)
