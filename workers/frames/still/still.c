/* SPDX-License-Identifier: MIT */

/*
 * The original is decoded once more, for its transparency and its profile. Where there is
 * transparency to be put back, the picture is decoded and encoded again, which loses nothing: only
 * formats without loss get it.
 */

#include "frames/still/still.h"

#include <errno.h>
#include <libavcodec/avcodec.h>

#include "frames/av.h"
#include "frames/encode/codec.h"
#include "frames/encode/pack.h"
#include "frames/alpha.h"
#include "frames/still/embed.h"
#include "frames/still/exif.h"

/* The first frame of a packet that is a whole picture. Return: 0; a negative AVERROR. */
static int decode(const AVCodecParameters *par, const AVPacket *packet, AVFrame *frame)
{
    const AVCodec *codec = avcodec_find_decoder(par->codec_id);
    VRT_CLEANUP(avcodec_free_context) AVCodecContext *decoder =
        codec ? avcodec_alloc_context3(codec) : NULL;

    if (!codec)
        return AVERROR_DECODER_NOT_FOUND;
    int r = decoder ? avcodec_parameters_to_context(decoder, par) : AVERROR(ENOMEM);
    if (r < 0)
        return r;
    decoder->thread_count = 1;
    decoder->flags |= AV_CODEC_FLAG_UNALIGNED;
    r = avcodec_open2(decoder, codec, NULL);
    if (r >= 0)
        r = avcodec_send_packet(decoder, packet);
    if (r >= 0)
        r = avcodec_send_packet(decoder, NULL);
    return r < 0 ? r : avcodec_receive_frame(decoder, frame);
}

/* The picture that was restored, as it was decoded then. Return: 0; -errno with a sentence. */
static int decode_original(const struct vrt_source_params *params, AVFrame *frame,
                           struct vrt_error *error)
{
    VRT_CLEANUP(vrt_source_closep) struct vrt_source *source = NULL;
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();

    if (!packet)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    int r = vrt_source_open(params, &source, error);
    if (r < 0)
        return vrt_fold(r);
    int video = vrt_source_pick_video(source, error);
    if (video < 0)
        return vrt_fold(video);
    do {
        av_packet_unref(packet);
        r = vrt_source_next(source, packet, error);
    } while (r == 0 && packet->stream_index != video);
    if (r < 0)
        return vrt_fold(r);
    if (r == 0)
        r = decode(source->format->streams[video]->codecpar, packet, frame);
    if (r == 0)
        return 0;
    if (r == AVERROR(ENOMEM))
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), source->name);
    return vrt_refuse(error, vrt_raise(-EBADMSG), "input.damaged",
                      "%s is damaged: it can't be decoded a second time", source->name);
}

/* What `picture` is, encoded as the packets of `codec` are. Return: 0; a negative AVERROR. */
static int encode(enum vrt_codec codec, const struct vrt_frame_format *format, AVFrame *picture,
                  AVPacket *packet)
{
    const char *name = vrt_codec_facts(codec)->encoders[0];
    const struct vrt_encoder_params params = { .codec = codec, .format = *format, .n_threads = 1 };
    const AVCodec *found = avcodec_find_encoder_by_name(name);
    VRT_CLEANUP(avcodec_free_context) AVCodecContext *encoder =
        found ? avcodec_alloc_context3(found) : NULL;
    struct vrt_encoder_told told = { .codec = encoder };

    if (!encoder)
        return found ? AVERROR(ENOMEM) : AVERROR_ENCODER_NOT_FOUND;
    encoder->width = picture->width;
    encoder->height = picture->height;
    encoder->pix_fmt = picture->format;
    encoder->time_base = (AVRational){ 1, 25 };
    encoder->sample_aspect_ratio = vrt_rational_av(format->sample_aspect);
    encoder->color_primaries = (enum AVColorPrimaries)format->primaries;
    encoder->color_trc = (enum AVColorTransferCharacteristic)format->transfer;
    encoder->thread_count = 1;
    encoder->flags |= AV_CODEC_FLAG_BITEXACT;
    vrt_encoder_kind_find(name)->set_options(&params, 0, &told);
    int r = told.r;
    if (r >= 0)
        r = avcodec_open2(encoder, found, &told.options);
    av_dict_free(&told.options);
    if (r >= 0)
        r = avcodec_send_frame(encoder, picture);
    if (r >= 0)
        r = avcodec_send_frame(encoder, NULL);
    return r < 0 ? r : avcodec_receive_packet(encoder, packet);
}

/* Puts the transparency of `original` into the packet, if there is any. Return: 0; -errno. */
static int put_alpha(const struct vrt_still_params *params, const AVFrame *original,
                     AVPacket *packet)
{
    const enum vrt_codec codec = vrt_container_own_codec(params->container);
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *picture = av_frame_alloc();
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *alpha = NULL, *both = NULL;
    VRT_CLEANUP(avcodec_parameters_free) AVCodecParameters *par = avcodec_parameters_alloc();

    if (!picture || !par)
        return vrt_raise(-ENOMEM);
    par->codec_type = AVMEDIA_TYPE_VIDEO;
    par->codec_id = vrt_codec_id(codec);
    int r = decode(par, packet, picture);
    if (r < 0)
        return vrt_raise(vrt_av_errno(r));
    r = vrt_alpha_read(original, picture, &alpha);
    if (r < 0 || !alpha)
        return vrt_fold(r);
    r = vrt_pack(picture, alpha, vrt_alpha_pixfmt(picture->format), &both);
    if (r < 0)
        return vrt_fold(r);
    av_packet_unref(packet);
    r = encode(codec, params->format, both, packet);
    return r < 0 ? vrt_raise(vrt_av_errno(r)) : 0;
}

static struct vrt_still_part profile_of(const AVFrame *original)
{
    const AVFrameSideData *data = av_frame_get_side_data(original, AV_FRAME_DATA_ICC_PROFILE);

    return data ? (struct vrt_still_part){ data->data, data->size } : (struct vrt_still_part){ 0 };
}

/* The parts of the file, one after the other; what it has no room for is left out. */
static int put_together(const struct vrt_still_params *params, const AVFrame *original,
                        const AVPacket *packet, const struct vrt_exif *exif, struct vrt_buf *out,
                        struct vrt_warnings *warnings)
{
    struct vrt_still_parts parts = {
        .picture = { packet->data, (size_t)packet->size },
        .exif = { (const uint8_t *)exif->block.data, exif->block.size_bytes },
        .icc = profile_of(original),
        .width = params->format->width,
        .height = params->format->height,
    };
    const size_t before_bytes = out->size_bytes;
    int r = vrt_still_embed(params->container, &parts, out);

    if (r != -EMSGSIZE)
        return vrt_fold(r);
    vrt_warnings_add(warnings, ".%s has no place for what else a picture's file holds, such as "
                     "its colour profile: it is left out",
                     vrt_container_name(params->container));
    out->size_bytes = before_bytes;
    parts.exif = parts.icc = (struct vrt_still_part){ 0 };
    return vrt_fold(vrt_still_embed(params->container, &parts, out));
}

/* Whether something of EXIF isn't kept: a TIFF file takes the orientation alone. */
static bool loses_exif(const struct vrt_still_params *params, const struct vrt_exif *exif)
{
    return exif->is_part || (exif->block.size_bytes > 0 &&
                             params->container == VRT_CONTAINER_TIFF);
}

int vrt_still_make(const struct vrt_still_params *params, struct vrt_buf *out,
                   struct vrt_warnings *warnings, struct vrt_error *error)
{
    const enum vrt_codec codec = vrt_container_own_codec(params->container);
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *original = av_frame_alloc();
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_clone(params->packet);
    struct vrt_exif exif = { .is_part = false };

    if (!original || !packet)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "the output");
    if (params->original.fd < 0) {
        int r = vrt_buf_append(out, packet->data, (size_t)packet->size);
        return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "the output") : 0;
    }
    int r = decode_original(&params->original, original, error);
    if (r < 0)
        return vrt_fold(r);
    /* What the network made of it was encoded with the colours. */
    if (vrt_codec_facts(codec)->keeps_alpha && !params->format->has_alpha)
        r = put_alpha(params, original, packet);
    if (r == 0)
        r = vrt_exif_read(params->original.fd, &exif);
    if (r == 0)
        r = put_together(params, original, packet, &exif, out, warnings);
    if (r == 0 && loses_exif(params, &exif))
        vrt_warnings_add(warnings, "what EXIF tells of a picture isn't kept, but for how it is to "
                         "be turned: PNG, JPEG and WebP keep it among each other");
    vrt_buf_done(&exif.block);
    return r < 0 ? vrt_refuse_errno(error, vrt_fold(r), "the output") : 0;
}
