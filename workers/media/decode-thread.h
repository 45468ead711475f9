/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The thread of a job that reads: admission, then decoding
 *
 * Thread: vrt_decode_thread_new() and the tasks' done: the loop's.
 */

#include "frames/clips/cutter.h"
#include "workers/media/admission.h"
#include "workers/mailbox.h"
#include "workers/device/device-executor.h"

/* Tasks that a decode thread may hold. */
#define VRT_DECODE_THREAD_CAPACITY 4

enum vrt_decode_thread_request {
    VRT_DECODE_THREAD_ADMIT,               /* runs `admission` */
    VRT_DECODE_THREAD_DECODE,              /* reads as far as the next shard's frames are known */
};

/* Made by vrt_decode_thread_task_new(). */
struct vrt_decode_thread_task {
    struct vrt_task task;
    enum vrt_decode_thread_request request;
    struct vrt_admission *admission;    /* ADMIT: the caller's */
    void *ctx;                      /* the loop's */

    /* The answer. */
    int result;                     /* 0, -errno with `error` */
    struct vrt_error error;
    struct vrt_shard_frames frames; /* DECODE: a clip; n is 0 only where there was none left */
    int64_t n_skipped;              /* DECODE: new frames of the clips before it, if dropped */
    bool at_end;                    /* there are no more; `info` is filled in */
    int64_t n_concealed;            /* until now */
    int64_t span_ns;                /* at the end: from the first frame to the last */
    struct vrt_reader_info *info;   /* at the end; NULL else */
    int64_t busy_ns;
};

struct vrt_decode_thread_params {
    struct vrt_outbox *outbox;
    const struct vrt_files *files;  /* lives until `ended`, as do its descriptors and names */
    const struct vrt_reader_info *expected;     /* likewise, to decode: what admission found */
    bool strict;
    bool is_waited_for;             /* somebody is told when it is done: as urgent as the loop */
    struct vrt_cutter_params cutter;    /* DECODE: how the video is cut into clips */
    int64_t first_shard;            /* DECODE: those before it are read, and dropped */
    const atomic_bool *cancel;      /* likewise */
    void (*ended)(void *ctx, bool abandoned);
    void *ctx;
};

/* Starts the thread. Return: 0, -errno. */
int vrt_decode_thread_new(const struct vrt_decode_thread_params *params,
                          struct vrt_mailbox **ret_mailbox);

/* Return: NULL: no memory. */
struct vrt_decode_thread_task *vrt_decode_thread_task_new(enum vrt_decode_thread_request request,
                                            void (*done)(struct vrt_task *task), void *ctx);

/* Frees it with the references it holds. Return: NULL. */
struct vrt_decode_thread_task *vrt_decode_thread_task_free(struct vrt_decode_thread_task *task);

VRT_DEFINE_CLEANUP(struct vrt_decode_thread_task, vrt_decode_thread_task_free)
