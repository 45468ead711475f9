/* SPDX-License-Identifier: MIT */
/* add: out = a * scale + b, a being as large as b, or one number a channel. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/sweep.h"
#include "tests/unit/test.h"

static void run_add(struct conf *t, int i)
{
    struct conf_sweep sweep = conf_sweep_case(i % CONF_SWEEP_CASES);
    const int C = sweep.in.shape.c;
    const bool is_one = i >= CONF_SWEEP_CASES;
    float *a, *b;
    struct vrt_op op = {
        .kind = VRT_OP_ADD,
        .n_in = 2,
        .add = { .scale = i % 3 == 0 ? 1.0f : i % 3 == 1 ? 0.2f : -1.5f },
    };

    if (is_one)
        sweep.in.shape = (struct vrt_shape){ 1, 1, 1, C };
    op.in[0] = conf_input(t, sweep.in, &a);
    op.in[1] = conf_input(t, sweep.more, &b);
    op.out = conf_output(t, sweep.out);
    const size_t n = (size_t)vrt_shape_count(op.out.shape);
    double *want = conf_array(t, n);
    for (size_t k = 0; k < n; k++)
        want[k] = (double)a[is_one ? k % (size_t)C : k] * (double)op.add.scale + (double)b[k];
    conf_expect(t, &op, (const double *const[]){ want }, conf_tolerance_of(op.out.dtype));
}

CONF_MAIN(add, 2 * CONF_SWEEP_CASES)
