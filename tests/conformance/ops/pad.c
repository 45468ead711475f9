/* SPDX-License-Identifier: MIT */
/* pad: zeros, the edge repeated, or mirrored with and without that, further than the picture. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct {
    int d, c, h, w, top, left, bottom, right;
} sizes[] = {
    { 1, 1, 1, 1, 0, 0, 0, 0 },  { 1, 3, 1, 1, 2, 3, 1, 4 },  { 1, 3, 5, 7, 0, 0, 3, 1 },
    { 2, 3, 4, 6, 1, 2, 3, 4 },  { 1, 64, 3, 3, 2, 2, 2, 2 }, { 1, 12, 2, 3, 7, 8, 9, 10 },
    { 3, 33, 9, 8, 5, 3, 0, 0 }, { 1, 24, 1, 5, 3, 0, 0, 6 },
};

static const enum vrt_dtype types[][2] = {
    { VRT_DTYPE_F32, VRT_DTYPE_F32 },
    { VRT_DTYPE_BF16, VRT_DTYPE_BF16 },
    { VRT_DTYPE_F32, VRT_DTYPE_F16 },
};

#define N_SIZES ((int)VRT_ARRAY_SIZE(sizes))
#define N_TYPES ((int)VRT_ARRAY_SIZE(types))
#define N_MODES 4

/* Walks from 0 by `i` steps along [0, n), turning round at its ends, where `rest`: after a step on
 * the spot. */
static int walk(int i, int n, bool rest)
{
    int at = 0, step = i < 0 ? -1 : 1;

    for (int k = 0; n > 1 && k < abs(i); k++) {
        if (at + step < 0 || at + step >= n) {
            step = -step;
            if (rest)
                continue;
        }
        at += step;
    }
    return at;
}

/* Which sample of `n` stands at `i` from the first; -1: a zero. */
static int source(enum vrt_pad_mode mode, int i, int n)
{
    if (i >= 0 && i < n)
        return i;
    if (mode == VRT_PAD_ZERO)
        return -1;
    if (mode == VRT_PAD_REPLICATE)
        return i < 0 ? 0 : n - 1;
    return walk(i, n, mode == VRT_PAD_MIRROR);
}

static void run_pad(struct conf *t, int i)
{
    const int s = i % N_SIZES, H = sizes[s].h, W = sizes[s].w, C = sizes[s].c;
    const enum vrt_dtype *type = types[i / N_SIZES % N_TYPES];
    const enum vrt_pad_mode mode = (enum vrt_pad_mode)(i / N_SIZES / N_TYPES % N_MODES);
    const int view = i / N_SIZES / N_TYPES / N_MODES;
    const struct vrt_shape in = { sizes[s].d, H, W, C };
    const struct vrt_shape out = { in.d, H + sizes[s].top + sizes[s].bottom,
                                   W + sizes[s].left + sizes[s].right, C };
    float *x;
    struct vrt_op op = {
        .kind = VRT_OP_PAD,
        .n_in = 1,
        .pad = { .mode = mode, .top = sizes[s].top, .left = sizes[s].left },
    };

    op.in[0] = conf_input(t, (struct conf_spec){ type[0], in, (enum conf_view)view, 0 }, &x);
    op.out = conf_output(t, (struct conf_spec){
        type[1], out, (enum conf_view)(CONF_VIEW_COUNT - 1 - view), 0 });
    double *want = conf_array(t, (size_t)vrt_shape_count(out)), *next = want;
    for (int d = 0; d < out.d; d++)
    for (int row = 0; row < out.h; row++)
    for (int column = 0; column < out.w; column++)
    for (int c = 0; c < C; c++) {
        const int y = source(mode, row - sizes[s].top, H);
        const int col = source(mode, column - sizes[s].left, W);
        *next++ = y < 0 || col < 0
                      ? 0
                      : (double)conf_rounded(x[((d * H + y) * W + col) * C + c], type[1]);
    }
    conf_expect(t, &op, (const double *const[]){ want }, conf_exact);
}

CONF_MAIN(pad, N_SIZES * N_TYPES * N_MODES * CONF_VIEW_COUNT)
