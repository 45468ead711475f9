/* SPDX-License-Identifier: MIT */
/* layernorm: (x - mean) / sqrt(variance + epsilon) * weight + bias, over channels. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/layers.h"
#include "tests/unit/test.h"

static const struct vrt_shape shapes[] = {
    { 1, 1, 1, 1 },   { 1, 5, 7, 1 },  { 1, 5, 7, 3 },   { 2, 3, 5, 12 },  { 1, 9, 2, 33 },
    { 2, 4, 9, 120 }, { 1, 3, 3, 180 }, { 3, 1, 17, 40 }, { 1, 17, 1, 96 }, { 1, 2, 3, 720 },
};

#define N_SHAPES ((int)VRT_ARRAY_SIZE(shapes))
#define N_OFFSETS 2

static void run_layernorm(struct conf *t, int i)
{
    const struct vrt_shape shape = shapes[i % N_SHAPES];
    const enum vrt_dtype *type = conf_in_out[i / N_SHAPES % CONF_N_IN_OUT];
    const bool has_offset = i / N_SHAPES / CONF_N_IN_OUT % N_OFFSETS;
    const int view = i / N_SHAPES / CONF_N_IN_OUT / N_OFFSETS;
    const size_t n = (size_t)vrt_shape_count(shape);
    struct conf_tolerance tolerance = conf_tolerance_of(type[1]);
    float *x;
    struct vrt_op op = { .kind = VRT_OP_LAYERNORM, .n_in = 1 };

    const struct conf_norm norm = conf_norm(t, true, shape.c);
    op.layernorm.norm = norm.op;
    op.in[0] = conf_input(t, (struct conf_spec){ type[0], shape, (enum conf_view)view, 0 }, &x);
    op.out = conf_output(t, (struct conf_spec){
        type[1], shape, (enum conf_view)(CONF_VIEW_COUNT - 1 - view), 0 });

    /* Far from zero a mean in f32 is off by 2^-20, and so is what is left without it. Whoever takes
     * the squares' mean less the mean's square is off by far more. */
    for (size_t k = 0; has_offset && k < n; k++)
        x[k] = conf_rounded(16 + x[k], type[0]);
    if (has_offset) {
        tolerance.norm = fmax(tolerance.norm, 1e-5);
        tolerance.element = fmax(tolerance.element, 5e-5);
    }
    double *want = conf_array(t, n);
    for (size_t p = 0; p < n; p += (size_t)shape.c)
        conf_norm_apply(&norm, &x[p], &want[p]);
    conf_expect(t, &op, (const double *const[]){ want }, tolerance);
}

CONF_MAIN(layernorm, N_SHAPES * CONF_N_IN_OUT * N_OFFSETS * CONF_VIEW_COUNT)
