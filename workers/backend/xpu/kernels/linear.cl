/* SPDX-License-Identifier: MIT */

/*
 * linear, and the layers of geglu and window_attention: a place's factors are its channels
 *
 * They may be normed first, with what layernorm found; a place of the output that the input doesn't
 * have counts as zeros; and, for mutual attention, a vector of the place in its window is added.
 */

#include "backend/xpu/kernels/args.h"
#include "backend/xpu/kernels/view.clh"

struct source {
    const __global char *data;
    struct vrt_xpu_view x;
    struct place at;
    int dtype;                      /* to which factors are rounded */
    bool is_inside;
    const __global float *norm_weight, *norm_bias;
    float mean, scale;
    bool has_norm, has_position;
    const __global float *position; /* [C], of this place */
};

#include "backend/xpu/kernels/product.clh"

static void fetch(const struct source *s, int k, float x[8])
{
    const long at = view_at(&s->x, s->at.d, s->at.h, s->at.w);
    const bool is_whole = s->at.exists && s->is_inside && k + 8 <= s->x.c;

    if (is_whole)
        load8(s->data, s->x.dtype, at + k, x);
    for (int i = 0; i < 8; i++, k++) {
        const bool exists = s->at.exists && k < s->x.c;
        float value = 0;
        if (exists && s->is_inside)
            value = is_whole ? x[i] : load(s->data, s->x.dtype, at + k);
        if (exists && s->is_inside && s->has_norm)
            value = (value - s->mean) * s->scale * s->norm_weight[k] + s->norm_bias[k];
        if (exists && s->has_position)
            value += s->position[k];
        x[i] = rounded(value, s->dtype);
    }
}

/* Where in its window a place of the padded clip is, along one side. */
static int in_window(int i, int shift, int size, int padded)
{
    return (i + padded - shift) % padded % size;
}

/* stats [places of x,2]: mean and scale; position [window's h * w,C] */
__kernel PRODUCT_GROUP
void NAME(struct vrt_xpu_linear e, __global char *out, const __global char *x,
            const __global char *residual, const __global char *gate,
            const __global char *weights, const __global char *bias, const __global char *stats,
            const __global char *norm_weight, const __global char *norm_bias,
            const __global char *position)
{
    PRODUCT_SLABS;
    const struct slabs slabs = { slab_x, slab_w };
    const int first = (int)get_group_id(1) * PRODUCT_ROWS;
    const int column = (int)get_group_id(0) * PRODUCT_COLUMNS;
    struct source s;
    float sums[16];

    s.data = x;
    s.x = e.x;
    s.dtype = e.weights.dtype;
    s.at = place_of_row(&e.out, first + product_fetched_row());
    s.is_inside = s.at.d < e.x.d && s.at.h < e.x.h && s.at.w < e.x.w;
    s.has_norm = e.has_norm;
    s.has_position = e.window_w > 0;
    s.norm_weight = (const __global float *)norm_weight;
    s.norm_bias = (const __global float *)norm_bias;
    s.mean = s.scale = 0;
    if (e.has_norm && s.is_inside && s.at.exists) {
        const long row = ((long)s.at.d * e.x.h + s.at.h) * e.x.w + s.at.w;
        s.mean = ((const __global float *)stats)[2 * row];
        s.scale = ((const __global float *)stats)[2 * row + 1];
    }
    s.position = (const __global float *)position;
    if (s.has_position)
        s.position += (in_window(s.at.h, e.shift_h, e.window_h, e.out.h) * e.window_w +
                       in_window(s.at.w, e.shift_w, e.window_w, e.out.w)) * e.x.c;
    multiply(&s, &e.weights, weights, column, &slabs, sums);
    for (int i = 0; i < 16; i++) {
        const struct place p = place_of_row(&e.out, first + product_row(i));
        const int o = column + product_column(i);
        if (!p.exists || o >= e.out.c)
            continue;
        float value = sums[i] + (e.has_bias ? ((const __global float *)bias)[o] : 0);
        if (e.activation == VRT_ACTIVATION_GELU)
            value = gelu(value);
        if (e.gate.c)
            value *= load(gate, e.gate.dtype, view_at(&e.gate, p.d, p.h, p.w) + o);
        if (e.residual.c)
            value += load(residual, e.residual.dtype, view_at(&e.residual, p.d, p.h, p.w) + o);
        store(out, e.out.dtype, view_at(&e.out, p.d, p.h, p.w) + o, value);
    }
}
