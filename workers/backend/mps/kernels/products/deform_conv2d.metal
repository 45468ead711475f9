/* SPDX-License-Identifier: MIT */

/* deform_conv2d: a place's factors are samples from where the offsets point, times the masks. The
 * third dimension of the launch is the group of channels. */

#define PRODUCT_WIDE VRT_KERNEL_DEFORM_CONV2D_WIDE
#include "backend/mps/kernels/products/product.h"

struct source {
    const GLOBAL char *data;
    const GLOBAL float *offsets;    /* of the row's place */
    const ARG struct vrt_kernel_view *x;
    struct place at;
    int tap;
    int first, n;                   /* the group's channels */
    int n_runs, n_each;             /* runs of channels with offsets of their own */
    int aimed;                      /* the run that the corners are of; -1: none */
    long corners[4];                /* elements to four places about a position... */
    bool exists[4];                 /* ...if there are such */
    float weights[4];               /* how much of each is taken, the mask multiplied in */
};

static inline void turn(PRIVATE struct source *s, int tap)
{
    s->tap = tap;
    s->aimed = -1;
}

static inline void aim(PRIVATE struct source *s, int run)
{
    const ARG struct vrt_kernel_view *v = s->x;
    const int pair = 9 * run + s->tap;
    const float dy = s->offsets[2 * pair], dx = s->offsets[2 * pair + 1];
    const float mask = s->offsets[18 * s->n_runs + pair];
    /* Further outside everything is zero, too; and what is no number is outside. */
    const float y = fmin(fmax((float)(s->at.h + s->tap / 3 - 1) + dy, -2.0f), (float)v->h + 1.0f);
    const float x = fmin(fmax((float)(s->at.w + s->tap % 3 - 1) + dx, -2.0f), (float)v->w + 1.0f);
    const int top = (int)floor(y), left = (int)floor(x);

    s->aimed = run;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int h = top + k / 2, w = left + k % 2;
        s->exists[k] = h >= 0 && h < v->h && w >= 0 && w < v->w;
        s->corners[k] = view_at(v, s->at.d, h, w);
        s->weights[k] = (1.0f - fabs(y - (float)h)) * (1.0f - fabs(x - (float)w)) * mask;
    }
}

/* Channels c .. c + 3 of the group, n of which are there, at the position of a run. */
static inline float4 sample(PRIVATE struct source *s, int run, int c, int n)
{
    float4 sum = float4(0.0f);

    if (run != s->aimed)
        aim(s, run);
#pragma unroll
    for (int k = 0; k < 4; k++)
        if (s->exists[k])
            sum += s->weights[k] *
                   load_run(s->data, s->x->dtype, s->corners[k] + s->first + c, n);
    return sum;
}

static inline int run_of(const PRIVATE struct source *s, int c)
{
    return (s->first + c) / s->n_each;
}

static inline void fetch(PRIVATE struct source *s, int c, PRIVATE FACTORS *x)
{
    const int n = min(s->n - c, 4);
    float4 sum = float4(0.0f);

    if (n > 0 && run_of(s, c) == run_of(s, c + n - 1)) {
        sum = sample(s, run_of(s, c), c, n);
    } else {
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (k < n)
                sum[k] = sample(s, run_of(s, c + k), c + k, 1).x;
    }
    x[0] = as_factors(sum);
}

KERNEL_OF(PRODUCT_ITEMS, NAME)(ARGS(struct vrt_kernel_deform_conv2d, e), OUTPUT(1, out),
                               INPUT(2, x), INPUT(3, offsets), INPUT(4, weights),
                               INPUT(5, bias) WORK_ITEM)
{
    PRODUCT_MEMORY;
    const int item = LOCAL_ID(0), first = GROUP_ID(1) * PRODUCT_ROWS, group = GROUP_ID(2);
    const int n_out = e.out.c / e.groups, in_group = GROUP_ID(0) * PRODUCT_COLUMNS;
    const int n = n_out - in_group - product_own_column(item);
    const int o = group * n_out + in_group + product_own_column(item);
    const struct product product = { &e.weights, weights, group * n_out + in_group };
    struct source s;
    struct sums sums;

    s.data = x;
    s.x = &e.x;
    s.n = e.x.c / e.groups;
    s.first = group * s.n;
    s.n_runs = e.offset_groups;
    s.n_each = e.x.c / e.offset_groups;
    place_of_row(&e.out, first + product_own_row(item, 0), &s.at);
    s.offsets = (const GLOBAL float *)offsets + view_at(&e.offsets, s.at.d, s.at.h, s.at.w);
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
        store_run(out, e.out.dtype, view_at(&e.out, p.d, p.h, p.w) + o, n, value);
    }
}
