/* SPDX-License-Identifier: MIT */
/* warp: each place is taken from where its flow points. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/positions.h"
#include "tests/unit/test.h"

static const struct vrt_shape shapes[] = {
    { 1, 1, 1, 1 }, { 2, 6, 66, 4 },   { 2, 3, 5, 2 }, { 1, 9, 2, 33 },
    { 3, 4, 6, 12 }, { 1, 1, 17, 40 }, { 1, 8, 8, 120 }, { 2, 5, 130, 3 },
};

#define N_SHAPES ((int)VRT_ARRAY_SIZE(shapes))
#define N_MODES 3

/* What position `at` is moved to so that a side of n pixels has it. What is no number goes to 0. */
static double clamp(double at, int n)
{
    return at > 0 ? at < n - 1 ? at : n - 1 : 0;
}

/* out: what the mode takes at row y, column x of frame d, 1 or 4 samples of each channel. */
static void take(const struct conf_picture *picture, enum vrt_warp_mode mode, const double at[3],
                 double *out)
{
    const struct vrt_shape s = picture->shape;

    for (int c = 0; c < s.c; c++)
        switch (mode) {
        case VRT_WARP_BILINEAR:
            out[c] = conf_sample(picture, at, c);
            break;
        case VRT_WARP_BILINEAR_BORDER:
            out[c] = conf_sample(
                picture, (double[3]){ at[0], clamp(at[1], s.h), clamp(at[2], s.w) }, c);
            break;
        case VRT_WARP_NEAREST4: {
            const double top = floor(at[1]), bottom = ceil(at[1]);
            const double left = floor(at[2]), right = ceil(at[2]);
            out[c] = conf_sample(picture, (double[3]){ at[0], top, left }, c);
            out[s.c + c] = conf_sample(picture, (double[3]){ at[0], bottom, left }, c);
            out[2 * s.c + c] = conf_sample(picture, (double[3]){ at[0], top, right }, c);
            out[3 * s.c + c] = conf_sample(picture, (double[3]){ at[0], bottom, right }, c);
            break;
        }
        }
}

static void run_warp(struct conf *t, int i)
{
    const struct vrt_shape shape = shapes[i % N_SHAPES];
    const enum vrt_dtype *type = conf_in_out[i / N_SHAPES % CONF_N_IN_OUT];
    const enum vrt_warp_mode mode = (enum vrt_warp_mode)(i / N_SHAPES / CONF_N_IN_OUT % N_MODES);
    const enum conf_reach reach = (enum conf_reach)(i / N_SHAPES / CONF_N_IN_OUT / N_MODES);
    const enum conf_view view = (enum conf_view)(i % CONF_VIEW_COUNT);
    const enum conf_view out_view = (enum conf_view)(i / N_SHAPES % CONF_VIEW_COUNT);
    const bool is_copied = mode == VRT_WARP_NEAREST4;
    struct vrt_shape flow_shape = shape, out_shape = shape;
    struct vrt_op op = { .kind = VRT_OP_WARP, .n_in = 2, .warp = { .mode = mode } };
    float *x, *flow;

    flow_shape.c = 2;
    out_shape.c *= is_copied ? 4 : 1;
    op.in[0] = conf_input(t, (struct conf_spec){ type[0], shape, view, 0 }, &x);
    op.in[1] = conf_input(t, (struct conf_spec){
        VRT_DTYPE_F32, flow_shape, (enum conf_view)(CONF_VIEW_COUNT - 1 - view), 0 }, &flow);
    op.out = conf_output(t, (struct conf_spec){ type[1], out_shape, out_view, 0 });

    const struct conf_picture picture = { x, shape };
    double *want = conf_array(t, (size_t)vrt_shape_count(out_shape)), *next = want;
    for (int d = 0; d < shape.d; d++)
    for (int h = 0; h < shape.h; h++)
    for (int w = 0; w < shape.w; w++, flow += 2, next += out_shape.c) {
        flow[0] = conf_displacement(t, reach, shape.w);
        flow[1] = conf_displacement(t, reach, shape.h);
        take(&picture, mode, (double[3]){ d, h + (double)flow[1], w + (double)flow[0] }, next);
        for (int c = 0; is_copied && c < out_shape.c; c++)
            next[c] = (double)conf_rounded((float)next[c], type[1]);
    }
    conf_expect(t, &op, (const double *const[]){ want },
                is_copied ? conf_exact : conf_tolerance_of(type[1]));
}

CONF_MAIN(warp, N_SHAPES * CONF_N_IN_OUT * N_MODES * CONF_REACH_COUNT)
