/* SPDX-License-Identifier: MIT */
/* range: smallest, largest, how many not finite, how many; of each frame. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/sweep.h"
#include "tests/unit/test.h"

#define CASES_OF_KIND CONF_SWEEP_CASES

/* Puts what is not finite into every third place, or every place. */
static void spoil(struct conf *t, float *x, size_t n, int i)
{
    static const float values[] = { NAN, INFINITY, -INFINITY };

    for (size_t k = 0; k < n; k++)
        if (i % 5 == 0 || conf_random(t, 3) == 0)
            x[k] = values[conf_random(t, 3)];
}

static void run_range(struct conf *t, int i)
{
    const struct conf_sweep sweep = conf_sweep_case(i % CASES_OF_KIND);
    const struct vrt_shape in = sweep.in.shape;
    struct conf_spec result = conf_dense(VRT_DTYPE_F32, in.d, 1, 1, 4);
    const size_t n = (size_t)in.h * (size_t)in.w * (size_t)in.c;
    float *x;
    struct vrt_op op = { .kind = VRT_OP_RANGE, .n_in = 1 };

    op.in[0] = conf_input(t, sweep.in, &x);
    result.view = sweep.out.view;
    op.out = conf_output(t, result);
    if (i >= CASES_OF_KIND)
        spoil(t, x, n * (size_t)in.d, i);
    double *want = conf_array(t, 4 * (size_t)in.d);
    for (int d = 0; d < in.d; d++) {
        double *frame = &want[4 * d];
        bool any = false;
        for (size_t k = 0; k < n; k++) {
            const double value = (double)x[(size_t)d * n + k];
            if (!isfinite(value)) {
                frame[2]++;
                continue;
            }
            frame[0] = any && frame[0] < value ? frame[0] : value;
            frame[1] = any && frame[1] > value ? frame[1] : value;
            any = true;
        }
        frame[3] = (double)n;
    }
    conf_expect(t, &op, (const double *const[]){ want }, conf_exact);
}

CONF_MAIN(range, 2 * CASES_OF_KIND)
