/* SPDX-License-Identifier: MIT */
/* resize: nearest, bilinear ("align_corners" false and true), bicubic; larger and smaller. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct {
    int d, c, h, w, out_h, out_w;
} sizes[] = {
    { 1, 1, 1, 1, 1, 1 },    { 1, 3, 1, 1, 4, 5 },   { 1, 64, 5, 7, 10, 14 },
    { 2, 3, 4, 6, 16, 24 },  { 1, 12, 5, 7, 8, 9 },  { 1, 33, 9, 7, 5, 3 },
    { 3, 3, 7, 2, 1, 1 },    { 1, 3, 6, 10, 9, 15 }, { 1, 24, 3, 3, 3, 3 },
    { 1, 3, 2, 31, 5, 64 },
};

#define N_SIZES ((int)VRT_ARRAY_SIZE(sizes))
#define N_MODES 4

/* Keys' kernel (1981) with a = -1/2, of a sample so far away. */
static double keys(double x)
{
    x = fabs(x);
    return x < 1 ? 1.5 * x * x * x - 2.5 * x * x + 1 :
           x < 2 ? -0.5 * x * x * x + 2.5 * x * x - 4 * x + 2 : 0;
}

/* The weight with which source `k` of `n` goes into place `i` of `m`. */
static double weight(enum vrt_resize_mode mode, int i, int m, int k, int n)
{
    if (mode == VRT_RESIZE_NEAREST)
        return k == (int)floor((double)i * n / m + 1e-9) ? 1 : 0;

    double position = (i + 0.5) * n / m - 0.5;
    if (mode == VRT_RESIZE_BICUBIC) {
        double sum = 0;
        for (int at = -3; at < n + 3; at++)
            sum += (at < 0 ? 0 : at >= n ? n - 1 : at) == k ? keys(position - at) : 0;
        return sum;
    }
    if (mode == VRT_RESIZE_BILINEAR_CORNERS)
        position = (double)i * (n - 1) / (m > 1 ? m - 1 : 1);
    position = position < 0 ? 0 : position > n - 1 ? n - 1 : position;
    return fmax(0, 1 - fabs(position - k));
}

static void run_resize(struct conf *t, int i)
{
    const int s = i % N_SIZES, H = sizes[s].h, W = sizes[s].w, C = sizes[s].c;
    const enum vrt_dtype *type = conf_in_out[i / N_SIZES % CONF_N_IN_OUT];
    const int view = i / N_SIZES / CONF_N_IN_OUT % CONF_VIEW_COUNT;
    const enum vrt_resize_mode mode =
        (enum vrt_resize_mode)(i / N_SIZES / CONF_N_IN_OUT / CONF_VIEW_COUNT);
    const struct vrt_shape in = { sizes[s].d, H, W, C };
    const struct vrt_shape out = { in.d, sizes[s].out_h, sizes[s].out_w, C };
    float *x;
    struct vrt_op op = { .kind = VRT_OP_RESIZE, .n_in = 1, .resize = { .mode = mode } };

    op.in[0] = conf_input(t, (struct conf_spec){ type[0], in, (enum conf_view)view, 0 }, &x);
    op.out = conf_output(t, (struct conf_spec){
        type[1], out, (enum conf_view)((view + 1) % CONF_VIEW_COUNT), 0 });
    double *want = conf_array(t, (size_t)vrt_shape_count(out)), *next = want;
    for (int d = 0; d < out.d; d++)
    for (int row = 0; row < out.h; row++)
    for (int column = 0; column < out.w; column++)
    for (int c = 0; c < C; c++, next++) {
        for (int y = 0; y < H; y++)
        for (int col = 0; col < W; col++)
            *next += weight(mode, row, out.h, y, H) * weight(mode, column, out.w, col, W) *
                     (double)x[((d * H + y) * W + col) * C + c];
        if (mode == VRT_RESIZE_NEAREST)
            *next = (double)conf_rounded((float)*next, type[1]);
    }
    conf_expect(t, &op, (const double *const[]){ want },
                mode == VRT_RESIZE_NEAREST ? conf_exact : conf_tolerance_of(op.out.dtype));
}

CONF_MAIN(resize, N_SIZES * CONF_N_IN_OUT * N_MODES * CONF_VIEW_COUNT)
