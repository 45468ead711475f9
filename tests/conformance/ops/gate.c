/* SPDX-License-Identifier: MIT */
/* gate: out = (x + y) * (scale * sigmoid(g) + shift), y being absent in every second case. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/sweep.h"
#include "tests/unit/test.h"

/* SiLU's, what SPAN and SPANF3 multiply with, and any. */
static const struct vrt_op_gate gates[] = { { 1, 0 }, { 1, -0.5f }, { 2, -1 }, { -0.3f, 1.5f } };

static void run_gate(struct conf *t, int i)
{
    const struct conf_sweep sweep = conf_sweep_case(i);
    const bool adds = i % 2 == 0;
    float *g, *x, *y = NULL;
    struct vrt_op op = {
        .kind = VRT_OP_GATE,
        .n_in = adds ? 3 : 2,
        .gate = gates[(size_t)i % VRT_ARRAY_SIZE(gates)],
    };

    op.in[0] = conf_input(t, sweep.in, &g);
    op.in[1] = conf_input(t, sweep.more, &x);
    if (adds)
        op.in[2] = conf_input(t, sweep.in, &y);
    op.out = conf_output(t, sweep.out);
    const size_t n = (size_t)vrt_shape_count(op.out.shape);
    double *want = conf_array(t, n);
    for (size_t k = 0; k < n; k++) {
        /* As far as a sigmoid goes, and beyond where its exponential is infinite. */
        g[k] = conf_rounded(g[k] * (k % 5 == 0 ? 120 : 4), op.in[0].dtype);
        const double half = 0.5 * tanh((double)g[k] / 2);
        want[k] = ((double)x[k] + (adds ? (double)y[k] : 0)) *
                  ((double)op.gate.scale * (0.5 + half) + (double)op.gate.shift);
    }
    conf_expect(t, &op, (const double *const[]){ want }, conf_tolerance_of(op.out.dtype));
}

CONF_MAIN(gate, CONF_SWEEP_CASES)
