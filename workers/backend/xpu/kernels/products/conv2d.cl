/* SPDX-License-Identifier: MIT */

/* conv2d: a place's factors are its neighbours' channels, tap after tap. */

#define PRODUCT_WIDE VRT_KERNEL_CONV2D_WIDE(PRODUCT_WEIGHT_BYTES)
#include "backend/xpu/kernels/products/product-end.clh"

struct source {
    const __global char *data;
    struct vrt_kernel_view x;
    int taps;                       /* along a side */
    struct place first, at;         /* row 0's, and that of the row that is turned next */
    ulong from[PRODUCT_MAX_OWN];    /* the neighbour's address... */
    bool is_inside[PRODUCT_MAX_OWN];    /* ...if there is one */
};

/* (Registers are scarce: places are counted on from that of row 0, addresses from tap to tap.) */
static void turn(struct source *s, int i, int tap)
{
    struct place *p = &s->at;

    if (i == 0)
        *p = s->first;
    const int h = p->h + tap / s->taps - s->taps / 2, w = p->w + tap % s->taps - s->taps / 2;
    if (tap == 0)
        s->from[i] = (ulong)s->data + PRODUCT_WEIGHT_BYTES * view_at(&s->x, p->d, h, w);
    else if (tap % s->taps == 0)
        s->from[i] += PRODUCT_WEIGHT_BYTES * (s->x.stride_h - (s->taps - 1) * s->x.stride_w);
    else
        s->from[i] += PRODUCT_WEIGHT_BYTES * s->x.stride_w;
    s->is_inside[i] = h >= 0 && h < s->x.h && w >= 0 && w < s->x.w && p->d < s->x.d &&
                      tap < s->taps * s->taps;
    p->w++;
    p->h += p->w == s->x.w;
    p->w = p->w == s->x.w ? 0 : p->w;
    p->d += p->h == s->x.h;
    p->h = p->h == s->x.h ? 0 : p->h;
}

static const __global char *from_of(const struct source *s, int i)
{
    return s->is_inside[i] ? (const __global char *)s->from[i] : s->data;
}

static PRODUCT_FACTORS fetch_whole(const struct source *s, int i, int c)
{
    return keep(load_factors(from_of(s, i), c), s->is_inside[i]);
}

static PRODUCT_FACTORS fetch(const struct source *s, int i, int c)
{
    const __global char *from = from_of(s, i);
    float16 x = (float16)(0);

    for (int k = c; k < c + PRODUCT_DEPTH; k++)
        x = pushed(x, k < s->x.c ? load(from, PRODUCT_DTYPE, k) : 0);
    return keep(as_factors(x), s->is_inside[i]);
}

static float8 activate(const struct vrt_kernel_conv2d *e, const __global char *slopes, int o, int n,
                       float8 x)
{
    float8 slope = (float8)(e->slope);

    if (e->activation == VRT_ACTIVATION_NONE)
        return x;
    if (e->activation == VRT_ACTIVATION_RELU)
        return select(x, (float8)(0), x < 0);
    if (e->activation == VRT_ACTIVATION_PRELU)
        slope = load_some(slopes, VRT_DTYPE_F32, o, n, n == 8);
    return select(x, slope * x, x < 0);
}

__kernel PRODUCT_GROUP
void NAME(struct vrt_kernel_conv2d e, __global char *out, const __global char *x,
            const __global char *residual, const __global char *weights,
            const __global char *bias, const __global char *slopes)
{
    PRODUCT_MEMORY;
    const int first = (int)get_group_id(1) * PRODUCT_ROWS;
    const int column = (int)get_group_id(0) * PRODUCT_COLUMNS;
    const bool wide = is_wide(&e.out, out) && is_wide(&e.residual, residual);
    struct source s;
    struct sums sums;

    s.data = x;
    s.x = e.x;
    s.taps = e.taps;
    place_of_row(&e.out, first + product_own_row(), &s.first);
    multiply(&s, e.x.c >= PRODUCT_DEPTH && e.x.c % 2 == 0 && is_wide(&e.x, x), &e.weights, weights,
             column, memory, &sums);
    for (int i = 0; i < 4; i++) {
        const __local float *got = take_sums(memory, &sums, i);
        struct place p;

        place_of_row(&e.out, first + product_row() + 8 * i + product_lane(), &p);
        for (int o = column + product_column(), j = 0; j < 4 && p.exists; j++, o += 8) {
            const int n = min(e.out.c - o, 8);
            if (n <= 0)
                break;
            float8 value = sums_of_run(got, j, e.has_bias, bias, o, n);
            value = activate(&e, slopes, o, n, value) * e.scale;
            if (e.residual.c)
                value += load_run(&e.residual, residual, &p, o, n, wide);
            store_run(&e.out, out, &p, o, n, wide, value);
        }
    }
}
