/* SPDX-License-Identifier: MIT */

/* Which results are taken for a device's failure, and which for a network's work. */

#include <errno.h>
#include <string.h>

#include "frames/clips/picture.h"
#include "frames/frame.h"
#include "tests/unit/test.h"
#include "workers/device/session/evidence.h"

/* `value` is 0 to 255, of an 8 bit sample. */
static void fill(const struct vrt_frame *frame, int p, int x, int y, int value)
{
    const struct vrt_plane *plane = &frame->planes[p];
    const int depth = frame->format.depth;
    uint8_t *row = plane->data + (size_t)y * plane->stride_bytes;

    if (depth > 8)
        ((uint16_t *)(void *)row)[x] = (uint16_t)(value << (depth - 8));
    else
        row[x] = (uint8_t)value;
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

/* Which of n parts of a side the pixel at x is of. */
static int cell_of(int x, int n, int size)
{
    return ((x + 1) * n - 1) / size;
}

static void clear(const struct vrt_frame *frame, int p)
{
    const struct vrt_plane *plane = &frame->planes[p];

    memset(plane->data, 0, plane->stride_bytes * (size_t)plane->height);
}

/* Each part of a picture has its own colour: red, green, blue or white, by the samples that each
 * standard gives them, and as pixels that are still to be blended. Where a device leaves planes out
 * it is noticed. */
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
        { { .depth = 10, .layout = VRT_LAYOUT_YUV, .matrix = VRT_FRAME_MATRIX_BT2020_NCL },
          { { 74, 97, 240 }, { 164, 47, 25 }, { 29, 240, 119 }, { 235, 128, 128 } } },
        { { .depth = 8, .layout = VRT_LAYOUT_YUV, .chroma_shift_x = 1, .full_range = true },
          { { 76, 85, 255 }, { 150, 44, 21 }, { 29, 255, 107 }, { 255, 128, 128 } } },
        { { .depth = 8, .layout = VRT_LAYOUT_GBR, .full_range = true },
          { { 0, 0, 255 }, { 255, 0, 0 }, { 0, 255, 0 }, { 255, 255, 255 } } },
        { { .depth = 10, .layout = VRT_LAYOUT_GBR },
          { { 16, 16, 235 }, { 235, 16, 16 }, { 16, 235, 16 }, { 235, 235, 235 } } },
        { { .depth = 10, .layout = VRT_LAYOUT_GRAY }, { { 235 }, { 16 }, { 16 }, { 235 } } },
    };
    const int width = 79, height = 53;
    struct vrt_picture *picture = NULL;
    struct vrt_means means, made;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct vrt_frame_format format = cases[i].format;
        const bool is_gray = format.layout == VRT_LAYOUT_GRAY;
        struct vrt_frame *frame = NULL;
        format.width = width;
        format.height = height;
        expect_int(vrt_frame_new(&format, &frame), 0);
        for (int p = 0; p < vrt_frame_format_n_planes(&format); p++) {
            const struct vrt_plane *plane = &frame->planes[p];
            for (int y = 0; y < plane->height; y++)
                for (int x = 0; x < plane->width; x++)
                    fill(frame, p, x, y, cases[i].samples[cell_of(x, COLUMNS, plane->width) ^
                                                          cell_of(y, ROWS, plane->height)][p]);
        }
        expect_int(vrt_means_of_input(frame, &means), 0);
        expect_means(&means, colours, is_gray);
        expect_true(!means.is_blank);
        for (int p = 1; p < vrt_frame_format_n_planes(&format); p++)
            clear(frame, p);
        expect_int(vrt_means_of_result(frame, &means, &made), 0);
        expect_int(vrt_means_judge(&means, &made), is_gray ? VRT_FLAW_NONE : VRT_FLAW_CAST);
        clear(frame, 0);
        expect_int(vrt_means_of_result(frame, &means, &made), 0);
        expect_int(vrt_means_judge(&means, &made), VRT_FLAW_BLANK);
        expect_int(vrt_means_compare(&means, &made).n_lost, COLUMNS * ROWS / (is_gray ? 2 : 1));
        frame->format.matrix = VRT_FRAME_MATRIX_COUNT;
        expect_int(vrt_means_of_input(frame, &made), -EINVAL);
        vrt_frame_unref(frame);
    }
    expect_int(vrt_picture_new(2 * width, 2 * height, &picture), 0);
    for (int i = 0; i < 4 * width * height; i++) {
        const int x = i % (2 * width), y = i / (2 * width);
        for (int c = 0; c < 3; c++)
            picture->rgb[3 * i + c] = -1 + 3 * colours[cell_of(x, COLUMNS, 2 * width) ^
                                                       cell_of(y, ROWS, 2 * height)][c];
    }
    memset(&made, 0, sizeof(made));
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
                                                 .depth = i % 2 ? 10 : 8, .full_range = true };
        const double step = i % 2 ? 4 / 1023.0 : 1 / 255.0;
        struct vrt_frame *frame = NULL;
        expect_int(vrt_frame_new(&format, &frame), 0);
        const int darker = i % 2 ? 0 : 32 * 31 - 1;
        for (int k = 0; k < 32 * 31; k++)
            fill(frame, 0, k % 32, k / 32, k == darker ? 100 - cases[i / 2].steps : 100);
        expect_int(vrt_means_of_input(frame, &means), 0);
        expect_int(means.columns, 2);
        expect_int(means.rows, 1);
        expect_int(means.is_blank, cases[i / 2].in);
        const double less = cases[i / 2].steps / 496.0;
        for (size_t k = 0; k < 2; k++)
            expect_near(means.rgb[k][1], step * (k == i % 2 ? 100 : 100 - less), 1e-6);
        expect_int(vrt_means_of_result(frame, &means, &made), 0);
        expect_int(made.is_blank, cases[i / 2].out);
        vrt_frame_unref(frame);
    }
    expect_int(vrt_picture_new(2, 2, &picture), 0);
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < 12; k++)
            picture->rgb[k] = k % 3 == 1 ? 0.5f : (float)k;
        picture->rgb[i / 2 ? 10 : 1] = i % 2 ? 0.4962f : 0.496f;
        vrt_means_of_pixels(picture, &means, &made);
        expect_int(made.is_blank, i % 2);
        expect_near(made.rgb[0][0], 0.5, 1e-6);
        expect_near(made.rgb[i / 2][1], i % 2 ? 0.4981 : 0.498, 1e-6);
        expect_near(made.rgb[1][2], 1, 1e-6);
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
        { WAS(0.1f, 0.1f, 0.1f), WAS(0.1f, 0.2f, 0.5f), 0, 0.2f },
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
        { PLAIN, PLAIN, CELL(0.9f, 0.9f, false), VRT_FLAW_NONE, VRT_FLAW_NONE },
        { PLAIN, PLAIN, CELL(0.1f, 0.1f, false), VRT_FLAW_NONE, VRT_FLAW_NONE },
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
    { "means", test_means },
    { "blank", test_blank },
    { "compare", test_compare },
    { "judges", test_judges },
)
