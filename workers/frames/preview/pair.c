/* SPDX-License-Identifier: MIT */

#include "frames/preview/pair.h"

#include <errno.h>
#include <libavcodec/avcodec.h>
#include <libswscale/swscale.h>
#include <unistd.h>

#include "base/io/write.h"
#include "frames/av.h"
#include "frames/view.h"

#define CHANNELS 3

static int refuse_picture(int r, struct vrt_error *error)
{
    return vrt_refuse_errno(error, r, "making the picture");
}

static int swscale_matrix(const struct vrt_frame_format *format)
{
    return format->matrix == VRT_FRAME_MATRIX_BT709      ? SWS_CS_ITU709
           : format->matrix == VRT_FRAME_MATRIX_BT2020_NCL ? SWS_CS_BT2020
                                                           : SWS_CS_ITU601;
}

/* Draws `frame` into the half of `picture` that begins at column `left`. Return: 0; -errno. */
static int draw(struct vrt_frame *frame, AVFrame *picture, int left)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *view = NULL;
    uint8_t *const target[] = { picture->data[0] + (ptrdiff_t)left * CHANNELS };
    const int flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT | SWS_FULL_CHR_H_INP;

    int r = vrt_frame_unwrap(frame, &view);
    if (r < 0)
        return vrt_fold(r);
    struct SwsContext *scaler = sws_getContext(view->width, view->height, view->format,
                                               picture->width / 2, picture->height,
                                               picture->format, flags, NULL, NULL, NULL);
    if (!scaler)
        return vrt_raise(-ENOTSUP);
    /* Fails for gray, which has no matrix. */
    (void)sws_setColorspaceDetails(scaler, sws_getCoefficients(swscale_matrix(&frame->format)),
                                   frame->format.full_range,
                                   sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
    r = sws_scale(scaler, (const uint8_t *const *)view->data, view->linesize, 0, view->height,
                  target, picture->linesize);
    sws_freeContext(scaler);
    return r < 0 ? vrt_raise(vrt_av_errno(r)) : 0;
}

/* Return: 0; -errno. */
static int make_picture(struct vrt_frame *before, struct vrt_frame *after, AVFrame **ret_picture)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *picture = av_frame_alloc();
    int64_t width = after->format.width, height = after->format.height;
    int64_t side = VRT_MAX(width, height);

    if (!picture)
        return vrt_raise(-ENOMEM);
    if (side > VRT_PAIR_SIDE_MAX) {
        width = VRT_MAX(width * VRT_PAIR_SIDE_MAX / side, 1);
        height = VRT_MAX(height * VRT_PAIR_SIDE_MAX / side, 1);
    }
    picture->width = 2 * (int)width;
    picture->height = (int)height;
    picture->format = AV_PIX_FMT_RGB24;
    if (av_frame_get_buffer(picture, 0) < 0)
        return vrt_raise(-ENOMEM);
    int r = draw(before, picture, 0);
    if (r < 0)
        return vrt_fold(r);
    r = draw(after, picture, (int)width);
    if (r < 0)
        return vrt_fold(r);
    *ret_picture = VRT_STEAL(picture);
    return 0;
}

/* Return: 0; -errno. */
static int encode(const AVFrame *picture, AVPacket *packet)
{
    const AVCodec *codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
    AVCodecContext *encoder = codec ? avcodec_alloc_context3(codec) : NULL;

    if (!codec)
        return vrt_raise(-ENOSYS);
    if (!encoder)
        return vrt_raise(-ENOMEM);
    encoder->width = picture->width;
    encoder->height = picture->height;
    encoder->pix_fmt = picture->format;
    encoder->time_base = (AVRational){ 1, 1 };
    int r = avcodec_open2(encoder, codec, NULL);
    if (r >= 0)
        r = avcodec_send_frame(encoder, picture);
    if (r >= 0)
        r = avcodec_receive_packet(encoder, packet);
    avcodec_free_context(&encoder);
    return r < 0 ? vrt_raise(vrt_av_errno(r)) : 0;
}

/* All that the file has. Return: 0; -errno. */
static int replace(int fd, const uint8_t *data, int size)
{
    if (ftruncate(fd, 0) < 0)
        return vrt_raise(-errno);
    return vrt_fold(vrt_write_at(fd, data, (size_t)size, 0));
}

int vrt_pair_write(int fd, struct vrt_frame *before, struct vrt_frame *after,
                   struct vrt_pair_size *ret_size, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_av_frame_freep) AVFrame *picture = NULL;
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();

    int r = packet ? make_picture(before, after, &picture) : vrt_raise(-ENOMEM);
    if (r == 0)
        r = encode(picture, packet);
    if (r == 0)
        r = replace(fd, packet->data, packet->size);
    if (r < 0)
        return refuse_picture(vrt_fold(r), error);
    *ret_size = (struct vrt_pair_size){ picture->width, picture->height };
    return 0;
}
