/* SPDX-License-Identifier: MIT */
/* concat: channels of 1 to 8 tensors, one after the other. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct {
    int n, c[VRT_OP_MAX_IN];
    int d, h, w;
} lists[] = {
    { 1, { 3 }, 1, 5, 7 },
    { 2, { 3, 64 }, 1, 4, 6 },
    { 2, { 1, 1 }, 2, 1, 1 },
    { 3, { 24, 33, 12 }, 1, 3, 9 },
    { 4, { 64, 32, 32, 32 }, 1, 2, 5 },
    { 8, { 1, 2, 3, 4, 5, 6, 7, 16 }, 3, 3, 2 },
    { 2, { 96, 128 }, 1, 11, 1 },
};

static const enum vrt_dtype types[][2] = {
    { VRT_DTYPE_F32, VRT_DTYPE_F32 },
    { VRT_DTYPE_BF16, VRT_DTYPE_BF16 },
    { VRT_DTYPE_F16, VRT_DTYPE_F16 },
    { VRT_DTYPE_BF16, VRT_DTYPE_F32 },
};

#define N_LISTS ((int)VRT_ARRAY_SIZE(lists))
#define N_TYPES ((int)VRT_ARRAY_SIZE(types))

static void run_concat(struct conf *t, int i)
{
    const int list = i % N_LISTS, n = lists[list].n;
    const enum vrt_dtype *type = types[i / N_LISTS % N_TYPES];
    const int view = i / N_LISTS / N_TYPES;
    struct vrt_shape shape = { lists[list].d, lists[list].h, lists[list].w, 0 };
    float *x[VRT_OP_MAX_IN];
    struct vrt_op op = { .kind = VRT_OP_CONCAT, .n_in = n };
    int total = 0;

    for (int k = 0; k < n; k++) {
        shape.c = lists[list].c[k];
        total += shape.c;
        const enum conf_view in_view = (enum conf_view)((view + k * (view > 0)) % CONF_VIEW_COUNT);
        op.in[k] = conf_input(t, (struct conf_spec){ type[0], shape, in_view, 0 }, &x[k]);
    }
    shape.c = total;
    op.out = conf_output(t, (struct conf_spec){ type[1], shape, (enum conf_view)view, 0 });

    double *want = conf_array(t, (size_t)vrt_shape_count(shape)), *next = want;
    for (int place = 0; place < shape.d * shape.h * shape.w; place++)
        for (int k = 0; k < n; k++)
            for (int c = 0; c < lists[list].c[k]; c++)
                *next++ = (double)x[k][place * lists[list].c[k] + c];
    conf_expect(t, &op, (const double *const[]){ want }, conf_exact);
}

CONF_MAIN(concat, N_LISTS * N_TYPES * CONF_VIEW_COUNT)
