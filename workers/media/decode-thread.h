/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The thread of a job that reads: admission, then decoding
 *
 * Thread: the loop makes the thread and its tasks, and is called back by their done; they are
 * performed on the decode thread.
 */

#include "frames/clips/cutter.h"
#include "workers/media/job-check.h"
#include "workers/device/shard.h"
#include "workers/media/media-thread.h"
#include "workers/media/segments/segment-course.h"

/* Tasks that a decode thread may hold. */
#define VRT_DECODE_THREAD_CAPACITY 4

/* Made by vrt_decode_clip_new(): reads as far as the next shard's frames are known; in a survey as
 * far as a segment ends. */
struct vrt_decode_clip {
    struct vrt_media_task base;

    /* The answer. */
    struct vrt_shard_frames frames; /* a clip; n is 0 only where there was none left, or by a
                                     * survey, which drops them */
    struct vrt_segment_plan segment;    /* of a survey; n_frames 0: none ends here */
    int64_t n_skipped;              /* new frames of the clips before it, if dropped */
    bool at_end;                    /* there are no more; `info` is filled in */
    int64_t n_concealed;            /* until now */
    int64_t n_repeated;             /* likewise: frames that aren't computed, as struct
                                     * vrt_shard_frames has them */
    char warning[256];              /* what the user should know by now; "": nothing new */
    int64_t span_ns;                /* at the end: from the first frame to the last */
    struct vrt_reader_info *info;   /* at the end; NULL else */
};

struct vrt_decode_thread_params {
    struct vrt_outbox *outbox;
    const char *job_id;             /* for logs; lives until `ended` */
    const struct vrt_files *files;  /* lives until `ended`, as do its descriptors and names */
    const struct vrt_reader_info *expected;     /* likewise, to decode: what admission found */
    struct vrt_reader_range range;  /* to decode: what of the input */
    struct vrt_fields fields;       /* what is done about its fields */
    enum vrt_tonemap tonemap;       /* what is done about HDR */
    const char *streams;            /* of it that go on; likewise */
    bool keeps_extra;               /* captions and HDR10+ have a place in the output */
    bool is_alpha;                  /* transparency is read, as of struct vrt_reader_params */
    bool strict;
    int n_decoder_threads;          /* 0: one per core */
    enum vrt_hwdec hwdec;           /* to decode: by what, never auto; where that fails software
                                     * does, from the beginning, and the frames stay the same */
    bool is_waited_for;             /* somebody is told when it is done: as urgent as the loop */
    struct vrt_cutter_params cutter;    /* to decode: how the video is cut into clips */
    int64_t first_shard;            /* to decode: those before it are dropped */
    struct vrt_bookmark behind;     /* those: where to go on without reading all of them; first 0:
                                     * nowhere */
    int64_t survey_frames;          /* over 0: all are, and it is told where segments of so many
                                     * frames end */
    const atomic_bool *cancel;      /* likewise */
    void (*ended)(void *ctx, bool abandoned);
    void *ctx;
};

/* Starts the thread. Return: 0, -errno. */
int vrt_decode_thread_new(const struct vrt_decode_thread_params *params,
                          struct vrt_mailbox **ret_mailbox);

/* A task that runs `check`, which is the caller's. Return: NULL: no memory. */
struct vrt_media_task *vrt_decode_check_new(struct vrt_job_check *check,
                                            void (*done)(struct vrt_task *task), void *ctx);

/* A struct vrt_decode_clip. Return: NULL: no memory. */
struct vrt_media_task *vrt_decode_clip_new(void (*done)(struct vrt_task *task), void *ctx);
