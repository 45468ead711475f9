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
    { .width = 321, .height = 239, .depth = 8, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1,
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

#define COLUMNS 4
#define ROWS 3

static void expect_means(const struct vrt_means *means, const float colours[4][3], bool is_gray)
{
    expect_int(means->columns, COLUMNS);
    expect_int(means->rows, ROWS);
    for (int i = 0; i < COLUMNS * ROWS; i++)
        for (int c = 0; c < 3; c++)
            expect_near(means->rgb[i][c], colours[i % 4 ^ i / 4][is_gray ? 0 : c], 0.006);
}

/* Each part of a picture has its own colour: red, green, blue or white, by the samples that each
 * standard gives them, and as pixels that are still to be blended. */
static void test_means(void)
{
    static const float colours[4][3] = { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 }, { 1, 1, 1 } };
    static const struct {
        struct vrt_frame_format format;
        int samples[4][3];          /* by plane */
    } cases[] = {
        { { .depth = 8, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1, .chroma_shift_y = 1,
            .matrix = VRT_FRAME_MATRIX_BT709 },
          { { 63, 102, 240 }, { 173, 42, 26 }, { 32, 240, 118 }, { 235, 128, 128 } } },
        { { .depth = 10, .layout = VRT_LAYOUT_YUV, .matrix = VRT_FRAME_MATRIX_BT601 },
          { { 81, 90, 240 }, { 145, 54, 34 }, { 41, 240, 110 }, { 235, 128, 128 } } },
        { { .depth = 8, .layout = VRT_LAYOUT_YUV, .full_range = true },
          { { 76, 85, 255 }, { 150, 44, 21 }, { 29, 255, 107 }, { 255, 128, 128 } } },
        { { .depth = 8, .layout = VRT_LAYOUT_GBR, .full_range = true },
          { { 0, 0, 255 }, { 255, 0, 0 }, { 0, 255, 0 }, { 255, 255, 255 } } },
        { { .depth = 10, .layout = VRT_LAYOUT_GBR },
          { { 16, 16, 235 }, { 235, 16, 16 }, { 16, 235, 16 }, { 235, 235, 235 } } },
        { { .depth = 8, .layout = VRT_LAYOUT_GRAY }, { { 235 }, { 16 }, { 16 }, { 235 } } },
    };
    const int width = 64, height = 48;
    struct vrt_picture *picture = NULL;
    struct vrt_means means, made;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_frame_format format = cases[i].format;
        struct vrt_frame *frame = NULL;
        format.width = width;
        format.height = height;
        expect_int(vrt_frame_new(&format, &frame), 0);
        for (int p = 0; p < vrt_frame_format_n_planes(&format); p++) {
            const struct vrt_plane *plane = &frame->planes[p];
            for (int y = 0; y < plane->height; y++)
                for (int x = 0; x < plane->width; x++)
                    fill(frame, p, x, y, cases[i].samples[x * COLUMNS / plane->width ^
                                                          y * ROWS / plane->height][p]);
        }
        expect_int(vrt_means_of_input(frame, &means), 0);
        expect_means(&means, colours, format.layout == VRT_LAYOUT_GRAY);
        expect_int(vrt_means_of_result(frame, &means, &made), 0);
        expect_means(&made, colours, format.layout == VRT_LAYOUT_GRAY);
        expect_true(!means.is_blank && !made.is_blank);
        vrt_frame_unref(frame);
    }
    expect_int(vrt_picture_new(2 * width, 2 * height, &picture), 0);
    for (int i = 0; i < 4 * width * height; i++)
        for (int c = 0; c < 3; c++)
            picture->rgb[3 * i + c] = -1 + 3 * colours[i % 128 / 32 ^ i / 128 / 32][c];
    vrt_means_of_pixels(picture, &means, &made);
    expect_means(&made, colours, false);
    expect_true(!made.is_blank);
    vrt_picture_unref(picture);
}

/* Whether there is contrast: strict of what comes in, generous of what goes out. */
static void test_blank(void)
{
    static const struct {
        int steps;                  /* of 255, by which one pixel is darker */
        bool in, out;
    } cases[] = { { 0, true, true }, { 1, true, false }, { 15, true, false }, { 16 } };
    struct vrt_picture *picture = NULL;
    struct vrt_means means, made;

    for (size_t i = 0; i < 2 * VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_frame_format format = { .width = 32, .height = 31,
                                                 .depth = i % 2 ? 10 : 8 };
        struct vrt_frame *frame = NULL;
        expect_int(vrt_frame_new(&format, &frame), 0);
        const int darker = i % 2 ? 0 : 32 * 31 - 1;
        for (int k = 0; k < 32 * 31; k++)
            fill(frame, 0, k % 32, k / 32, k == darker ? 100 - cases[i / 2].steps : 100);
        expect_int(vrt_means_of_input(frame, &means), 0);
        expect_int(means.columns, 2);
        expect_int(means.rows, 1);
        expect_int(means.is_blank, cases[i / 2].in);
        expect_int(vrt_means_of_result(frame, &means, &made), 0);
        expect_int(made.is_blank, cases[i / 2].out);
        vrt_frame_unref(frame);
    }
    expect_int(vrt_picture_new(2, 2, &picture), 0);
    for (int i = 0; i < 12; i++)
        picture->rgb[i] = i % 3 == 1 ? 0.5f : (float)i;
    for (int is_blank = 0; is_blank < 2; is_blank++) {
        picture->rgb[10] = is_blank ? 0.4962f : 0.496f;
        vrt_means_of_pixels(picture, &means, &made);
        expect_int(made.is_blank, is_blank);
    }
    vrt_picture_unref(picture);
}

/* One of two cells changes. */
static void test_compare(void)
{
    static const struct {
        struct vrt_means was, is;
        int n_lost;
        float cast;
    } cases[] = {
#define WAS(r, g, b) { 2, 1, { { 0.5f, 0.5f, 0.5f }, { r, g, b } }, false }
        { WAS(0.151f, 0, 0), WAS(0.019f, 0, 0), 1, 0.066f },
        { WAS(0, 0.151f, 0), WAS(0, 0.019f, 0), 1, 0.066f },
        { WAS(0, 0, 0.151f), WAS(0, 0, 0.019f), 1, 0.066f },
        { WAS(0.149f, 0, 0), WAS(0.019f, 0, 0), 0, 0.065f },
        { WAS(0.151f, 0, 0), WAS(0.021f, 0, 0), 0, 0.065f },
        { WAS(0, 0.151f, 0), WAS(0, 0.021f, 0), 0, 0.065f },
        { WAS(0, 0, 0.151f), WAS(0, 0, 0.021f), 0, 0.065f },
        { WAS(0.1f, 0.1f, 0.1f), WAS(0.5f, 0.5f, -0.251f), 1, 0.3755f },
        { WAS(0.1f, 0.1f, 0.1f), WAS(0.5f, -0.251f, 0.5f), 1, 0.3755f },
        { WAS(0.1f, 0.1f, 0.1f), WAS(-0.251f, 0.5f, 0.5f), 1, 0.3755f },
        { WAS(0.1f, 0.1f, 0.1f), WAS(0.5f, 0.5f, -0.249f), 0, 0.3745f },
        { WAS(-0.1f, 0.3f, 0.3f), WAS(-0.349f, 0.3f, 0.3f), 0, 0.1245f },
        { WAS(-0.1f, 0.3f, 0.3f), WAS(-0.351f, 0.3f, 0.3f), 1, 0.1255f },
#undef WAS
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct vrt_deviation d = vrt_means_compare(&cases[i].was, &cases[i].is);
        expect_int(d.n_lost, cases[i].n_lost);
        expect_near(d.cast, cases[i].cast, 1e-5);
    }
}

/* The worst flaw is told; of a frame between two, what neither of them has. */
static void test_judges(void)
{
    static const struct {
        struct vrt_means last, next, out;
        enum vrt_flaw of_last, of_both;
    } cases[] = {
#define CELL(r, gb, blank) { 1, 1, { { r, gb, gb } }, blank }
#define PLAIN CELL(0.3f, 0.3f, false)
        { PLAIN, PLAIN, CELL(0.74f, 0.3f, false), VRT_FLAW_NONE, VRT_FLAW_NONE },
        { PLAIN, PLAIN, CELL(0.76f, 0.3f, false), VRT_FLAW_CAST, VRT_FLAW_CAST },
        { PLAIN, CELL(0.5f, 0.3f, false), CELL(0.76f, 0.3f, false), VRT_FLAW_CAST, VRT_FLAW_NONE },
        { CELL(0.5f, 0.3f, false), PLAIN, CELL(0.76f, 0.3f, false), VRT_FLAW_NONE, VRT_FLAW_NONE },
        { PLAIN, PLAIN, CELL(0.01f, 0, false), VRT_FLAW_BLACK, VRT_FLAW_BLACK },
        { PLAIN, CELL(0.1f, 0, false), CELL(0.01f, 0, false), VRT_FLAW_BLACK, VRT_FLAW_NONE },
        { CELL(0.1f, 0, false), PLAIN, CELL(0.01f, 0, false), VRT_FLAW_NONE, VRT_FLAW_NONE },
        { PLAIN, PLAIN, CELL(0.8f, -1, true), VRT_FLAW_BLANK, VRT_FLAW_BLANK },
        { PLAIN, PLAIN, CELL(0.8f, -1, false), VRT_FLAW_CAST, VRT_FLAW_CAST },
        { PLAIN, CELL(0.3f, 0.3f, true), CELL(0.3f, 0.3f, true), VRT_FLAW_BLANK, VRT_FLAW_NONE },
        { CELL(0.3f, 0.3f, true), PLAIN, CELL(0.3f, 0.3f, true), VRT_FLAW_NONE, VRT_FLAW_NONE },
#undef PLAIN
#undef CELL
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        expect_int(vrt_means_judge(&cases[i].last, &cases[i].out), cases[i].of_last);
        expect_int(vrt_means_judge_between(&cases[i].last, &cases[i].next, &cases[i].out),
                   cases[i].of_both);
    }
}

TEST_MAIN(
    { "taken", test_taken },
    { "refused", test_refused },
    { "means", test_means },
    { "blank", test_blank },
    { "compare", test_compare },
    { "judges", test_judges },
)
