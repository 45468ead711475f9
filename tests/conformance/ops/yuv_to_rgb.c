/* SPDX-License-Identifier: MIT */
/* yuv_to_rgb: every layout, subsampling, chroma site, matrix, range and depth. */

#include "backend/op/op.h"
#include "tests/conformance/colours.h"
#include "tests/unit/test.h"

/* f32: so near that 16-bit samples survive the way there and back: an error of 7e-6 is half a
 * sample. */
static const struct conf_tolerance tolerance_f32 = { .norm = 1e-6, .element = 2e-6 };

static void run_yuv_to_rgb(struct conf *t, int i)
{
    const struct conf_colour colour = conf_colour_case(i);
    float *planes[3] = { NULL };
    struct vrt_op op = {
        .kind = VRT_OP_YUV_TO_RGB,
        .n_in = conf_colour_planes(&colour),
        .colour = colour.op,
    };

    for (int k = 0; k < op.n_in; k++)
        op.in[k] = conf_input(t, conf_colour_plane(&colour, k), &planes[k]);
    op.out = conf_output(t, (struct conf_spec){ colour.dtype, colour.rgb, colour.rgb_view, 0 });
    double *want = conf_array(t, (size_t)vrt_shape_count(colour.rgb));
    conf_colour_to_rgb(&colour, planes, want);
    conf_expect(t, &op, (const double *const[]){ want },
                colour.dtype == VRT_DTYPE_F32 ? tolerance_f32 : conf_tolerance_of(colour.dtype));
}

CONF_MAIN(yuv_to_rgb, CONF_COLOUR_CASES)
