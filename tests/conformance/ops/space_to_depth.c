/* SPDX-License-Identifier: MIT */
/* space_to_depth: PyTorch's pixel_unshuffle, or blocks whose channels stay together. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct {
    int r, d, h, w, c;              /* of the output, but c of the input */
} sizes[] = {
    { 1, 1, 3, 2, 5 }, { 2, 1, 1, 1, 1 },  { 2, 1, 5, 7, 3 }, { 4, 1, 3, 5, 3 },
    { 3, 2, 4, 3, 3 }, { 2, 2, 3, 9, 16 }, { 8, 1, 2, 1, 2 }, { 2, 1, 4, 17, 24 },
};

static const enum vrt_dtype types[][2] = {
    { VRT_DTYPE_F32, VRT_DTYPE_F32 },
    { VRT_DTYPE_F32, VRT_DTYPE_BF16 },
    { VRT_DTYPE_BF16, VRT_DTYPE_BF16 },
    { VRT_DTYPE_F16, VRT_DTYPE_F16 },
};

#define N_SIZES ((int)VRT_ARRAY_SIZE(sizes))
#define N_TYPES ((int)VRT_ARRAY_SIZE(types))
#define N_ORDERS 2

static void run_space_to_depth(struct conf *t, int i)
{
    const int s = i % N_SIZES, r = sizes[s].r, H = sizes[s].h, W = sizes[s].w, C = sizes[s].c;
    const enum vrt_dtype *type = types[i / N_SIZES % N_TYPES];
    const enum conf_view view = (enum conf_view)(i / N_SIZES / N_TYPES % CONF_VIEW_COUNT);
    const enum vrt_shuffle_order order =
        (enum vrt_shuffle_order)(i / N_SIZES / N_TYPES / CONF_VIEW_COUNT);
    const struct vrt_shape in = { sizes[s].d, H * r, W * r, C };
    const struct vrt_shape out = { sizes[s].d, H, W, C * r * r };
    float *x;
    struct vrt_op op = {
        .kind = VRT_OP_SPACE_TO_DEPTH,
        .n_in = 1,
        .space_to_depth = { .r = r, .order = order },
    };

    op.in[0] = conf_input(t, (struct conf_spec){ type[0], in, view, 0 }, &x);
    op.out = conf_output(t, (struct conf_spec){
        type[1], out, (enum conf_view)(CONF_VIEW_COUNT - 1 - (int)view), 0 });
    double *want = conf_array(t, (size_t)vrt_shape_count(out));
    for (int d = 0; d < in.d; d++)
    for (int row = 0; row < in.h; row++)
    for (int column = 0; column < in.w; column++)
    for (int c = 0; c < C; c++) {
        const int channel = order == VRT_SHUFFLE_PIXELS
                                ? c * r * r + row % r * r + column % r
                                : column % r * r * C + row % r * C + c;
        want[((d * H + row / r) * W + column / r) * out.c + channel] =
            (double)conf_rounded(x[((d * in.h + row) * in.w + column) * C + c], type[1]);
    }
    conf_expect(t, &op, (const double *const[]){ want }, conf_exact);
}

CONF_MAIN(space_to_depth, N_SIZES * N_TYPES * CONF_VIEW_COUNT * N_ORDERS)
