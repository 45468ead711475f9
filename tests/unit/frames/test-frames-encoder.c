/* SPDX-License-Identifier: MIT */

/* The encoder: which format it asks for, that it keeps what it is given, and what it refuses. */

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/frames/frames-restore.h"
#include "frames/av.h"
#include "frames/encode/segment.h"
#include "tests/unit/test.h"

#define YUV VRT_LAYOUT_YUV
#define GBR VRT_LAYOUT_GBR
#define GRAY VRT_LAYOUT_GRAY

/* What a codec makes of what it can't hold as it is. */
static const struct {
    enum vrt_codec codec;
    enum vrt_layout layout;
    int depth, shift_x, shift_y, width, height;         /* of the input; then of the output */
    enum vrt_layout out_layout;
    int out_depth, out_shift_x, out_shift_y;            /* depth 0: refused */
    bool full_range;
    int color_space;                                    /* H.273's number; the input has 6 */
    bool warns;
    int primaries;
} picks[] = {
    { VRT_CODEC_H264, YUV, 8, 1, 1, 64, 48, YUV, 8, 1, 1, true, 6 },
    { VRT_CODEC_H264, YUV, 8, 0, 0, 63, 47, YUV, 8, 0, 0, true, 6 },
    { VRT_CODEC_H264, YUV, 9, 1, 1, 64, 48, YUV, 10, 1, 1, true, 6 },
    { VRT_CODEC_H264, YUV, 12, 1, 1, 64, 48, YUV, 0, 0, 0 },
    { VRT_CODEC_H264, YUV, 8, 1, 1, 65, 48, YUV, 8, 0, 0, true, 6, true },
    { VRT_CODEC_H264, YUV, 8, 1, 1, 64, 47, YUV, 8, 0, 0, true, 6, true },
    { VRT_CODEC_H264, YUV, 8, 1, 0, 64, 47, YUV, 8, 1, 0, true, 6 },
    { VRT_CODEC_H264, YUV, 8, 2, 0, 64, 48, YUV, 8, 1, 0, true, 6 },      /* 4:1:1 */
    { VRT_CODEC_H264, YUV, 8, 2, 2, 64, 48, YUV, 8, 1, 1, true, 6 },      /* 4:1:0 */
    { VRT_CODEC_H264, YUV, 8, 0, 1, 64, 48, YUV, 8, 0, 0, true, 6 },      /* 4:4:0 */
    { VRT_CODEC_H264, GBR, 10, 0, 0, 63, 47, YUV, 10, 0, 0, false, 1 },
    { VRT_CODEC_H264, GRAY, 8, 0, 0, 64, 48, YUV, 8, 1, 1, false, 6 },
    { VRT_CODEC_H264, GRAY, 8, 0, 0, 63, 48, YUV, 8, 0, 0, false, 6, true },
    { VRT_CODEC_HEVC, YUV, 12, 1, 0, 64, 48, YUV, 12, 1, 0, true, 6 },
    { VRT_CODEC_HEVC, YUV, 16, 1, 1, 64, 48, YUV, 0, 0, 0 },
    { VRT_CODEC_HEVC, YUV, 8, 1, 1, 8194, 48, YUV, 0, 0, 0 },
    { VRT_CODEC_HEVC, YUV, 8, 1, 1, 48, 16386, YUV, 0, 0, 0 },
    { VRT_CODEC_FFV1, YUV, 8, 1, 1, 16386, 48, YUV, 0, 0, 0 },
    { VRT_CODEC_FFV1, YUV, 16, 1, 1, 63, 47, YUV, 16, 1, 1, true, 6 },
    { VRT_CODEC_FFV1, GBR, 14, 0, 0, 63, 47, GBR, 14, 0, 0, true, 6 },
    { VRT_CODEC_AV1, GBR, 10, 0, 0, 64, 64, YUV, 10, 0, 0, false, 1 },
    { VRT_CODEC_AV1, GBR, 10, 0, 0, 64, 64, YUV, 10, 0, 0, false, 9, false, 9 },
    { VRT_CODEC_AV1, YUV, 16, 1, 1, 64, 64, YUV, 0, 0, 0 },
    { VRT_CODEC_VP9, YUV, 10, 1, 1, 63, 47, YUV, 10, 1, 1, true, 6 },
    { VRT_CODEC_PRORES, YUV, 8, 1, 1, 64, 64, YUV, 10, 1, 0, false, 6 },
    { VRT_CODEC_PRORES, YUV, 10, 0, 0, 64, 64, YUV, 10, 0, 0, false, 6 },
    { VRT_CODEC_PRORES, YUV, 8, 1, 1, 63, 64, YUV, 10, 0, 0, false, 6, true },
    { VRT_CODEC_PRORES, YUV, 12, 1, 1, 64, 64, YUV, 10, 1, 0, false, 6, true },
    { VRT_CODEC_DNXHR, YUV, 8, 1, 1, 256, 120, YUV, 8, 1, 0, false, 1 },
    { VRT_CODEC_DNXHR, YUV, 10, 1, 1, 256, 120, YUV, 10, 1, 0, false, 1 },
    { VRT_CODEC_DNXHR, YUV, 8, 0, 0, 256, 120, YUV, 10, 0, 0, false, 1 },
    { VRT_CODEC_DNXHR, YUV, 8, 1, 1, 254, 120, YUV, 0, 0, 0 },
    { VRT_CODEC_MJPEG, YUV, 8, 1, 1, 63, 47, YUV, 8, 1, 1, true, 5 },
    { VRT_CODEC_MJPEG, YUV, 10, 1, 1, 64, 64, YUV, 0, 0, 0 },
    { VRT_CODEC_PNG, YUV, 8, 1, 1, 63, 47, GBR, 8, 0, 0, true, 0 },
    { VRT_CODEC_PNG, GBR, 10, 0, 0, 64, 64, GBR, 16, 0, 0, true, 6 },
    { VRT_CODEC_TIFF, YUV, 10, 1, 0, 64, 64, GBR, 16, 0, 0, true, 0 },
    { VRT_CODEC_JPEG, GBR, 16, 0, 0, 64, 64, YUV, 8, 0, 0, true, 5, true },
    { VRT_CODEC_EXR, GBR, 16, 0, 0, 64, 64, GBR, 16, 0, 0, true, 6 },
    { VRT_CODEC_WEBP, GRAY, 8, 0, 0, 64, 64, GBR, 8, 0, 0, true, 0 },
    { VRT_CODEC_WEBP, GBR, 16, 0, 0, 64, 64, GBR, 8, 0, 0, true, 6, true },
};

static void check_pick(size_t i)
{
    const struct vrt_frame_format input = {
        .width = 32, .height = 24, .depth = picks[i].depth, .layout = picks[i].layout,
        .chroma_shift_x = picks[i].shift_x, .chroma_shift_y = picks[i].shift_y,
        .matrix = VRT_FRAME_MATRIX_BT601, .color_space = 6, .full_range = true,
        .primaries = picks[i].primaries,
    };
    const struct vrt_encoder_pick pick = { picks[i].codec, &input, picks[i].width,
                                           picks[i].height };
    struct vrt_encoder_params params = { .codec = picks[i].codec, .quality = VRT_UNKNOWN,
                                         .n_threads = 1, .time_base = { 1, 25 },
                                         .fps = { 25, 1 } };
    struct vrt_warnings warnings = { 0 };
    struct vrt_error error = { 0 };

    fprintf(stderr, "  case %zu\n", i);
    int r = vrt_encoder_pick_format(&pick, &params.format, &warnings, &error);
    if (!picks[i].out_depth) {
        expect_int(r, -ENOTSUP);
        expect_str(error.id, "output.format");
        expect_int(strstr(error.message, "scale, or FFV1") != NULL, picks[i].width == 8194);
        return;
    }
    expect_int(r, 0);
    expect_int(params.format.width, picks[i].width);
    expect_int(params.format.height, picks[i].height);
    expect_int(params.format.layout, picks[i].out_layout);
    expect_int(params.format.depth, picks[i].out_depth);
    expect_int(params.format.chroma_shift_x, picks[i].out_shift_x);
    expect_int(params.format.chroma_shift_y, picks[i].out_shift_y);
    expect_int(params.format.full_range, picks[i].full_range);
    expect_int(params.format.color_space, picks[i].color_space);
    expect_int(params.format.matrix, picks[i].color_space == 1 ? VRT_FRAME_MATRIX_BT709
                                     : picks[i].color_space == 9 ? VRT_FRAME_MATRIX_BT2020_NCL
                                                                 : VRT_FRAME_MATRIX_BT601);
    expect_int(warnings.n, picks[i].warns);
    expect_int(vrt_encoder_try(&params, &error), 0);
}

static void test_picks(void)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(picks); i++)
        if (vrt_codec_is_there(picks[i].codec))
            check_pick(i);
}

static const char *const lossless_pixfmts[] = {
    "yuv420p", "yuv422p", "yuv444p", "yuv411p", "yuv440p", "yuv420p10le", "yuv422p10le",
    "yuv444p10le", "yuv444p12le", "yuv420p16le", "gray", "gray10le", "gray16le", "gbrp10le",
    "gbrp16le", "bgr0",
};

/* FFV1 in, of `size` ("W:H"), through everything, FFV1 out: the same bits. */
static void check_lossless(const char *pixfmt, const char *size, int segment_frames)
{
    const struct restore_params params = {
        .codec = VRT_CODEC_FFV1, .quality = VRT_UNKNOWN,
        .segment_frames = segment_frames, .strict = true,
    };
    struct restore_result result;
    char before[4096];

    fprintf(stderr, "  %s %s\n", pixfmt, size);
    /* The first version of FFV1 has no slices, which don't become pictures of a few pixels. */
    fixture_make("in.mkv", "-f lavfi -i testsrc2=size=128x96:rate=25 -frames:v 10 -vf "
                 "format=%s,crop=%s:0:0:exact=1 -c:v ffv1 -level 1 -strict -2", pixfmt, size);
    restore_ok(fixture_path("in.mkv"), fixture_path("out.mkv"), &params, &result);
    expect_int(result.joined.n_frames, 10);
    expect_int(result.warnings.n + result.joined.warnings.n, 0);
    snprintf(before, sizeof(before), "%s", fixture_run("ffmpeg -v error -i in.mkv -f framemd5 "
                                                       "-bitexact - | cut -d, -f6"));
    expect_str(fixture_run("ffmpeg -v error -i out.mkv -f framemd5 -bitexact - | cut -d, -f6"),
               before);
}

/* In one segment or several, and of pictures of a few pixels. */
static void test_lossless(void)
{
    static const char *const sizes[] = { "1:1", "2:32", "32:2", "3:3", "6:40", "15:9" };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(lossless_pixfmts); i++) {
        check_lossless(lossless_pixfmts[i], "125:91", i % 2 ? 4 : 0);
        check_lossless(lossless_pixfmts[i], sizes[i % VRT_ARRAY_SIZE(sizes)], 0);
    }
    for (size_t i = 0; i < VRT_ARRAY_SIZE(sizes); i++)
        check_lossless("yuv444p", sizes[i], 0);
}

static struct vrt_encoder_params good_params(void)
{
    return (struct vrt_encoder_params){
        .codec = VRT_CODEC_H264,
        .quality = 20,
        .n_threads = 1,
        .format = { .width = 64, .height = 48, .depth = 8, .layout = YUV, .chroma_shift_x = 1,
                    .chroma_shift_y = 1, .color_space = 6, .primaries = 2, .transfer = 2,
                    .sample_aspect = { 0, 1 }, .chroma_location = VRT_CHROMA_LOCATION_LEFT },
        .time_base = { 1, 1000 },
        .fps = { 25, 1 },
    };
}

/* MXF has no times but its rate's, GIF none but hundredths of seconds. */
static void test_rates(void)
{
    static const struct {
        enum vrt_container container;
        struct vrt_rational fps;
        bool variable;
        int r, n_warnings;
    } cases[] = {
        { VRT_CONTAINER_MXF, { 25, 1 }, false, 0 },
        { VRT_CONTAINER_MXF, { 30000, 1001 }, false, 0 },
        { VRT_CONTAINER_MXF, { 25, 1 }, true, -EINVAL },
        { VRT_CONTAINER_MXF, { 15, 1 }, false, -EINVAL },
        { VRT_CONTAINER_MXF, { 0, 1 }, false, -EINVAL }, { VRT_CONTAINER_MOV, { 15, 1 }, true, 0 },
        { VRT_CONTAINER_GIF, { 25, 1 }, false, 0 }, { VRT_CONTAINER_GIF, { 50, 1 }, false, 0 },
        { VRT_CONTAINER_GIF, { 25, 1 }, true, 0, 1 },
        { VRT_CONTAINER_GIF, { 30000, 1001 }, false, 0, 1 },
        { VRT_CONTAINER_GIF, { 0, 1 }, false, 0, 1 },
        { VRT_CONTAINER_GIF, { 60, 1 }, false, -EINVAL },
        { VRT_CONTAINER_APNG, { 60, 1 }, true, 0 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_warnings warnings = { .n = 0 };
        struct vrt_error error = { 0 };
        expect_int(vrt_container_check_rate(cases[i].container, cases[i].fps, cases[i].variable,
                                            &warnings, &error), cases[i].r);
        expect_int(warnings.n, cases[i].n_warnings);
        if (cases[i].r)
            expect_contains(error.message,
                            cases[i].container == VRT_CONTAINER_MXF ? ".mov" : ".apng");
    }
}

/* What of the colours a container has no place for: said, or refused. */
static void test_colors(void)
{
#define COLORS(range, pri, trc) { .layout = YUV, .full_range = range, .primaries = pri, \
                                  .transfer = trc }
    static const struct {
        enum vrt_container container;
        enum vrt_codec codec;
        struct vrt_frame_format format;
        int r;
        const char *says;
    } rows[] = {
        { VRT_CONTAINER_MKV, VRT_CODEC_FFV1, COLORS(true, 2, 2), 0, NULL },
        { VRT_CONTAINER_MOV, VRT_CODEC_H264, COLORS(true, 2, 2), 0, NULL },
        { VRT_CONTAINER_MOV, VRT_CODEC_FFV1, COLORS(true, 1, 1), -EINVAL, "name the output .mkv" },
        { VRT_CONTAINER_MOV, VRT_CODEC_FFV1, COLORS(false, 1, 1), 0, NULL },
        { VRT_CONTAINER_MOV, VRT_CODEC_FFV1, COLORS(false, 2, 1), 0, "name the output .mkv" },
        { VRT_CONTAINER_MOV, VRT_CODEC_FFV1, COLORS(false, 1, 2), 0, "name the output .mkv" },
        { VRT_CONTAINER_MOV, VRT_CODEC_FFV1, { .layout = GBR, .full_range = true }, 0, NULL },
        { VRT_CONTAINER_EXR, VRT_CODEC_EXR, { .transfer = 8 }, 0, NULL },
        { VRT_CONTAINER_EXR, VRT_CODEC_EXR, { .transfer = 13 }, -EINVAL, ".png or .tiff" },
        { VRT_CONTAINER_PNG, VRT_CODEC_PNG, { .transfer = 8 }, 0, NULL },
        { VRT_CONTAINER_TIFF, VRT_CODEC_TIFF, { .transfer = 8 }, 0, "name the output .exr, or" },
        { VRT_CONTAINER_TIFF, VRT_CODEC_TIFF, { .transfer = 13 }, 0, NULL },
        { VRT_CONTAINER_TIFF, VRT_CODEC_TIFF, { .hdr.display = { .max = 9 } }, 0,
          "TIFF in .tiff doesn't tell of the mastering display and the content's light (HDR10)" },
        { VRT_CONTAINER_TIFF, VRT_CODEC_TIFF, { .hdr.max_light = 9 }, 0, "the mastering display" },
        { VRT_CONTAINER_MXF, VRT_CODEC_DNXHR, { .hdr.display = { .max = 9 } }, 0, NULL },
        { VRT_CONTAINER_MXF, VRT_CODEC_DNXHR, { .hdr.max_light = 9 }, 0,
          "doesn't tell of the content's light (HDR10): name the output .mov to keep that" },
        { VRT_CONTAINER_MOV, VRT_CODEC_DNXHR, { .hdr.max_light = 9 }, 0, NULL },
        { VRT_CONTAINER_MKV, VRT_CODEC_VP9, { .hdr.max_light = 9 }, 0, NULL },
        { VRT_CONTAINER_TS, VRT_CODEC_HEVC, { .hdr.max_light = 9 }, 0, NULL },
    };
#undef COLORS

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const struct vrt_container_content content = { rows[i].container, rows[i].codec,
                                                       &rows[i].format };
        struct vrt_warnings warnings = { 0 };
        struct vrt_error error = { 0 };
        fprintf(stderr, "  row %zu\n", i);
        expect_int(vrt_container_check_colors(&content, &warnings, &error), rows[i].r);
        expect_int(warnings.n, rows[i].says && !rows[i].r);
        if (rows[i].says)
            expect_contains(rows[i].r ? error.message : warnings.sentences[0], rows[i].says);
    }
}

/* Numbers up to their ends, and beyond. */
static void test_refused(void)
{
#define AT(member) offsetof(struct vrt_encoder_params, member)
    static const struct {
        size_t at;
        int value, r;
        const char *id;
    } rows[] = {
        { AT(quality), 0, 0, NULL }, { AT(quality), 51, 0, NULL },
        { AT(quality), 52, -EINVAL, "output.quality" },
        { AT(quality), -2, -EINVAL, "output.quality" },
        { AT(n_threads), 64, 0, NULL }, { AT(n_threads), 65, -EINVAL, "output.codec" },
        { AT(n_threads), 0, -EINVAL, "output.codec" }, { AT(fps.num), 0, 0, NULL },
        { AT(time_base.num), 0, -EINVAL, "output.format" }, { AT(fps.den), 0, 0, NULL },
        { AT(time_base.den), 0, -EINVAL, "output.format" },
        { AT(format.width), 0, -EINVAL, "output.format" },
        { AT(format.width), 63, -ENOTSUP, "output.format" },
    };
    enum vrt_container container;
    struct vrt_error error = { 0 };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_encoder_params params = good_params();
        fprintf(stderr, "  row %zu\n", i);
        memcpy((uint8_t *)&params + rows[i].at, &rows[i].value, sizeof(int));
        error = (struct vrt_error){ 0 };
        expect_int(vrt_encoder_try(&params, &error), rows[i].r);
        if (rows[i].r)
            expect_str(error.id, rows[i].id);
    }
    struct vrt_encoder_params params = good_params();
    params.preset = "warp9";
    error = (struct vrt_error){ 0 };
    expect_int(vrt_encoder_try(&params, &error), -EINVAL);
    expect_str(error.id, "output.preset");
    error = (struct vrt_error){ 0 };
    expect_int(vrt_container_from_name("a/b.c/Clip.MKV", &container, &error), 0);
    expect_int(container, VRT_CONTAINER_MKV);
    expect_int(vrt_container_from_name("a.mkv/clip", &container, &error), -EINVAL);
    expect_str(error.message, "the output clip must end in .mp4, .mov, .mkv, .webm, .ts, .mxf, "
               ".gif, .apng, .png, .jpg, .tiff, .webp or .exr, which says what kind of file it "
               "becomes");
    error = (struct vrt_error){ 0 };
    expect_int(vrt_container_check_codec(VRT_CONTAINER_MP4, VRT_CODEC_FFV1, &error), -EINVAL);
    expect_contains(error.message, "name the output .mov or .mkv");
}

/* Frames must come in order and in the format agreed upon. */
static void test_wrong_frames(void)
{
    struct vrt_encoder_params params = good_params();
    VRT_CLEANUP(vrt_encoder_freep) struct vrt_encoder *encoder = NULL;
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    VRT_CLEANUP(vrt_closep) int fd = open(fixture_path("segment"), O_RDWR | O_CREAT, 0600);
    struct vrt_error error = { 0 };

    expect_int(vrt_encoder_new(&params, fd, &encoder, &error), 0);
    expect_int(vrt_frame_new(&params.format, &frame), 0);
    for (int i = 0; i < 3; i++)
        for (int y = 0; y < frame->planes[i].height; y++)
            memset(frame->planes[i].data + (size_t)y * frame->planes[i].stride_bytes, 128,
                   (size_t)frame->planes[i].width);
    frame->pts = 40;
    expect_int(vrt_encoder_send(encoder, frame, &error), 0);
    expect_int(vrt_encoder_send(encoder, frame, &error), -EINVAL);
    frame->pts = 80;
    frame->format.width = 62;
    expect_int(vrt_encoder_send(encoder, frame, &error), -EINVAL);
    frame->format.width = 64;
    frame->format.depth = 10;
    expect_int(vrt_encoder_send(encoder, frame, &error), -EINVAL);
    frame->format.depth = 8;
    /* The encoder holds no reference for longer than it reads. */
    expect_int(atomic_load(&frame->n_refs), 1);
}

/* No device to write to: the sentence says what to do. */
static void test_unwritable(void)
{
    struct vrt_encoder_params params = good_params();
    struct vrt_encoder *encoder = NULL;
    struct vrt_error error = { 0 };
    int fd = open(fixture_path("read-only"), O_RDONLY | O_CREAT, 0600), fds[2];

    expect_int(vrt_encoder_new(&params, fd, &encoder, &error), -EINVAL);
    expect_str(error.id, "output.write");
    close(fd);
    error = (struct vrt_error){ 0 };
    expect_int(pipe(fds), 0);
    expect_int(vrt_encoder_new(&params, fds[1], &encoder, &error), -ESPIPE);
    expect_contains(error.message, "regular file");
    close(fds[0]);
    close(fds[1]);
}

/* A segment of one packet, whose checksums are right whatever it holds. Return: what reading it
 * comes to. */
static int read_segment(const struct vrt_segment_head *head,
                        const struct vrt_segment_packet *packet, const struct vrt_segment_end *end)
{
    VRT_CLEANUP(vrt_closep) int fd = open(fixture_path("segment"), O_RDWR | O_CREAT, 0600);
    VRT_CLEANUP(vrt_segment_reader_closep) struct vrt_segment_reader *reader = NULL;
    VRT_CLEANUP(vrt_sink_closep) struct vrt_sink *sink = NULL;
    VRT_CLEANUP(vrt_av_packet_freep) AVPacket *data = av_packet_alloc();
    struct vrt_segment_packet taken;
    struct vrt_error error = { .id = NULL };

    expect_int(av_new_packet(data, 5), 0);
    memcpy(data->data, "hello", 5);
    memcpy(av_packet_new_side_data(data, AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL, 3), "abc", 3);
    expect_int(vrt_sink_open(fd, &sink, &error), 0);
    expect_int(vrt_segment_write_head(sink, head, (const uint8_t *)"extra", 5, &error), 0);
    expect_int(vrt_segment_write_packet(sink, packet, data, &error), 0);
    expect_int(vrt_segment_write_end(sink, end, &error), 0);
    int r = vrt_segment_reader_open(fd, 1, &reader, &error);
    if (r == 0)
        r = vrt_segment_reader_next(reader, &taken, data, &error);
    if (r < 0) {
        expect_str(error.id, "segment.damaged");
        return r;
    }
    size_t size = 0;
    expect_true(data->size == 5 && memcmp(data->data, "hello", 5) == 0);
    const uint8_t *beside = av_packet_get_side_data(data, AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL,
                                                    &size);
    expect_true(size == 3 && memcmp(beside, "abc", 3) == 0);
    expect_true(taken.key == packet->key && taken.index == packet->index &&
                taken.pts == packet->pts && taken.duration == packet->duration);
    expect_true(reader->extradata_size == 5 && memcmp(reader->extradata, "extra", 5) == 0);
    expect_true(memcmp(&reader->end, end, sizeof(*end)) == 0);
    r = vrt_segment_reader_next(reader, &taken, data, &error);
    if (r != VRT_SEGMENT_END)
        return r;
    reader = vrt_segment_reader_close(reader);
    expect_int(vrt_segment_reader_open(fd, 1, &reader, &error), 0);
    expect_int(vrt_segment_reader_skip(reader, &error), 0);
    expect_int(vrt_segment_reader_skip(reader, &error), VRT_SEGMENT_END);
    return 0;
}

/* Each number of a segment is taken up to its ends: see frames/encode/segment.h. */
static void test_segment(void)
{
#define MAX_PTS ((INT64_C(1) << 60) - 1)
    static struct vrt_segment_head head;
    static struct vrt_segment_packet packet;
    static struct vrt_segment_end end;
    static const struct {
        int *number;
        int64_t *large;
        int64_t least, most, usual;
    } rows[] = {
        { &head.time_base.num, NULL, 1, INT32_MAX, 1 },
        { &head.time_base.den, NULL, 1, INT32_MAX, 25 },
        { (int *)&head.codec, NULL, 0, VRT_CODEC_COUNT - 1, 0 },
        { &head.format.width, NULL, 1, VRT_FRAME_MAX_SIDE, 64 },
        { NULL, &packet.index, 0, 0, 0 }, { NULL, &packet.pts, -MAX_PTS, MAX_PTS, 0 },
        { NULL, &packet.duration, -MAX_PTS, MAX_PTS, 1 },
        { NULL, &end.delay, 0, VRT_SEGMENT_MAX_DELAY, 0 },
        { NULL, &end.n_first, 0, VRT_SEGMENT_MAX_DELAY + 1, 1 },
        { NULL, &end.end_pts, -MAX_PTS, MAX_PTS, 1 },
        { NULL, &end.first_pts[0], -MAX_PTS, MAX_PTS, 0 }, { NULL, &end.n_packets, 1, 1, 1 },
    };

    head.format = good_params().format;
    head.fps = (struct vrt_rational){ 25, 1 };
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++)
        rows[i].number ? (*rows[i].number = (int)rows[i].usual) : (*rows[i].large = rows[i].usual);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const int64_t tried[] = { rows[i].least, rows[i].most, rows[i].least - 1, rows[i].most + 1,
                                  rows[i].usual };
        for (int k = 0; k < 5; k++) {
            fprintf(stderr, "  row %zu, %lld\n", i, (long long)tried[k]);
            if (rows[i].number)
                *rows[i].number = (int)tried[k];
            else
                *rows[i].large = tried[k];
            expect_int(read_segment(&head, &packet, &end), k == 2 || k == 3 ? -EBADMSG : 0);
        }
    }
#undef MAX_PTS
}

TEST_MAIN_AFTER(fixture_init(),
    { "picks", test_picks }, { "lossless", test_lossless }, { "rates", test_rates },
    { "colors", test_colors }, { "refused", test_refused }, { "wrong-frames", test_wrong_frames },
    { "unwritable", test_unwritable }, { "segment", test_segment },
)
