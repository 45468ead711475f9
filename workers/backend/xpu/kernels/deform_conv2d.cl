/* SPDX-License-Identifier: MIT */

/* deform_conv2d: a place's factors are samples from where the offsets point, times the masks. The
 * third dimension of the launch is the group of channels. */

#include "backend/xpu/kernels/args.h"
#include "backend/xpu/kernels/view.clh"

struct source {
    const __global char *data, *offsets;
    struct vrt_xpu_view x, o;
    struct place at;
    int dtype;                      /* to which factors are rounded */
    int first, n;                   /* the group's channels */
    int n_runs, n_each;             /* runs of channels with offsets of their own */
};

#include "backend/xpu/kernels/product.clh"

/* Four places about a position, and how much of each is taken, the mask multiplied in. */
struct corners {
    long at[4];
    float weights[4];
};

static void aim(const struct source *s, int tap, int run, struct corners *c)
{
    const long at = view_at(&s->o, s->at.d, s->at.h, s->at.w);
    const int pair = 9 * run + tap;
    const float dy = load(s->offsets, s->o.dtype, at + 2 * pair);
    const float dx = load(s->offsets, s->o.dtype, at + 2 * pair + 1);
    const float mask = load(s->offsets, s->o.dtype, at + 18 * s->n_runs + pair);
    /* Further outside everything is zero, too; and what is no number is outside. */
    const float y = fmin(fmax((float)(s->at.h + tap / 3 - 1) + dy, -2.0f), (float)s->x.h + 1);
    const float x = fmin(fmax((float)(s->at.w + tap % 3 - 1) + dx, -2.0f), (float)s->x.w + 1);
    const int top = (int)floor(y), left = (int)floor(x);

    for (int k = 0; k < 4; k++) {
        const int h = top + k / 2, w = left + k % 2;
        const bool inside = h >= 0 && h < s->x.h && w >= 0 && w < s->x.w;
        c->at[k] = inside ? view_at(&s->x, s->at.d, h, w) : -1;
        c->weights[k] = (1 - fabs(y - (float)h)) * (1 - fabs(x - (float)w)) * mask;
    }
}

/* Channels c .. c + 7, which are of one run. */
static void take8(const struct source *s, int tap, int c, float x[8])
{
    float sums[8] = { 0 }, corner[8];
    struct corners corners;

    aim(s, tap, c / s->n_each, &corners);
    for (int q = 0; q < 4; q++) {
        if (corners.at[q] < 0)
            continue;
        load8(s->data, s->x.dtype, corners.at[q] + c, corner);
        for (int j = 0; j < 8; j++)
            sums[j] += corners.weights[q] * corner[j];
    }
    for (int j = 0; j < 8; j++)
        x[j] = rounded(sums[j], s->dtype);
}

static void fetch(const struct source *s, int k, float x[8])
{
    int tap = k / s->n, i = k % s->n, aimed = -1;
    struct corners corners;

    if (s->at.exists && tap < 9 && i + 8 <= s->n && (s->first + i) % s->n_each + 8 <= s->n_each) {
        take8(s, tap, s->first + i, x);
        return;
    }
    for (int j = 0; j < 8; j++) {
        const int c = s->first + i, run = c / s->n_each;
        float sum = 0;
        if (s->at.exists && tap < 9) {
            if (aimed != tap * s->n_runs + run)
                aim(s, tap, run, &corners);
            aimed = tap * s->n_runs + run;
            for (int q = 0; q < 4; q++)
                if (corners.at[q] >= 0)
                    sum += corners.weights[q] * load(s->data, s->x.dtype, corners.at[q] + c);
        }
        x[j] = rounded(sum, s->dtype);
        i++;
        tap += i == s->n;
        i = i == s->n ? 0 : i;
    }
}

__kernel PRODUCT_GROUP
void NAME(struct vrt_xpu_deform_conv2d e, __global char *out, const __global char *x,
                   const __global char *offsets, const __global char *weights,
                   const __global char *bias)
{
    PRODUCT_SLABS;
    const struct slabs slabs = { slab_x, slab_w };
    const int first = (int)get_group_id(1) * PRODUCT_ROWS, group = (int)get_group_id(2);
    const int n_out = e.out.c / e.groups, in_group = (int)get_group_id(0) * PRODUCT_COLUMNS;
    const int column = group * n_out + in_group;
    struct source s;
    float sums[16];

    s.data = x;
    s.offsets = offsets;
    s.x = e.x;
    s.o = e.offsets;
    s.dtype = e.weights.dtype;
    s.n = e.x.c / e.groups;
    s.first = group * s.n;
    s.n_runs = e.offset_groups;
    s.n_each = e.x.c / e.offset_groups;
    s.at = place_of_row(&e.out, first + product_fetched_row());
    multiply(&s, &e.weights, weights, column, &slabs, sums);
    for (int i = 0; i < 16; i++) {
        const struct place p = place_of_row(&e.out, first + product_row(i));
        const int o = column + product_column(i);
        if (p.exists && in_group + product_column(i) < n_out)
            store(out, e.out.dtype, view_at(&e.out, p.d, p.h, p.w) + o,
                  sums[i] + (e.has_bias ? ((const __global float *)bias)[o] : 0));
    }
}
