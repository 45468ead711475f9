/* SPDX-License-Identifier: MIT */

#include "frames/decode/decoder.h"

#include <errno.h>
#include <unistd.h>

#include "base/macro.h"
#include "frames/decode/damage.h"
#include "frames/decode/places.h"
#include "frames/av.h"
#include "frames/hwaccel/hwdec.h"

#define MAX_THREADS 16              /* of the decoder: more of them only cost memory */
#define MAX_PIXELS (1LL << 28)      /* 16384 x 16384 */

/* Of WebM's two, transparency is a second video inside, which FFmpeg's own decoders pass over. */
static const char *decoder_of_alpha(enum AVCodecID id)
{
    return id == AV_CODEC_ID_VP8 ? "libvpx" : id == AV_CODEC_ID_VP9 ? "libvpx-vp9" : NULL;
}

/* Return: 0; -errno with a sentence. */
static int find_for_alpha(const struct vrt_source *source, const AVCodecParameters *par,
                          const AVCodec **ret_codec, struct vrt_error *error)
{
    const char *name = decoder_of_alpha(par->codec_id);

    if (!name)
        return 0;
    *ret_codec = avcodec_find_decoder_by_name(name);
    if (*ret_codec)
        return 0;
    return vrt_refuse(error, vrt_raise(-ENOSYS), "input.codec",
                      "%s has transparency, for which FFmpeg needs the decoder %s: this one was "
                      "built without it", source->name, name);
}

/* Return: 0; -errno with a sentence. */
static int find_any(const struct vrt_source *source, const AVCodecParameters *par,
                    const AVCodec **ret_codec, struct vrt_error *error)
{
    char tag[AV_FOURCC_MAX_STRING_SIZE];

    if (par->codec_id == AV_CODEC_ID_NONE)
        return vrt_refuse(error, vrt_raise(-ENOSYS), "input.codec",
                          "%s uses a video codec that FFmpeg doesn't know (%s): convert it first",
                          source->name, av_fourcc_make_string(tag, par->codec_tag));
    *ret_codec = avcodec_find_decoder(par->codec_id);
    if (!*ret_codec)
        return vrt_refuse(error, vrt_raise(-ENOSYS), "input.codec",
                          "%s uses the codec %s, for which this FFmpeg has no decoder: install "
                          "one that has, or convert the video first", source->name,
                          avcodec_get_name(par->codec_id));
    return 0;
}

/* Return: 0; -errno with a sentence. */
static int find(const struct vrt_source *source, const AVCodecParameters *par,
                const struct vrt_reader_params *params, const AVCodec **ret_codec,
                struct vrt_error *error)
{
    int r = find_any(source, par, ret_codec, error);

    if (r == 0 && params->hwdec)
        return vrt_fold(vrt_hwdec_find(params->hwdec, par->codec_id, ret_codec, error));
    return r == 0 && params->is_alpha ? vrt_fold(find_for_alpha(source, par, ret_codec, error)) : r;
}

/* Where frames of the packet that it was given are to be; NULL: anywhere. */
static struct vrt_places *places_of(const AVCodecContext *decoder)
{
    atomic_int *n_errors = decoder->opaque;

    return n_errors ? vrt_container_of(n_errors, struct vrt_damage_packet, n_errors)->places : NULL;
}

/* On any of the decoder's threads, as AVCodecContext.get_buffer2. */
static int get_buffer(AVCodecContext *decoder, AVFrame *frame, int flags)
{
    return vrt_places_get_buffer(places_of(decoder), decoder, frame, flags);
}

/* As vrt_hwdec_get_frame. */
static int get_frame(AVCodecContext *decoder, AVFrame *frame)
{
    return vrt_places_get_frame(places_of(decoder), decoder, frame);
}

int vrt_decoder_fetch(enum vrt_hwdec hwdec, AVCodecContext *decoder, AVFrame *frame,
                      struct vrt_error *error)
{
    return hwdec ? vrt_fold(vrt_hwdec_fetch(hwdec, decoder, get_frame, frame, error)) : 0;
}

int vrt_decoder_open(const struct vrt_source *source, const AVStream *stream,
                     const struct vrt_reader_params *params, AVCodecContext **ret_decoder,
                     struct vrt_error *error)
{
    const AVCodec *codec = NULL;
    int r = find(source, stream->codecpar, params, &codec, error);

    if (r < 0)
        return vrt_fold(r);
    AVCodecContext *decoder = *ret_decoder = avcodec_alloc_context3(codec);
    if (!decoder || avcodec_parameters_to_context(decoder, stream->codecpar) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), source->name);
    decoder->pkt_timebase = stream->time_base;
    decoder->framerate = stream->avg_frame_rate;
    decoder->max_pixels = MAX_PIXELS;
    decoder->err_recognition = AV_EF_CRCCHECK;
    /* Without it cropping is rounded to the alignment of rows: frames too large, and shifted. */
    decoder->flags |= AV_CODEC_FLAG_UNALIGNED;
    vrt_av_set_get_buffer(decoder, get_buffer);
    long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    const int n_threads = params->n_threads > 0 ? params->n_threads : (int)VRT_MAX(n_cores, 1);
    decoder->thread_count = VRT_MIN(n_threads, MAX_THREADS);
    if (params->hwdec && vrt_hwdec_attach(decoder) < 0)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), source->name);
    r = avcodec_open2(decoder, codec, NULL);
    if (r == AVERROR(ENOMEM))
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), source->name);
    if (r < 0)
        return vrt_refuse(error, vrt_raise(vrt_av_errno(r)), "input.codec",
                          "%s cannot be decoded: FFmpeg's %s decoder refuses it", source->name,
                          codec->name);
    return 0;
}
