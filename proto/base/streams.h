/* SPDX-License-Identifier: MIT */
#pragma once

/* What a file has beside its restored video, stream by stream, and what becomes of each. */

#include <stdint.h>

enum vrt_stream_kind {
    VRT_STREAM_VIDEO,
    VRT_STREAM_AUDIO,
    VRT_STREAM_SUBTITLES,
    VRT_STREAM_ATTACHMENT,
    VRT_STREAM_DATA,            /* time codes, what cameras tell of themselves, what is unknown */
    VRT_STREAM_KIND_COUNT,
};

enum vrt_stream_fate {
    VRT_STREAM_RESTORED,
    VRT_STREAM_COPIED,
    VRT_STREAM_CONVERTED,       /* subtitles, into the container's kind of them */
    VRT_STREAM_MADE_ANEW,       /* of what the file says of itself: chapters, the time code */
    VRT_STREAM_NOT_CHOSEN,      /* --streams leaves it out */
    VRT_STREAM_NO_PLACE,        /* the container has none for it */
    VRT_STREAM_FATE_COUNT,
};

#define VRT_STREAMS_MAX 64      /* that are told of; others are counted */

/* Integers and bytes alone, since it goes through a socket as it is. Unknown: 0, "". */
struct vrt_stream_info {
    int32_t kind, fate;
    int32_t width, height;              /* of a video, or a picture */
    int32_t fps_num, fps_den;           /* of a video, on average; 0/1: unknown */
    int32_t sample_rate, channels;      /* of audio; Hz */
    int64_t bitrate;                    /* bits a second, as the file says */
    char codec[32];                     /* FFmpeg's name */
    char language[16];                  /* as the file has it, mostly of ISO 639-2 */
    char title[96];
    char disposition[96];               /* FFmpeg's words, with commas between them */
};

struct vrt_stream_list {
    int32_t n_all;                      /* of the file; those behind VRT_STREAMS_MAX aren't here */
    struct vrt_stream_info streams[VRT_STREAMS_MAX];
};

/* Of those that are in the list. */
static inline int vrt_stream_list_n(const struct vrt_stream_list *list)
{
    return list->n_all < VRT_STREAMS_MAX ? list->n_all : VRT_STREAMS_MAX;
}
