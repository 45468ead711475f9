/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "backend/op/colour.h"
#include "backend/ref/ops.h"
#include "backend/ref/run.h"

/* E'Y of one place. */
static double luma_of(const struct vrt_colour *colour, const double rgb[3])
{
    return colour->kr * rgb[0] + colour->kg * rgb[1] + colour->kb * rgb[2];
}

static void rgb_at(const struct vrt_ref_run *run, int d, int y, int x, double rgb[3])
{
    for (int c = 0; c < 3; c++)
        rgb[c] = vrt_ref_get(&run->in[0], d, y, x, c);
}

/* The luma positions that make up a chroma sample along one axis, as weights that sum up to 1. */
struct taps {
    int first, n;
    double weights[7];
};

static struct taps taps_of(int k, int shift, bool cosited)
{
    const int r = 1 << shift;
    struct taps taps = {
        .first = cosited ? r * k - (r - 1) : r * k,
        .n = cosited ? 2 * r - 1 : r,
    };

    for (int i = 0; i < taps.n; i++)
        taps.weights[i] = cosited ? (double)(r - abs(i - (r - 1))) / (r * r) : 1.0 / r;
    return taps;
}

/* E'Cb (plane 1) or E'Cr (plane 2) at chroma sample (at[1], at[2]) of frame at[0]. */
static double chroma_of(const struct vrt_ref_run *run, const struct vrt_colour *colour,
                        int plane, const int at[4])
{
    const struct vrt_shape in = run->op->in[0].shape;
    const struct taps v = taps_of(at[1], run->op->colour.shift_y, colour->cosited_y);
    const struct taps u = taps_of(at[2], run->op->colour.shift_x, colour->cosited_x);
    const double k = plane == 1 ? colour->kb : colour->kr;
    double sum = 0;

    for (int i = 0; i < v.n; i++)
    for (int j = 0; j < u.n; j++) {
        double rgb[3];
        rgb_at(run, at[0], vrt_ref_clamp(v.first + i, in.h), vrt_ref_clamp(u.first + j, in.w),
               rgb);
        const double difference = rgb[plane == 1 ? 2 : 0] - luma_of(colour, rgb);
        sum += v.weights[i] * u.weights[j] * difference / (2 * (1 - k));
    }
    return sum;
}

/* What plane `i` holds at a place of its own, before it is made a sample. */
static double value_of(const struct vrt_ref_run *run, const struct vrt_colour *colour, int i,
                       const int at[4])
{
    static const int gbr[3] = { 1, 2, 0 };
    double rgb[3];

    if (run->op->colour.layout == VRT_PLANES_YUV && i > 0)
        return chroma_of(run, colour, i, at);
    rgb_at(run, at[0], at[1], at[2], rgb);
    return run->op->colour.layout == VRT_PLANES_GBR ? rgb[gbr[i]] : luma_of(colour, rgb);
}

void vrt_ref_rgb_to_yuv(const struct vrt_ref_run *run)
{
    const struct vrt_colour colour = vrt_colour_of(&run->op->colour);

    for (int i = 0; i < vrt_op_n_out(run->op); i++) {
        const struct vrt_shape plane = run->out[i].tensor->shape;
        const bool chroma = run->op->colour.layout == VRT_PLANES_YUV && i > 0;
        const double scale = chroma ? colour.c_scale : colour.y_scale;
        const double offset = chroma ? colour.c_offset : colour.y_offset;
        for (int at[4] = { 0 }; at[0] < plane.d; vrt_ref_step(at, plane)) {
            const double x = scale * value_of(run, &colour, i, at) + offset;
            vrt_ref_put(&run->out[i], at, vrt_ref_sample(x, colour.max));
        }
    }
}
