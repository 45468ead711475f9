/* SPDX-License-Identifier: MIT */
#pragma once

/* What the files decode-thread*.c share. Thread: the decode thread. */

#include "workers/media/decode-thread.h"
#include "workers/media/files/input.h"

/* More frames than there are between the first that a bookmark needs and the last that was read. */
#define VRT_DECODE_SUMS (4 * VRT_CLIP_FRAMES_MAX)

struct vrt_decode_thread {
    struct vrt_media_thread base;

    /* immutable */
    const char *job_id;
    const struct vrt_files *files;
    const struct vrt_reader_info *expected;
    struct vrt_reader_range range;
    const char *streams;
    struct vrt_fields fields;
    enum vrt_tonemap tonemap;
    bool keeps_extra, is_alpha;
    bool strict;
    int n_decoder_threads;
    enum vrt_hwdec hwdec;
    struct vrt_cutter_params cutter_params;
    int64_t first_shard, survey_frames;
    struct vrt_bookmark behind;
    const atomic_bool *cancel;

    struct {                            /* the decode thread */
        bool is_by_software;            /* from now on: hardware failed */
        char warning[256];              /* which nobody was told yet; "": none */
        struct vrt_child *child;        /* NULL: not started */
        struct vrt_input *input;        /* NULL: not open */
        struct vrt_cutter *cutter;      /* NULL: nothing was decoded yet */
        bool at_end;                    /* of what the input has */
        bool goes_on;                   /* the input is read from a bookmark on */
        int64_t n_decoded;              /* pictures, by inputs before this one */
        int64_t first_pts, last_pts, last_duration;
        struct vrt_frame *last;         /* a reference; NULL: nothing was read */
        uint64_t sums[VRT_DECODE_SUMS]; /* what the last frames show, by index */
        int64_t n_new;                  /* frames that become of the clips that were cut */
        int64_t n_repeated;             /* of those cut: frames that aren't computed */
        int64_t n_held;                 /* clips of frames behind which none are made */
        int64_t next_shard;
        struct vrt_segment_course course;   /* of a survey */
    } own;
};

/* Opens the input, where it isn't: as near to first_shard as may be, with the cutter where it is
 * read from, and clip->n_skipped of what is before that. Return: 0; -errno with the sentence in the
 * task. */
int vrt_decode_thread_open(struct vrt_decode_thread *decode_thread, struct vrt_decode_clip *clip);

/* Gives the cutter one frame more, or tells it that there is none. Return: 0; -errno with
 * `error`. */
int vrt_decode_thread_read(struct vrt_decode_thread *decode_thread, struct vrt_error *error);

/* Completes what the cutter says of the place behind a clip; where nobody can go on there says so
 * instead. */
void vrt_decode_thread_mark(const struct vrt_decode_thread *decode_thread,
                            struct vrt_bookmark *bookmark);

/* The input is to be opened anew, or not any more. */
void vrt_decode_thread_close_input(struct vrt_decode_thread *decode_thread);
