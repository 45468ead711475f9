/* SPDX-License-Identifier: MIT */

/*
 * Any text subtitle decodes to FFmpeg's common form (ASS), and the container's own kind is encoded
 * from that. Times stay on the packets.
 */

#include "frames/join/subtitle.h"

#include <errno.h>
#include <libavutil/mem.h>
#include <stdlib.h>
#include <string.h>

#include "frames/av.h"

#define MAX_EVENT_BYTES (64 * 1024)

struct vrt_subtitle {
    AVCodecContext *decoder, *encoder;
    uint8_t event[MAX_EVENT_BYTES];
};

bool vrt_subtitle_is_text(enum AVCodecID id)
{
    const AVCodecDescriptor *descriptor = avcodec_descriptor_get(id);

    /* Captions are text that is written and erased bit by bit: packets aren't lines of it. */
    return descriptor && id != AV_CODEC_ID_EIA_608 && descriptor->type == AVMEDIA_TYPE_SUBTITLE &&
           descriptor->props & AV_CODEC_PROP_TEXT_SUB;
}

/* From whatever text it is to FFmpeg's common form. */
static int open_decoder(struct vrt_subtitle *subtitle, const AVStream *in)
{
    const AVCodec *codec = avcodec_find_decoder(in->codecpar->codec_id);

    if (!codec)
        return -ENOSYS;
    AVCodecContext *decoder = subtitle->decoder = avcodec_alloc_context3(codec);
    if (!decoder || avcodec_parameters_to_context(decoder, in->codecpar) < 0)
        return vrt_raise(-ENOMEM);
    decoder->pkt_timebase = in->time_base;
    int r = avcodec_open2(decoder, codec, NULL);
    return r < 0 ? vrt_av_errno(r) : 0;
}

/* The styles that the decoder found are what the encoder writes at its head. */
static int open_encoder(struct vrt_subtitle *subtitle, enum AVCodecID target)
{
    const AVCodecContext *decoder = subtitle->decoder;
    const AVCodec *codec = avcodec_find_encoder(target);

    if (!codec)
        return -ENOSYS;
    AVCodecContext *encoder = subtitle->encoder = avcodec_alloc_context3(codec);
    if (!encoder)
        return vrt_raise(-ENOMEM);
    encoder->time_base = AV_TIME_BASE_Q;
    encoder->flags |= AV_CODEC_FLAG_BITEXACT;
    if (decoder->subtitle_header) {
        encoder->subtitle_header = av_mallocz((size_t)decoder->subtitle_header_size + 1);
        if (!encoder->subtitle_header)
            return vrt_raise(-ENOMEM);
        memcpy(encoder->subtitle_header, decoder->subtitle_header,
               (size_t)decoder->subtitle_header_size);
        encoder->subtitle_header_size = decoder->subtitle_header_size;
    }
    int r = avcodec_open2(encoder, codec, NULL);
    return r < 0 ? vrt_av_errno(r) : 0;
}

int vrt_subtitle_open(const AVStream *in, enum AVCodecID target, AVCodecParameters *par,
                      struct vrt_subtitle **ret_subtitle)
{
    VRT_CLEANUP(vrt_subtitle_closep) struct vrt_subtitle *subtitle = calloc(1, sizeof(*subtitle));

    if (!subtitle)
        return vrt_raise(-ENOMEM);
    int r = open_decoder(subtitle, in);
    if (r < 0)
        return vrt_fold(r);
    r = open_encoder(subtitle, target);
    if (r < 0)
        return vrt_fold(r);
    if (avcodec_parameters_from_context(par, subtitle->encoder) < 0)
        return vrt_raise(-ENOMEM);
    *ret_subtitle = VRT_STEAL(subtitle);
    return 0;
}

int vrt_subtitle_convert(struct vrt_subtitle *subtitle, AVPacket *packet)
{
    AVSubtitle decoded = { 0 };
    int got = 0, size = 0;

    int r = avcodec_decode_subtitle2(subtitle->decoder, &decoded, &got, packet);
    if (r == AVERROR(ENOMEM))
        return vrt_raise(-ENOMEM);
    if (r < 0 || !got)
        return 0;
    /* Encoders want their event to begin at its packet's time, as it nearly always does. */
    decoded.start_display_time = 0;
    if (decoded.num_rects)
        size = avcodec_encode_subtitle(subtitle->encoder, subtitle->event, MAX_EVENT_BYTES,
                                       &decoded);
    avsubtitle_free(&decoded);
    if (size <= 0)
        return 0;

    AVBufferRef *buffer = av_buffer_allocz((size_t)size + AV_INPUT_BUFFER_PADDING_SIZE);
    if (!buffer)
        return vrt_raise(-ENOMEM);
    memcpy(buffer->data, subtitle->event, (size_t)size);
    av_buffer_unref(&packet->buf);
    packet->buf = buffer;
    packet->data = buffer->data;
    packet->size = size;
    av_packet_free_side_data(packet);
    return 1;
}

struct vrt_subtitle *vrt_subtitle_close(struct vrt_subtitle *subtitle)
{
    if (!subtitle)
        return NULL;
    avcodec_free_context(&subtitle->decoder);
    avcodec_free_context(&subtitle->encoder);
    free(subtitle);
    return NULL;
}
