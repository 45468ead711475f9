/* SPDX-License-Identifier: MIT */

/* FFmpeg 7.0 and later. */

#include <errno.h>
#include <string.h>

#include "frames/av.h"

const bool vrt_av_hwdec_tells_all_of_av1 = true;

int64_t vrt_av_frame_duration(const AVFrame *frame)
{
    return frame->duration > 0 ? frame->duration : 0;
}

bool vrt_av_frame_is_interlaced(const AVFrame *frame)
{
    return frame->flags & AV_FRAME_FLAG_INTERLACED;
}

bool vrt_av_frame_is_top_first(const AVFrame *frame)
{
    return frame->flags & AV_FRAME_FLAG_TOP_FIELD_FIRST;
}

void vrt_av_frame_set_fields(AVFrame *frame, bool is_interlaced, bool is_top_first)
{
    frame->flags &= ~(AV_FRAME_FLAG_INTERLACED | AV_FRAME_FLAG_TOP_FIELD_FIRST);
    frame->flags |= (is_interlaced ? AV_FRAME_FLAG_INTERLACED : 0) |
                    (is_top_first ? AV_FRAME_FLAG_TOP_FIELD_FIRST : 0);
}

void vrt_av_set_get_buffer(AVCodecContext *decoder,
                           int (*get_buffer)(AVCodecContext *decoder, AVFrame *frame, int flags))
{
    decoder->get_buffer2 = get_buffer;
}

const uint8_t *vrt_av_stream_side_data(const AVStream *stream, enum AVPacketSideDataType type,
                                       size_t *ret_size)
{
    const AVPacketSideData *side_data =
        av_packet_side_data_get(stream->codecpar->coded_side_data,
                                stream->codecpar->nb_coded_side_data, type);

    if (!side_data)
        return NULL;
    *ret_size = side_data->size;
    return side_data->data;
}

int vrt_av_stream_add_side_data(AVStream *stream, enum AVPacketSideDataType type,
                                const uint8_t *data, size_t size)
{
    AVPacketSideData *side_data =
        av_packet_side_data_new(&stream->codecpar->coded_side_data,
                                &stream->codecpar->nb_coded_side_data, type, size, 0);

    if (!side_data)
        return -ENOMEM;
    memcpy(side_data->data, data, size);
    return 0;
}
