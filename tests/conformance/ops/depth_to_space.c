/* SPDX-License-Identifier: MIT */
/* depth_to_space: PyTorch's pixel_shuffle, or of blocks, plus an enlarged base. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

static const struct {
    int r, d, h, w, c;
    int base_h, base_w;             /* 0: none */
} sizes[] = {
    { 1, 1, 3, 2, 5, 0, 0 },    { 2, 1, 1, 1, 1, 1, 1 },    { 2, 1, 5, 7, 3, 5, 7 },
    { 4, 1, 3, 5, 3, 3, 5 },    { 3, 2, 4, 3, 3, 4, 3 },    { 2, 2, 3, 9, 16, 0, 0 },
    { 4, 1, 2, 3, 3, 8, 12 },   { 2, 1, 4, 6, 3, 2, 3 },    { 8, 1, 2, 1, 2, 2, 1 },
    { 2, 3, 9, 17, 3, 9, 17 },  { 4, 1, 1, 33, 1, 1, 33 },  { 2, 1, 3, 3, 24, 1, 1 },
};

/* x, base, out. */
static const enum vrt_dtype types[][3] = {
    { VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_F32 },
    { VRT_DTYPE_BF16, VRT_DTYPE_F32, VRT_DTYPE_F32 },
    { VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_DTYPE_BF16 },
    { VRT_DTYPE_F16, VRT_DTYPE_F32, VRT_DTYPE_F32 },
};

static const enum conf_view views[][3] = {
    { CONF_DENSE, CONF_DENSE, CONF_DENSE },
    { CONF_CHANNELS, CONF_CROP, CONF_CROP },
    { CONF_BOTH, CONF_BOTH, CONF_CHANNELS },
};

#define N_SIZES ((int)VRT_ARRAY_SIZE(sizes))
#define N_TYPES ((int)VRT_ARRAY_SIZE(types))
#define N_VIEWS ((int)VRT_ARRAY_SIZE(views))
#define N_ORDERS 2

/* want [D,H*r,W*r,C]; x [D,H,W,C*r*r]; base [D,h,w,C] or NULL. */
static void reference(double *want, int s, enum vrt_shuffle_order order, const float *x,
                      const float *base)
{
    const int r = sizes[s].r, H = sizes[s].h, W = sizes[s].w, C = sizes[s].c;
    const int h = sizes[s].base_h, w = sizes[s].base_w;

    for (int d = 0; d < sizes[s].d; d++)
    for (int y = 0; y < H; y++)
    for (int col = 0; col < W; col++)
    for (int c = 0; c < C; c++)
    for (int i = 0; i < r; i++)
    for (int j = 0; j < r; j++) {
        const int row = y * r + i, column = col * r + j;
        const int k = order == VRT_SHUFFLE_PIXELS ? (c * r + i) * r + j : (j * r + i) * C + c;
        double sum = (double)x[((d * H + y) * W + col) * C * r * r + k];
        if (base)
            sum += (double)base[((d * h + row * h / (H * r)) * w + column * w / (W * r)) * C + c];
        want[((d * H * r + row) * W * r + column) * C + c] = sum;
    }
}

static void run_depth_to_space(struct conf *t, int i)
{
    const int s = i % N_SIZES, r = sizes[s].r;
    const enum vrt_dtype *type = types[i / N_SIZES % N_TYPES];
    const enum conf_view *view = views[i / N_SIZES / N_TYPES % N_VIEWS];
    const enum vrt_shuffle_order order =
        (enum vrt_shuffle_order)(i / N_SIZES / N_TYPES / N_VIEWS);
    const struct vrt_shape in = { sizes[s].d, sizes[s].h, sizes[s].w, sizes[s].c * r * r };
    const struct vrt_shape small = { in.d, sizes[s].base_h, sizes[s].base_w, sizes[s].c };
    const struct vrt_shape out = { in.d, in.h * r, in.w * r, sizes[s].c };
    float *x, *base = NULL;
    struct vrt_op op = {
        .kind = VRT_OP_DEPTH_TO_SPACE,
        .n_in = i % 2 && !small.h ? 1 : 2,
        .in = { [1] = VRT_TENSOR_NONE },
        .depth_to_space = { .r = r, .order = order },
    };

    op.in[0] = conf_input(t, (struct conf_spec){ type[0], in, view[0], 0 }, &x);
    if (small.h)
        op.in[1] = conf_input(t, (struct conf_spec){ type[1], small, view[1], 0 }, &base);
    op.out = conf_output(t, (struct conf_spec){ type[2], out, view[2], 0 });
    double *want = conf_array(t, (size_t)vrt_shape_count(out));
    reference(want, s, order, x, base);
    conf_expect(t, &op, (const double *const[]){ want },
                base ? conf_tolerance_of(op.out.dtype) : conf_exact);
}

CONF_MAIN(depth_to_space, N_SIZES * N_TYPES * N_VIEWS * N_ORDERS)
