/* SPDX-License-Identifier: MIT */

/* deform_conv2d: a place's factors are samples from where the offsets point, times the masks. The
 * third dimension of the launch is the group of channels. */

#define PRODUCT_WIDE VRT_KERNEL_DEFORM_CONV2D_WIDE
#include "backend/xpu/kernels/products/product-end.clh"

struct source {
    const __global char *data, *offsets;
    struct vrt_kernel_view x, o;
    struct place at[PRODUCT_MAX_OWN];
    int tap;
    int first, n;                   /* the group's channels */
    int n_runs, n_each;             /* runs of channels with offsets of their own */
    bool in_pairs;                  /* whether two channels are had at a time */
};

static void turn(struct source *s, int i, int tap)
{
    s->tap = min(tap, 8);
}

/* Four places about a position, and how much of each is taken, the mask multiplied in. */
struct corners {
    long at[4];
    int exists[4];                  /* all bits, or none */
    float weights[4];
};

static void aim(const struct source *s, const struct place *p, int run, struct corners *c)
{
    const __global float *offsets =
        (const __global float *)s->offsets + view_at(&s->o, p->d, p->h, p->w);
    const int pair = 9 * run + s->tap;
    const float dy = offsets[2 * pair], dx = offsets[2 * pair + 1];
    const float mask = offsets[18 * s->n_runs + pair];
    /* Further outside everything is zero, too; and what is no number is outside. */
    const float y = fmin(fmax((float)(p->h + s->tap / 3 - 1) + dy, -2.0f), (float)s->x.h + 1);
    const float x = fmin(fmax((float)(p->w + s->tap % 3 - 1) + dx, -2.0f), (float)s->x.w + 1);
    const int top = (int)floor(y), left = (int)floor(x);

#pragma unroll
    for (int k = 0; k < 4; k++) {
        const int h = top + k / 2, w = left + k % 2;
        const bool inside = h >= 0 && h < s->x.h && w >= 0 && w < s->x.w;
        c->at[k] = view_at(&s->x, p->d, clamp(h, 0, s->x.h - 1), clamp(w, 0, s->x.w - 1));
        c->exists[k] = -(int)inside;
        c->weights[k] = (1 - fabs(y - (float)h)) * (1 - fabs(x - (float)w)) * mask;
    }
}

/* Channels k and k + 1 of the group if they are had in pairs, else k alone; none where n is 0. */
static float2 sample(const struct source *s, const struct corners *c, int k, int n)
{
    float2 sum = (float2)(0);

    if (n <= 0)
        return sum;
#pragma unroll
    for (int q = 0; q < 4; q++) {
        const long at = c->at[q] + s->first + k;
        float2 x = (float2)(0);
        if (s->in_pairs)
            x = load_pair(s->data, s->x.dtype, at);
        else
            x.x = load(s->data, s->x.dtype, at);
        sum += c->weights[q] * as_float2(as_int2(x) & c->exists[q]);
    }
    return sum;
}

static PRODUCT_FACTORS fetch(const struct source *s, int i, int c)
{
    const struct place at = s->at[i];
    float16 x = (float16)(0);
    struct corners corners;
    int aimed = -1;

    for (int k = c; k < c + PRODUCT_DEPTH; k += s->in_pairs ? 2 : 1) {
        const int run = (s->first + min(k, s->n - 1)) / s->n_each;
        if (run != aimed)
            aim(s, &at, run, &corners);
        aimed = run;
        const float2 got = sample(s, &corners, k, s->n - k);
        x = pushed(x, got.x);
        if (s->in_pairs)
            x = pushed(x, got.y);
    }
    return as_factors(x);
}

static PRODUCT_FACTORS fetch_whole(const struct source *s, int i, int c)
{
    return fetch(s, i, c);
}

__kernel PRODUCT_GROUP
void NAME(struct vrt_kernel_deform_conv2d e, __global char *out, const __global char *x,
                   const __global char *offsets, const __global char *weights,
                   const __global char *bias)
{
    PRODUCT_MEMORY;
    const int first = (int)get_group_id(1) * PRODUCT_ROWS, group = (int)get_group_id(2);
    const int n_out = e.out.c / e.groups, in_group = (int)get_group_id(0) * PRODUCT_COLUMNS;
    const bool wide = is_wide(&e.out, out) && group * n_out % 2 == 0;
    struct source s;
    struct sums sums;

    s.data = x;
    s.offsets = offsets;
    s.x = e.x;
    s.o = e.offsets;
    s.n = e.x.c / e.groups;
    s.first = group * s.n;
    s.n_runs = e.offset_groups;
    s.n_each = e.x.c / e.offset_groups;
    s.in_pairs = ((s.first | s.n | s.n_each) & 1) == 0 && is_wide(&e.x, x);
#define OPEN(i) place_of_row(&e.out, first + product_own_row() + i, &s.at[i])
    PRODUCT_EACH_OWN(OPEN);
    multiply(&s, false, &e.weights, weights, group * n_out + in_group, memory, &sums);
    for (int i = 0; i < 4; i++) {
        const __local float *got = take_sums(memory, &sums, i);
        struct place p;

        place_of_row(&e.out, first + product_row() + 8 * i + product_lane(), &p);
        for (int o = in_group + product_column(), j = 0; j < 4 && p.exists; j++, o += 8) {
            const int n = min(n_out - o, 8), to = group * n_out + o;
            if (n <= 0)
                break;
            store_run(&e.out, out, &p, to, n, wide,
                      sums_of_run(got, j, e.has_bias, bias, to, n));
        }
    }
}
