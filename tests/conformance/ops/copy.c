/* SPDX-License-Identifier: MIT */
/* copy: from view to view, and between f32, f16 and bf16. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/sweep.h"
#include "tests/unit/test.h"

#define INTEGER_CASES 24

/* Samples of video planes: no conversion, any view. */
static struct conf_sweep integers(int i)
{
    struct conf_sweep sweep = conf_sweep_case(i * 7 % CONF_SWEEP_CASES);

    sweep.in.dtype = sweep.out.dtype = i % 2 ? VRT_DTYPE_U8 : VRT_DTYPE_U16;
    return sweep;
}

static void run_copy(struct conf *t, int i)
{
    const struct conf_sweep sweep =
        i < CONF_SWEEP_CASES ? conf_sweep_case(i) : integers(i - CONF_SWEEP_CASES);
    float *x;
    struct vrt_op op = { .kind = VRT_OP_COPY, .n_in = 1 };

    op.in[0] = conf_input(t, sweep.in, &x);
    op.out = conf_output(t, sweep.out);
    const size_t n = (size_t)vrt_shape_count(op.out.shape);
    double *want = conf_array(t, n);
    /* What is subnormal in bf16 is so in f32: a device may make zeros of those, none are here. */
    for (size_t k = 0; k < n; k++)
        want[k] = (double)x[k];
    conf_expect(t, &op, (const double *const[]){ want }, conf_exact);
}

CONF_MAIN(copy, CONF_SWEEP_CASES + INTEGER_CASES)
