/* SPDX-License-Identifier: MIT */

/* Planes as hardware wants them: chroma in pairs, deep samples at the top of their words. And what
 * goes with pictures, as the standards' bytes have it. */

#include <errno.h>
#include <libavutil/dovi_meta.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/mastering_display_metadata.h>
#include <libavutil/pixdesc.h>

#include "base/macro.h"
#include "frames/alpha.h"
#include "frames/av.h"
#include "frames/decode/side-data.h"
#include "frames/encode/pack.h"
#include "frames/metadata/hdr.h"
#include "frames/metadata/hdr10plus.h"
#include "frames/metadata/insert.h"
#include "tests/unit/test.h"

/* Odd sides: the last column and row of chroma are of half a pair. */
#define WIDTH 7
#define HEIGHT 5

static const struct {
    enum AVPixelFormat planar, packed;
    int bytes, shift;
} cases[] = {
    { AV_PIX_FMT_YUV420P, AV_PIX_FMT_NV12, 1, 0 },
    { AV_PIX_FMT_YUV420P10, AV_PIX_FMT_P010LE, 2, 6 },
};

static int width_of(int plane)
{
    return plane ? (WIDTH + 1) / 2 : WIDTH;
}

static int height_of(int plane)
{
    return plane ? (HEIGHT + 1) / 2 : HEIGHT;
}

static int value(int plane, int x, int y)
{
    return 10 + 60 * plane + 10 * y + x;
}

static int sample(const AVFrame *frame, int plane, int bytes, int x, int y)
{
    const uint8_t *at = frame->data[plane] + y * frame->linesize[plane] + x * bytes;

    return bytes == 1 ? *at : AV_RL16(at);
}

static AVFrame *make(enum AVPixelFormat pixfmt, int bytes)
{
    AVFrame *frame = av_frame_alloc();

    frame->width = WIDTH;
    frame->height = HEIGHT;
    frame->format = pixfmt;
    expect_int(av_frame_get_buffer(frame, 0), 0);
    for (int p = 0; p < 3; p++)
        for (int y = 0; y < height_of(p); y++)
            for (int x = 0; x < width_of(p); x++) {
                uint8_t *at = frame->data[p] + y * frame->linesize[p] + x * bytes;
                if (bytes == 1)
                    *at = (uint8_t)value(p, x, y);
                else
                    AV_WL16(at, (unsigned int)value(p, x, y));
            }
    return frame;
}

static void test_pairs(void)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const int bytes = cases[i].bytes;
        AVFrame *planar = make(cases[i].planar, bytes), *packed, *back;
        expect_int(vrt_pack(planar, NULL, cases[i].packed, &packed), 0);
        expect_int(packed->format, cases[i].packed);
        expect_int(vrt_pack(packed, NULL, cases[i].planar, &back), 0);
        for (int p = 0; p < 3; p++)
            for (int y = 0; y < height_of(p); y++)
                for (int x = 0; x < width_of(p); x++) {
                    const int column = p ? 2 * x + p - 1 : x;
                    expect_int(sample(packed, p ? 1 : 0, bytes, column, y),
                               value(p, x, y) << cases[i].shift);
                    expect_int(sample(back, p, bytes, x, y), value(p, x, y));
                }
        av_frame_free(&planar);
        av_frame_free(&packed);
        av_frame_free(&back);
    }
}

/* A pixel means what it did, or is refused. */
static void test_pixels(void)
{
    static const struct {
        const char *from, *to, *in, *out;       /* two bytes of each plane; of the first */
        size_t n;
    } rows[] = {
        { "gray9le", "gray9be", "\x2c\1", "\1\x2c", 2 },
        { "gray16le", "grayf32le", "\xff\xff", "\0\0\x80\x3f", 4 },
        { "gray", "ya8", "\7\0", "\7\xff", 2 }, { "gbrp", "bgr0", "g\0b\0r\0", "bgr\0", 4 },
        { "gray10le", "grayf32le", "\0\0" }, { "gray", "yuv420p", "\0\0" },
        { "yuv420p", "p010le", "\0\0\0\0\0\0" }, { "yuv420p", "nv16", "\0\0\0\0\0\0" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        VRT_CLEANUP(vrt_av_frame_freep) AVFrame *frame = av_frame_alloc(), *packed = NULL;
        frame->width = frame->height = 1;
        frame->format = av_get_pix_fmt(rows[i].from);
        expect_int(av_frame_get_buffer(frame, 0), 0);
        for (int p = 0; p < 3 && frame->data[p]; p++)
            memcpy(frame->data[p], rows[i].in + 2 * p, 2);
        fprintf(stderr, "  %s to %s\n", rows[i].from, rows[i].to);
        expect_int(vrt_pack(frame, NULL, av_get_pix_fmt(rows[i].to), &packed),
                   rows[i].n ? 0 : -EINVAL);
        expect_true(!rows[i].n || memcmp(packed->data[0], rows[i].out, rows[i].n) == 0);
    }
}

/* Three by two, with this alpha, of floats in 65535 parts; an index into as many colours. */
static AVFrame *make_alpha(const char *pixfmt, const int values[6])
{
    const AVPixFmtDescriptor *desc = av_pix_fmt_desc_get(av_get_pix_fmt(pixfmt));
    const AVComponentDescriptor *c = &desc->comp[desc->nb_components - 1];
    AVFrame *frame = av_frame_alloc();

    frame->width = 3;
    frame->height = 2;
    frame->format = av_get_pix_fmt(pixfmt);
    expect_int(av_frame_get_buffer(frame, 0), 0);
    for (int i = 0; i < 6; i++) {
        uint8_t *at = frame->data[c->plane] + i / 3 * frame->linesize[c->plane] + i % 3 * c->step +
                      c->offset;
        const float share = (float)values[i] / 65535;
        if (desc->flags & AV_PIX_FMT_FLAG_PAL) {
            frame->data[0][i / 3 * frame->linesize[0] + i % 3] = (uint8_t)i;
            AV_WN32(frame->data[1] + 4 * i, (uint32_t)values[i] << 24 | 0x123456);
        } else if (desc->flags & AV_PIX_FMT_FLAG_FLOAT) {
            memcpy(at, &share, sizeof(share));
        } else if (c->depth <= 8) {
            *at = (uint8_t)values[i];
        } else if (desc->flags & AV_PIX_FMT_FLAG_BE) {
            AV_WB16(at, (unsigned int)values[i]);
        } else {
            AV_WL16(at, (unsigned int)values[i]);
        }
    }
    return frame;
}

/* Transparency as a frame of its own, and deeper or less deep. */
static void test_alpha(void)
{
    static const struct {
        const char *pixfmt;
        int depth, values[6], wanted[6];
    } rows[] = {
        { "yuva420p", 8, { 0, 255, 128, 1, 254, 77 }, { 0, 255, 128, 1, 254, 77 } },
        { "rgba", 8, { 0, 255, 128, 1, 254, 77 }, { 0, 255, 128, 1, 254, 77 } },
        { "ya8", 8, { 0, 255, 128, 1, 254, 77 }, { 0, 255, 128, 1, 254, 77 } },
        { "yuva444p10le", 10, { 0, 1023, 512, 1, 2, 3 }, { 0, 1023, 512, 1, 2, 3 } },
        { "rgba64be", 16, { 0, 65535, 32768, 1, 2, 3 }, { 0, 65535, 32768, 1, 2, 3 } },
        { "gbrapf32le", 16, { 0, 65535, 32768, 1, -70, 70000 }, { 0, 65535, 32768, 1, 0, 65535 } },
        { "pal8", 8, { 0, 255, 128, 1, 254, 77 }, { 0, 255, 128, 1, 254, 77 } },
        { "rgb24", 8, { 0 }, { 255, 255, 255, 255, 255, 255 } },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        VRT_CLEANUP(vrt_av_frame_freep) AVFrame *picture = make_alpha(rows[i].pixfmt,
                                                                      rows[i].values);
        struct vrt_frame_format format = { .width = 3, .height = 2 };
        struct vrt_frame *frame;
        AVFrame *deep;

        fprintf(stderr, "  %s\n", rows[i].pixfmt);
        vrt_alpha_format(picture->format, &format);
        expect_int(format.depth, rows[i].depth);
        expect_true(format.layout == VRT_LAYOUT_GRAY && format.full_range);
        expect_int(vrt_alpha_extract(picture, &format, &frame), 0);
        struct vrt_frame_format like = format;
        like.depth = format.depth == 8 ? 16 : 8;
        expect_int(vrt_alpha_fit(frame, &like, &deep), 0);
        for (int k = 0; k < 6; k++) {
            const uint8_t *at = frame->planes[0].data +
                                (size_t)(k / 3) * frame->planes[0].stride_bytes;
            const uint8_t *other = deep->data[0] + k / 3 * deep->linesize[0];
            const int max = (1 << format.depth) - 1;
            expect_int(format.depth > 8 ? AV_RN16(at + 2 * (k % 3)) : at[k % 3], rows[i].wanted[k]);
            expect_int(format.depth == 8 ? AV_RN16(other + 2 * (k % 3)) : other[k % 3],
                       lrint(rows[i].wanted[k] * (format.depth == 8 ? 65535.0 : 255.0) / max));
        }
        av_frame_free(&deep);
        vrt_frame_unref(frame);
    }
}

/* Whether any of it isn't opaque; of what has none there is nothing to read. */
static void test_opaque(void)
{
    static const int opaque[6] = { 255, 255, 255, 255, 255, 255 };
    static const int last[6] = { 255, 255, 255, 255, 255, 254 };
    static const char *const pixfmts[] = { "rgba", "ya8", "pal8", "rgb24" };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(pixfmts); i++)
        for (int k = 0; k < 2; k++) {
            VRT_CLEANUP(vrt_av_frame_freep) AVFrame *picture = make_alpha(pixfmts[i],
                                                                          k ? last : opaque);
            VRT_CLEANUP(vrt_av_frame_freep) AVFrame *like = make_alpha("gray16le", opaque);
            VRT_CLEANUP(vrt_av_frame_freep) AVFrame *alpha = NULL;
            const bool shows = k && i < 3;
            fprintf(stderr, "  %s %d\n", pixfmts[i], k);
            expect_int(vrt_alpha_shows(picture), shows);
            expect_int(vrt_alpha_read(picture, like, &alpha), 0);
            expect_int(alpha != NULL, shows);
            if (!shows)
                continue;
            const uint8_t *row = alpha->data[0] + alpha->linesize[0];
            expect_true(AV_RL16(row + 4) < 65535 && AV_RL16(row + 4) > 65000);
            expect_int(AV_RL16(row), 65535);
        }
}

/* BT.2020's colours, and 1000 cd/m2. */
static const struct vrt_hdr hdr10 = {
    .display = {
        .red = { 34000, 16000 }, .green = { 13250, 34500 }, .blue = { 7500, 3000 },
        .white = { 15635, 16450 }, .max = 10000000, .min = 50,
    },
    .max_light = 1000, .average_light = 400,
};

#define BYTES(s) s, sizeof(s) - 1
#define H264_SET "\0\0\0\1\x67\x42" "\0\0\1\x68\1"
#define HEVC_SET "\0\0\0\1\x40\1\xc"
#define AV1_SET "\x12\0" "\xa\3\1\2\3"
#define POINTS_HEVC "\x33\xc2\x86\xc4\x1d\x4c\xb\xb8\x84\xd0\x3e\x80\x3d\x13\x40\x42"
/* A 3 where it would look like a unit's beginning. */
#define DISPLAY "\x89\x18" POINTS_HEVC "\0\x98\x96\x80\0\0\3\0\x32\x80"
#define LIGHT "\x90\4\3\xe8\1\x90\x80"
#define AV1_HDR "\x2a\x1a\2\xae\x14\x51\xec\x43\xd7\xb0\xa4\x26\x66\xf\x5c\x50\xd\x54\x39" \
    "\0\3\xe8\0\0\0\0\x52\x80" "\x2a\6\1\3\xe8\1\x90\x80"
#define A53 "\xb5\0\x31GA94\3\x43\xff\xfc\0\0"
#define A53_END "\3\0\0\4\x80\x80\xff\x80"
#define TAKEN "\x55\x55\x55\x55\x55"
#define TAKEN_25 TAKEN TAKEN TAKEN TAKEN TAKEN
#define TAKEN_125 TAKEN_25 TAKEN_25 TAKEN_25 TAKEN_25 TAKEN_25

/* Beside how many bytes of HDR10+ there are. */
enum { HDR = 1 << 9, LIGHT_ALONE = 2 << 9, CAPTIONS = 4 << 9, KEY = 8 << 9, HDR10PLUS = HDR - 1 };

/* The units, in front of the picture and nowhere else; refused where there is none. */
static void test_insert(void)
{
    static const struct {
        enum vrt_codec codec;
        int what;
        const char *packet;
        size_t size;
        size_t at;              /* where they are put */
        const char *units;      /* NULL: it holds no picture */
        size_t n_units;
    } rows[] = {
        { VRT_CODEC_H264, HDR | KEY, BYTES(H264_SET "\0\0\0\1\x65\x88"), 11,
          BYTES("\0\0\0\1\6" DISPLAY "\0\0\0\1\6" LIGHT) },
        { VRT_CODEC_HEVC, HDR | KEY, BYTES(HEVC_SET "\0\0\1\x26\1\xaf"), 7,
          BYTES("\0\0\0\1\x4e\1" DISPLAY "\0\0\0\1\x4e\1" LIGHT) },
        { VRT_CODEC_AV1, HDR | KEY, BYTES(AV1_SET "\x32\2\1\1"), 7, BYTES(AV1_HDR) },
        { VRT_CODEC_H264, LIGHT_ALONE | KEY, BYTES("\0\0\1\x65\x88"), 0,
          BYTES("\0\0\0\1\6" LIGHT) },
        { VRT_CODEC_H264, HDR, BYTES("\0\0\1\x41\x9a"), 0, BYTES("") },
        { VRT_CODEC_H264, CAPTIONS, BYTES("\0\0\1\x41\x9a"), 0,
          BYTES("\0\0\0\1\6\4\x14" A53 "\3" A53_END) },
        { VRT_CODEC_HEVC, CAPTIONS, BYTES("\0\0\1\2\1\xd0"), 0,
          BYTES("\0\0\0\1\x4e\1\4\x14" A53 "\3" A53_END) },
        { VRT_CODEC_AV1, CAPTIONS, BYTES("\x12\0\x32\2\1\1"), 2,
          BYTES("\x2a\x16\4" A53 A53_END) },
        { VRT_CODEC_H264, 300, BYTES("\0\0\1\5\x88"), 0,
          BYTES("\0\0\0\1\6\4\xff\x2d" TAKEN_125 TAKEN_125 TAKEN_25 TAKEN_25 "\x80") },
        { VRT_CODEC_H264, 255, BYTES("\0\0\1\5\x88"), 0,
          BYTES("\0\0\0\1\6\4\xff\0" TAKEN_125 TAKEN_125 TAKEN "\x80") },
        /* The last picture of several, behind what has an extension, or a longer number. */
        { VRT_CODEC_AV1, 300, BYTES("\x32\2\1\1" "\x36\0\x82\0\1\1" "\x7a\x80\0" "\x1a\1\1"
                                    "\x7a\1\1"), 13,
          BYTES("\x2a\xae\2\4" TAKEN_125 TAKEN_125 TAKEN_25 TAKEN_25 "\x80") },
        { VRT_CODEC_AV1, 126, BYTES("\x32\1\1"), 0,
          BYTES("\x2a\x80\1\4" TAKEN_125 "\x55\x80") },
        { VRT_CODEC_AV1, LIGHT_ALONE | KEY, BYTES("\x12\0\x30\1\1"), 2,
          BYTES("\x2a\6\1\3\xe8\1\x90\x80") },
        { VRT_CODEC_AV1, LIGHT_ALONE | KEY, BYTES("\x32\1\1\x2a\5\1\1"), 0,
          BYTES("\x2a\6\1\3\xe8\1\x90\x80") },
        { VRT_CODEC_FFV1, HDR | CAPTIONS | KEY, BYTES("\0\0\1\x65"), 0, BYTES("") },
        { VRT_CODEC_H264, HDR | KEY, BYTES(H264_SET "\0\0\1"), 0, NULL, 0 },
        { VRT_CODEC_H264, HDR | KEY, BYTES("\0\0\2\x65\x88"), 0, NULL, 0 },
        { VRT_CODEC_HEVC, HDR | KEY, BYTES(HEVC_SET), 0, NULL, 0 },
        { VRT_CODEC_AV1, HDR | KEY, BYTES(AV1_SET), 0, NULL, 0 },
        { VRT_CODEC_AV1, HDR | KEY, BYTES("\xa\x7f\x32"), 0, NULL, 0 },
    };
    static const uint8_t captions[] = { 0xfc, 0, 0, 3, 0, 0, 4, 0x80, 0x80 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const struct vrt_hdr light = { .max_light = 1000, .average_light = 400 };
        const struct vrt_hdr hdr = rows[i].what & HDR ? hdr10 : light;
        struct vrt_frame_extra extra = { .n_captions = rows[i].what & CAPTIONS ? 9 : 0,
                                         .n_hdr10plus = rows[i].what & HDR10PLUS };
        VRT_CLEANUP(vrt_av_packet_freep) AVPacket *packet = av_packet_alloc();
        const int rest = (int)(rows[i].size - rows[i].at);

        fprintf(stderr, "  row %zu\n", i);
        memcpy(extra.captions, captions, sizeof(captions));
        memset(extra.hdr10plus, 0x55, 300);
        expect_int(av_new_packet(packet, (int)rows[i].size), 0);
        memcpy(packet->data, rows[i].packet, rows[i].size);
        packet->flags = rows[i].what & KEY ? AV_PKT_FLAG_KEY : 0;
        expect_int(vrt_metadata_insert(rows[i].codec, packet, rows[i].what & CAPTIONS ? NULL : &hdr,
                                       &extra), rows[i].units ? 0 : -EBADMSG);
        if (!rows[i].units)
            continue;
        expect_int(packet->size, rows[i].size + rows[i].n_units);
        expect_int(memcmp(packet->data, rows[i].packet, rows[i].at), 0);
        expect_int(memcmp(packet->data + rows[i].at, rows[i].units, rows[i].n_units), 0);
        expect_int(memcmp(packet->data + packet->size - rest, rows[i].packet + rows[i].at,
                          (size_t)rest), 0);
    }
}

/* A number of the message: so many bits, and what they are. */
struct field {
    int n;
    unsigned int value;
};

static void expect_fields(const struct vrt_frame_extra *extra, const struct field *fields, size_t n)
{
    int at = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned int value = 0;
        for (int k = 0; k < fields[i].n; k++, at++)
            value = value << 1 | (extra->hdr10plus[at / 8] >> (7 - at % 8) & 1U);
        if (value != fields[i].value)
            test_fail("field %zu is %u, not %u", i, value, fields[i].value);
    }
    expect_int(extra->n_hdr10plus, (at + 7) / 8);
    for (; at < 8 * extra->n_hdr10plus; at++)
        expect_int(extra->hdr10plus[at / 8] >> (7 - at % 8) & 1, 0);
}

#define HEAD { 8, 181 }, { 16, 60 }, { 16, 1 }, { 8, 4 }

/* With all that may be there, and with as little. */
static void test_hdr10plus(void)
{
    static const struct field full[] = {
        HEAD, { 8, 1 }, { 2, 1 }, { 27, 400 }, { 1, 1 }, { 5, 2 }, { 5, 3 }, { 4, 1 }, { 4, 2 },
        { 4, 3 }, { 4, 4 }, { 4, 5 }, { 4, 6 }, { 17, 99000 }, { 17, 1 }, { 17, 65536 },
        { 17, 1234 }, { 4, 2 }, { 7, 50 }, { 17, 7000 }, { 7, 99 }, { 17, 9000 }, { 10, 7 },
        { 1, 1 }, { 5, 1 }, { 5, 2 }, { 4, 14 }, { 4, 15 }, { 1, 1 }, { 12, 600 }, { 12, 700 },
        { 4, 3 }, { 10, 100 }, { 10, 200 }, { 10, 1023 }, { 1, 1 }, { 6, 33 },
    };
    static const struct field bare[] = {
        HEAD, { 8, 0 }, { 2, 1 }, { 27, 10000 }, { 1, 0 }, { 17, 0 }, { 17, 0 }, { 17, 0 },
        { 17, 0 }, { 4, 0 }, { 10, 0 }, { 1, 0 }, { 1, 0 }, { 1, 0 },
    };
    static AVDynamicHDRPlus found = {
        .application_version = 1, .num_windows = 1,
        .targeted_system_display_maximum_luminance = { 400, 1 },
        .targeted_system_display_actual_peak_luminance_flag = 1,
        .num_rows_targeted_system_display_actual_peak_luminance = 2,
        .num_cols_targeted_system_display_actual_peak_luminance = 3,
        .targeted_system_display_actual_peak_luminance = {
            { { 1, 15 }, { 2, 15 }, { 3, 15 } }, { { 4, 15 }, { 5, 15 }, { 6, 15 } },
        },
        .mastering_display_actual_peak_luminance_flag = 1,
        .num_rows_mastering_display_actual_peak_luminance = 1,
        .num_cols_mastering_display_actual_peak_luminance = 2,
        .mastering_display_actual_peak_luminance = { { { 14, 15 }, { 15, 15 } } },
        .params = { {
            .maxscl = { { 99000, 100000 }, { 1, 100000 }, { 65536, 100000 } },
            .average_maxrgb = { 1234, 100000 },
            .num_distribution_maxrgb_percentiles = 2,
            .distribution_maxrgb = { { 50, { 7000, 100000 } }, { 99, { 9000, 100000 } } },
            .fraction_bright_pixels = { 7, 1000 },
            .tone_mapping_flag = 1, .knee_point_x = { 600, 4095 }, .knee_point_y = { 700, 4095 },
            .num_bezier_curve_anchors = 3,
            .bezier_curve_anchors = { { 100, 1023 }, { 200, 1023 }, { 1023, 1023 } },
            .color_saturation_mapping_flag = 1, .color_saturation_weight = { 33, 8 },
        } },
    };
    static AVDynamicHDRPlus little = {
        .num_windows = 1, .targeted_system_display_maximum_luminance = { 10000, 1 },
    };
    struct vrt_frame_extra extra = { .n_captions = 0 };

    expect_true(vrt_hdr10plus_write(&found, &extra));
    expect_fields(&extra, full, VRT_ARRAY_SIZE(full));
    expect_true(vrt_hdr10plus_write(&little, &extra));
    expect_fields(&extra, bare, VRT_ARRAY_SIZE(bare));
    found.num_windows = 2;
    expect_true(!vrt_hdr10plus_write(&found, &extra));
}

static void expect_hdr(const struct vrt_hdr *hdr, const struct vrt_hdr *wanted)
{
    expect_true(memcmp(hdr, wanted, sizeof(*hdr)) == 0);
}

/* What a stream is told it says again; what it doesn't say its frame may. */
static void test_hdr(void)
{
    AVFormatContext *format = avformat_alloc_context();
    AVFrame *silent = av_frame_alloc(), *told = av_frame_alloc();
    AVMasteringDisplayMetadata *display = av_mastering_display_metadata_create_side_data(told);
    AVContentLightMetadata *light = av_content_light_metadata_create_side_data(told);
    struct vrt_hdr rows[6], read;

    for (int i = 0; i < 6; i++)
        rows[i] = hdr10;
    memset(&rows[1].display, 0, sizeof(rows[1].display));
    rows[2].display.max = rows[2].display.min = rows[2].max_light = 0;
    rows[3] = (struct vrt_hdr){ .display = { .max = INT32_MAX, .min = 1 }, .average_light = 1 };
    rows[4] = (struct vrt_hdr){ .display = { .white = { 0, 1 }, .max = 1 } };
    rows[5] = (struct vrt_hdr){ .max_light = 0 };
    for (int i = 0; i < 6; i++) {
        AVStream *stream = avformat_new_stream(format, NULL);
        expect_int(vrt_hdr_write(&rows[i], stream), 0);
        vrt_hdr_read(stream, silent, &read);
        expect_hdr(&read, &rows[i]);
    }
    AVStream *stream = avformat_new_stream(format, NULL);
    *light = (AVContentLightMetadata){ .MaxCLL = 70000, .MaxFALL = 65536 };
    *display = (AVMasteringDisplayMetadata){ .has_luminance = 1, .max_luminance = { 1000, 1 },
                                             .min_luminance = { 1, 10000 } };
    vrt_hdr_read(stream, told, &read);
    expect_hdr(&read, &(struct vrt_hdr){ .display = { .max = 10000000, .min = 1 },
                                         .max_light = 65535, .average_light = 65535 });
    /* What can't be is unknown, and what is said beside it isn't. */
    static const AVRational wrong[][2] = {
        { { 1000, 1 }, { 1, 0 } }, { { -1, 1 }, { 0, 1 } }, { { 1000, -1 }, { 0, 1 } },
        { { 429497, 1 }, { 0, 1 } }, { { 1, 2 }, { 1, 1 } },
    };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(wrong); i++) {
        display->max_luminance = wrong[i][0];
        display->min_luminance = wrong[i][1];
        vrt_hdr_read(stream, told, &read);
        expect_hdr(&read, &(struct vrt_hdr){ .max_light = 65535, .average_light = 65535 });
    }
    expect_int(vrt_hdr_write(&hdr10, stream), 0);
    vrt_hdr_read(stream, told, &read);
    expect_hdr(&read, &hdr10);
    av_frame_free(&silent);
    av_frame_free(&told);
    avformat_free_context(format);
}

/* What the container says of Dolby Vision: NULL: nothing is said of it. */
static void test_dolby(void)
{
    static const struct {
        int profile, compatibility;
        const char *says;
        bool is_refused;
    } rows[] = {
        { 5, 0, "profile 5", true }, { 10, 0, "profile 10", true },
        { 10, 1, "(profile 10.1): what remains is the HDR10", false },
        { 8, 0, "(profile 8.0): what remains is the HDR10", false },
        { 8, 2, "the SDR", false }, { 8, 4, "the HLG", false },
    };
    const struct vrt_source source = { .name = "clip" };
    AVFormatContext *format = avformat_alloc_context();
    AVFrame *frame = av_frame_alloc();
    size_t size;
    AVDOVIMetadata *made = av_dovi_metadata_alloc(&size);
    AVFrameSideData *data = av_frame_new_side_data(frame, AV_FRAME_DATA_DOVI_METADATA, size);

    memcpy(data->data, made, size);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const AVDOVIDecoderConfigurationRecord record = {
            .dv_profile = (uint8_t)rows[i].profile,
            .dv_bl_signal_compatibility_id = (uint8_t)rows[i].compatibility,
        };
        const struct vrt_reader_watch watch = { &source, avformat_new_stream(format, NULL) };
        struct vrt_reader_info info = { .n_frames = 0 };
        struct vrt_error error = { .id = NULL }, other = error;
        fprintf(stderr, "  row %zu\n", i);
        expect_int(vrt_side_data_check(&info, &watch, NULL, &error), 0);
        /* Then a frame may tell of it: of IPT by a 2. */
        av_dovi_get_color((AVDOVIMetadata *)(void *)data->data)->signal_color_space = (uint8_t)i;
        expect_int(vrt_side_data_check(&info, &watch, frame, &other), i == 2 ? -ENOTSUP : 0);
        expect_true(i != 2 || strstr(other.message, "Dolby Vision of profile 5,"));
        expect_int(info.warnings.n, 0);
        expect_int(vrt_av_stream_add_side_data(watch.stream, AV_PKT_DATA_DOVI_CONF,
                                               (const uint8_t *)&record, sizeof(record)), 0);
        expect_int(vrt_side_data_check(&info, &watch, frame, &error),
                   rows[i].is_refused ? -ENOTSUP : 0);
        expect_int(info.warnings.n, !rows[i].is_refused);
        expect_contains(rows[i].is_refused ? error.message : info.warnings.sentences[0],
                        rows[i].says);
    }
    av_free(made);
    av_frame_free(&frame);
    avformat_free_context(format);
}

static void give(AVFrame *frame, enum AVFrameSideDataType type, size_t size)
{
    AVFrameSideData *data = av_frame_new_side_data(frame, type, size);

    expect_true(data != NULL);
    memset(data->data, 1, size);
}

/* What a frame brings is taken as far as it can be, and what isn't kept is told once. */
static void test_carried(void)
{
    static const struct {
        bool keeps_extra, drops_hdr;
        int n_captions, n_windows, n_warnings;
        const char *says;
    } rows[] = {
        { true, false, 6, 1, 1, "HDR Vivid metadata is dropped" }, { true, true, 6, 1, 0, NULL },
        { false, false, 6, 1, 3, "HDR10+ metadata is dropped: H.264" },
        { false, true, 6, 1, 1, "captions in the pictures' data" },
        { true, false, 7, 2, 2, "HDR Vivid" }, { true, true, 96, 2, 0, NULL },
    };
    AVFormatContext *format = avformat_alloc_context();
    AVStream *stream = avformat_new_stream(format, NULL);

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_reader_watch watch = { .stream = stream, .keeps_extra = rows[i].keeps_extra,
                                          .drops_hdr = rows[i].drops_hdr };
        struct vrt_reader_info info = { .n_frames = 0 };
        struct vrt_frame_extra extra = { .n_captions = 0 };
        AVFrame *frame = av_frame_alloc();
        AVDynamicHDRPlus *plus = av_dynamic_hdr_plus_create_side_data(frame);
        plus->num_windows = (uint8_t)rows[i].n_windows;
        fprintf(stderr, "  row %zu\n", i);
        give(frame, AV_FRAME_DATA_A53_CC, (size_t)rows[i].n_captions);
        give(frame, AV_FRAME_DATA_DYNAMIC_HDR_VIVID, 8);
        for (int k = 0; k < 2; k++)
            vrt_side_data_watch(&info, &watch, frame, k);
        expect_int(info.warnings.n, rows[i].n_warnings);
        if (rows[i].says)
            expect_contains(info.warnings.sentences[0], rows[i].says);
        vrt_side_data_take(frame, &extra);
        expect_int(extra.n_captions, rows[i].n_captions == 6 ? 6 : 0);
        expect_int(extra.captions[5], rows[i].n_captions == 6);
        expect_int(extra.n_hdr10plus > 0, rows[i].n_windows == 1);
        /* HDR10's numbers, if they are others than the first: also once. */
        av_mastering_display_metadata_create_side_data(frame)->has_luminance = 0;
        av_content_light_metadata_create_side_data(frame)->MaxCLL = 9;
        for (int k = 0; k < 2; k++) {
            info.warnings.n = 0;
            info.format.hdr.max_light = 9;
            vrt_side_data_watch(&info, &watch, frame, 2);
            expect_int(info.warnings.n, 0);
            info.format.hdr.max_light = 8;
            vrt_side_data_watch(&info, &watch, frame, 2);
            expect_int(info.warnings.n, k == 0 && !rows[i].drops_hdr);
        }
        av_frame_free(&frame);
    }
    avformat_free_context(format);
}

TEST_MAIN(
    { "pairs", test_pairs }, { "pixels", test_pixels }, { "alpha", test_alpha },
    { "opaque", test_opaque }, { "insert", test_insert }, { "hdr10plus", test_hdr10plus },
    { "hdr", test_hdr }, { "dolby", test_dolby }, { "carried", test_carried },
)
