/* SPDX-License-Identifier: MIT */

/*
 * linear, and the layers of geglu and window_attention: a place's factors are its channels
 *
 * They may be normed first, with what layernorm found; a place of the output that the input doesn't
 * have counts as zeros; and, for mutual attention, a vector of the place in its window is added.
 */

#define PRODUCT_WIDE VRT_KERNEL_LINEAR_WIDE
#include "backend/mps/kernels/products/gelu.h"
#include "backend/mps/kernels/products/product.h"

struct source {
    const GLOBAL char *data;
    const ARG struct vrt_kernel_linear *e;
    const GLOBAL char *norm_weight, *norm_bias, *position;
    long from[PRODUCT_OWN];         /* elements to each row's place... */
    bool is_inside[PRODUCT_OWN];    /* ...if x has such a place */
    float mean[PRODUCT_OWN], scale[PRODUCT_OWN];
    int in_window[PRODUCT_OWN];     /* elements of the position to those of the place */
};

static inline void turn(PRIVATE struct source *s, int tap)
{
}

/* Channels c .. c + 3 of row i, of which there are n. */
static inline float4 prepare(const PRIVATE struct source *s, int i, int c, int n)
{
    float4 x = float4(0.0f);

    if (s->is_inside[i])
        x = load_run(s->data, s->e->x.dtype, s->from[i] + c, n);
    if (s->is_inside[i] && s->e->has_norm)
        x = fma((x - s->mean[i]) * s->scale[i], load_run(s->norm_weight, VRT_DTYPE_F32, c, n),
                load_run(s->norm_bias, VRT_DTYPE_F32, c, n));
    if (s->e->window_w > 0)
        x += load_run(s->position, VRT_DTYPE_F32, s->in_window[i] + c, n);
    return x;
}

static inline void fetch(PRIVATE struct source *s, int c, PRIVATE FACTORS *x)
{
    const int n = s->e->x.c - c;
    const bool is_whole = n >= 4 && s->e->x.dtype == FACTOR_DTYPE && !s->e->has_norm &&
                          s->e->window_w == 0;

#pragma unroll
    for (int i = 0; i < PRODUCT_OWN; i++) {
        if (is_whole && s->is_inside[i])
            x[i] = load_factors(s->data, s->from[i] + c);
        else
            x[i] = as_factors(prepare(s, i, c, n));
    }
}

/* Where in its window a place of the padded clip is, along one side. */
static inline int in_window(int i, int shift, int size, int padded)
{
    return (i + padded - shift) % padded % size;
}

/* Makes row i of `s` that of place number `row` of the output. stats [places of x,2]: mean and
 * scale */
static inline void open_row(PRIVATE struct source *s, int i, int row, const GLOBAL float *stats)
{
    const ARG struct vrt_kernel_linear *e = s->e;
    struct place p;

    place_of_row(&e->out, row, &p);
    s->is_inside[i] = p.d < e->x.d && p.h < e->x.h && p.w < e->x.w;
    s->from[i] = view_at(&e->x, p.d, p.h, p.w);
    s->mean[i] = s->scale[i] = 0;
    if (s->is_inside[i] && e->has_norm) {
        const long at = 2 * (((long)p.d * e->x.h + p.h) * e->x.w + p.w);
        s->mean[i] = stats[at];
        s->scale[i] = stats[at + 1];
    }
    s->in_window[i] = 0;
    if (e->window_w > 0)
        s->in_window[i] = (in_window(p.h, e->shift_h, e->window_h, e->out.h) * e->window_w +
                           in_window(p.w, e->shift_w, e->window_w, e->out.w)) * e->x.c;
}

/* position [window's h * w,C] */
KERNEL_OF(PRODUCT_ITEMS, NAME)(ARGS(struct vrt_kernel_linear, e), OUTPUT(1, out), INPUT(2, x),
                               INPUT(3, residual), INPUT(4, gate), INPUT(5, weights),
                               INPUT(6, bias), INPUT(7, stats), INPUT(8, norm_weight),
                               INPUT(9, norm_bias), INPUT(10, position) WORK_ITEM)
{
    PRODUCT_MEMORY;
    const int item = LOCAL_ID(0), first = GROUP_ID(1) * PRODUCT_ROWS;
    const int column = GROUP_ID(0) * PRODUCT_COLUMNS;
    const int o = column + product_own_column(item), n = e.out.c - o;
    const struct product product = { &e.weights, weights, column };
    struct source s;
    struct sums sums;

    s.data = x;
    s.e = &e;
    s.norm_weight = norm_weight;
    s.norm_bias = norm_bias;
    s.position = position;
#pragma unroll
    for (int i = 0; i < PRODUCT_OWN; i++)
        open_row(&s, i, first + product_own_row(item, i), (const GLOBAL float *)stats);
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
        if (e.activation == VRT_ACTIVATION_GELU)
            value = gelu(value);
        if (e.gate.c)
            value *= load_run(gate, e.gate.dtype, view_at(&e.gate, p.d, p.h, p.w) + o, n);
        if (e.residual.c)
            value += load_run(residual, e.residual.dtype,
                              view_at(&e.residual, p.d, p.h, p.w) + o, n);
        store_run(out, e.out.dtype, view_at(&e.out, p.d, p.h, p.w) + o, n, value);
    }
}
