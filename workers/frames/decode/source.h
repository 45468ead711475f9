/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A media file behind a descriptor, demuxed by libavformat. For frames/ alone.
 *
 * FFmpeg sees the one descriptor and nothing else: it can open no further file, knows no protocol,
 * and what reads other files by its nature (playlists, manifests, scripts) is refused. A regular
 * file is read with pread() at an offset of our own, so several sources can share a descriptor.
 * No call blocks for longer than one read once *cancel is true, or the deadline is over.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "frames/feed/feed.h"

struct AVFormatContext;
struct AVIOContext;
struct AVPacket;
struct vrt_packets;

struct vrt_source_params {
    int fd;                     /* the caller's; open for reading */
    const char *name;           /* for messages; copied; NULL: "the input" */
    const atomic_bool *cancel;  /* or NULL; outlives the source */
    int64_t deadline_ns;        /* of vrt_clock_now_ns(); 0: none */
    const char *streams;        /* those that go on, see frames/streams/select.h; NULL: all */
    const struct vrt_feed *feed;        /* the file grows; outlives the source; NULL: it doesn't */
};

struct vrt_source {
    struct AVFormatContext *format;     /* opened, streams probed */
    struct AVIOContext *io;
    struct vrt_packets *packets;        /* by one clock; NULL: the demuxer's own never jumps */
    bool *is_unwanted;                  /* [n_streams], of those that there were at first */
    int *ranks;                         /* [n_streams], as of vrt_select() */
    unsigned int n_streams;
    bool has_late;                      /* pictures or sound have begun since: left out */
    char name[128];                     /* printable: "clip.mp4", or "the input" */
    int64_t size_bytes;                 /* -1: not a regular file, or one that grows */
    bool truncated;                     /* the container's top level says it should be longer */

    int fd;
    const struct vrt_feed *feed;        /* NULL: it doesn't grow */
    struct vrt_feed_state fed;
    bool is_y4m;                        /* of which nothing but frames is read: */
    int64_t frames_end_bytes;           /* of the last one, in the file */
    const atomic_bool *cancel;
    int64_t deadline_ns;                /* 0: none; whoever opened it may change it */
    int64_t offset_bytes;               /* of the next read; meaningful for a regular file */
    int n_errors;                       /* packets in a row that could not be demuxed */
    atomic_int n_logged;                /* errors that the demuxer logged after opening */
    int read_error;                     /* -errno of the last failed read() or pread(), or 0 */
};

enum {
    VRT_SOURCE_END = 1,         /* outcome of vrt_source_next(): no more packets */
    VRT_SOURCE_BROKEN,          /* likewise, because the rest cannot be demuxed */
};

/*
 * Opens the file and probes its streams.
 * Return: 0; -errno with the sentence in `error`, see vrt_reader_open(). *ret_source is set only
 *         on 0.
 */
int vrt_source_open(const struct vrt_source_params *params, struct vrt_source **ret_source,
                    struct vrt_error *error) VRT_MUST_CHECK;

/* Whether it can be read a second time. Return: 0; -ESPIPE with a sentence. */
int vrt_source_check_rereadable(const struct vrt_source *source, struct vrt_error *error);

/* Whether stream `index`, which was there at first, is one of those that go on. */
bool vrt_source_has(const struct vrt_source *source, unsigned int index);

/*
 * The stream to restore: of those that go on the largest video stream that is not cover art,
 * default ones first; where streams were asked for, of those that the first specifier chose.
 * Return: its index; -ENOENT with a sentence that says what the file has instead.
 */
int vrt_source_pick_video(const struct vrt_source *source, struct vrt_error *error);

/* Whether packets of stream `index` are read, as at first those of all are that go on. */
void vrt_source_select(struct vrt_source *source, unsigned int index, bool is_wanted);

/* How often the input's clock has jumped until now: times are by one that doesn't. */
int64_t vrt_source_n_jumps(const struct vrt_source *source);

/*
 * Reads the next packet of any stream that is wanted; the caller unreferences it. It has data:
 * empty packets, which mean "nothing new", are left out.
 * Return: 0; VRT_SOURCE_END; VRT_SOURCE_BROKEN; -ECANCELED, -ETIMEDOUT, -EIO, -ENOMEM with a
 *         sentence.
 */
int vrt_source_next(struct vrt_source *source, struct AVPacket *packet, struct vrt_error *error);

/* Frees it; the descriptor stays open. Return: NULL. */
struct vrt_source *vrt_source_close(struct vrt_source *source);

VRT_DEFINE_CLEANUP(struct vrt_source, vrt_source_close)
