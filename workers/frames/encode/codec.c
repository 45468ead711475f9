/* SPDX-License-Identifier: MIT */

/*
 * The table of codecs, and the choice of what an encoder is fed.
 *
 * The rule of the choice: nothing that the input has may be lost (depth, chroma, range), and where
 * the codec cannot hold it exactly, the next format that holds it all is taken.
 */

#include "frames/encode/codec.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "frames/av.h"
#include "frames/pixfmt.h"

/* Constant quality, not rate: what a network sharpened must not be smoothed away again. */
static int set_rate(const struct vrt_encoder_params *params, int quality, AVDictionary **options)
{
    int r = av_dict_set(options, "preset", params->preset ? params->preset : "medium", 0);

    return r < 0 ? r : av_dict_set_int(options, "crf", quality, 0);
}

/* cpu-independent: the same bytes whatever vector instructions the machine has. */
static int set_x264(const struct vrt_encoder_params *params, int quality, AVDictionary **options)
{
    int r = set_rate(params, quality, options);

    return r < 0 ? r : av_dict_set(options, "x264-params", "cpu-independent=1", 0);
}

/*
 * Threads are chosen here rather than by libx265 from the machine. info=0: its note in the stream
 * names the machine's vector instructions. Its log goes to standard error whatever we do.
 */
static int set_x265(const struct vrt_encoder_params *params, int quality, AVDictionary **options)
{
    int n_frame_threads = VRT_MIN(1 + params->n_threads / 4, 4);
    char text[96];

    int r = set_rate(params, quality, options);
    if (r < 0)
        return r;
    snprintf(text, sizeof(text), "log-level=none:info=0:pools=%d:frame-threads=%d",
             params->n_threads, n_frame_threads);
    return av_dict_set(options, "x265-params", text, 0);
}

/* One for each thread, of the numbers that the format has. */
static int pick_slices(int n_threads)
{
    static const int slices[] = { 4, 6, 9, 12, 16, 24, 30 };
    size_t i = 0;

    while (i + 1 < VRT_ARRAY_SIZE(slices) && slices[i] < n_threads)
        i++;
    return slices[i];
}

/*
 * Every frame a key frame, every slice with a checksum; slices are what its threads share out. Some
 * numbers of them don't fit odd sizes: there, and where frames are small, FFmpeg chooses (0). Of
 * slices that are a pixel or two wide or high, and of 4:1:1 and 4:1:0 in odd sizes, FFmpeg stores
 * columns wrong (seen in 5.1), except in the format's first version, which has no slices.
 */
static int set_ffv1(const struct vrt_encoder_params *params, int quality, AVDictionary **options)
{
    const struct vrt_frame_format *format = &params->format;

    (void)quality;
    bool odd = format->width % (1 << format->chroma_shift_x) ||
               format->height % (1 << format->chroma_shift_y);
    bool small = format->width < 64 || format->height < 64;
    bool tiny = format->width < 16 || format->height < 16;
    int level = tiny || (odd && format->chroma_shift_x > 1) ? 1 : 3;
    int r = av_dict_set_int(options, "level", level, 0);
    if (r >= 0)
        r = av_dict_set_int(options, "g", 1, 0);
    if (r >= 0 && level == 3)
        r = av_dict_set_int(options, "slicecrc", 1, 0);
    if (r < 0 || level < 3)
        return r;
    int n_slices = odd || small ? 0 : pick_slices(params->n_threads);
    return av_dict_set_int(options, "slices", n_slices, 0);
}

static const struct vrt_codec_traits traits[VRT_CODEC_COUNT] = {
    [VRT_CODEC_H264] = { AV_CODEC_ID_H264, "libx264", 16384, true, true, "HEVC or FFV1", set_x264 },
    [VRT_CODEC_HEVC] = { AV_CODEC_ID_HEVC, "libx265", 8192, true, true, "FFV1", set_x265 },
    [VRT_CODEC_FFV1] = { AV_CODEC_ID_FFV1, "ffv1", VRT_FRAME_MAX_SIDE, false, false,
                         "a shallower input", set_ffv1 },
};

const struct vrt_codec_traits *vrt_codec_traits(enum vrt_codec codec)
{
    vrt_assert((unsigned int)codec < VRT_CODEC_COUNT);
    return &traits[codec];
}

int vrt_codec_check(enum vrt_codec codec, struct vrt_error *error)
{
    const struct vrt_codec_traits *t = vrt_codec_traits(codec);

    if (avcodec_find_encoder_by_name(t->encoder))
        return 0;
    return vrt_refuse(error, vrt_raise(-ENOSYS), "output.codec",
                      "this FFmpeg cannot write %s (it was built without %s): install one that "
                      "can, or choose another codec", vrt_codec_title(codec), t->encoder);
}

/* What libx265 takes depends on how it was built: FFmpeg's list has that. */
static bool encoder_takes(const AVCodec *encoder, enum AVPixelFormat pixfmt)
{
    for (const enum AVPixelFormat *p = vrt_av_encoder_pixfmts(encoder); p && *p != AV_PIX_FMT_NONE;
         p++)
        if (*p == pixfmt)
            return true;
    return false;
}

enum AVPixelFormat vrt_codec_pixfmt(enum vrt_codec codec, const struct vrt_frame_format *format)
{
    const AVCodec *encoder = avcodec_find_encoder_by_name(vrt_codec_traits(codec)->encoder);
    struct vrt_frame_format found = *format;
    enum AVPixelFormat pixfmt = vrt_pixfmt_of(format);

    if (!encoder || vrt_pixfmt_nearest(pixfmt, &found) < 0 || found.depth != format->depth)
        return AV_PIX_FMT_NONE;
    if (encoder_takes(encoder, pixfmt))
        return pixfmt;
    return pixfmt == AV_PIX_FMT_GBRP && encoder_takes(encoder, AV_PIX_FMT_BGR0) ? AV_PIX_FMT_BGR0
                                                                               : AV_PIX_FMT_NONE;
}

/* Sets the depth to the encoder's next one. Return: whether there is one. */
static bool deepen(enum vrt_codec codec, struct vrt_frame_format *format)
{
    for (int depth = format->depth; depth <= 16; depth++) {
        struct vrt_frame_format candidate = *format;
        candidate.depth = depth;
        if (vrt_codec_pixfmt(codec, &candidate) != AV_PIX_FMT_NONE) {
            format->depth = depth;
            return true;
        }
    }
    return false;
}

/* What YUV is made of RGB and gray: limited range, which every player gets right. */
static void make_yuv(struct vrt_frame_format *format)
{
    bool wide = format->primaries == AVCOL_PRI_BT2020;
    int shift = format->layout == VRT_LAYOUT_GRAY ? 1 : 0;

    if (format->layout == VRT_LAYOUT_GBR)
        format->matrix = wide ? VRT_FRAME_MATRIX_BT2020_NCL : VRT_FRAME_MATRIX_BT709;
    format->layout = VRT_LAYOUT_YUV;
    format->chroma_shift_x = format->chroma_shift_y = shift;
    format->color_space = vrt_matrix_number(format->matrix);
    format->full_range = false;
    format->chroma_location = VRT_CHROMA_LOCATION_LEFT;
}

/*
 * The most reduced chroma that keeps all of the input's, at a depth the encoder has. Return:
 * whether there is one.
 */
static bool pick_chroma(enum vrt_codec codec, struct vrt_frame_format *format)
{
    static const int shifts[][2] = {
        { 2, 2 }, { 2, 0 }, { 1, 1 }, { 1, 0 }, { 0, 1 }, { 0, 0 },
    };
    int mask_x = (1 << format->chroma_shift_x) - 1, mask_y = (1 << format->chroma_shift_y) - 1;
    bool odd = traits[codec].even_only && (format->width & mask_x || format->height & mask_y);

    if (format->layout != VRT_LAYOUT_YUV)
        return deepen(codec, format);
    for (size_t i = odd ? VRT_ARRAY_SIZE(shifts) - 1 : 0; i < VRT_ARRAY_SIZE(shifts); i++) {
        struct vrt_frame_format candidate = *format;
        candidate.chroma_shift_x = shifts[i][0];
        candidate.chroma_shift_y = shifts[i][1];
        if (shifts[i][0] <= format->chroma_shift_x && shifts[i][1] <= format->chroma_shift_y &&
            deepen(codec, &candidate)) {
            *format = candidate;
            return true;
        }
    }
    return false;
}

int vrt_encoder_pick_format(const struct vrt_encoder_pick *pick,
                            struct vrt_frame_format *ret_format, struct vrt_warnings *warnings,
                            struct vrt_error *error)
{
    const struct vrt_codec_traits *t = vrt_codec_traits(pick->codec);
    struct vrt_frame_format format = *pick->input;

    int r = vrt_codec_check(pick->codec, error);
    if (r < 0)
        return vrt_fold(r);
    format.width = pick->width;
    format.height = pick->height;
    if (pick->width > t->max_side || pick->height > t->max_side)
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "output.format",
                          "%s holds at most %d pixels a side, and the result has %dx%d: use a "
                          "smaller scale%s", vrt_codec_title(pick->codec), t->max_side,
                          pick->width, pick->height,
                          pick->codec == VRT_CODEC_FFV1 ? "" : ", or FFV1");
    if (t->yuv_only && format.layout != VRT_LAYOUT_YUV)
        make_yuv(&format);
    struct vrt_frame_format wanted = format;
    if (!vrt_frame_format_is_valid(&format) || !pick_chroma(pick->codec, &format))
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "output.format",
                          "%s cannot hold the %d bits per sample of the input: use %s",
                          vrt_codec_title(pick->codec), wanted.depth, t->deeper);
    if (format.chroma_shift_x + format.chroma_shift_y <
            wanted.chroma_shift_x + wanted.chroma_shift_y &&
        (pick->width | pick->height) & 1)
        vrt_warnings_add(warnings, "the result is %dx%d, an odd size, for which %s must store "
                         "full colour (4:4:4): not every player shows that", pick->width,
                         pick->height, vrt_codec_title(pick->codec));
    *ret_format = format;
    return 0;
}
