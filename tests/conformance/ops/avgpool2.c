/* SPDX-License-Identifier: MIT */
/* avgpool2: the mean of each block of 2x2. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct vrt_shape shapes[] = {      /* of the output */
    { 1, 1, 1, 1 }, { 1, 5, 7, 3 },  { 2, 3, 5, 12 },  { 1, 9, 2, 33 },
    { 3, 1, 8, 3 }, { 1, 6, 1, 64 }, { 1, 13, 31, 3 },
};

static const enum vrt_dtype types[][2] = {
    { VRT_DTYPE_F32, VRT_DTYPE_F32 },  { VRT_DTYPE_BF16, VRT_DTYPE_BF16 },
    { VRT_DTYPE_BF16, VRT_DTYPE_F32 }, { VRT_DTYPE_F16, VRT_DTYPE_F16 },
};

#define N_SHAPES ((int)VRT_ARRAY_SIZE(shapes))
#define N_TYPES ((int)VRT_ARRAY_SIZE(types))

static void run_avgpool2(struct conf *t, int i)
{
    const struct vrt_shape out = shapes[i % N_SHAPES];
    const enum vrt_dtype *type = types[i / N_SHAPES % N_TYPES];
    const int view = i / N_SHAPES / N_TYPES;
    const struct vrt_shape in = { out.d, 2 * out.h, 2 * out.w, out.c };
    struct vrt_op op = { .kind = VRT_OP_AVGPOOL2, .n_in = 1 };
    float *x;

    op.in[0] = conf_input(t, (struct conf_spec){ type[0], in, (enum conf_view)view, 0 }, &x);
    op.out = conf_output(t, (struct conf_spec){
        type[1], out, (enum conf_view)(CONF_VIEW_COUNT - 1 - view), 0 });
    double *want = conf_array(t, (size_t)vrt_shape_count(out));
    for (int d = 0; d < in.d; d++)
    for (int h = 0; h < in.h; h++)
    for (int w = 0; w < in.w; w++)
    for (int c = 0; c < in.c; c++)
        want[((d * out.h + h / 2) * out.w + w / 2) * out.c + c] += (double)*x++ / 4;
    conf_expect(t, &op, (const double *const[]){ want }, conf_tolerance_of(type[1]));
}

CONF_MAIN(avgpool2, N_SHAPES * N_TYPES * CONF_VIEW_COUNT)
