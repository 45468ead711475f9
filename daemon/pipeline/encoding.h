/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job's encode thread: restored shards become segments, and segments the finished file
 *
 * First it says which of the segments that an earlier pipeline has made can be gone on from.
 * Thread: the loop's.
 */

#include "daemon/pipeline/pipeline.h"
#include "daemon/pipeline/progress.h"
#include "workers/media/job-check.h"
#include "workers/media/encode-thread.h"

/* What it points to must outlive the object, but for `segments`. */
struct vrt_encoding_params {
    struct vrt_outbox *outbox;
    struct vrt_progress *progress;      /* is told what is encoded, and warned */
    const char *job_id;
    const struct vrt_job_check *check;      /* the files and the encoder */
    const atomic_bool *cancel;
    const struct vrt_segment_record *segments;  /* that were committed: copied */
    size_t n_segments;
    const struct vrt_pipeline_part *part;
    /* Of the segments the first `n_good` are; `is_joined`: and so is the file made of all. */
    void (*resumed)(void *ctx, int64_t n_good, bool is_joined);
    void (*segment_done)(void *ctx, const struct vrt_segment_record *segment);
    void (*finished)(void *ctx);        /* the output is complete and verified */
    void (*failed)(void *ctx, int r, const struct vrt_error *error);
    void (*changed)(void *ctx);         /* after each of those, and when the thread has ended */
    void *ctx;
};

struct vrt_encoding {
    struct vrt_encoding_params params;
    struct vrt_segment_record *segments;
    struct vrt_mailbox *thread;         /* NULL: none, or it has ended */
    int n_tasks;                        /* that it holds */
    int64_t moved_ns;                   /* when it was given the first of them, or gave one back */
    bool is_resuming;                   /* it looks at the segments */
    bool is_finishing;                  /* it was told that there are no more shards */
    bool is_stopped;
    int64_t next_shard;                 /* the first that isn't in the segments that are good */
    struct vrt_bookmark behind;         /* where decoding goes on with it; first 0: nowhere */
    int64_t n_open;                     /* frames in the segment in work */
    int64_t n_made;                     /* segments */
    atomic_llong committed;             /* the last one whose record is safe; -1: none; the thread
                                         * reads it */
    atomic_llong compared;              /* frames of the file with the reference; the thread's */
};

/* No thread yet. Return: 0, -ENOMEM. */
int vrt_encoding_init(struct vrt_encoding *encoding, const struct vrt_encoding_params *params);

/* Frees what it holds; there must be no thread. */
void vrt_encoding_done(struct vrt_encoding *encoding);

/* Starts the thread, which looks at the segments first, in the folder `spool_fd`; new ones have
 * `segment_frames` frames. Return: 0, -errno. */
int vrt_encoding_start(struct vrt_encoding *encoding, int spool_fd, int64_t segment_frames);

/* Whether it takes another shard now. */
bool vrt_encoding_has_room(const struct vrt_encoding *encoding);

/* Encodes the next shard, whose frames it takes over. */
void vrt_encoding_add(struct vrt_encoding *encoding, int64_t shard,
                      struct vrt_shard_frames *frames);

/* There are no more: completes the last segment, then, but of a range, makes the file, which has so
 * many frames, and so many bytes at most; 0: any number. */
void vrt_encoding_finish(struct vrt_encoding *encoding, int64_t n_frames, int64_t span_ns,
                         int64_t size_bytes_max);

/* The records of the segments up to this number are safe. */
void vrt_encoding_committed(struct vrt_encoding *encoding, int64_t number);

/* Nothing more is wanted of it. The thread ends, which is told. May be called again. */
void vrt_encoding_stop(struct vrt_encoding *encoding);
