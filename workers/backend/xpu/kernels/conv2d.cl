/* SPDX-License-Identifier: MIT */

/* conv2d: a place's factors are its neighbours' channels, tap after tap. */

#include "backend/xpu/kernels/args.h"
#include "backend/xpu/kernels/view.clh"

struct source {
    const __global char *data;
    struct vrt_xpu_view x;
    struct place at;
    int taps;                       /* along a side */
};

#include "backend/xpu/kernels/product.clh"

/* Where the tap's place has its channels; -1 outside. */
static long find(const struct source *s, int tap)
{
    const int h = s->at.h + tap / s->taps - s->taps / 2;
    const int w = s->at.w + tap % s->taps - s->taps / 2;
    const bool inside = s->at.exists && tap < s->taps * s->taps && h >= 0 && h < s->x.h &&
                        w >= 0 && w < s->x.w;

    return inside ? view_at(&s->x, s->at.d, h, w) : -1;
}

static void fetch(const struct source *s, int k, float x[8])
{
    int tap = k / s->x.c, c = k % s->x.c;
    long at = find(s, tap);

    if (c + 8 <= s->x.c && at >= 0) {
        load8(s->data, s->x.dtype, at + c, x);
        return;
    }
    for (int i = 0; i < 8; i++) {
        x[i] = at >= 0 ? load(s->data, s->x.dtype, at + c) : 0;
        if (++c < s->x.c)
            continue;
        c = 0;
        at = find(s, ++tap);
    }
}

static float activate(const struct vrt_xpu_conv2d *e, const __global char *slopes, int o, float x)
{
    switch (e->activation) {
    case VRT_ACTIVATION_RELU: return x < 0 ? 0 : x;
    case VRT_ACTIVATION_LEAKY_RELU: return x < 0 ? e->slope * x : x;
    case VRT_ACTIVATION_PRELU: return x < 0 ? ((const __global float *)slopes)[o] * x : x;
    default: return x;
    }
}

__kernel PRODUCT_GROUP
void NAME(struct vrt_xpu_conv2d e, __global char *out, const __global char *x,
            const __global char *residual, const __global char *weights,
            const __global char *bias, const __global char *slopes)
{
    PRODUCT_SLABS;
    const struct slabs slabs = { slab_x, slab_w };
    const int first = (int)get_group_id(1) * PRODUCT_ROWS;
    const int column = (int)get_group_id(0) * PRODUCT_COLUMNS;
    struct source source;
    float sums[16];

    source.data = x;
    source.x = e.x;
    source.taps = e.taps;
    source.at = place_of_row(&e.out, first + product_fetched_row());
    multiply(&source, &e.weights, weights, column, &slabs, sums);
    for (int i = 0; i < 16; i++) {
        const struct place p = place_of_row(&e.out, first + product_row(i));
        const int o = column + product_column(i);
        if (!p.exists || o >= e.out.c)
            continue;
        const float sum = sums[i] + (e.has_bias ? ((const __global float *)bias)[o] : 0);
        float value = activate(&e, slopes, o, sum) * e.scale;
        if (e.residual.c)
            value += load(residual, e.residual.dtype, view_at(&e.residual, p.d, p.h, p.w) + o);
        store(out, e.out.dtype, view_at(&e.out, p.d, p.h, p.w) + o, value);
    }
}
