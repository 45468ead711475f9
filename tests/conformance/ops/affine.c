/* SPDX-License-Identifier: MIT */
/* affine: x * scale[c] + shift[c], for a few channels. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct vrt_shape shapes[] = {
    { 1, 1, 1, 1 }, { 1, 5, 7, 3 },  { 2, 3, 5, 4 },
    { 1, 9, 2, 2 }, { 3, 1, 17, 3 }, { 1, 40, 33, 3 },
};

#define N_SHAPES ((int)VRT_ARRAY_SIZE(shapes))

static void run_affine(struct conf *t, int i)
{
    const struct vrt_shape shape = shapes[i % N_SHAPES];
    const enum vrt_dtype *type = conf_in_out[i / N_SHAPES % CONF_N_IN_OUT];
    const int view = i / N_SHAPES / CONF_N_IN_OUT;
    const struct vrt_op_affine affine = {
        .scale = { 4.367f, -0.5f, 1, 0 },
        .shift = { -2.118f, 0, 0.25f, 7 },
    };
    struct vrt_op op = { .kind = VRT_OP_AFFINE, .n_in = 1, .affine = affine };
    float *x;

    op.in[0] = conf_input(t, (struct conf_spec){ type[0], shape, (enum conf_view)view, 0 }, &x);
    op.out = conf_output(t, (struct conf_spec){
        type[1], shape, (enum conf_view)(CONF_VIEW_COUNT - 1 - view), 0 });
    const int n = (int)vrt_shape_count(shape);
    double *want = conf_array(t, (size_t)n);
    for (int k = 0; k < n; k++)
        want[k] = (double)x[k] * (double)affine.scale[k % shape.c] +
                  (double)affine.shift[k % shape.c];
    conf_expect(t, &op, (const double *const[]){ want }, conf_tolerance_of(type[1]));
}

CONF_MAIN(affine, N_SHAPES * CONF_N_IN_OUT * CONF_VIEW_COUNT)
