/* SPDX-License-Identifier: MIT */

/*
 * Pixel formats: whatever the stream stores, the reader gives the samples it was made of.
 *
 * Each case makes planar samples with ffmpeg, has ffmpeg store them in another pixel format that
 * loses nothing, and compares what the reader gives with the samples, bit by bit.
 */

#include <unistd.h>

#include "tests/unit/frames/frames-fixture.h"
#include "tests/unit/test.h"

struct format_case {
    const char *samples;        /* what the reader must give */
    const char *stored;         /* what the file holds */
    const char *codec;
    int width, height;
    int depth;
    enum vrt_layout layout;
    int shift_x, shift_y;
};

#define YUV VRT_LAYOUT_YUV
#define GBR VRT_LAYOUT_GBR
#define GRAY VRT_LAYOUT_GRAY

static const struct format_case cases[] = {
    { "yuv420p", "yuv420p", "ffv1", 64, 48, 8, YUV, 1, 1 },
    { "yuv420p", "yuv420p", "ffv1", 61, 45, 8, YUV, 1, 1 },
    { "yuv422p", "yuv422p", "ffv1", 61, 45, 8, YUV, 1, 0 },
    { "yuv444p", "yuv444p", "ffv1", 61, 45, 8, YUV, 0, 0 },
    { "yuv440p", "yuv440p", "ffv1", 61, 45, 8, YUV, 0, 1 },
    { "yuv411p", "yuv411p", "ffv1", 61, 45, 8, YUV, 2, 0 },
    { "yuv410p", "yuv410p", "ffv1", 61, 45, 8, YUV, 2, 2 },
    { "yuv420p10le", "yuv420p10le", "ffv1", 64, 48, 10, YUV, 1, 1 },
    { "yuv422p10le", "yuv422p10le", "ffv1", 61, 45, 10, YUV, 1, 0 },
    { "yuv444p10le", "yuv444p10le", "ffv1", 61, 45, 10, YUV, 0, 0 },
    { "yuv420p9le", "yuv420p9le", "ffv1", 64, 48, 9, YUV, 1, 1 },
    { "yuv422p12le", "yuv422p12le", "ffv1", 64, 48, 12, YUV, 1, 0 },
    { "yuv444p14le", "yuv444p14le", "ffv1", 64, 48, 14, YUV, 0, 0 },
    { "yuv444p16le", "yuv444p16le", "ffv1", 64, 48, 16, YUV, 0, 0 },
    { "gray", "gray", "ffv1", 61, 45, 8, GRAY, 0, 0 },
    { "gray10le", "gray10le", "ffv1", 61, 45, 10, GRAY, 0, 0 },
    { "gray16le", "gray16le", "ffv1", 61, 45, 16, GRAY, 0, 0 },
    { "gbrp", "gbrp", "rawvideo", 61, 45, 8, GBR, 0, 0 },
    { "gbrp10le", "gbrp10le", "ffv1", 61, 45, 10, GBR, 0, 0 },
    { "gbrp16le", "gbrp16le", "ffv1", 61, 45, 16, GBR, 0, 0 },
    /* Interleaved, reordered, or in the other byte order. */
    { "yuv420p", "nv12", "rawvideo", 64, 48, 8, YUV, 1, 1 },
    { "yuv420p", "nv21", "rawvideo", 64, 48, 8, YUV, 1, 1 },
    { "yuv422p", "yuyv422", "rawvideo", 64, 48, 8, YUV, 1, 0 },
    { "yuv422p", "uyvy422", "rawvideo", 64, 48, 8, YUV, 1, 0 },
    { "yuv422p10le", "yuv422p10le", "v210", 64, 48, 10, YUV, 1, 0 },
    { "yuv444p16le", "yuv444p16be", "rawvideo", 64, 48, 16, YUV, 0, 0 },
    { "yuv420p10le", "yuv420p10be", "rawvideo", 64, 48, 10, YUV, 1, 1 },
    { "gbrp", "rgb24", "rawvideo", 61, 45, 8, GBR, 0, 0 },
    { "gbrp", "bgr24", "rawvideo", 61, 45, 8, GBR, 0, 0 },
    { "gbrp", "bgr0", "ffv1", 61, 45, 8, GBR, 0, 0 },
    { "gbrp", "rgb24", "png", 61, 45, 8, GBR, 0, 0 },
    { "gbrp16le", "rgb48le", "rawvideo", 61, 45, 16, GBR, 0, 0 },
    { "gbrp16le", "rgb48be", "png", 61, 45, 16, GBR, 0, 0 },
    { "gray16le", "gray16be", "png", 61, 45, 16, GRAY, 0, 0 },
    /* Alpha goes; the rest stays. */
    { "yuv420p", "yuva420p", "ffv1", 64, 48, 8, YUV, 1, 1 },
    { "gbrp", "rgba", "png", 61, 45, 8, GBR, 0, 0 },
    { "gray", "ya8", "png", 61, 45, 8, GRAY, 0, 0 },
};

/* Compares the planes with the next frame of the raw samples. */
static void compare_planes(const struct vrt_frame *frame, FILE *samples, const char *what)
{
    for (int i = 0; i < vrt_frame_format_n_planes(&frame->format); i++) {
        const struct vrt_plane *plane = &frame->planes[i];
        size_t row = (size_t)(plane->width * vrt_frame_format_sample_bytes(&frame->format));
        for (int y = 0; y < plane->height; y++) {
            uint8_t wanted[4096];
            expect_int(fread(wanted, 1, row, samples), row);
            if (memcmp(wanted, plane->data + (size_t)y * plane->stride_bytes, row) != 0)
                test_fail("%s: frame %lld, plane %d, row %d differs", what,
                          (long long)frame->index, i, y);
        }
    }
}

static void check_reader(const struct format_case *c, const char *path, const char *raw)
{
    struct vrt_reader_params params = { .n_threads = 2, .strict = true };
    struct vrt_reader *reader = NULL;
    struct vrt_error error = { 0 };
    struct vrt_frame *frame = NULL;
    int fd = fixture_open(path), n = 0;
    FILE *samples = fopen(raw, "rb");
    char what[64];

    snprintf(what, sizeof(what), "%s as %s in %s", c->samples, c->stored, c->codec);
    fprintf(stderr, "  %s\n", what);
    expect_true(samples);
    if (vrt_reader_open(fd, &params, &reader, &error) != 0)
        test_fail("%s: %s", what, error.message);
    const struct vrt_reader_info *info = vrt_reader_info(reader);
    expect_int(info->format.width, c->width);
    expect_int(info->format.height, c->height);
    expect_int(info->format.depth, c->depth);
    expect_int(info->format.layout, c->layout);
    expect_int(info->format.chroma_shift_x, c->shift_x);
    expect_int(info->format.chroma_shift_y, c->shift_y);
    expect_int(info->format.full_range, c->layout != YUV);
    while (vrt_reader_next(reader, &frame, &error) == 0) {
        expect_int(frame->index, n++);
        compare_planes(frame, samples, what);
        frame = vrt_frame_unref(frame);
    }
    expect_str(error.message, "");
    expect_int(n, 3);
    expect_int(fgetc(samples), EOF);
    bool has_alpha = strchr(c->stored, 'a') && c->layout != GRAY;
    expect_int(info->has_alpha, has_alpha || strcmp(c->stored, "ya8") == 0);
    vrt_reader_close(reader);
    close(fd);
    fclose(samples);
}

static void test_formats(void)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct format_case *c = &cases[i];
        fixture_make("samples.raw", "-f lavfi -i testsrc2=size=64x48:rate=25 -frames:v 3 "
                     "-vf format=%s,crop=%d:%d:0:0:exact=1 -f rawvideo", c->samples, c->width,
                     c->height);
        fixture_make("stored.mkv", "-f rawvideo -video_size %dx%d -pixel_format %s -i samples.raw "
                     "-c:v %s -strict -2 -allow_raw_vfw 1 -pix_fmt %s -f %s",
                     c->width, c->height, c->samples, c->codec, c->stored,
                     strcmp(c->codec, "rawvideo") == 0 ? "nut" : "matroska");
        check_reader(c, fixture_path("stored.mkv"), fixture_path("samples.raw"));
    }
}

TEST_MAIN_AFTER(fixture_init(),
    { "formats", test_formats },
)
