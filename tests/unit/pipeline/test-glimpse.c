/* SPDX-License-Identifier: MIT */

/* What is to be seen of a job that runs. */

#include <uv.h>
#include <zlib.h>

#include "daemon/pipeline/glimpse.h"
#include "daemon/pipeline/glimpse-draw.h"
#include "frames/frame.h"
#include "tests/unit/still-clock.h"
#include "tests/unit/test.h"
#include "workers/device/shard.h"

/* A frame of the format, each plane of one value. */
static struct vrt_frame *new_frame(const struct vrt_frame_format *format, const int values[3])
{
    struct vrt_frame *frame;

    expect_int(vrt_frame_new(format, &frame), 0);
    for (int p = 0; p < (format->layout == VRT_LAYOUT_GRAY ? 1 : 3); p++) {
        uint16_t *samples = (uint16_t *)(void *)frame->planes[p].data;
        const size_t n = frame->planes[p].stride_bytes * (size_t)frame->planes[p].height / 2;
        for (size_t i = 0; i < n; i++)
            samples[i] = (uint16_t)(format->depth > 8 ? values[p] : values[p] * 0x101);
    }
    return frame;
}

/* Colours as they are meant, and sizes; each pixel of a row is less the one before it. */
static void test_glimpse(void)
{
    static const struct {
        struct vrt_frame_format format;
        int values[3];
        uint8_t rgb[3];
        int after[2];                   /* a gray picture's size, */
        int wanted[2];                  /* and that of a half */
    } rows[] = {
        { { 2, 2, 8, VRT_LAYOUT_GRAY }, { 126 }, { 128, 128, 128 }, { 2, 2 }, { 2, 2 } },
        { { 2, 2, 16, VRT_LAYOUT_GRAY, .full_range = true }, { 32896 }, { 128, 128, 128 },
          { 1280, 320 }, { 640, 160 } },
        { { 2, 2, 8, VRT_LAYOUT_GBR, .full_range = true }, { 10, 20, 30 }, { 30, 10, 20 },
          { 640, 639 }, { 640, 639 } },
        { { 2, 2, 8, VRT_LAYOUT_YUV, 1, 1, VRT_FRAME_MATRIX_BT601 }, { 101, 110, 150 },
          { 134, 88, 63 }, { 1, 1300 }, { 1, 640 } },
        { { 2, 2, 10, VRT_LAYOUT_YUV, 1, 0, VRT_FRAME_MATRIX_BT709 }, { 404, 560, 480 },
          { 85, 101, 124 }, { 1300, 1 }, { 640, 1 } },
        { { 2, 2, 8, VRT_LAYOUT_YUV, 0, 0, VRT_FRAME_MATRIX_BT2020_NCL, true }, { 120, 140, 110 },
          { 93, 128, 143 }, { 3, 2 }, { 3, 2 } },
        { { 2, 2, 8, VRT_LAYOUT_YUV, 0, 0, VRT_FRAME_MATRIX_BT709 }, { 235, 128, 240 },
          { 255, 195, 255 }, { 2, 3 }, { 2, 3 } },
    };
    static uint8_t found[1 << 22];

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        const int w = rows[i].wanted[0], h = rows[i].wanted[1];
        const uint8_t head[] = { 2 * w >> 8, 2 * w & 255, 0, 0, h >> 8, h & 255, 8, 2, 0, 0, 0 };
        struct vrt_frame_format gray = { rows[i].after[0], rows[i].after[1], 8 };
        struct vrt_frame *before = new_frame(&rows[i].format, rows[i].values);
        struct vrt_frame *after = new_frame(&gray, (const int[3]){ 126 });
        struct vrt_buf png = { .limit_bytes = 8 << 20 };
        uLongf size = sizeof(found);
        expect_int(vrt_glimpse_draw(before, after, &png), 0);
        expect_int(memcmp(png.data + 18, head, sizeof(head)), 0);
        /* Behind the head, and the next one's length and name. */
        expect_int(uncompress(found, &size, (const Bytef *)png.data + 41, png.size_bytes - 57),
                   Z_OK);
        expect_int(size, (1 + 6 * w) * h);
        for (int at = 0; at < (int)size; at++) {
            const int k = (at % (1 + 6 * w) - 1) % 3, x = (at % (1 + 6 * w) - 1) / 3;
            expect_int(found[at], k < 0 ? 1 : x == 0 ? rows[i].rgb[k] :
                                  x == w ? (uint8_t)(128 - rows[i].rgb[k]) : 0);
        }
        vrt_buf_done(&png);
        vrt_frame_unref(before);
        vrt_frame_unref(after);
    }
}

static const struct vrt_frame_format small = { 2, 2, 8 };

/* Which of a shard's pictures are drawn: of its middle, or the next whose result it has all of; of
 * frames that are made between others, such as are shown at one moment. */
static void test_glimpse_of(void)
{
    static const struct {
        int n, times, first;
        unsigned restored;              /* bits: whose result it has */
        int before, after;              /* -1: nothing is drawn */
    } rows[] = {
        { 1, 1, 0, 1, 0, 0 }, { 3, 1, 0, 7, 1, 1 }, { 4, 1, 0, 15, 2, 2 }, { 3, 1, 0, 5, 2, 2 },
        { 3, 1, 0, 1, 0, 0 }, { 3, 1, 0, 0, -1, -1 }, { 2, 2, 0, 1, 0, 0 }, { 4, 2, 0, 1, 1, 0 },
        { 4, 3, 0, 2, -1, -1 }, { 4, 3, 1, 3, -1, -1 },
    };
    uv_loop_t loop;

    expect_int(uv_loop_init(&loop), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_shard_frames in = { .n = rows[i].n, .times = rows[i].times, .every = 1,
                                       .first = rows[i].first }, out = in;
        struct vrt_glimpse_picture picture;
        struct vrt_glimpse *glimpse;
        struct vrt_buf png = { .limit_bytes = 8 << 20 };
        for (int k = 0; k < in.n; k++) {
            in.in[k] = new_frame(&small, (const int[3]){ 20 + k });
            if (rows[i].restored >> k & 1)
                out.out[k] = new_frame(&small, (const int[3]){ 120 + k });
        }
        expect_int(vrt_glimpse_new(&loop, &glimpse), 0);
        /* Not as long as nobody looks, nor twice at a time. */
        vrt_glimpse_note(glimpse, &in, &out);
        vrt_glimpse_note(NULL, &in, &out);
        expect_true(!uv_loop_alive(&loop) && !vrt_glimpse_look(NULL, &picture));
        expect_true(!vrt_glimpse_look(glimpse, &picture));
        vrt_glimpse_note(glimpse, &in, &out);
        expect_int(uv_loop_alive(&loop) != 0, rows[i].before >= 0);
        vrt_glimpse_note(glimpse, &in, &out);
        expect_int(uv_run(&loop, UV_RUN_DEFAULT), 0);
        expect_int(vrt_glimpse_look(glimpse, &picture), rows[i].before >= 0);
        expect_int(picture.number, rows[i].before >= 0 ? now_ns : 0);
        if (rows[i].before >= 0) {
            expect_int(vrt_glimpse_draw(in.in[rows[i].before], out.out[rows[i].after], &png), 0);
            expect_int(picture.png->size_bytes, png.size_bytes);
            expect_int(memcmp(picture.png->data, png.data, png.size_bytes), 0);
        }
        vrt_buf_done(&png);
        vrt_glimpse_free(glimpse);
        vrt_shard_frames_done(&in);
        vrt_shard_frames_done(&out);
    }
    expect_int(uv_loop_close(&loop), 0);
}

/* Once in two seconds, until nobody has looked for fifteen. */
static void test_glimpse_when(void)
{
    static const struct {
        int ms;                         /* later than the one before */
        bool looks, is_drawn;
    } steps[] = {
        { 0, true, true }, { 1999, false, false }, { 1, false, true }, { 12999, false, true },
        { 2000, false, false }, { 0, true, true }, { 15000, false, false }, { 0, true, true },
    };
    struct vrt_frame *frame = new_frame(&small, (const int[3]){ 20 });
    const struct vrt_shard_frames in = { .n = 1, .in = { frame } };
    const struct vrt_shard_frames out = { .n = 1, .out = { frame } };
    struct vrt_glimpse_picture picture;
    struct vrt_glimpse *glimpse;
    int64_t drawn_ns = 0;
    uv_loop_t loop;

    expect_int(uv_loop_init(&loop), 0);
    expect_int(vrt_glimpse_new(&loop, &glimpse), 0);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(steps); i++) {
        now_ns += steps[i].ms * VRT_NS_PER_MS;
        if (steps[i].looks) {
            expect_int(vrt_glimpse_look(glimpse, &picture), i > 0);
            expect_int(picture.number, drawn_ns);
        }
        drawn_ns = steps[i].is_drawn ? now_ns : drawn_ns;
        vrt_glimpse_note(glimpse, &in, &out);
        expect_int(uv_loop_alive(&loop) != 0, steps[i].is_drawn);
        if (i + 1 < VRT_ARRAY_SIZE(steps))
            expect_int(uv_run(&loop, UV_RUN_DEFAULT), 0);
    }
    /* One that is being drawn goes when it is. */
    vrt_glimpse_free(glimpse);
    expect_int(uv_run(&loop, UV_RUN_DEFAULT), 0);
    expect_int(uv_loop_close(&loop), 0);
    vrt_frame_unref(frame);
}

TEST_MAIN(
    { "glimpse", test_glimpse },
    { "glimpse-of", test_glimpse_of },
    { "glimpse-when", test_glimpse_when },
)
