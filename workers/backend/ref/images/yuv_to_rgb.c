/* SPDX-License-Identifier: MIT */

#include "backend/op/colour.h"
#include "backend/ref/ops.h"
#include "backend/ref/run.h"

/* Between which two chroma samples of `n` luma position `i` lies, and how near the second. */
struct between {
    int first, second;
    double weight;              /* of the second */
};

static struct between between(int i, int shift, bool cosited, int n)
{
    const int r = 1 << shift;
    const double position = cosited ? (double)i / r : (i + 0.5) / r - 0.5;
    const int first = (int)floor(position);

    return (struct between){
        .first = vrt_ref_clamp(first, n),
        .second = vrt_ref_clamp(first + 1, n),
        .weight = position - first,
    };
}

/* E'Cb or E'Cr at luma position (y, x) of frame d. */
static double chroma_at(const struct vrt_ref_run *run, const struct vrt_colour *colour,
                        const struct vrt_ref_view *plane, const int at[4])
{
    const struct vrt_op_colour *op = &run->op->colour;
    const struct vrt_shape s = plane->tensor->shape;
    const struct between y = between(at[1], op->shift_y, colour->cosited_y, s.h);
    const struct between x = between(at[2], op->shift_x, colour->cosited_x, s.w);
    const double above = (1 - x.weight) * vrt_ref_get(plane, at[0], y.first, x.first, 0) +
                         x.weight * vrt_ref_get(plane, at[0], y.first, x.second, 0);
    const double below = (1 - x.weight) * vrt_ref_get(plane, at[0], y.second, x.first, 0) +
                         x.weight * vrt_ref_get(plane, at[0], y.second, x.second, 0);

    return ((1 - y.weight) * above + y.weight * below - colour->c_offset) / colour->c_scale;
}

/* A sample of Y, G, B or R in [0,1]. */
static double luma_at(const struct vrt_colour *colour, const struct vrt_ref_view *plane,
                      const int at[4])
{
    return (vrt_ref_get(plane, at[0], at[1], at[2], 0) - colour->y_offset) / colour->y_scale;
}

static void rgb_at(const struct vrt_ref_run *run, const struct vrt_colour *colour,
                   const int at[4], double rgb[3])
{
    const double first = luma_at(colour, &run->in[0], at);

    if (run->op->colour.layout == VRT_PLANES_GBR) {
        rgb[0] = luma_at(colour, &run->in[2], at);
        rgb[1] = first;
        rgb[2] = luma_at(colour, &run->in[1], at);
    } else if (run->op->colour.layout == VRT_PLANES_YUV) {
        const double cb = chroma_at(run, colour, &run->in[1], at);
        const double cr = chroma_at(run, colour, &run->in[2], at);
        rgb[0] = first + 2 * (1 - colour->kr) * cr;
        rgb[2] = first + 2 * (1 - colour->kb) * cb;
        rgb[1] = (first - colour->kr * rgb[0] - colour->kb * rgb[2]) / colour->kg;
    } else {
        rgb[0] = rgb[1] = rgb[2] = first;
    }
}

void vrt_ref_yuv_to_rgb(const struct vrt_ref_run *run)
{
    const struct vrt_colour colour = vrt_colour_of(&run->op->colour);
    const struct vrt_shape out = run->op->out.shape;
    const struct vrt_shape places = { out.d, out.h, out.w, 1 };

    for (int at[4] = { 0 }; at[0] < places.d; vrt_ref_step(at, places)) {
        double rgb[3];
        rgb_at(run, &colour, at, rgb);
        for (int c = 0; c < 3; c++)
            vrt_ref_put(&run->out[0], (int[4]){ at[0], at[1], at[2], c }, rgb[c]);
    }
}
