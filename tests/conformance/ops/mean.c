/* SPDX-License-Identifier: MIT */
/* mean: of each channel, over frames, rows and columns. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct vrt_shape shapes[] = {
    { 1, 1, 1, 1 },  { 1, 5, 7, 3 },   { 2, 3, 5, 12 },   { 3, 1, 17, 2 },
    { 1, 9, 1, 64 }, { 4, 40, 33, 3 }, { 7, 64, 100, 1 }, { 1, 3, 4, 300 },
    { 1, 2, 3, 2100 },
};

static const enum vrt_dtype types[] = { VRT_DTYPE_F32, VRT_DTYPE_BF16, VRT_DTYPE_F16 };

#define N_SHAPES ((int)VRT_ARRAY_SIZE(shapes))
#define N_TYPES ((int)VRT_ARRAY_SIZE(types))

static void run_mean(struct conf *t, int i)
{
    const struct vrt_shape shape = shapes[i % N_SHAPES], out = { 1, 1, 1, shape.c };
    const enum vrt_dtype type = types[i / N_SHAPES % N_TYPES];
    const int view = i / N_SHAPES / N_TYPES, places = shape.d * shape.h * shape.w;
    struct vrt_op op = { .kind = VRT_OP_MEAN, .n_in = 1 };
    float *x;

    op.in[0] = conf_input(t, (struct conf_spec){ type, shape, (enum conf_view)view, 0 }, &x);
    op.out = conf_output(t, (struct conf_spec){
        VRT_DTYPE_F32, out, (enum conf_view)(CONF_VIEW_COUNT - 1 - view), 0 });

    /* As pictures are, all of one sign: a sum in f32 that goes on for long would lose digits. */
    double *want = conf_array(t, (size_t)shape.c);
    for (int k = 0; k < places * shape.c; k++) {
        x[k] = fabsf(x[k]);
        want[k % shape.c] += (double)x[k] / places;
    }
    conf_expect(t, &op, (const double *const[]){ want }, conf_tolerance_of(VRT_DTYPE_F32));
}

CONF_MAIN(mean, N_SHAPES * N_TYPES * CONF_VIEW_COUNT)
