/* SPDX-License-Identifier: MIT */
/* blend: out = acc + x * (rows * columns), or divided by it. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/sweep.h"
#include "tests/unit/test.h"

/* Weights as they occur: shares of 1, and 1 to 4 to divide by. */
static struct vrt_tensor weights(struct conf *t, int h, int w, bool divides, float **ret_values)
{
    struct vrt_tensor tensor = conf_input(t, conf_dense(VRT_DTYPE_F32, 1, h, w, 1), ret_values);

    for (int i = 0; i < h * w; i++)
        (*ret_values)[i] = divides ? (float)(1 + conf_random(t, 4)) : (*ret_values)[i];
    return tensor;
}

static void run_blend(struct conf *t, int i)
{
    const struct conf_sweep sweep = conf_sweep_case(i);
    const struct vrt_shape shape = sweep.out.shape;
    const bool adds = i % 2 == 0, divides = i % 3 == 0;
    float *x, *rows, *columns, *acc = NULL;
    struct vrt_op op = { .kind = VRT_OP_BLEND, .n_in = adds ? 4 : 3,
                         .blend = { .divides = divides } };
    int k = 0;

    op.in[0] = conf_input(t, sweep.in, &x);
    op.in[1] = weights(t, shape.h, 1, divides, &rows);
    op.in[2] = weights(t, 1, shape.w, divides, &columns);
    if (adds)
        op.in[3] = conf_input(t, sweep.more, &acc);
    op.out = conf_output(t, sweep.out);
    double *want = conf_array(t, (size_t)vrt_shape_count(shape));
    for (int d = 0; d < shape.d; d++)
        for (int h = 0; h < shape.h; h++)
            for (int w = 0; w < shape.w; w++)
                for (int c = 0; c < shape.c; c++, k++) {
                    const double weight = (double)rows[h] * (double)columns[w];
                    want[k] = (adds ? (double)acc[k] : 0) +
                              (double)x[k] * (divides ? 1 / weight : weight);
                }
    conf_expect(t, &op, (const double *const[]){ want }, conf_tolerance_of(op.out.dtype));
}

CONF_MAIN(blend, CONF_SWEEP_CASES)
