/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The thread of a job that writes: blends what several shards made of a frame, encodes frames in
 * order into segments, then joins them, reads that back, compares it with the reference where there
 * is one, and copies it to the output
 *
 * Its files in the job's spool folder, of which it removes only what it left half done:
 *
 *     00000.seg       a segment (frames/encode/segment.h): whole shards
 *     00000.tail      what it shares with the next (frames/encode/tail.h), where they share frames
 *     joining         the finished file, on its way
 *     joined.mp4      the finished file: complete and verified
 *     alpha.mkv       that of the transparency, where the network restores it: gray, FFV1
 *
 * Thread: the loop makes the thread and its tasks, and is called back by their done; they are
 * performed on the encode thread.
 */

#include <stdatomic.h>

#include "frames/compare/compare.h"
#include "frames/encode/container.h"
#include "frames/encode/encoder.h"
#include "frames/decode/reader.h"
#include "frames/join/joiner.h"
#include "workers/media/files/files.h"
#include "workers/device/shard.h"
#include "workers/media/media-thread.h"
#include "workers/media/segment-record.h"

/* The finished file of an alpha pass. */
#define VRT_ALPHA_FILE "alpha.mkv"

/* Tasks that an encode thread may hold. */
#define VRT_ENCODE_THREAD_CAPACITY 4

/* Made by vrt_encode_resume_new(): looks at what is there; the first of its tasks. */
struct vrt_encode_resume {
    struct vrt_media_task base;

    /* The answer. */
    int64_t n_segments;             /* of those given, the first so many are good */
    bool is_joined;                 /* and so is the file made of all there are */
};

/* Made by vrt_encode_shard_new(): appends what a shard became to the video. */
struct vrt_encode_shard {
    struct vrt_media_task base;
    int64_t shard;                  /* its index */
    struct vrt_shard_frames frames; /* restored, references */

    /* The answer. */
    int n_encoded;                  /* frames; those shared with the next shard wait */
    int64_t n_open;                 /* frames in the segment that isn't complete */
    struct vrt_segment_record segment;      /* that became complete; n_frames 0: none */
};

/* Made by vrt_encode_end_new(): there are no more shards; completes the last segment. */
struct vrt_encode_end {
    struct vrt_media_task base;
    struct vrt_segment_record segment;      /* the answer: likewise */
};

/* Made by vrt_encode_finish_new(): makes the file of the segments, verifies and compares it. */
struct vrt_encode_finish {
    struct vrt_media_task base;
    int64_t n_frames, span_ns;      /* what the result must have; span -1: not known */
    int64_t size_bytes_max;         /* what it may have: more is "spool.quota"; 0: none is said */
    struct vrt_warnings *warnings;  /* the answer: streams that were left out, and why nothing was
                                     * compared with the reference; NULL: none */
    bool is_compared;               /* the result was, with this outcome: */
    struct vrt_compare_size compared_size;
    struct vrt_quality_means means;
};

/* What it points to, and the descriptors, must live until `ended`. */
struct vrt_encode_thread_params {
    struct vrt_outbox *outbox;
    const char *job_id;
    int spool_fd;                   /* the job's own folder */
    const struct vrt_files *files;  /* lives until `ended`, as do its descriptors and names */
    const struct vrt_encoder_params *encoder;
    struct vrt_frame_format made;   /* of the frames that come: the encoder's, of another size where
                                     * it is to scale them */
    int64_t n_frames_fitted;        /* a size was asked for: so many are to keep the encoder's
                                     * bitrate, all together; 0: each segment is by itself */
    enum vrt_container container;
    bool is_part;                   /* of the input */
    const char *streams;            /* of it that go on */
    int times;                      /* frames that become of each of the input's */
    struct vrt_reader_params alpha; /* how transparency is read, where the encoder's format has
                                     * such: is_alpha: the input's; else of alpha.mkv */
    bool is_alpha_pass;             /* the frames are transparency: nothing goes with them, and
                                     * alpha.mkv, the finished file, stays in the folder */
    int64_t segment_frames;         /* a segment ends with the shard that makes it so many */
    const struct vrt_segment_record *segments;  /* that are complete already */
    size_t n_segments;
    bool is_range;                  /* their files are elsewhere: only what follows them is made,
                                     * and not joined; shards before their next_shard may come, of
                                     * which only what later ones share counts */
    const atomic_llong *committed;  /* the last segment whose record is safe; -1: none */
    atomic_llong *compared;         /* counts frames of the result that were, with the reference */
    const atomic_bool *cancel;
    void (*ended)(void *ctx, bool abandoned);
    void *ctx;
};

/* Starts the thread. Return: 0, -errno. */
int vrt_encode_thread_new(const struct vrt_encode_thread_params *params,
                          struct vrt_mailbox **ret_mailbox);

/* The tasks; whoever is given a vrt_media_task finds its request around it. Return: NULL: no
 * memory. */
struct vrt_media_task *vrt_encode_resume_new(void (*done)(struct vrt_task *task), void *ctx);
struct vrt_encode_shard *vrt_encode_shard_new(void (*done)(struct vrt_task *task), void *ctx);
struct vrt_media_task *vrt_encode_end_new(void (*done)(struct vrt_task *task), void *ctx);
struct vrt_encode_finish *vrt_encode_finish_new(void (*done)(struct vrt_task *task), void *ctx);
