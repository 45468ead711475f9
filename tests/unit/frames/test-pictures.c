/* SPDX-License-Identifier: MIT */
/* Pictures squeezed into squares, and compared: against the sums over all samples that define
 * both. */

#include "tests/unit/test.h"

#include <errno.h>

#include "base/macro.h"
#include "frames/compare/alike.h"
#include "frames/compare/pictures.h"
#include "frames/compare/quality.h"

#define SIDE VRT_PICTURES_SIDE

/* What sample j of n has to do with one of the square's: less the farther, nothing from 1 on. */
static double weight(int i, int n, int j)
{
    const double at = fmin(fmax((i + 0.5) * n / SIDE - 0.5, 0), n - 1);

    return fmax(0, 1 - fabs(at - j));
}

static double sum(const uint8_t *rgb, const int size[2], int x, int y)
{
    double total = 0;

    for (int row = 0; row < size[1]; row++) {
        const double share = weight(y, size[1], row);
        for (int column = 0; column < size[0] && share > 0; column++)
            total += share * weight(x, size[0], column) * rgb[(row * size[0] + column) * 3];
    }
    return total;
}

/* Smaller, larger, as large, and all at once; the place of one and of the other. */
static void test_sizes(void)
{
    static const int sizes[][2] = { { 320, 240 }, { 11, 13 }, { SIDE, SIDE }, { 1000, 17 } };
    struct vrt_pictures pictures;

    expect_int(vrt_pictures_init(&pictures), 0);
    for (int s = 0; s < 4; s++) {
        const int width = sizes[s][0], height = sizes[s][1];
        const size_t n = (size_t)width * (size_t)height * 3;
        uint8_t *rgb = malloc(n);
        uint32_t random = 1;

        expect_true(rgb);
        for (size_t i = 0; i < n; i++)
            rgb[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
        vrt_pictures_put(&pictures, s % 2, &(struct vrt_quality_picture){ rgb, (size_t)width * 3 },
                         width, height);
        for (int k = 0; k < 200; k++) {
            const int x = k < 4 ? k % 2 * (SIDE - 1) : k * 37 % SIDE;
            const int y = k < 4 ? k / 2 * (SIDE - 1) : k * 101 % SIDE, c = k % 3;

            expect_near(pictures.samples[(size_t)(s % 2) * VRT_PICTURE_SAMPLES +
                                         (size_t)(y * SIDE + x) * 3 + (size_t)c],
                        sum(rgb + c, sizes[s], x, y) * 257, 0.5001);
        }
        free(rgb);
    }
    vrt_pictures_done(&pictures);
    vrt_pictures_done(&pictures);
}

#define WIDTH 19
#define HEIGHT 15
#define STRIDE (WIDTH * 3 + 5)
#define WINDOW VRT_QUALITY_WINDOW

static double channel_of(const uint8_t *rgb, int channel)
{
    return channel < 3 ? rgb[channel]
                       : 16 + (65.481 * rgb[0] + 128.553 * rgb[1] + 24.966 * rgb[2]) / 255;
}

/* As Wang et al. have it, for the window that begins at this sample. */
static double ssim_at(const struct vrt_quality_picture pictures[2], int x, int y, int channel)
{
    double sum = 0, mean[2] = { 0 }, square[2] = { 0 }, product = 0;

    for (int k = 0; k < WINDOW * WINDOW; k++) {
        const int row = k / WINDOW, column = k % WINDOW;
        const double w = exp(-((row - 5) * (row - 5) + (column - 5) * (column - 5)) / 4.5);
        double v[2];
        for (int p = 0; p < 2; p++) {
            v[p] = channel_of(pictures[p].rgb + (y + row) * STRIDE + (x + column) * 3, channel);
            mean[p] += w * v[p];
            square[p] += w * v[p] * v[p];
        }
        product += w * v[0] * v[1];
        sum += w;
    }
    const double a = mean[0] / sum, b = mean[1] / sum;
    return (2 * a * b + 6.5025) * (2 * (product / sum - a * b) + 58.5225) /
           ((a * a + b * b + 6.5025) *
            (square[0] / sum - a * a + square[1] / sum - b * b + 58.5225));
}

/* Noise against noise that is like it, whole and cropped. */
static void test_quality(void)
{
    uint8_t rgb[2][HEIGHT * STRIDE];
    const struct vrt_quality_picture pictures[2] = { { rgb[0], STRIDE }, { rgb[1], STRIDE } };
    struct vrt_quality quality;
    uint32_t random = 1;

    for (int i = 0; i < HEIGHT * STRIDE; i++) {
        random = random * 1664525 + 1013904223;
        rgb[0][i] = (uint8_t)(random >> 24);
        rgb[1][i] = (uint8_t)(rgb[0][i] / 2 + (random >> 18 & 127));
    }
    for (int crop = 0; crop <= 2; crop++) {
        double error[4] = { 0 }, ssim[4] = { 0 };
        for (int c = 0; c < 4; c++) {
            int n = 0;
            for (int y = crop; y < HEIGHT - crop; y++)
                for (int x = crop; x < WIDTH - crop; x++, n++) {
                    const double d = channel_of(rgb[0] + y * STRIDE + x * 3, c) -
                                     channel_of(rgb[1] + y * STRIDE + x * 3, c);
                    error[c] += d * d;
                }
            error[c] /= n;
            n = 0;
            for (int y = crop; y + WINDOW <= HEIGHT - crop; y++)
                for (int x = crop; x + WINDOW <= WIDTH - crop; x++, n++)
                    ssim[c] += ssim_at(pictures, x, y, c);
            ssim[c] /= n;
        }
        expect_int(vrt_quality_of(pictures, WIDTH, HEIGHT, crop, &quality), 0);
        expect_near(quality.error_rgb, (error[0] + error[1] + error[2]) / 3, 1e-9);
        expect_near(quality.error_y, error[3], 1e-9);
        expect_near(quality.ssim_rgb, (ssim[0] + ssim[1] + ssim[2]) / 3, 1e-9);
        expect_near(quality.ssim_y, ssim[3], 1e-9);
    }
}

/* Of four frames: one the same, and two as far apart. */
static void test_means(void)
{
    static const struct vrt_quality frames[] = {
        { 1, 4, 0.5, 0.6 }, { 0, 0, 1, 1 }, { 3, 16, 0.1, 0.2 }, { 2, 16, 0.4, 0.6 },
    };
    struct vrt_quality_sums sums = { .n_frames = 0 };

    expect_near(vrt_quality_psnr(255 * 255 / 100.0), 20, 1e-9);
    for (int i = 0; i < 4; i++) {
        vrt_quality_add(&sums, 40 * (i + 1), &frames[i]);
        const struct vrt_quality_means means = vrt_quality_mean(&sums);
        expect_int(means.n_frames, i + 1);
        expect_int(means.n_equal, i > 0);
        expect_int(means.worst_ns, i < 2 ? 40 : 120);
        expect_near(means.worst_psnr_y, vrt_quality_psnr(i < 2 ? 4 : 16), 1e-9);
        expect_int(isinf(means.psnr_rgb) && isinf(means.psnr_y), i > 0);
    }
    struct vrt_quality_means means = vrt_quality_mean(&sums);
    expect_near(means.psnr_rgb_overall, vrt_quality_psnr(1.5), 1e-9);
    expect_near(means.psnr_y_overall, vrt_quality_psnr(9), 1e-9);
    expect_near(means.ssim_rgb, 0.5, 1e-9);
    expect_near(means.ssim_y, 0.6, 1e-9);
    sums = (struct vrt_quality_sums){ .n_frames = 0 };
    vrt_quality_add(&sums, 0, &frames[0]);
    vrt_quality_add(&sums, 0, &frames[2]);
    means = vrt_quality_mean(&sums);
    expect_near(means.psnr_rgb, (vrt_quality_psnr(1) + vrt_quality_psnr(3)) / 2, 1e-9);
    expect_near(means.psnr_y, (vrt_quality_psnr(4) + vrt_quality_psnr(16)) / 2, 1e-9);
}

/* Which pairs of videos can be compared; `says`: a part of why not. */
static void test_alike(void)
{
#define SIDES(w, h, num, den, varies) { .name = "b", .width = w, .height = h, .fps = { num, den }, \
                                       .variable_rate = varies }
    static const struct {
        struct vrt_compare_side other;
        int crop;
        const char *says;
    } rows[] = {
        { SIDES(32, 15, 30000, 1001, false), 0, NULL },
        { SIDES(32, 15, 30000, 1001, false), 2, NULL },
        { SIDES(32, 15, 30000, 1001, false), 3, "a side needs 17 with what is cropped" },
        { SIDES(31, 15, 30000, 1001, false), 0, "b 31 x 15" },
        { SIDES(32, 16, 30000, 1001, false), 0, "b 32 x 16" },
        { SIDES(32, 15, 2997, 100, false), 0, NULL },
        { SIDES(32, 15, 30, 1, false), 0, "and b 30" },
        { SIDES(32, 15, 3001, 100, false), 0, "29.97 frames a second and b 30.01" },
        { SIDES(32, 15, 25, 1, false), 0, "and b 25" },
        { SIDES(32, 15, 25, 1, true), 0, NULL },
        { SIDES(32, 15, 0, 1, false), 0, NULL },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(rows); i++) {
        struct vrt_compare_side sides[2] = { SIDES(32, 15, 30000, 1001, false), rows[i].other };
        for (int swapped = 0; swapped < 2; swapped++) {
            struct vrt_error error = { .id = NULL };
            fprintf(stderr, "  row %zu\n", i);
            expect_int(vrt_compare_check_alike(sides, rows[i].crop, &error),
                       rows[i].says ? -EINVAL : 0);
            if (rows[i].says && !swapped)
                expect_contains(error.message, rows[i].says);
            sides[1] = sides[0];
            sides[0] = rows[i].other;
        }
    }
#undef SIDES
}

TEST_MAIN(
    { "sizes", test_sizes }, { "quality", test_quality }, { "means", test_means },
    { "alike", test_alike },
)
