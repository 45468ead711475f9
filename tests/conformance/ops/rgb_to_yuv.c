/* SPDX-License-Identifier: MIT */
/*
 * rgb_to_yuv: every layout, subsampling, chroma site, matrix, range and depth, of three kinds of
 * pictures: random; what random planes without subsampling, or planes of one colour, came from,
 * which must give those planes back exactly; and gray with values far outside [0,1].
 */

#include "backend/op/op.h"
#include "tests/conformance/colours.h"
#include "tests/unit/test.h"

enum picture {
    RANDOM,
    ROUND_TRIP,
    WILD,
    PICTURE_COUNT,
};

/* Values in [-0.1,1.1] that the type holds. */
static void make_random(struct conf *t, const struct conf_colour *colour, float *rgb)
{
    for (int64_t k = 0; k < vrt_shape_count(colour->rgb); k++)
        rgb[k] = conf_rounded((float)conf_random(t, 120001) / 1e5f - 0.1f, colour->dtype);
}

/* A picture whose planes are `want`: chosen first, of one colour where chroma is subsampled. */
static void make_from_planes(struct conf *t, const struct conf_colour *colour, float *rgb,
                             double *const *want)
{
    const bool flat = colour->op.shift_x || colour->op.shift_y;
    float *planes[3] = { NULL };

    for (int i = 0; i < conf_colour_planes(colour); i++) {
        const struct conf_spec spec = conf_colour_plane(colour, i);
        const int64_t n = vrt_shape_count(spec.shape);
        const int colour_of_all = conf_random(t, spec.max + 1);
        planes[i] = calloc((size_t)n, sizeof(float));
        expect_true(planes[i] != NULL);
        for (int64_t k = 0; k < n; k++) {
            planes[i][k] = (float)(flat ? colour_of_all : conf_random(t, spec.max + 1));
            want[i][k] = (double)planes[i][k];
        }
    }
    double *exact = conf_array(t, (size_t)vrt_shape_count(colour->rgb));
    conf_colour_to_rgb(colour, planes, exact);
    for (int64_t k = 0; k < vrt_shape_count(colour->rgb); k++)
        rgb[k] = (float)exact[k];
    for (int i = 0; i < 3; i++)
        free(planes[i]);
}

/* Beyond what samples can hold. Not so far that f32 loses the chroma, which is 0, in the sums. */
static void make_wild(struct conf *t, const struct conf_colour *colour, float *rgb)
{
    static const float values[] = { -2, 1.5f, -3, 4 };

    for (int64_t k = 0; k < vrt_shape_count(colour->rgb); k += 3)
        rgb[k] = rgb[k + 1] = rgb[k + 2] = conf_rounded(values[conf_random(t, 4)], colour->dtype);
}

static void run_rgb_to_yuv(struct conf *t, int i)
{
    const enum picture picture = (enum picture)(i / CONF_COLOUR_CASES);
    struct conf_colour colour = conf_colour_case(i % CONF_COLOUR_CASES);
    const int n = conf_colour_planes(&colour);
    struct vrt_op op = { .kind = VRT_OP_RGB_TO_YUV, .n_in = 1, .colour = colour.op };
    struct vrt_tensor *const outs[3] = { &op.out, &op.out_more[0], &op.out_more[1] };
    double *want[3];
    float *rgb;

    if (picture == ROUND_TRIP)
        colour.dtype = VRT_DTYPE_F32;
    op.in[0] = conf_input(t, (struct conf_spec){ colour.dtype, colour.rgb, colour.rgb_view, 0 },
                          &rgb);
    for (int k = 0; k < n; k++) {
        *outs[k] = conf_output(t, conf_colour_plane(&colour, k));
        want[k] = conf_array(t, (size_t)vrt_shape_count(outs[k]->shape));
    }
    if (picture == ROUND_TRIP) {
        make_from_planes(t, &colour, rgb, want);
    } else {
        if (picture == RANDOM)
            make_random(t, &colour, rgb);
        else
            make_wild(t, &colour, rgb);
        conf_colour_to_planes(&colour, rgb, want);
    }
    conf_expect(t, &op, (const double *const *)want,
                picture == ROUND_TRIP ? conf_exact : conf_integers);
}

CONF_MAIN(rgb_to_yuv, PICTURE_COUNT * CONF_COLOUR_CASES)
