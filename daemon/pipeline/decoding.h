/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job's decode thread: looks at the job's files, or reads its video ahead, shard by shard
 *
 * One of vrt_decoding_admit() and vrt_decoding_start(); when the thread has ended, either again.
 * Thread: the loop's.
 */

#include "daemon/pipeline/progress.h"
#include "workers/media/decode-thread.h"

/* What it points to must outlive the object. */
struct vrt_decoding_params {
    struct vrt_outbox *outbox;
    struct vrt_progress *progress;      /* is told what is read, and warned */
    const char *job_id;
    struct vrt_job_check *check;    /* the files; and the input, to decode */
    const atomic_bool *cancel;
    /* The admission was run; `r` and `error` as of vrt_job_check_run(). */
    void (*admitted)(void *ctx, int r, const struct vrt_error *error);
    /* The next shard, whose frames may be taken over. Return: 0, -ENOMEM. */
    int (*decoded)(void *ctx, struct vrt_shard_frames *frames);
    /* By a survey: the next segment as it will be; NULL: there are no more. */
    void (*surveyed)(void *ctx, const struct vrt_segment_plan *segment);
    void (*failed)(void *ctx, int r, const struct vrt_error *error);
    void (*changed)(void *ctx);         /* after each of those, and when the thread has ended */
    void *ctx;
};

struct vrt_decoding {
    struct vrt_decoding_params params;
    struct vrt_mailbox *thread;         /* NULL: none, or it has ended */
    int n_tasks;                        /* that it holds */
    bool at_end;                        /* every frame is decoded */
    int64_t span_ns;                    /* then: from the first frame to the last; -1: not known */
    bool is_survey;
    bool is_stopped;
};

/* Starts a thread that runs the admission, and ends. Return: 0, -errno. */
int vrt_decoding_admit(struct vrt_decoding *decoding);

/* Starts a thread that decodes; shards before `first_shard` are dropped, or not even read where
 * `behind` says where to go on. With `survey_frames` over 0 it is a survey: all are dropped, and
 * where segments of so many frames end is told. Return: 0, -errno. */
int vrt_decoding_start(struct vrt_decoding *decoding, const struct vrt_cutter_params *cutter,
                       int64_t first_shard, const struct vrt_bookmark *behind,
                       int64_t survey_frames);

/* There is nothing to decode: all of it is in segments, or the result is there. `span_ns` as of the
 * struct. */
void vrt_decoding_skip(struct vrt_decoding *decoding, int64_t span_ns);

/* Has shards decoded until the thread holds so many, or as many as it can. */
void vrt_decoding_feed(struct vrt_decoding *decoding, int n);

/* Nothing more is wanted of it. The thread ends, which is told. May be called again. */
void vrt_decoding_stop(struct vrt_decoding *decoding);
