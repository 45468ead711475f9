/* SPDX-License-Identifier: MIT */

/*
 * linear, and the layers of geglu and window_attention: a place's factors are its channels
 *
 * They may be normed first, with what layernorm found; a place of the output that the input doesn't
 * have counts as zeros; and, for mutual attention, a vector of the place in its window is added.
 */

#define PRODUCT_WIDE VRT_KERNEL_LINEAR_WIDE
#include "backend/xpu/kernels/products/product.clh"

struct source {
    struct vrt_kernel_view x;
    const __global char *from[PRODUCT_MAX_OWN];     /* the places */
    bool is_inside[PRODUCT_MAX_OWN];                /* whether x has such a place */
    const __global float *norm_weight, *norm_bias;
    float mean[PRODUCT_MAX_OWN], scale[PRODUCT_MAX_OWN];
    bool has_norm, has_position;
    bool is_wide;                   /* whether 16 channels are had at a time */
    const __global float *position[PRODUCT_MAX_OWN];    /* [C], of these places */
};

static void turn(struct source *s, int i, int tap)
{
}

/* 16 at a time: what channels c .. c + 15 become. */
static float16 prepare(const struct source *s, int i, int c)
{
    float16 x = (float16)(load_wide(s->from[i], s->x.dtype, c),
                          load_wide(s->from[i], s->x.dtype, c + 8));

    if (s->has_norm)
        x = fma((x - s->mean[i]) * s->scale[i], vload16(0, s->norm_weight + c),
                vload16(0, s->norm_bias + c));
    if (!s->is_inside[i])
        x = (float16)(0);
    return s->has_position ? x + vload16(0, s->position[i] + c) : x;
}

/* The same one by one, with 0 for those that aren't there. */
static float16 prepare_each(const struct source *s, int i, int c)
{
    const __global char *from = s->from[i];
    const __global float *position = s->position[i];
    const float mean = s->mean[i], scale = s->scale[i];
    const bool is_inside = s->is_inside[i];
    float16 x = (float16)(0);

    for (int k = c; k < c + PRODUCT_DEPTH; k++) {
        const bool exists = k < s->x.c;
        float value = exists && is_inside ? load(from, s->x.dtype, k) : 0;
        if (exists && is_inside && s->has_norm)
            value = fma((value - mean) * scale, s->norm_weight[k], s->norm_bias[k]);
        if (exists && s->has_position)
            value += position[k];
        x = pushed(x, value);
    }
    return x;
}

static PRODUCT_FACTORS fetch_whole(const struct source *s, int i, int c)
{
    return keep(load_factors(s->from[i], c), s->is_inside[i]);
}

static PRODUCT_FACTORS fetch(const struct source *s, int i, int c)
{
    return as_factors(s->is_wide ? prepare(s, i, c) : prepare_each(s, i, c));
}

/* Where in its window a place of the padded clip is, along one side. */
static int in_window(int i, int shift, int size, int padded)
{
    return (i + padded - shift) % padded % size;
}

/* Makes row i of `s` that of place number `row` of the output. */
static void open(struct source *s, int i, const struct vrt_kernel_linear *e, const __global char *x,
                 const __global float *stats, const __global float *position, int row)
{
    struct place p;

    place_of_row(&e->out, row, &p);
    s->position[i] = position;
    if (s->has_position)
        s->position[i] += (in_window(p.h, e->shift_h, e->window_h, e->out.h) * e->window_w +
                           in_window(p.w, e->shift_w, e->window_w, e->out.w)) * e->x.c;
    s->is_inside[i] = p.d < e->x.d && p.h < e->x.h && p.w < e->x.w;
    if (!s->is_inside[i])
        p.d = p.h = p.w = 0;
    s->from[i] = x + (e->x.dtype == VRT_DTYPE_F32 ? 4 : 2) * view_at(&e->x, p.d, p.h, p.w);
    stats += s->has_norm ? 2 * (((long)p.d * e->x.h + p.h) * e->x.w + p.w) : 0;
    s->mean[i] = s->has_norm ? stats[0] : 0;
    s->scale[i] = s->has_norm ? stats[1] : 0;
}

/* stats [places of x,2]: mean and scale; position [window's h * w,C] */
__kernel PRODUCT_GROUP
void NAME(struct vrt_kernel_linear e, __global char *out, const __global char *x,
            const __global char *residual, const __global char *gate,
            const __global char *weights, const __global char *bias, const __global char *stats,
            const __global char *norm_weight, const __global char *norm_bias,
            const __global char *position)
{
    PRODUCT_MEMORY;
    const int first = (int)get_group_id(1) * PRODUCT_ROWS;
    const int column = (int)get_group_id(0) * PRODUCT_COLUMNS;
    const bool wide = is_wide(&e.out, out) && is_wide(&e.residual, residual) &&
                      is_wide(&e.gate, gate);
    struct source s;
    struct sums sums;

    s.x = e.x;
    s.is_wide = e.x.c >= PRODUCT_DEPTH && e.x.c % 2 == 0 && is_wide(&e.x, x);
    s.has_norm = e.has_norm;
    s.has_position = e.window_w > 0;
    s.norm_weight = (const __global float *)norm_weight;
    s.norm_bias = (const __global float *)norm_bias;
#define OPEN(i)                                                                                 \
    open(&s, i, &e, x, (const __global float *)stats, (const __global float *)position,         \
         first + product_own_row() + i)
    PRODUCT_EACH_OWN(OPEN);
    multiply(&s, s.is_wide && e.x.dtype == PRODUCT_DTYPE && !s.has_norm && !s.has_position,
             &e.weights, weights, column, memory, &sums);
    for (int i = 0; i < 4; i++) {
        const __local float *got = take_sums(memory, &sums, i);
        struct place p;

        place_of_row(&e.out, first + product_row() + 8 * i + product_lane(), &p);
        for (int o = column + product_column(), j = 0; j < 4 && p.exists; j++, o += 8) {
            /* Not by product-end.clh: of that Intel's compiler makes two registers more than there
             * are, where matrix units are used. */
            const int n = min(e.out.c - o, 8);
            float8 value = vload8(j, got);
            if (n <= 0)
                break;
            if (e.has_bias)
                value += load_some(bias, VRT_DTYPE_F32, o, n, n == 8);
            if (e.activation == VRT_ACTIVATION_GELU)
                value = gelu(value);
            if (e.gate.c)
                value *= load_some(gate, e.gate.dtype, view_at(&e.gate, p.d, p.h, p.w) + o, n,
                                   wide && n == 8);
            if (e.residual.c)
                value += load_some(residual, e.residual.dtype,
                                   view_at(&e.residual, p.d, p.h, p.w) + o, n, wide && n == 8);
            store_some(out, e.out.dtype, view_at(&e.out, p.d, p.h, p.w) + o, value, n,
                       wide && n == 8);
        }
    }
}
