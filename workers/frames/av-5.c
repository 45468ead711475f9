/* SPDX-License-Identifier: MIT */

/* FFmpeg 5.1 to 6.1. */

#include <errno.h>
#include <string.h>

#include "frames/av.h"

const bool vrt_av_hwdec_tells_all_of_av1 = false;

int64_t vrt_av_frame_duration(const AVFrame *frame)
{
    return frame->pkt_duration > 0 ? frame->pkt_duration : 0;
}

bool vrt_av_frame_is_interlaced(const AVFrame *frame)
{
    return frame->interlaced_frame;
}

bool vrt_av_frame_is_top_first(const AVFrame *frame)
{
    return frame->top_field_first;
}

void vrt_av_frame_set_fields(AVFrame *frame, bool is_interlaced, bool is_top_first)
{
    frame->interlaced_frame = is_interlaced;
    frame->top_field_first = is_top_first;
}

void vrt_av_set_get_buffer(AVCodecContext *decoder,
                           int (*get_buffer)(AVCodecContext *decoder, AVFrame *frame, int flags))
{
    decoder->get_buffer2 = get_buffer;
#if FF_API_THREAD_SAFE_CALLBACKS
    /* Since FFmpeg 6 it is so without being said. */
    _Pragma("GCC diagnostic push")
    _Pragma("GCC diagnostic ignored \"-Wdeprecated-declarations\"")
    decoder->thread_safe_callbacks = 1;
    _Pragma("GCC diagnostic pop")
#endif
}

const uint8_t *vrt_av_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type,
                                       size_t *ret_size)
{
    return av_stream_get_side_data(stream, type, ret_size);
}

int vrt_av_stream_add_side_data(AVStream *stream, enum AVPacketSideDataType type,
                                const uint8_t *data, size_t size)
{
    uint8_t *copy = av_stream_new_side_data(stream, type, size);

    if (!copy)
        return -ENOMEM;
    memcpy(copy, data, size);
    return 0;
}
