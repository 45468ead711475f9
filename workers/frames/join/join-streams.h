/* SPDX-License-Identifier: MIT */
#pragma once

/* What becomes of each stream of the input in the output. For the joiner alone. */

#include <libavformat/avformat.h>

#include "base/streams.h"
#include "frames/encode/container.h"
#include "frames/join/join-video.h"
#include "frames/decode/source.h"
#include "frames/join/subtitle.h"
#include "frames/streams/sound.h"
#include "frames/warnings.h"

enum vrt_join_kind {
    VRT_JOIN_LEFT_OUT,          /* not in the output */
    VRT_JOIN_RESTORED,          /* replaced by the restored video */
    VRT_JOIN_COPIED,            /* packet by packet */
    VRT_JOIN_CONVERTED,         /* text subtitles into the container's kind of them */
    VRT_JOIN_CUT,               /* sound, cut to the video's frames, for MXF */
    VRT_JOIN_COVER,             /* a picture, written once at the head */
    VRT_JOIN_ATTACHED,          /* a picture, as an attached file */
};

/* How much to carry over: less, where the container refuses the whole. */
enum vrt_join_care {
    VRT_JOIN_EVERYTHING,
    VRT_JOIN_PICTURE_AND_SOUND,
    VRT_JOIN_PICTURE,
    VRT_JOIN_CARE_COUNT,
};

/* Frames that a decoder holds back, at most: H.264 and HEVC have up to 16. */
#define VRT_JOIN_DELAY_MAX 16

struct vrt_join_stream {
    enum vrt_join_kind kind;
    const AVStream *in;
    AVStream *out;                      /* NULL: none */
    struct vrt_subtitle *subtitle;      /* of CONVERTED */
    struct vrt_sound *sound;            /* of CUT */
    int64_t last_dts;                   /* of the last packet written, in out's time base */
    int64_t next_sample;                /* where an audio packet should begin */
    bool has_key;                       /* a video stream of a part: it has begun */
    bool lacks_dts;                     /* a video stream of a container that keeps none */
    int64_t shown[VRT_JOIN_DELAY_MAX + 1];  /* lacks_dts: the latest presentation times, sorted */
    int64_t n_packets;
    int64_t n_events, event_bytes;      /* of subtitles, with those that were too many */
    int64_t n_stacked;                  /* lines of text that begin together with another */
    int64_t n_dropped;                  /* packets that the container did not take */
};

struct vrt_join_streams {
    enum vrt_container container;
    struct vrt_source *source;
    int video;                          /* index of the stream that was restored */
    struct vrt_hdr hdr;                 /* of the restored video */
    bool is_part;                       /* what counts the input's streams isn't true of it */
    int n;
    struct vrt_join_stream *streams;    /* one for each stream of the input, in its order */
};

/* The muxer of `container`; static. */
const AVOutputFormat *vrt_join_muxer(enum vrt_container container);

/*
 * Decides for every stream of `source`, of which `video` was restored; streams that are left out
 * although they hold something are named in `warnings`. Streams of no use are not read any more.
 * Return: 0; -ENOMEM.
 */
int vrt_join_streams_plan(struct vrt_join_streams *plan, enum vrt_join_care care,
                          struct vrt_warnings *warnings);

/* Whether any is read, packet by packet, to be written beside the video: else the input isn't, as
 * large as it may be, but for what is cut to frames. */
bool vrt_join_streams_has_others(const struct vrt_join_streams *plan);

/* What the planned streams are, and what becomes of them. */
void vrt_join_streams_list(const struct vrt_join_streams *plan, struct vrt_stream_list *ret_list);

/* The restored video among the streams of a finished file, for vrt_source_params. */
#define VRT_JOIN_RESTORED_SPECIFIER "V:0"

/* Makes the output's streams as planned, in the input's order, but for the restored video, which is
 * the first of those that move. Return: 0; -ENOMEM. */
int vrt_join_streams_create(struct vrt_join_streams *plan, AVFormatContext *output,
                            const struct vrt_join_video *video);

/* Frees what the plan holds; it may be planned again. */
void vrt_join_streams_done(struct vrt_join_streams *plan);
