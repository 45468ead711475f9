/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Makes the finished file: the encoded segments one after the other as its video, and everything
 * else (audio, subtitles, chapters, attachments, cover art, metadata) from the input.
 *
 * The bytes of the result depend on the segments and the input alone. Both functions block until
 * done and may run on any thread; memory grows by the index of the container only.
 *
 * Ids of what it refuses: those of the reader for the input; spool.full, output.write,
 * output.container, output.verify, segment.damaged, cancelled, out_of_memory.
 */

#include <stdatomic.h>
#include <stdint.h>

#include "base/error.h"
#include "base/streams.h"
#include "frames/encode/container.h"
#include "frames/warnings.h"

/* The segments of a video, from vrt_encoder_finish(). They are opened one at a time: a film has
 * thousands. */
struct vrt_joiner_segments {
    /* A descriptor of segment `number`, from 0; the joiner reads by position and closes it.
     * Return: -errno: it can't be opened. */
    int (*open)(void *ctx, int number);
    void *ctx;
    int n;
};

struct vrt_joiner_params {
    struct vrt_joiner_segments segments;
    int input_fd;                   /* the same file that the frames were read from; by position */
    const char *input_name;         /* for messages; NULL: "the input" */
    int output_fd;                  /* a working file: seekable, open for reading and writing;
                                     * truncated here */
    enum vrt_container container;
    bool is_part;                   /* of the input: what isn't shown meanwhile is left out */
    bool is_bare;                   /* nothing but the restored video, and not a word about it */
    const char *streams;            /* of it that go on, see vrt_source_params; NULL: all */
    struct vrt_hdr hdr;             /* of the restored video */
    int64_t size_bytes_max;         /* of the output, for vrt_child_joiner_run(); 0: none is said */
    const atomic_bool *cancel;      /* true: give up soon, with -ECANCELED; or NULL */
};

struct vrt_joiner_result {
    int64_t n_frames;               /* of the video, all segments */
    int64_t duration_ns;            /* of the video: from the first frame to the end of the last */
    int64_t late_ns;                /* by which its last frame is shown too late, where a container
                                     * has no place for its time */
    int64_t size_bytes;             /* of the file */
    struct vrt_warnings warnings;   /* streams left out, and how to keep them */
};

struct vrt_joiner_expected {
    int64_t n_frames;
    int64_t span_ns;                /* from the first frame to the last; -1: not known */
};

struct vrt_joiner_preview {
    int input_fd;
    const char *input_name;         /* for messages */
    enum vrt_container container;
    const char *streams;            /* as of vrt_joiner_params */
    const atomic_bool *cancel;      /* or NULL */
    int64_t deadline_ns;            /* of vrt_clock_now_ns(), for reading the input; 0: none */
    int64_t span_ns;                /* of the result, to estimate what it takes; 0: that isn't
                                     * asked */
};

/* What a result has besides its restored video; how much is estimated from the beginning of the
 * input. */
struct vrt_joiner_rest {
    int64_t size_bytes;             /* of packets and files, without what the container adds */
    int64_t n_packets;
    struct vrt_stream_list streams; /* of the input; n_all 0: it becomes pictures, or is of such */
};

/*
 * Says before any work is done what vrt_joiner_run() will leave out of the input, and whether it
 * can read it a second time at all.
 * Return: 0, with the streams that will be left out in `warnings`; -ESPIPE, -ETIMEDOUT, -errno
 *         with the sentence in `error`. Sizes of *ret_rest are zero where they aren't asked.
 */
int vrt_joiner_preview(const struct vrt_joiner_preview *preview, struct vrt_joiner_rest *ret_rest,
                       struct vrt_warnings *warnings, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Writes the whole output file and syncs it.
 * Return: 0; -ENOSPC the disk is full, -EBADMSG a damaged segment, -ESPIPE an input that
 *         cannot be read twice, -ECANCELED, -errno, with the sentence in `error`; the output then
 *         is what it was, or empty if something was written already.
 */
int vrt_joiner_run(const struct vrt_joiner_params *params, struct vrt_joiner_result *ret_result,
                   struct vrt_error *error) VRT_MUST_CHECK;

/* One of the pictures of a segment. */
struct vrt_joiner_picture {
    int segment_fd;                 /* by position, the caller's */
    int64_t index;                  /* in the segment, from 0 */
    enum vrt_container container;   /* a picture's */
    int original_fd;                /* the file of the picture that was restored; -1: none is */
    const char *original_name;      /* for messages; NULL: "the input" */
    int output_fd;                  /* as of vrt_joiner_params */
};

/*
 * Writes the picture's file, with what else its original has, and syncs it.
 * Return: 0, *ret_size_bytes is its size and `warnings` what could not be kept; as
 *         vrt_joiner_run().
 */
int vrt_joiner_picture(const struct vrt_joiner_picture *picture, int64_t *ret_size_bytes,
                       struct vrt_warnings *warnings, struct vrt_error *error) VRT_MUST_CHECK;

enum vrt_joiner_check {
    VRT_JOINER_CHECK_ENDS,          /* its head and its end: takes microseconds */
    VRT_JOINER_CHECK_ALL,
};

/*
 * Whether `fd` holds a complete segment, the `number`th of its video, from 0.
 * Return: 0; -EBADMSG incomplete or damaged, -ENOMEM, -errno with the sentence in `error`.
 */
int vrt_joiner_check_segment(int fd, int number, enum vrt_joiner_check check,
                             int64_t *ret_n_frames, struct vrt_error *error) VRT_MUST_CHECK;

/*
 * Reads the finished file again and compares: number of video frames, and the time between the
 * first and the last. How long the last one stays is not in the packets of every container.
 * Return: 0; -EBADMSG with the sentence in `error` if it does not hold what it should; -errno.
 */
int vrt_joiner_verify(int output_fd, const struct vrt_joiner_expected *expected,
                      const atomic_bool *cancel, struct vrt_error *error) VRT_MUST_CHECK;
