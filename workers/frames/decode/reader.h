/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Reads the frames of a video, in presentation order, from a descriptor.
 *
 * A reader belongs to one thread at a time; decoding runs ahead on threads of its own. Its memory
 * depends on the size of the frames and on the number of threads, never on the length.
 *
 * Ids of what it refuses: input.not_regular, input.empty, input.not_media, input.playlist,
 * input.no_video, input.codec, input.truncated, input.damaged, input.changed, input.unsupported,
 * input.part, input.read, input.streams, input.timeout, cancelled, out_of_memory. Of hardware that
 * fails input.codec, too.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/codecs.h"
#include "base/error.h"
#include "frames/feed/feed.h"
#include "frames/fields.h"
#include "frames/format.h"
#include "frames/frame.h"
#include "frames/warnings.h"

#define VRT_READER_MAX_CONCEALED 64

struct vrt_reader;
struct vrt_places;

enum {
    VRT_READER_END = 1,         /* outcome of vrt_reader_next(): there are no more frames */
    VRT_READER_LOST,            /* likewise, of a reader that doesn't begin at the first frame: what
                                 * comes now may be other than if it did; open one that does */
};

/* From when on, after the first frame, and for how long; a duration of 0: to the end. */
struct vrt_reader_range {
    int64_t start_ns, duration_ns;
};

struct vrt_reader_params {
    int n_threads;              /* of the decoder; 0: one per core */
    struct vrt_reader_range range;      /* what is given out: zero for all of it */
    int64_t first, first_pts;   /* over 0: of that, frame `first`, which is shown then, is the first
                                 * to be given out; those before it are decoded where they must be.
                                 * An earlier reader has said that this may be (can_go_on) */
    struct vrt_fields fields;   /* zero: frames are given out as they are */
    enum vrt_tonemap tonemap;   /* what is HDR becomes SDR */
    const char *streams;        /* that go on, see frames/streams/select.h; NULL: all */
    enum vrt_hwdec hwdec;       /* what decodes, never auto: hardware fails at whatever it can't be
                                 * known to decode as software does, damage too */
    bool keeps_extra;           /* frames bring what they carry along; else that is warned of */
    bool is_alpha;              /* frames are the transparency, gray of full range, of those that
                                 * would be given out else */
    bool strict;                /* refuse at the first damaged frame instead of concealing it */
    const char *name;           /* the file's name for messages, copied; NULL: "the input" */
    const atomic_bool *cancel;  /* true: end with -ECANCELED; outlives the reader; or NULL */
    int64_t open_deadline_ns;   /* of vrt_clock_now_ns(), for vrt_reader_open() alone; 0: none */
    const struct vrt_feed *feed;        /* the file grows; outlives the reader; NULL: it doesn't */
};

struct vrt_reader_info {
    /* Known when vrt_reader_open() returns. */
    struct vrt_frame_format format;     /* of every frame */
    char container[32], codec[32], pixel_format[32];    /* FFmpeg's short names */
    struct vrt_rational time_base;      /* of pts and durations */
    struct vrt_rational fps;            /* average, of what is given out; 0/1: unknown */
    bool variable_rate;                 /* as far as the container tells */
    bool interlaced;                    /* as it says itself */
    struct vrt_fields fields;           /* what is done about it */
    enum vrt_tonemap tonemap;           /* by which it becomes SDR; `format` is what it becomes */
    bool is_still;                      /* the file is one of a single picture */
    bool has_alpha;                     /* which no frame here has */
    bool truncated;                     /* the file ends before its container says it does */
    int64_t duration_ns;                /* of the video stream, or its range; -1: unknown */
    int64_t n_frames_estimate;          /* in it; may be a few off; -1: unknown */
    bool is_by_duration;                /* that is duration times rate: nobody has counted */
    bool has_display_matrix;
    int rotation_degrees;               /* clockwise, 0 to 359, to show it upright; not applied */
    int n_audio, n_subtitles, n_attachments, n_chapters, n_covers;

    /* Grow while reading. */
    int64_t n_frames;                   /* given out so far */
    int64_t n_concealed;                /* frames that the decoder had to make up in part */
    int64_t concealed[VRT_READER_MAX_CONCEALED];    /* the first of them, by index */
    int64_t n_missing;                  /* damaged so badly that there was no frame at all */
    int64_t n_decoded;                  /* pictures that were decoded, those left out too */
    bool can_go_on;                     /* until now nothing was found by which a reader could give
                                         * out other frames that begins at a later one */
    struct vrt_warnings warnings;       /* complete once vrt_reader_next() returned the end */
};

/*
 * Opens the video in `fd`, which stays the caller's and is read by position where it can be, so
 * that others may read it at the same time; decodes as far as the first frame.
 *
 * Return: 0; -errno, with the sentence in `error`: -EISDIR a folder, -ENODATA an empty file,
 *         -EBADMSG nothing that can be read as a video (text, truncated or damaged), -EPERM a
 *         playlist, -ENOENT no video stream, -ENOSYS an unknown codec, -ERANGE nothing is in the
 *         range, -ETIMEDOUT, -ECANCELED, -ENOMEM, ...
 *         *ret_reader is set only on 0 and is closed with vrt_reader_close().
 */
int vrt_reader_open(int fd, const struct vrt_reader_params *params, struct vrt_reader **ret_reader,
                    struct vrt_error *error) VRT_MUST_CHECK;

/*
 * The next frame. Its pts is larger than the last one's.
 * Return: 0, *ret_frame is the caller's reference; VRT_READER_END, VRT_READER_LOST; -errno with the
 *         sentence in `error`: -EBADMSG damage (strict only), -ENOTSUP size or pixel format change,
 *         -ERANGE there is no frame in the range, -ECANCELED, -EIO, -ENOMEM. After anything but 0
 *         only vrt_reader_info() and vrt_reader_close().
 */
int vrt_reader_next(struct vrt_reader *reader, struct vrt_frame **ret_frame,
                    struct vrt_error *error) VRT_MUST_CHECK;

/* From the next packet on frames are decoded into `places`, which outlive the reader, if they are
 * given out as they are decoded. */
void vrt_reader_decode_into(struct vrt_reader *reader, struct vrt_places *places);

/* What is known of the video; the reader's, current until the next call of vrt_reader_next(). */
const struct vrt_reader_info *vrt_reader_info(const struct vrt_reader *reader);

/* From now on vrt_reader_next() returns -ETIMEDOUT when vrt_clock_now_ns() is beyond this. */
void vrt_reader_set_deadline(struct vrt_reader *reader, int64_t deadline_ns);

/* Ends the decoder's threads and frees the reader; frames given out stay. Return: NULL. */
struct vrt_reader *vrt_reader_close(struct vrt_reader *reader);

VRT_DEFINE_CLEANUP(struct vrt_reader, vrt_reader_close)
