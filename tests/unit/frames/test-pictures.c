/* SPDX-License-Identifier: MIT */
/* Pictures squeezed into squares, against the sum over all samples that defines it. */

#include "tests/unit/test.h"

#include "frames/compare/pictures.h"

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

TEST_MAIN(
    { "sizes", test_sizes },
)
