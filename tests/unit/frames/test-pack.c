/* SPDX-License-Identifier: MIT */

/* Planes as hardware wants them: chroma in pairs, deep samples at the top of their words. */

#include <errno.h>
#include <libavutil/intreadwrite.h>

#include "base/macro.h"
#include "frames/av.h"
#include "frames/encode/pack.h"
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

static void test_refusals(void)
{
    AVFrame *planar = make(AV_PIX_FMT_YUV420P, 1), *packed;

    /* Another depth, and other chroma. */
    expect_int(vrt_pack(planar, NULL, AV_PIX_FMT_P010LE, &packed), -EINVAL);
    expect_int(vrt_pack(planar, NULL, AV_PIX_FMT_NV16, &packed), -EINVAL);
    av_frame_free(&planar);
}

TEST_MAIN(
    { "pairs", test_pairs },
    { "refusals", test_refusals },
)
