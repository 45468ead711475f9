/* SPDX-License-Identifier: MIT */
/* fill: the same value everywhere, and nowhere else. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct vrt_shape shapes[] = {
    { 1, 1, 1, 1 }, { 1, 5, 7, 3 }, { 2, 3, 5, 12 }, { 1, 9, 2, 33 }, { 3, 1, 17, 64 },
};

static const enum vrt_dtype types[] = { VRT_DTYPE_F32, VRT_DTYPE_BF16, VRT_DTYPE_F16 };

static const float values[] = { 0, -1.5f, 0.1f };

#define N_SHAPES ((int)VRT_ARRAY_SIZE(shapes))
#define N_TYPES ((int)VRT_ARRAY_SIZE(types))
#define N_VALUES ((int)VRT_ARRAY_SIZE(values))

static void run_fill(struct conf *t, int i)
{
    const struct vrt_shape shape = shapes[i % N_SHAPES];
    const enum vrt_dtype type = types[i / N_SHAPES % N_TYPES];
    const float value = values[i / N_SHAPES / N_TYPES % N_VALUES];
    const enum conf_view view = (enum conf_view)(i / N_SHAPES / N_TYPES / N_VALUES);
    struct vrt_op op = { .kind = VRT_OP_FILL, .fill = { .value = value } };

    op.out = conf_output(t, (struct conf_spec){ type, shape, view, 0 });
    const size_t n = (size_t)vrt_shape_count(shape);
    double *want = conf_array(t, n);
    for (size_t k = 0; k < n; k++)
        want[k] = (double)conf_rounded(value, type);
    conf_expect(t, &op, (const double *const[]){ want }, conf_exact);
}

CONF_MAIN(fill, N_SHAPES * N_TYPES * N_VALUES * CONF_VIEW_COUNT)
