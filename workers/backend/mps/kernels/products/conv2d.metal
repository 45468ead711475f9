/* SPDX-License-Identifier: MIT */

/* conv2d: a place's factors are its neighbours' channels, tap after tap. */

#define PRODUCT_WIDE VRT_KERNEL_CONV2D_WIDE(sizeof(FACTOR))
#include "backend/mps/kernels/products/product.h"

struct source {
    const GLOBAL char *data;
    const ARG struct vrt_kernel_view *x;
    int taps;                       /* along a side */
    int h[PRODUCT_OWN], w[PRODUCT_OWN];     /* of each row's first neighbour */
    long from[PRODUCT_OWN];         /* elements to where it is, or would be */
    long apart;                     /* elements from there to this tap's */
    bool is_inside[PRODUCT_OWN];    /* whether there is such a neighbour */
};

static inline void open_rows(PRIVATE struct source *s, const ARG struct vrt_kernel_view *out,
                             int first, int item)
{
#pragma unroll
    for (int i = 0; i < PRODUCT_OWN; i++) {
        struct place p;

        place_of_row(out, first + product_own_row(item, i), &p);
        s->h[i] = p.h - s->taps / 2;
        s->w[i] = p.w - s->taps / 2;
        s->from[i] = view_at(s->x, p.d, s->h[i], s->w[i]);
    }
}

static inline void turn(PRIVATE struct source *s, int tap)
{
    const int down = tap / s->taps, right = tap % s->taps;

    s->apart = down * s->x->stride_h + right * s->x->stride_w;
#pragma unroll
    for (int i = 0; i < PRODUCT_OWN; i++) {
        const int h = s->h[i] + down, w = s->w[i] + right;
        s->is_inside[i] = h >= 0 && h < s->x->h && w >= 0 && w < s->x->w;
    }
}

static inline void fetch(PRIVATE struct source *s, int c, PRIVATE FACTORS *x)
{
    const int n = s->x->c - c;
    const bool is_whole = n >= 4 && s->x->dtype == FACTOR_DTYPE;

#pragma unroll
    for (int i = 0; i < PRODUCT_OWN; i++) {
        const long at = s->from[i] + s->apart + c;
        if (!s->is_inside[i])
            x[i] = as_factors(float4(0.0f));
        else if (is_whole)
            x[i] = load_factors(s->data, at);
        else
            x[i] = as_factors(load_run(s->data, s->x->dtype, at, n));
    }
}

/* What becomes of outputs o .. o + 3, of which there are n. */
static inline float4 activate(const ARG struct vrt_kernel_conv2d *e, const GLOBAL char *slopes,
                              int o, int n, float4 x)
{
    float4 slope = float4(e->slope);

    if (e->activation == VRT_ACTIVATION_NONE)
        return x;
    if (e->activation == VRT_ACTIVATION_RELU)
        slope = float4(0.0f);
    if (e->activation == VRT_ACTIVATION_PRELU)
        slope = load_run(slopes, VRT_DTYPE_F32, o, n);
    return select(x, slope * x, x < float4(0.0f));
}

KERNEL_OF(PRODUCT_ITEMS, NAME)(ARGS(struct vrt_kernel_conv2d, e), OUTPUT(1, out), INPUT(2, x),
                               INPUT(3, residual), INPUT(4, weights), INPUT(5, bias),
                               INPUT(6, slopes) WORK_ITEM)
{
    PRODUCT_MEMORY;
    const int item = LOCAL_ID(0), first = GROUP_ID(1) * PRODUCT_ROWS;
    const int column = GROUP_ID(0) * PRODUCT_COLUMNS;
    const int o = column + product_own_column(item), n = e.out.c - o;
    const struct product product = { &e.weights, weights, column };
    struct source s;
    struct sums sums;

    s.data = x;
    s.x = &e.x;
    s.taps = e.taps;
    open_rows(&s, &e.out, first, item);
    multiply(&s, &product, memory, item, &sums);
#pragma unroll
    for (int i = 0; i < 8; i++) {
        float4 value = take_sums(memory, item, &sums, i);
        struct place p;

        place_of_row(&e.out, first + product_sum_row(item, i), &p);
        if (!p.exists || n <= 0)
            continue;
        if (e.has_bias)
            value += load_run(bias, VRT_DTYPE_F32, o, n);
        value = activate(&e, slopes, o, n, value) * e.scale;
        if (e.residual.c)
            value += load_run(residual, e.residual.dtype,
                              view_at(&e.residual, p.d, p.h, p.w) + o, n);
        store_run(out, e.out.dtype, view_at(&e.out, p.d, p.h, p.w) + o, n, value);
    }
}
