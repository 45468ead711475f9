/* SPDX-License-Identifier: MIT */

/*
 * The choice of an encoder, and of what it is fed.
 *
 * The rule of the choice: nothing that the input has may be lost (depth, chroma, range), and where
 * the codec cannot hold it exactly, the next format that holds it all is taken.
 */

#include "frames/encode/codec.h"

#include <errno.h>
#include <libavutil/pixdesc.h>
#include <stdio.h>
#include <string.h>

#include "base/macro.h"
#include "frames/av.h"
#include "frames/pixfmt.h"

enum AVCodecID vrt_codec_id(enum vrt_codec codec)
{
    const AVCodecDescriptor *descriptor =
        avcodec_descriptor_get_by_name(vrt_codec_facts(codec)->ffmpeg);

    return descriptor ? descriptor->id : AV_CODEC_ID_NONE;
}

/* The codecs that this FFmpeg has an encoder for, for a sentence. */
static const char *list_codecs(char *text, size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < VRT_CODEC_COUNT && n < size; i++)
        if (vrt_codec_is_there((enum vrt_codec)i))
            n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "", vrt_codec_names[i]);
    return text;
}

bool vrt_codec_is_there(enum vrt_codec codec)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);

    if (facts->joined_by && !avcodec_find_encoder_by_name(facts->joined_by))
        return false;
    for (int i = 0; i < VRT_CODEC_ENCODERS_MAX && facts->encoders[i]; i++)
        if (avcodec_find_encoder_by_name(facts->encoders[i]))
            return true;
    return false;
}

int vrt_codec_check(enum vrt_codec codec, struct vrt_error *error)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);
    const bool lacks_joiner = facts->joined_by && !avcodec_find_encoder_by_name(facts->joined_by);
    const char *other = facts->encoders[1];
    char there[96];

    if (vrt_codec_is_there(codec))
        return 0;
    return vrt_refuse(error, vrt_raise(-ENOSYS), "output.codec",
                      "this FFmpeg cannot write %s (it was built without %s%s%s): install one that "
                      "can, or choose another codec: %s", facts->title,
                      lacks_joiner ? facts->joined_by : facts->encoders[0],
                      other ? " and " : "", other ? other : "",
                      list_codecs(there, sizeof(there)));
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

/* What encoders take in the place of planes of ours, the first that they do (frames/encode/pack.h).
 */
static const struct {
    enum AVPixelFormat plain, packed;
} packed[] = {
    { AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12 },
    { AV_PIX_FMT_YUV420P10, AV_PIX_FMT_P010LE },
    { AV_PIX_FMT_GBRP, AV_PIX_FMT_RGB24 },
    { AV_PIX_FMT_GBRP, AV_PIX_FMT_BGR0 },
    { AV_PIX_FMT_GBRP, AV_PIX_FMT_BGRA },
    { AV_PIX_FMT_GBRP16, AV_PIX_FMT_RGB48LE },
    { AV_PIX_FMT_GBRP16, AV_PIX_FMT_RGB48BE },
    { AV_PIX_FMT_GRAY16, AV_PIX_FMT_GRAY16LE },
    { AV_PIX_FMT_GRAY16, AV_PIX_FMT_GRAY16BE },
    { AV_PIX_FMT_GBRP16, AV_PIX_FMT_GBRPF32 },
    { AV_PIX_FMT_GRAY16, AV_PIX_FMT_GRAYF32 },
};

/* The planes of ours that are encoded as `pixfmt`, beside its alpha if `has_alpha`.
 * AV_PIX_FMT_NONE: none are, or only one of the two has alpha. */
static enum AVPixelFormat plain_of(enum AVPixelFormat pixfmt, bool has_alpha)
{
    struct vrt_frame_format nearest = { .width = 1 };

    if (vrt_pixfmt_has_alpha(pixfmt) != has_alpha)
        return AV_PIX_FMT_NONE;
    if (has_alpha)
        return vrt_pixfmt_nearest(pixfmt, &nearest) < 0 ? AV_PIX_FMT_NONE : vrt_pixfmt_of(&nearest);
    if (vrt_pixfmt_is_ours(pixfmt))
        return pixfmt;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(packed); i++)
        if (packed[i].packed == pixfmt)
            return packed[i].plain;
    return AV_PIX_FMT_NONE;
}

/* Whether `pixfmt` holds what `plain` does, and transparency. */
static bool is_with_alpha(enum AVPixelFormat pixfmt, enum AVPixelFormat plain)
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(pixfmt), *of = av_pix_fmt_desc_get(plain);
    const uint64_t others = AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_FLOAT |
                            AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL;

    return of && desc && desc->flags & AV_PIX_FMT_FLAG_ALPHA && !(desc->flags & others) &&
           !((desc->flags ^ of->flags) & AV_PIX_FMT_FLAG_RGB) &&
           desc->nb_components == of->nb_components + 1 &&
           desc->comp[0].depth == of->comp[0].depth &&
           desc->log2_chroma_w == of->log2_chroma_w && desc->log2_chroma_h == of->log2_chroma_h;
}

/* The same, with transparency besides. */
static enum AVPixelFormat pick_with_alpha(const AVCodec *encoder, enum AVPixelFormat plain)
{
    for (const enum AVPixelFormat *p = vrt_av_encoder_pixfmts(encoder); p && *p != AV_PIX_FMT_NONE;
         p++)
        if (is_with_alpha(*p, plain))
            return *p;
    return AV_PIX_FMT_NONE;
}

/* The pixel format in which the encoder takes frames that are `plain` in FFmpeg's words. */
static enum AVPixelFormat pick_opaque(const AVCodec *encoder, enum AVPixelFormat plain)
{
    if (encoder_takes(encoder, plain))
        return plain;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(packed); i++)
        if (packed[i].plain == plain && encoder_takes(encoder, packed[i].packed))
            return packed[i].packed;
    return AV_PIX_FMT_NONE;
}

static enum AVPixelFormat pick_pixfmt(const AVCodec *encoder, enum AVPixelFormat plain,
                                      bool has_alpha)
{
    return has_alpha ? pick_with_alpha(encoder, plain) : pick_opaque(encoder, plain);
}

/* Whether frames of this size are none of those that the encoder refuses. */
static bool size_fits(const struct vrt_encoder_kind *kind, const struct vrt_frame_format *format)
{
    bool odd = format->width % (1 << format->chroma_shift_x) ||
               format->height % (1 << format->chroma_shift_y);

    return format->width >= kind->min_side && format->height >= kind->min_side &&
           !(kind->even_only && odd);
}

struct vrt_codec_choice vrt_codec_choose(enum vrt_codec codec,
                                         const struct vrt_frame_format *format)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);
    const enum AVPixelFormat plain = vrt_pixfmt_of(format);
    struct vrt_frame_format found = *format;

    if (vrt_pixfmt_nearest(plain, &found) < 0 || found.depth != format->depth)
        return (struct vrt_codec_choice){ .kind = NULL };
    for (int i = 0; i < VRT_CODEC_ENCODERS_MAX && facts->encoders[i]; i++) {
        const struct vrt_codec_choice choice = {
            .kind = vrt_encoder_kind_find(facts->encoders[i]),
            .encoder = avcodec_find_encoder_by_name(facts->encoders[i]),
        };
        if (!choice.kind || !choice.encoder || !size_fits(choice.kind, format))
            continue;
        enum AVPixelFormat pixfmt = pick_pixfmt(choice.encoder, plain, format->has_alpha);
        if (pixfmt != AV_PIX_FMT_NONE)
            return (struct vrt_codec_choice){ choice.kind, choice.encoder, pixfmt };
    }
    return (struct vrt_codec_choice){ .kind = NULL };
}

struct vrt_codec_choice vrt_codec_choose_hardware(enum vrt_hwaccel hwaccel, enum vrt_codec codec,
                                                  const struct vrt_frame_format *format)
{
    const char *name = vrt_hwaccel_encoder(hwaccel, codec);
    const enum AVPixelFormat plain = vrt_pixfmt_of(format);
    struct vrt_codec_choice choice = {
        .kind = name ? vrt_encoder_kind_find(name) : NULL,
        .encoder = name ? avcodec_find_encoder_by_name(name) : NULL,
    };

    if (!choice.kind || !choice.encoder || format->has_alpha ||
        !size_fits(choice.kind, format))
        return (struct vrt_codec_choice){ .kind = NULL };
    /* Surfaces hold what their kinds all hold. */
    choice.pixfmt = !choice.kind->takes_surfaces        ? pick_pixfmt(choice.encoder, plain, false)
                    : plain == AV_PIX_FMT_YUV420P       ? AV_PIX_FMT_NV12
                    : plain == AV_PIX_FMT_YUV420P10 && codec != VRT_CODEC_H264
                        ? AV_PIX_FMT_P010LE : AV_PIX_FMT_NONE;
    if (choice.pixfmt == AV_PIX_FMT_NONE)
        choice.kind = NULL;
    return choice;
}

/* Sets the depth to the encoder's next one. Return: whether there is one. */
static bool deepen(enum vrt_codec codec, struct vrt_frame_format *format)
{
    for (int depth = format->depth; depth <= 16; depth++) {
        struct vrt_frame_format candidate = *format;
        candidate.depth = depth;
        if (vrt_codec_choose(codec, &candidate).kind) {
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

/* Another layout than the input's. RGB and gray have full range. */
static void make_layout(enum vrt_layout layout, struct vrt_frame_format *format)
{
    if (layout == VRT_LAYOUT_YUV) {
        make_yuv(format);
        return;
    }
    format->layout = layout;
    format->full_range = true;
    format->color_space = layout == VRT_LAYOUT_GBR ? AVCOL_SPC_RGB : AVCOL_SPC_UNSPECIFIED;
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
    bool odd = vrt_codec_facts(codec)->even_only &&
               (format->width & mask_x || format->height & mask_y);

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

/* Y'CbCr becomes R'G'B', and gray where there is no gray. */
static void make_rgb(enum vrt_codec codec, struct vrt_frame_format *format)
{
    struct vrt_frame_format gray = *format;

    if (format->layout == VRT_LAYOUT_GRAY && deepen(codec, &gray))
        return;
    format->layout = VRT_LAYOUT_GBR;
    format->chroma_shift_x = format->chroma_shift_y = 0;
    format->color_space = AVCOL_SPC_RGB;
    format->full_range = true;
}

/* What a format can't hold of a sample is lost, where whoever named it must have known. */
static void make_shallow(const struct vrt_codec_facts *facts, struct vrt_frame_format *format,
                         struct vrt_warnings *warnings)
{
    if (!facts->max_depth || format->depth <= facts->max_depth)
        return;
    vrt_warnings_add(warnings, "%s holds %d bits per sample, and the input has %d: what is below "
                     "is lost; %s would keep it", facts->title, facts->max_depth, format->depth,
                     facts->instead);
    format->depth = facts->max_depth;
}

/* The range and matrix that the codec's players take for granted. */
static void make_usual(enum vrt_codec_colors colors, struct vrt_frame_format *format)
{
    if (colors == VRT_CODEC_COLORS_ANY)
        return;
    format->full_range = colors == VRT_CODEC_COLORS_JFIF;
    if (colors == VRT_CODEC_COLORS_BT709) {
        format->matrix = VRT_FRAME_MATRIX_BT709;
        format->color_space = vrt_matrix_number(format->matrix);
    }
    if (colors == VRT_CODEC_COLORS_JFIF) {
        format->matrix = VRT_FRAME_MATRIX_BT601;
        format->color_space = AVCOL_SPC_BT470BG;
        format->chroma_location = VRT_CHROMA_LOCATION_CENTER;
    }
}

/* Whether the codec holds pictures of this size. Return: 0; -ENOTSUP with a sentence. */
static int check_size(const struct vrt_encoder_pick *pick, struct vrt_error *error)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(pick->codec);
    const int side = VRT_MAX(pick->width, pick->height);

    if (side > facts->max_side)
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "output.format",
                          "%s holds at most %d pixels a side, and the result has %dx%d: use a "
                          "smaller scale%s", facts->title, facts->max_side, pick->width,
                          pick->height, side > vrt_codec_facts(VRT_CODEC_FFV1)->max_side
                                            ? "" : ", or FFV1");
    if (pick->width < facts->min_width || pick->height < facts->min_height)
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "output.format",
                          "%s holds no pictures smaller than %dx%d, and the result has %dx%d: use "
                          "%s", facts->title, facts->min_width, facts->min_height, pick->width,
                          pick->height, facts->instead);
    return 0;
}

/* Whether one of the codec's first `n` encoders takes frames of the format. */
static bool is_taken(const struct vrt_codec_facts *facts, int n, enum AVPixelFormat pixfmt)
{
    for (int i = 0; i < n; i++) {
        const AVCodec *encoder = avcodec_find_encoder_by_name(facts->encoders[i]);
        if (encoder && encoder_takes(encoder, pixfmt))
            return true;
    }
    return false;
}

/* The names of the formats that the codec's encoders take, for a sentence. */
static const char *list_pixfmts(const struct vrt_codec_facts *facts, bool has_alpha, char *text,
                                size_t size)
{
    size_t n = 0;

    text[0] = '\0';
    for (int i = 0; i < VRT_CODEC_ENCODERS_MAX && facts->encoders[i]; i++) {
        const AVCodec *encoder = avcodec_find_encoder_by_name(facts->encoders[i]);
        for (const enum AVPixelFormat *p = encoder ? vrt_av_encoder_pixfmts(encoder) : NULL;
             p && *p != AV_PIX_FMT_NONE && n < size; p++)
            if (pick_pixfmt(encoder, plain_of(*p, has_alpha), has_alpha) == *p &&
                !is_taken(facts, i, *p))
                n += (size_t)snprintf(text + n, size - n, "%s%s", n ? ", " : "",
                                      av_get_pix_fmt_name(*p));
    }
    return text;
}

void vrt_codec_find(enum vrt_codec codec, struct vrt_codec_found *ret_found)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(codec);
    const bool is_joined = facts->joined_by && vrt_codec_is_there(codec);
    size_t n = (size_t)snprintf(ret_found->encoders, sizeof(ret_found->encoders), "%s",
                                is_joined ? facts->joined_by : "");

    for (int i = 0; !facts->joined_by && i < VRT_CODEC_ENCODERS_MAX && facts->encoders[i]; i++)
        if (avcodec_find_encoder_by_name(facts->encoders[i]))
            n += (size_t)snprintf(ret_found->encoders + n, sizeof(ret_found->encoders) - n,
                                  "%s%s", n ? ", " : "", facts->encoders[i]);
    list_pixfmts(facts, false, ret_found->pixel_formats, sizeof(ret_found->pixel_formats));
}

/* The format that is asked for by FFmpeg's name. Return: 0; -ENOTSUP with a sentence. */
static int take_pixfmt(const struct vrt_encoder_pick *pick, struct vrt_frame_format *format,
                       struct vrt_error *error)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(pick->codec);
    const enum AVPixelFormat pixfmt = av_get_pix_fmt(pick->pixel_format);
    const enum AVPixelFormat plain = plain_of(pixfmt, format->has_alpha);
    struct vrt_frame_format wanted = *format;
    char shown[64], there[400];

    if (plain != AV_PIX_FMT_NONE && vrt_pixfmt_nearest(plain, &wanted) == 0) {
        const struct vrt_frame_format asked = wanted;
        wanted.layout = format->layout;
        if (asked.layout != format->layout)
            make_layout(asked.layout, &wanted);
        wanted.chroma_shift_x = asked.chroma_shift_x;
        wanted.chroma_shift_y = asked.chroma_shift_y;
        /* These names say it; of all others the range is the input's. */
        wanted.full_range |= strncmp(av_get_pix_fmt_name(pixfmt), "yuvj", 4) == 0;
        make_usual(facts->colors, &wanted);
        *format = wanted;
        const struct vrt_codec_choice choice =
            vrt_frame_format_is_valid(&wanted) ? vrt_codec_choose(pick->codec, &wanted)
                                               : (struct vrt_codec_choice){ .kind = NULL };
        if (choice.kind && (plain == pixfmt || choice.pixfmt == pixfmt))
            return 0;
    }
    return vrt_refuse(error, vrt_raise(-ENOTSUP), "output.format",
                      "%s cannot hold %dx%d pixels%s as %s: it has %s", facts->title, pick->width,
                      pick->height, format->has_alpha ? " with transparency" : "",
                      vrt_printable(pick->pixel_format, shown, sizeof(shown)),
                      list_pixfmts(facts, format->has_alpha, there, sizeof(there)));
}

/* The format that loses nothing of the input. Return: 0; -ENOTSUP with a sentence. */
static int keep_input(const struct vrt_encoder_pick *pick, struct vrt_frame_format *format,
                      struct vrt_warnings *warnings, struct vrt_error *error)
{
    const struct vrt_codec_facts *facts = vrt_codec_facts(pick->codec);

    make_shallow(facts, format, warnings);
    if (facts->yuv_only && format->layout != VRT_LAYOUT_YUV)
        make_yuv(format);
    if (facts->rgb_only && format->layout != VRT_LAYOUT_GBR)
        make_rgb(pick->codec, format);
    make_usual(facts->colors, format);
    const struct vrt_frame_format wanted = *format;
    if (!vrt_frame_format_is_valid(format) || !pick_chroma(pick->codec, format))
        return vrt_refuse(error, vrt_raise(-ENOTSUP), "output.format",
                          "%s cannot hold the %d bits per sample of the input%s: use %s",
                          facts->title, wanted.depth,
                          wanted.has_alpha ? " with transparency" : "",
                          wanted.has_alpha ? "FFV1 or ProRes" : facts->instead);
    if (format->chroma_shift_x + format->chroma_shift_y <
            wanted.chroma_shift_x + wanted.chroma_shift_y && facts->even_only &&
        (pick->width | pick->height) & 1)
        vrt_warnings_add(warnings, "the result is %dx%d, an odd size, for which %s must store "
                         "full colour (4:4:4): not every player shows that", pick->width,
                         pick->height, facts->title);
    return 0;
}

int vrt_encoder_pick_format(const struct vrt_encoder_pick *pick,
                            struct vrt_frame_format *ret_format, struct vrt_warnings *warnings,
                            struct vrt_error *error)
{
    struct vrt_frame_format format = *pick->input;

    int r = vrt_codec_check(pick->codec, error);
    if (r < 0)
        return vrt_fold(r);
    r = check_size(pick, error);
    if (r < 0)
        return vrt_fold(r);
    format.width = pick->width;
    format.height = pick->height;
    bool is_named = pick->pixel_format && pick->pixel_format[0];
    r = is_named ? take_pixfmt(pick, &format, error) : keep_input(pick, &format, warnings, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_format = format;
    return 0;
}
