/* SPDX-License-Identifier: MIT */

/*
 * Every codec in every container: it is refused at once, or what comes out has the frames that
 * went in, as pictures and in time, however the video was cut into segments and however often.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/frames/frames-restore.h"
#include "frames/encode/segment.h"
#include "frames/join/join-loops.h"
#include "tests/unit/test.h"

#define YUV VRT_LAYOUT_YUV
#define GBR VRT_LAYOUT_GBR
#define GRAY VRT_LAYOUT_GRAY

/* Frames that each takes as they are, and decibels that are left at least. */
struct input {
    enum vrt_codec codec;
    const char *pixfmt, *colors;
    int quality;
    double psnr_db;
    const char *size;           /* NULL: 256x144, in every container; else in .mkv alone */
};

#define BT709 "-color_range tv -colorspace bt709"
#define FULL "-color_range pc -chroma_sample_location topleft -colorspace "

static const struct input inputs[] = {
    { VRT_CODEC_H264, "yuv420p", BT709, 4, 42 },
    { VRT_CODEC_HEVC, "yuv420p10le", BT709, 4, 42 },
    { VRT_CODEC_FFV1, "yuv422p", BT709 " -color_primaries bt709 -color_trc bt709", VRT_UNKNOWN,
      100 },
    { VRT_CODEC_AV1, "yuv420p10le", BT709, 10, 42 },
    { VRT_CODEC_AV1, "yuv422p", BT709, 10, 42 },        /* by the second of its encoders */
    { VRT_CODEC_VP9, "yuv420p", BT709, 4, 42 },
    { VRT_CODEC_PRORES, "yuv422p10le", BT709, VRT_UNKNOWN, 42 },
    { VRT_CODEC_DNXHR, "yuv422p", BT709, VRT_UNKNOWN, 42 },
    { VRT_CODEC_MJPEG, "yuvj420p", "-c:v mjpeg -q:v 2", 2, 42 },
    { VRT_CODEC_H264, "yuv420p", FULL "smpte170m -color_primaries bt470bg -color_trc gamma28", 4,
      42, "128x96" },
    { VRT_CODEC_H264, "yuv420p10le", "-color_range tv -colorspace bt2020nc", 4, 42, "128x96" },
    { VRT_CODEC_H264, "yuv422p", "-color_range tv", 4, 42, "128x95" },
    { VRT_CODEC_H264, "yuv422p10le", "-color_range tv", 4, 42, "128x95" },
    { VRT_CODEC_H264, "yuv444p", "-color_range tv", 4, 42, "127x95" },
    { VRT_CODEC_H264, "yuv444p10le", "-color_range pc", 4, 42, "127x95" },
    { VRT_CODEC_HEVC, "yuv420p", BT709, 4, 42, "128x96" },
    { VRT_CODEC_HEVC, "yuv420p10le", FULL "bt2020nc -color_primaries bt2020 -color_trc bt2020-10",
      4, 42, "128x96" },
    { VRT_CODEC_HEVC, "yuv422p10le", "-color_range tv", 4, 42, "128x95" },
    { VRT_CODEC_HEVC, "yuv444p", "-color_range tv", 4, 42, "127x95" },
    { VRT_CODEC_HEVC, "yuv420p12le", "-color_range tv", 4, 42, "128x96" },
};

/* Files of pictures have no place for a film: see e2e/test_pictures.py. */
static bool is_of_pictures(enum vrt_codec codec)
{
    return vrt_container_has_own_codec(vrt_codec_facts(codec)->container);
}

static const char *make_input(const struct input *input)
{
    return fixture_make("in.mkv", "-f lavfi -i testsrc2=size=%s:rate=25 -frames:v 12 -pix_fmt %s "
                        "-c:v ffv1 -strict -2 %s", input->size ? input->size : "256x144",
                        input->pixfmt, input->colors);
}

/* Of the pictures of in.mkv against those of the file, in the format `full` where that has full
 * range: ffmpeg takes it for another than that of decoders that say so by the format's name. */
static double measure_psnr(const char *name, const char *full)
{
    const char *said = fixture_run("ffmpeg -nostdin -i in.mkv -i %s -lavfi '%s%s%spsnr' -f null - "
                                   "2>&1 | grep -o 'average:.*' | cut -d: -f2 | cut -d' ' -f1",
                                   name, full ? "[1]scale=in_range=pc:out_range=pc,format=" : "",
                                   full ? full : "", full ? "[b];[0][b]" : "");

    return strtod(said, NULL);
}

/* The time of each frame, in milliseconds from the first on. */
static const char *list_times(const char *name)
{
    return fixture_run("ffprobe -v error -select_streams v -show_entries "
                       "frame=best_effort_timestamp_time -of csv=p=0 %s | awk -F, '$1 == \"\" "
                       "{ next } !n++ { b = $1 } { printf \"%%.0f \", ($1 - b) * 1000 }'", name);
}

/* A file has the frames' layout and colours. */
static void expect_format(const char *name, const struct vrt_frame_format *wanted)
{
    VRT_CLEANUP(vrt_reader_closep) struct vrt_reader *reader = NULL;
    VRT_CLEANUP(vrt_closep) int fd = fixture_open(fixture_path(name));
    const struct vrt_reader_params params = { .n_threads = 1 };
    struct vrt_error error = { 0 };

    expect_int(vrt_reader_open(fd, &params, &reader, &error), 0);
    const struct vrt_frame_format *format = &vrt_reader_info(reader)->format;
    expect_true(vrt_frame_format_same_planes(format, wanted));
    expect_int(format->full_range, wanted->full_range);
    expect_int(format->color_space, wanted->color_space);
    expect_int(format->primaries, wanted->primaries);
    expect_int(format->transfer, wanted->transfer);
    expect_int(format->chroma_location, wanted->chroma_location);
}

/* Of `in`, which is the input. `twice`: the same comes out a second time, with nothing left of what
 * was longer in its place. */
static void check_pair(const struct input *input, const char *in, enum vrt_container container,
                       bool twice)
{
    const enum vrt_codec codec = input->codec;
    const struct restore_params params = {
        .codec = codec, .quality = input->quality, .segment_frames = 5, .strict = true,
        .n_threads = 4,
    };
    struct restore_result result;
    struct vrt_error error = { 0 };
    char name[32];

    snprintf(name, sizeof(name), "out.%s", vrt_container_name(container));
    fprintf(stderr, "  %s in .%s\n", vrt_codec_names[codec], vrt_container_name(container));
    if (!vrt_container_holds(container, codec)) {
        expect_int(restore(in, fixture_path(name), &params, &result, &error), -EINVAL);
        expect_str(error.id, "output.container");
        expect_contains(error.message, vrt_codec_facts(codec)->title);
        return;
    }
    restore_ok(in, fixture_path(name), &params, &result);
    expect_int(result.joined.n_frames, 12);
    expect_int(result.warnings.n + result.joined.warnings.n, 0);
    expect_str(list_times(name), "0 40 80 120 160 200 240 280 320 360 400 440 ");
    double psnr_db = measure_psnr(name, strstr(input->colors, "range pc") ? input->pixfmt : NULL);
    fprintf(stderr, "    %.1f dB\n", psnr_db);
    expect_true(psnr_db >= input->psnr_db);
    if (container == VRT_CONTAINER_MKV)
        expect_format(name, &result.info.format);
    if (twice) {
        fixture_run("mv %s first && head -c 3000000 /dev/zero > %s", name, name);
        restore_ok(in, fixture_path(name), &params, &result);
        fixture_run("cmp %s first", name);
    }
}

static void test_pairs(void)
{
    bool tried[VRT_CODEC_COUNT] = { false };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(inputs); i++) {
        tried[inputs[i].codec] = true;
        if (!vrt_codec_is_there(inputs[i].codec)) {
            fprintf(stderr, "  no %s here\n", vrt_codec_names[inputs[i].codec]);
            continue;
        }
        const char *in = make_input(&inputs[i]);
        for (int container = 0, n_held = 0; container < VRT_CONTAINER_COUNT; container++) {
            if (inputs[i].size && container != VRT_CONTAINER_MKV)
                continue;
            n_held += vrt_container_holds(container, inputs[i].codec);
            check_pair(&inputs[i], in, (enum vrt_container)container, i < 2 || n_held == 1);
        }
    }
    for (int codec = 0; codec < VRT_CODEC_COUNT; codec++)
        expect_true(tried[codec] || is_of_pictures((enum vrt_codec)codec));
}

static const struct vrt_frame_format small = {
    .width = 256, .height = 128, .depth = 8, .layout = YUV, .chroma_shift_x = 1,
    .chroma_shift_y = 1, .matrix = VRT_FRAME_MATRIX_BT709, .color_space = 1,
};

static struct vrt_encoder_params small_params(enum vrt_codec codec)
{
    const struct vrt_encoder_pick pick = { codec, &small, 256, 128 };
    struct vrt_encoder_params params = { .codec = codec, .quality = VRT_UNKNOWN, .n_threads = 1,
                                         .time_base = { 1, 25 }, .fps = { 25, 1 } };
    struct vrt_warnings warnings = { 0 };
    struct vrt_error error = { 0 };

    expect_int(vrt_encoder_pick_format(&pick, &params.format, &warnings, &error), 0);
    return params;
}

/* What encoders are told in their own words: `said` is of the refusal; NULL: it is taken. */
static void test_options(void)
{
    static const struct {
        enum vrt_codec codec;
        const char *options, *said;
    } cases[] = {
        { VRT_CODEC_H264, "", NULL }, { VRT_CODEC_H264, "tune=film bf=2", NULL },
        { VRT_CODEC_H264, "x264-params=aq-mode=3:deblock=-1,-1", NULL },
        { VRT_CODEC_H264, " wibble=1", "libx264 has no option wibble" },
        { VRT_CODEC_H264, "film", "key=value" },
        { VRT_CODEC_H264, "bf=many", "libx264 takes no bf=many" },
        { VRT_CODEC_H264, "tune=opera", "with the options" },
        { VRT_CODEC_H264, "threads=3", "option threads is vrtd's to set" },
        { VRT_CODEC_H264, "g=12", "option g is" },
        { VRT_CODEC_H264, "crf=12", "chosen by --quality" },
        { VRT_CODEC_H264, "qp=12", "chosen by --quality" },
        { VRT_CODEC_H264, "color_range=pc", "chosen by the colours" },
        { VRT_CODEC_H264, "x264-params=aq-mode=3:wibble=1", "x264-params=aq-mode=3:wibble=1" },
        { VRT_CODEC_H264, "x264-params=qpfile=/etc/passwd", "libx264 doesn't know all" },
        { VRT_CODEC_HEVC, "x265-params=recon=/tmp/x", "libx265 doesn't know all" },
        { VRT_CODEC_HEVC, "x265-params=aq-mode=lots", "libx265 doesn't know all" },
        { VRT_CODEC_HEVC, "x265-params=aq-mode=2", NULL },
        { VRT_CODEC_AV1, "svtav1-params=wibble=1", "doesn't know all" },
        { VRT_CODEC_H264, "x264-params=aq-mode=3:keyint=9", "option keyint is" },
        { VRT_CODEC_HEVC, "x265-params=no-wpp=1", "option wpp is" },
        { VRT_CODEC_AV1, "svtav1-params=lp=9", "option lp is" },
        { VRT_CODEC_VP9, "row-mt=1", "option row-mt is" },
        { VRT_CODEC_VP9, "tune-content=film", NULL }, { VRT_CODEC_PRORES, "profile=lt", NULL },
        { VRT_CODEC_PRORES, "profile=worst", "prores_ks takes no profile=worst" },
        { VRT_CODEC_DNXHR, "profile=dnxhr_sq", NULL },
        { VRT_CODEC_DNXHR, "profile=dnxhr_444", "with the options" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_error error = { 0 };
        if (!vrt_codec_is_there(cases[i].codec))
            continue;
        struct vrt_encoder_params params = small_params(cases[i].codec);
        params.options = cases[i].options;
        fprintf(stderr, "  %s\n", cases[i].options);
        int r = vrt_encoder_try(&params, &error);
        expect_true(cases[i].said ? r < 0 : r == 0);
        if (cases[i].said) {
            expect_str(error.id, "output.options");
            expect_contains(error.message, cases[i].said);
        }
    }
}

/* The same bytes twice, and not more of them than there should be. */
static void check_bitrate(enum vrt_codec codec)
{
    const struct restore_params params = {
        .codec = codec, .quality = VRT_UNKNOWN, .bitrate = 300000, .segment_frames = 20,
        .strict = true,
    };
    const char *in = fixture_make("in.mkv", "-f lavfi -i testsrc2=size=256x144:rate=25 -frames:v "
                                  "50 -pix_fmt yuv420p -color_range tv -c:v ffv1");
    struct restore_result result;

    restore_ok(in, fixture_path("out.mkv"), &params, &result);
    fprintf(stderr, "    %lld bytes\n", (long long)result.joined.size_bytes);
    expect_true(result.joined.size_bytes < 2 * 300000 / 8 * 2);
    fixture_run("cp out.mkv first");
    restore_ok(in, fixture_path("out.mkv"), &params, &result);
    fixture_run("cmp out.mkv first");
}

/* A segment of a frame. */
static void encode_one(const struct vrt_encoder_params *params, int fd)
{
    VRT_CLEANUP(vrt_encoder_freep) struct vrt_encoder *encoder = NULL;
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    struct vrt_error error = { 0 };
    int64_t size_bytes;

    expect_int(vrt_frame_new(&params->format, &frame), 0);
    for (int i = 0; i < vrt_frame_format_n_planes(&params->format); i++)
        memset(frame->planes[i].data, 90, (size_t)frame->planes[i].stride_bytes);
    expect_int(vrt_encoder_new(params, fd, &encoder, &error), 0);
    expect_int(vrt_encoder_send(encoder, frame, &error), 0);
    expect_int(vrt_encoder_finish(encoder, &size_bytes, &error), 0);
}

/* Of one video, whatever each has of it: the head stays. */
static void test_bitrates(void)
{
    static const int64_t bitrates[] = { 60000, 500000, 3000000, 20000000 };
    const char *path = fixture_path("one.seg");

    for (int codec = 0; codec < VRT_CODEC_COUNT; codec++) {
        if (!vrt_codec_is_there((enum vrt_codec)codec) ||
            !vrt_codec_facts((enum vrt_codec)codec)->has_bitrate)
            continue;
        struct vrt_encoder_params params = small_params((enum vrt_codec)codec);
        for (size_t i = 0; i < VRT_ARRAY_SIZE(bitrates); i++) {
            struct vrt_error error = { 0 };
            struct vrt_encoder_params other = params;
            const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
            fprintf(stderr, "  %s %lld\n", vrt_codec_names[codec], (long long)bitrates[i]);
            params.max_bitrate = 2 * bitrates[i];
            other = params;
            other.bitrate = 2 * bitrates[i];
            encode_one(&other, fd);
            params.bitrate = bitrates[i];
            expect_int(vrt_encoder_check_segment(&params, fd, &error), 0);
            other.bitrate = bitrates[i] / 2;
            encode_one(&other, fd);
            expect_int(vrt_encoder_check_segment(&params, fd, &error), 0);
            close(fd);
        }
    }
}

/* What a segment was encoded with is what it is asked to go on with, or it isn't taken. */
static void test_other_segments(void)
{
    VRT_CLEANUP(vrt_segment_reader_closep) struct vrt_segment_reader *reader = NULL;
    VRT_CLEANUP(vrt_closep) int fd = open(fixture_path("other.seg"), O_RDWR | O_CREAT, 0600);
    struct vrt_error error = { 0 };
    struct vrt_encoder_params params[7];

    for (int i = 0; i < 7; i++)
        params[i] = small_params(i == 1 ? VRT_CODEC_HEVC : VRT_CODEC_H264);
    params[2].time_base.num = 2;
    params[3].time_base.den = 50;
    params[4].format.width = 128;
    params[5].format.height = 64;
    params[6].options = "x264-params=ref=5";
    encode_one(&params[0], fd);
    for (int i = 0; i < 7; i++) {
        fprintf(stderr, "  segment %d\n", i);
        expect_int(vrt_encoder_check_segment(&params[i], fd, &error), i ? -EBADMSG : 0);
    }
    /* Of 4:2:2 its encoder's head comes late. */
    params[0] = small_params(VRT_CODEC_AV1);
    params[0].format.chroma_shift_y = 0;
    encode_one(&params[0], fd);
    expect_int(vrt_segment_reader_open(fd, 1, &reader, &error), 0);
    expect_true(reader->extradata_size > 4);
}

static void test_bitrate(void)
{
    for (int codec = 0; codec < VRT_CODEC_COUNT; codec++) {
        struct vrt_error error = { 0 };
        if (!vrt_codec_is_there((enum vrt_codec)codec))
            continue;
        struct vrt_encoder_params params = small_params((enum vrt_codec)codec);
        params.bitrate = 500000;
        fprintf(stderr, "  %s\n", vrt_codec_names[codec]);
        bool has = vrt_codec_facts((enum vrt_codec)codec)->has_bitrate;
        expect_int(vrt_encoder_try(&params, &error), has ? 0 : -EINVAL);
        if (has)
            check_bitrate((enum vrt_codec)codec);
        params.quality = 20;
        error = (struct vrt_error){ 0 };
        expect_int(vrt_encoder_try(&params, &error), -EINVAL);
        expect_str(error.id, "output.quality");
    }
}

/* What is asked for by FFmpeg's name. */
static void test_pixfmts(void)
{
    static const struct {
        enum vrt_codec codec;
        const char *name;
        int layout, depth, shift_x, shift_y;        /* depth 0: refused */
        bool full_range;                            /* YUV's input hasn't */
        enum vrt_layout in;                         /* gray, the first of them: YUV */
        bool has_alpha;
    } cases[] = {
        { VRT_CODEC_HEVC, "yuv420p10le", YUV, 10, 1, 1 },
        { VRT_CODEC_H264, "yuvj420p", YUV, 8, 1, 1, true },
        { VRT_CODEC_VP9, "yuvj444p", YUV, 8, 0, 0, true },
        { VRT_CODEC_PNG, "rgb24", GBR, 8, 0, 0, true },
        { VRT_CODEC_PNG, "rgb48be", GBR, 16, 0, 0, true },
        { VRT_CODEC_PNG, "gray16be", GRAY, 16, 0, 0, true },
        { VRT_CODEC_TIFF, "rgb48le", GBR, 16, 0, 0, true },
        { VRT_CODEC_EXR, "gbrpf32le", GBR, 16, 0, 0, true },
        { VRT_CODEC_FFV1, "bgr0", GBR, 8, 0, 0, true }, { VRT_CODEC_FFV1, "rgb48le", YUV, 0, 0, 0 },
        { VRT_CODEC_H264, "yuv444p", YUV, 8, 0, 0 }, { VRT_CODEC_FFV1, "gbrp", GBR, 8, 0, 0, true },
        { VRT_CODEC_FFV1, "gray16le", GRAY, 16, 0, 0, true },
        { VRT_CODEC_PRORES, "yuv444p10le", YUV, 10, 0, 0 },
        { VRT_CODEC_HEVC, "yuv444p", YUV, 8, 0, 0, false, GBR },
        { VRT_CODEC_PNG, "gray", GRAY, 8, 0, 0, true, GBR },
        { VRT_CODEC_PNG, "rgba64be", GBR, 16, 0, 0, true, GBR, true },
        { VRT_CODEC_FFV1, "yuva422p10le", YUV, 10, 1, 0, false, YUV, true },
        { VRT_CODEC_FFV1, "yuv422p10le", YUV, 0, 0, 0, false, YUV, true },
        { VRT_CODEC_FFV1, "yuva422p10le", YUV, 0, 0, 0 },
        { VRT_CODEC_PRORES, "yuv420p", YUV, 0, 0, 0 },
        { VRT_CODEC_H264, "yuv420p12le", YUV, 0, 0, 0 }, { VRT_CODEC_H264, "nv12", YUV, 0, 0, 0 },
        { VRT_CODEC_H264, "yuv5", YUV, 0, 0, 0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const bool is_rgb = cases[i].in == GBR;
        const struct vrt_frame_format input = {
            .width = 64, .height = 64, .depth = 8, .layout = is_rgb ? GBR : YUV,
            .chroma_shift_x = !is_rgb, .chroma_shift_y = !is_rgb, .full_range = is_rgb,
            .matrix = VRT_FRAME_MATRIX_BT709, .color_space = !is_rgb,
            .has_alpha = cases[i].has_alpha,
        };
        const struct vrt_encoder_pick pick = { cases[i].codec, &input, 64, 64, cases[i].name };
        struct vrt_frame_format format = { 0 };
        struct vrt_warnings warnings = { 0 };
        struct vrt_error error = { 0 };
        fprintf(stderr, "  %s\n", cases[i].name);
        int r = vrt_encoder_pick_format(&pick, &format, &warnings, &error);
        expect_int(r, cases[i].depth ? 0 : -ENOTSUP);
        if (r < 0) {
            expect_contains(error.message, cases[i].name);
            expect_contains(error.message, cases[i].has_alpha ? ": it has yuva4" : ": it has yuv4");
            continue;
        }
        expect_int(format.layout, cases[i].layout);
        expect_int(format.depth, cases[i].depth);
        expect_int(format.chroma_shift_x, cases[i].shift_x);
        expect_int(format.chroma_shift_y, cases[i].shift_y);
        expect_int(format.full_range, cases[i].full_range);
        /* H.273's: RGB, unspecified, BT.709. */
        expect_int(format.color_space, format.layout == GBR ? 0 : format.layout == GRAY ? 2 : 1);
    }
}

/* Whether the text lists the name: whole, between commas. */
static bool lists(const char *text, const char *name)
{
    char with_ends[520], whole[64];

    snprintf(with_ends, sizeof(with_ends), ", %s,", text);
    snprintf(whole, sizeof(whole), ", %s,", name);
    return strstr(with_ends, whole) != NULL;
}

/* What is listed can be asked for, each of it, is there once, and nothing is missing that is a part
 * of another's name. */
static void test_lists(void)
{
    static const struct {
        enum vrt_codec codec;
        const char *name, *encoders;
    } cases[] = {
        { VRT_CODEC_PNG, "rgb24", "png" }, { VRT_CODEC_PNG, "rgb48be", "png" },
        { VRT_CODEC_PNG, "gray", "png" }, { VRT_CODEC_TIFF, "rgb48le", "tiff" },
        { VRT_CODEC_EXR, "gbrpf32le", "exr" }, { VRT_CODEC_FFV1, "gray", "ffv1" },
        { VRT_CODEC_FFV1, "yuv440p12le", "ffv1" }, { VRT_CODEC_H264, "yuvj420p", "libx264" },
        { VRT_CODEC_AV1, "yuv422p", "libsvtav1, libaom-av1" }, { VRT_CODEC_GIF, "rgb24", "gif" },
    };
    struct vrt_codec_found found;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        if (!vrt_codec_is_there(cases[i].codec))
            continue;
        vrt_codec_find(cases[i].codec, &found);
        expect_str(found.encoders, cases[i].encoders);
        if (!lists(found.pixel_formats, cases[i].name))
            test_fail("%s: %s: %s", vrt_codec_names[cases[i].codec], cases[i].name,
                      found.pixel_formats);
    }
    for (int codec = 0; codec < VRT_CODEC_COUNT; codec++) {
        vrt_codec_find((enum vrt_codec)codec, &found);
        for (char *rest = found.pixel_formats, *name; (name = strsep(&rest, ","));) {
            const struct vrt_encoder_pick pick = { (enum vrt_codec)codec, &small, 256, 128,
                                                   name + strspn(name, " ") };
            struct vrt_frame_format format = { 0 };
            struct vrt_warnings warnings = { 0 };
            struct vrt_error error = { 0 };
            if (name[0] && vrt_encoder_pick_format(&pick, &format, &warnings, &error) < 0)
                test_fail("%s", error.message);
            expect_true(!rest || !lists(rest + 1, pick.pixel_format));
        }
    }
}

/* Whole pictures become an animation, which is played as often as the film is. */
static void test_animations(void)
{
    static const struct {
        enum vrt_codec codec;
        const char *in, *out, *times;
        double psnr_db;
        int late_ms, n_warnings;
    } rows[] = {
        { VRT_CODEC_APNG, "in.apng", "out.apng", "0 100 200 300 400 500 ", 100, 0, 0 },
        { VRT_CODEC_GIF, "in.apng", "out.gif", "0 100 200 300 400 500 ", 25, 0, 0 },
        { VRT_CODEC_APNG, "fast.apng", "out.apng", "0 10 20 30 40 50 ", 100, 0, 0 },
        { VRT_CODEC_GIF, "fast.apng", "out.gif", "0 20 40 60 80 100 ", 25, 50, 1 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const struct restore_params params = { .codec = rows[i].codec, .quality = VRT_UNKNOWN,
                                               .segment_frames = 4 };
        const bool is_fast = rows[i].in[0] == 'f';
        struct restore_result result;
        fprintf(stderr, "  %s to %s\n", rows[i].in, rows[i].out);
        const char *in = fixture_make(rows[i].in, "-f lavfi -i testsrc2=size=64x48:rate=%d "
                                      "-frames:v 6 -plays 3 -pix_fmt rgb24 -final_delay %s -f "
                                      "apng", is_fast ? 100 : 10, is_fast ? "1/100" : "1/4");
        restore_ok(in, fixture_path(rows[i].out), &params, &result);
        expect_int(result.joined.n_frames, 6);
        expect_int(result.joined.duration_ns, is_fast ? 60000000 : 750000000);
        expect_int(result.joined.late_ns, rows[i].late_ms * 1000000);
        expect_int(result.joined.warnings.n, rows[i].n_warnings);
        expect_str(list_times(rows[i].out), rows[i].times);
        fixture_run("cp %s in.mkv", rows[i].in);
        expect_true(measure_psnr(rows[i].out, NULL) >= rows[i].psnr_db);
        VRT_CLEANUP(vrt_closep) int fd = fixture_open(fixture_path(rows[i].out));
        expect_int(vrt_join_plays(fd), 3);
        /* The last stays as long as it did. */
        const char *last = fixture_run("ffprobe -v error -show_entries packet=duration_time -of "
                                       "csv=p=0 %s | tail -1", rows[i].out);
        expect_near(strtod(last, NULL), !is_fast ? 0.25 : rows[i].late_ms ? 0.02 : 0.01, 1e-6);
    }
}

/* What is said of a frame's size: half of it where the scale of qualities says so; without such by
 * samples, and by their bits. */
static void test_sizes(void)
{
    static const struct {
        enum vrt_codec codec;
        int quality;
        double bits, halves, deep_bits;     /* of a pixel, or a sample of 8 bits; of one of 10 */
    } rows[] = {
        { VRT_CODEC_H264, 18, 0.19, 4.65 }, { VRT_CODEC_HEVC, 20, 0.113, 4.65 },
        { VRT_CODEC_AV1, 22, 0.12, 9 }, { VRT_CODEC_VP9, 22, 0.21, 9 },
        { VRT_CODEC_MJPEG, 2, 2, 3 }, { VRT_CODEC_JPEG, 2, 2, 3 }, { VRT_CODEC_WEBP, 8, 1.4, 12 },
        { VRT_CODEC_FFV1, 0, 1.58, 0, 2.7 }, { VRT_CODEC_PRORES, 0, 2.1, 0, 2.1 },
        { VRT_CODEC_DNXHR, 0, 1.9, 0, 1.9 }, { VRT_CODEC_PNG, 0, 4.2, 0, 6.1 },
        { VRT_CODEC_TIFF, 0, 6, 0, 8 }, { VRT_CODEC_EXR, 0, 4, 0, 6 },
        { VRT_CODEC_GIF, 0, 4.2, 0, 6.1 }, { VRT_CODEC_APNG, 0, 4.2, 0, 6.1 },
    };
    static const struct vrt_container_load load = { 10, 7, 184000, 2930 * 184, 3 };
    static const double overheads[VRT_CONTAINER_COUNT] = {
        [VRT_CONTAINER_MP4] = 2000 + 160 + 56, [VRT_CONTAINER_MOV] = 2000 + 160 + 56,
        [VRT_CONTAINER_MKV] = 2000 + 90 + 63 + 60, [VRT_CONTAINER_WEBM] = 2000 + 90 + 63 + 60,
        [VRT_CONTAINER_TS] = 1150 + 4000 + 11720 + 21160 + 12600,
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const double n = 64 * 48 * (rows[i].halves > 0 ? 1 : 1.5);
        const int usual = vrt_codec_facts(rows[i].codec)->quality;
        struct vrt_encoder_params params = {
            .codec = rows[i].codec, .quality = rows[i].quality, .fps = { 25, 1 },
            .format = { .width = 64, .height = 48, .depth = 8, .layout = YUV, .chroma_shift_x = 1,
                        .chroma_shift_y = 1 },
        };
        fprintf(stderr, "  %s\n", vrt_codec_names[rows[i].codec]);
        expect_near(vrt_encoder_frame_bytes(&params), n * rows[i].bits / 8, 1e-6);
        params.quality = VRT_UNKNOWN;
        params.format.depth = rows[i].halves > 0 ? 8 : 10;
        expect_near(vrt_encoder_frame_bytes(&params), rows[i].halves > 0 ?
                    n * rows[i].bits * exp2((rows[i].quality - usual) / rows[i].halves) / 8 :
                    n * rows[i].deep_bits / 8, 1e-6);
        params.bitrate = 1000000;
        expect_near(vrt_encoder_frame_bytes(&params), 5000, 1e-9);
        params.fps.num = 0;
        expect_true(vrt_encoder_frame_bytes(&params) < 5000);
    }
    for (int i = 0; i < VRT_CONTAINER_COUNT; i++)
        expect_near(vrt_container_overhead_bytes((enum vrt_container)i, &load), overheads[i], 1e-6);
}

/* The facts hold together. */
static void test_facts(void)
{
    for (int i = 0; i < VRT_CODEC_COUNT; i++) {
        const struct vrt_codec_facts *facts = vrt_codec_facts((enum vrt_codec)i);
        fprintf(stderr, "  %s\n", vrt_codec_names[i]);
        expect_true(facts->title && facts->ffmpeg && facts->encoders[0] && facts->instead);
        expect_true(vrt_container_holds(facts->container, (enum vrt_codec)i));
        expect_true(vrt_container_holds(VRT_CONTAINER_MKV, (enum vrt_codec)i) !=
                    is_of_pictures((enum vrt_codec)i));
        expect_true(facts->quality_max <= VRT_QUALITY_MAX);
        expect_true(!facts->quality_name || (facts->quality_min <= facts->quality &&
                                             facts->quality <= facts->quality_max));
    }
}

TEST_MAIN_AFTER(fixture_init(),
    { "facts", test_facts }, { "options", test_options }, { "bitrate", test_bitrate },
    { "bitrates", test_bitrates }, { "other segments", test_other_segments },
    { "pixfmts", test_pixfmts }, { "lists of pixfmts", test_lists }, { "pairs", test_pairs },
    { "animations", test_animations }, { "sizes", test_sizes },
)
