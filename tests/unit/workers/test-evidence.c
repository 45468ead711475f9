/* SPDX-License-Identifier: MIT */

/* Which results are taken for a device's failure, and which for a network's work. */

#include <string.h>

#include "frames/clips/picture.h"
#include "frames/frame.h"
#include "tests/unit/test.h"
#include "workers/device/session/evidence.h"

/* How a result is made of an input twice as small: values are 0 to 255, of an 8 bit sample. */
struct change {
    int luma, chroma, red;          /* are added */
    float gain;                     /* luma is multiplied by */
    bool has_hole;                  /* a quarter is black */
    bool has_zeros;                 /* its samples are 0 in all planes */
    bool is_flat;                   /* all is gray */
};

static void fill(const struct vrt_frame *frame, int p, int x, int y, int value)
{
    const struct vrt_plane *plane = &frame->planes[p];
    const int depth = frame->format.depth;
    uint8_t *row = plane->data + (size_t)y * plane->stride_bytes;
    int sample = VRT_MAX(0, VRT_MIN(value, 255)) << (depth - 8);

    if (depth > 8)
        ((uint16_t *)(void *)row)[x] = (uint16_t)sample;
    else
        row[x] = (uint8_t)sample;
}

/* A picture of hills in a few colours, at `scale`, changed. */
static struct vrt_frame *paint(struct vrt_frame_format format, int scale,
                               const struct change *change)
{
    const int black = format.full_range ? 0 : 16;
    struct vrt_frame *frame = NULL;

    format.width *= scale;
    format.height *= scale;
    expect_int(vrt_frame_new(&format, &frame), 0);
    for (int p = 0; p < vrt_frame_format_n_planes(&format); p++) {
        const struct vrt_plane *plane = &frame->planes[p];
        for (int y = 0; y < plane->height; y++)
            for (int x = 0; x < plane->width; x++) {
                int u = x * 200 / plane->width, v = y * 200 / plane->height;
                bool is_hole = u < 100 && v < 100;
                bool is_black = change->has_hole && is_hole;
                int luma = change->is_flat ? 128 : 32 + (u + v) / 2 + 10 * ((u / 20 + v / 20) % 2);
                int value = p == 0 ? (int)((float)luma * change->gain) + change->luma :
                                     (change->is_flat ? 128 : 108 + 40 * p * u / 200) +
                                     change->chroma + (p == 2 ? change->red : 0);
                bool is_zero = change->has_zeros && is_hole;
                fill(frame, p, x, y, is_zero ? 0 : is_black ? p == 0 ? black : 128 : value);
            }
    }
    return frame;
}

static enum vrt_flaw judge(const struct vrt_frame_format *format, const struct change *change)
{
    const struct change none = { .gain = 1 };
    struct vrt_frame *in = paint(*format, 1, &none), *out = paint(*format, 2, change);
    struct vrt_means seen, made;

    expect_int(vrt_means_of_input(in, &seen), 0);
    expect_int(vrt_means_of_result(out, &seen, &made), 0);
    vrt_frame_unref(in);
    vrt_frame_unref(out);
    return vrt_means_judge(&seen, &made);
}

static const struct vrt_frame_format formats[] = {
    { .width = 320, .height = 180, .depth = 8, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1,
      .chroma_shift_y = 1, .matrix = VRT_FRAME_MATRIX_BT709,
      .chroma_location = VRT_CHROMA_LOCATION_LEFT },
    { .width = 64, .height = 48, .depth = 10, .layout = VRT_LAYOUT_YUV,
      .matrix = VRT_FRAME_MATRIX_BT2020_NCL, .full_range = true,
      .chroma_location = VRT_CHROMA_LOCATION_LEFT },
    { .width = 1281, .height = 719, .depth = 8, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1,
      .matrix = VRT_FRAME_MATRIX_BT601, .chroma_location = VRT_CHROMA_LOCATION_LEFT },
    { .width = 7, .height = 5, .depth = 8, .layout = VRT_LAYOUT_YUV,
      .matrix = VRT_FRAME_MATRIX_BT601, .chroma_location = VRT_CHROMA_LOCATION_LEFT },
};

/* What a network may make of a picture. */
static void test_taken(void)
{
    static const struct change changes[] = {
        { .gain = 1 },
        { .gain = 1.4f }, { .gain = 0.6f },             /* brighter, darker */
        { .gain = 1, .luma = 60 }, { .gain = 1, .luma = -12 },
        { .gain = 1, .chroma = 12 }, { .gain = 1, .chroma = -12 },
    };

    for (size_t f = 0; f < VRT_ARRAY_SIZE(formats); f++)
        for (size_t i = 0; i < VRT_ARRAY_SIZE(changes); i++)
            expect_int(judge(&formats[f], &changes[i]), VRT_FLAW_NONE);
}

/* What only something that is broken makes. */
static void test_refused(void)
{
    static const struct {
        struct change change;
        const char *says;
    } cases[] = {
        { { .is_flat = true, .gain = 1 }, "is blank" },
        { { .gain = 1, .has_hole = true }, "is black in a part" },
        { { .gain = 1, .has_zeros = true }, "is black in a part" },
        { { .gain = 1, .chroma = -128 }, "has a cast" },        /* green */
        { { .gain = 1, .chroma = 100 }, "has a cast" },         /* purple */
        { { .gain = 1, .red = 90 }, "has a cast" },
    };

    for (size_t f = 0; f + 1 < VRT_ARRAY_SIZE(formats); f++)
        for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
            expect_contains(vrt_flaw_words[judge(&formats[f], &cases[i].change)], cases[i].says);
        }
}

/* Pixels that are still to be blended are judged like samples. */
static void test_pixels(void)
{
    const struct change none = { .gain = 1 };
    struct vrt_frame *in = paint(formats[0], 1, &none);
    const struct change flat = { .gain = 1, .is_flat = true };
    struct vrt_frame *gray = paint(formats[0], 1, &flat);
    struct vrt_picture *picture = NULL;
    struct vrt_means seen, seen_gray, made;
    const int width = 2 * formats[0].width, height = 2 * formats[0].height;

    expect_int(vrt_picture_new(width, height, &picture), 0);
    for (int i = 0; i < width * height; i++)
        for (int c = 0; c < 3; c++)
            picture->rgb[3 * i + c] = c == 1 ? 0.9f : 0.01f * (float)(i % 7);
    expect_int(vrt_means_of_input(in, &seen), 0);
    expect_int(vrt_means_of_input(gray, &seen_gray), 0);
    vrt_means_of_pixels(picture, &seen, &made);
    expect_int(vrt_means_judge(&seen, &made), VRT_FLAW_BLANK);
    expect_int(vrt_means_judge(&seen_gray, &made), VRT_FLAW_CAST);
    for (int i = 0; i < 3 * width * height; i++)
        picture->rgb[i] = 0.5f + 0.001f * (float)(i % 20);
    vrt_means_of_pixels(picture, &seen, &made);
    expect_int(vrt_means_judge(&seen_gray, &made), VRT_FLAW_NONE);
    vrt_picture_unref(picture);
    vrt_frame_unref(gray);
    vrt_frame_unref(in);
}

TEST_MAIN(
    { "taken", test_taken },
    { "refused", test_refused },
    { "pixels", test_pixels },
)
