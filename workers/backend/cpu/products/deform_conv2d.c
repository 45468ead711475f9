/* SPDX-License-Identifier: MIT */

/*
 * deform_conv2d: what each tap of a place takes is gathered in a row of a panel, and the panel
 * multiplied with the weights
 *
 * A panel holds the samples of some places in the order of the output's, whatever rows they are
 * of; a row of it is [groups, 9, I/groups], in the units of the weights. The sums of an output are
 * those of its place alone, in the order of the panel's row: neither the panel's length nor what
 * else is in it matters.
 */

#include <string.h>

#include "backend/cpu/isa/rows.h"
#include "backend/cpu/products/deform.h"
#include "backend/cpu/products/deform-product.h"
#include "backend/cpu/products/tokens.h"
#include "backend/op/half.h"

/* The panel stays in the second-level cache, beside some of the weights. */
#define PANEL_BYTES (192 * 1024)
#define MAX_PLACES 64

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Where the samples of one place lie in one dimension: arrays of [9*G], a channel group's taps side
 * by side. */
struct axis {
    int *steps;                     /* from the place to the tap: -1, 0 or 1 */
    int *first, *second;            /* the rows or columns that a sample lies between */
    float *of_first, *of_second;    /* their weights: 0 outside the picture */
};

/* What a thread needs. Each part is aligned to 64 bytes. */
struct scratch {
    struct axis y, x;
    float *samples;                 /* [groups, 9, I/groups], each group up to group_samples() */
    vrt_unit *panel;                /* [places, row_units()]: the same, in units */
    float *sums;                    /* [places, O and to the end of a tile] */
    float *out;                     /* [O] */
    size_t size_bytes;
};

static void *place(char *base, size_t *size_bytes, size_t floats)
{
    return vrt_cpu_part(base, size_bytes, floats * sizeof(float));
}

static struct axis place_axis(char *base, size_t *size_bytes, size_t n)
{
    return (struct axis){
        .steps = place(base, size_bytes, n),
        .first = place(base, size_bytes, n),
        .second = place(base, size_bytes, n),
        .of_first = place(base, size_bytes, n),
        .of_second = place(base, size_bytes, n),
    };
}

/* Samples of a group at one place, and zeros up to what units are made of at once. */
static size_t group_samples(const struct vrt_op *op)
{
    const size_t n = 9 * (size_t)(op->in[0].shape.c / op->deform_conv2d.groups);
    const size_t step = VRT_UNIT_ELEMENTS == 1 ? 1 : VRT_MAX(16, VRT_UNIT_STEP * VRT_UNIT_ELEMENTS);

    return (n + step - 1) / step * step;
}

/* Samples of all groups. */
static size_t row_samples(const struct vrt_op *op)
{
    return (size_t)op->deform_conv2d.groups * group_samples(op);
}

/* A row of the panel, in units. */
static size_t row_units(const struct vrt_op *op)
{
    return vrt_panel_row_at((int)row_samples(op));
}

/* How many places a panel holds: a multiple of a tile's. */
static int panel_places(const struct vrt_op *op)
{
    /* The same for each kind of unit. */
    const size_t bytes = 9 * (size_t)op->in[0].shape.c * sizeof(float);
    const int n = (int)(PANEL_BYTES / bytes) / VRT_DEFORM_PLACES * VRT_DEFORM_PLACES;

    return VRT_MIN(VRT_MAX(n, VRT_DEFORM_PLACES), MAX_PLACES);
}

/* The parts' places in the memory at `base`, which is not touched. */
static struct scratch lay_out(const struct vrt_op *op, char *base)
{
    const size_t n = 9 * (size_t)op->deform_conv2d.offset_groups;
    const size_t places = (size_t)panel_places(op);
    struct scratch s = { 0 };

    s.y = place_axis(base, &s.size_bytes, n);
    s.x = place_axis(base, &s.size_bytes, n);
    s.samples = place(base, &s.size_bytes, row_samples(op));
    s.panel = place(base, &s.size_bytes, places * row_units(op));
    s.sums = place(base, &s.size_bytes, places * vrt_cpu_deform_row(op->out.shape.c));
    s.out = place(base, &s.size_bytes, (size_t)op->out.shape.c);
    return s;
}

static size_t deform_conv2d_scratch_bytes(const struct vrt_op *op)
{
    static char anywhere[64];

    return lay_out(op, anywhere).size_bytes;
}

/* For the place at row or column `at`, of `size`; offsets [n,2]: every other one counts. */
static void find_axis(const struct axis *axis, const float *restrict offsets, int at, int size,
                      int n)
{
    const int *restrict steps = axis->steps;
    int *restrict first = axis->first, *restrict second = axis->second;
    float *restrict of_first = axis->of_first, *restrict of_second = axis->of_second;
    const float beyond = (float)size + 2;
    const int last = size - 1;

    for (int i = 0; i < n; i++) {
        /* So far off all is zero, as for what is no number. */
        float offset = offsets[2 * i];
        offset = offset > -beyond ? offset : -beyond;
        offset = offset < beyond ? offset : beyond;
        const int towards_zero = (int)offset;
        const int down = towards_zero - ((float)towards_zero > offset ? 1 : 0);
        const float weight = offset - (float)down;
        const int k = at + steps[i] + down;
        const int low = k > 0 ? k : 0, high = k + 1 > 0 ? k + 1 : 0;
        const float first_weight = k == low ? 1 - weight : 0;
        const float second_weight = k + 1 == high ? weight : 0;

        first[i] = low < last ? low : last;
        second[i] = high < last ? high : last;
        of_first[i] = low <= last ? first_weight : 0;
        of_second[i] = high <= last ? second_weight : 0;
    }
}

/* weights [n] *= masks [n] */
static void apply_masks(float *restrict weights, const float *restrict masks, int n)
{
    for (int i = 0; i < n; i++)
        weights[i] *= masks[i];
}

/* offsets [27*G]: of the place at this row and column. */
static void find_taps(const struct vrt_op *op, const float *offsets, const int at[2],
                      const struct scratch *s)
{
    const struct vrt_shape in = op->in[0].shape;
    const int n = 9 * op->deform_conv2d.offset_groups;

    find_axis(&s->y, offsets, at[0], in.h, n);
    find_axis(&s->x, offsets + 1, at[1], in.w, n);
    apply_masks(s->y.of_first, offsets + 2 * n, n);
    apply_masks(s->y.of_second, offsets + 2 * n, n);
}

/* What one sample is made of: places of x, and how much each counts. */
struct corners {
    const char *from[4];
    float weights[4];
};

static ALWAYS_INLINE float element(const char *from, int i, bool is_bf16)
{
    if (is_bf16)
        return vrt_f32_from_bf16(((const uint16_t *)(const void *)from)[i]);
    return ((const float *)(const void *)from)[i];
}

/* Channels [k, k + n) of a sample. n and the type are constants where this is inlined. */
static ALWAYS_INLINE void blend_run(const struct corners *c, int k, const int n, bool is_bf16,
                                    float *restrict to)
{
    const char *const *from = c->from;
    const float w0 = c->weights[0], w1 = c->weights[1], w2 = c->weights[2], w3 = c->weights[3];

    for (int i = k; i < k + n; i++)
        to[i] = w0 * element(from[0], i, is_bf16) + w1 * element(from[1], i, is_bf16) +
                w2 * element(from[2], i, is_bf16) + w3 * element(from[3], i, is_bf16);
}

/* All n channels; the last vector begins where it ends with them. */
static ALWAYS_INLINE void blend(const struct corners *c, int n, bool is_bf16, float *to)
{
    int k = 0;

    for (; k + 8 <= n; k += 8)
        blend_run(c, k, 8, is_bf16, to);
    if (k < n && n >= 8) {
        blend_run(c, n - 8, 8, is_bf16, to);
    } else if (k < n && n >= 4) {
        blend_run(c, 0, 4, is_bf16, to);
        blend_run(c, n - 4, 4, is_bf16, to);
    } else {
        for (; k < n; k++)
            blend_run(c, k, 1, is_bf16, to);
    }
}

/*
 * A place's samples, to `row`. `frame`: where the frame's first element is; n: the channels of an
 * offset group. That and the type are constants where this is inlined.
 */
static ALWAYS_INLINE void gather(const struct vrt_op *op, const char *frame,
                                 const struct scratch *s, float *row, const int n,
                                 const bool is_bf16)
{
    const struct vrt_tensor *x = &op->in[0];
    const ptrdiff_t size = is_bf16 ? 2 : 4;
    const ptrdiff_t down = x->stride_h * size, across = x->stride_w * size;
    const int in_each = x->shape.c / op->deform_conv2d.groups;
    const size_t group = group_samples(op);
    const struct axis v = s->y, h = s->x;

    for (int c = 0, i = 0; c < x->shape.c; c += n, frame += n * size) {
        float *to = row + (size_t)(c / in_each) * group + c % in_each;

        for (int t = 0; t < 9; t++, i++, to += in_each) {
            const char *above = frame + v.first[i] * down, *below = frame + v.second[i] * down;
            const ptrdiff_t left = h.first[i] * across, right = h.second[i] * across;
            const struct corners corners = {
                { above + left, above + right, below + left, below + right },
                { v.of_first[i] * h.of_first[i], v.of_first[i] * h.of_second[i],
                  v.of_second[i] * h.of_first[i], v.of_second[i] * h.of_second[i] },
            };

            blend(&corners, n, is_bf16, to);
        }
    }
}

/* The widths that networks have, known to the compiler. */
static void gather_any(const struct vrt_op *op, const char *frame, const struct scratch *s,
                       float *row)
{
    const int n = op->in[0].shape.c / op->deform_conv2d.offset_groups;
    const bool is_bf16 = op->in[0].dtype == VRT_DTYPE_BF16;

    switch (2 * n + is_bf16) {
    case 2 * 6:         gather(op, frame, s, row, 6, false); break;
    case 2 * 6 + 1:     gather(op, frame, s, row, 6, true); break;
    case 2 * 10:        gather(op, frame, s, row, 10, false); break;
    case 2 * 10 + 1:    gather(op, frame, s, row, 10, true); break;
    case 2 * 15:        gather(op, frame, s, row, 15, false); break;
    case 2 * 15 + 1:    gather(op, frame, s, row, 15, true); break;
    default:
        if (is_bf16)
            gather(op, frame, s, row, n, true);
        else
            gather(op, frame, s, row, n, false);
    }
}

/* Groups in their order: what one writes beyond its outputs the next one writes over. */
static void multiply_groups(const struct vrt_cpu_call *call, const struct scratch *s, int places)
{
    const struct vrt_op *op = call->op;
    const int groups = op->deform_conv2d.groups;
    const int in_each = op->in[0].shape.c / groups, out_each = op->out.shape.c / groups;
    const vrt_unit *weights = call->params[op->deform_conv2d.weight].matrix;

    for (int g = 0; g < groups; g++) {
        const struct vrt_deform_product p = {
            .panel = s->panel + (size_t)g * (group_samples(op) / VRT_UNIT_ELEMENTS),
            .weights = weights + (size_t)g * (size_t)out_each,
            .sums = s->sums + (size_t)g * (size_t)out_each,
            .panel_row = row_units(op),
            .row = vrt_cpu_deform_row(op->out.shape.c),
            .depth = vrt_unit_count(9 * in_each),
        };

        vrt_deform_multiply(&p, places, out_each);
    }
}

/* The place with this number in its frame. */
static void locate(const struct vrt_op *op, int64_t i, int at[2])
{
    at[0] = (int)(i / op->out.shape.w);
    at[1] = (int)(i % op->out.shape.w);
}

/* Places [first, first + n) of frame d: their rows of the panel, filled up to a tile with zeros. */
static void fill_panel(const struct vrt_cpu_call *call, const struct scratch *s, int d,
                       int64_t first, int n)
{
    const struct vrt_op *op = call->op;
    const size_t row = row_units(op);
    const char *frame = vrt_cpu_at(&op->in[0], call->in[0], d, 0, 0);

    for (int i = 0; i < n; i++) {
        int at[2];

        locate(op, first + i, at);
        find_taps(op, (float *)(void *)vrt_cpu_at(&op->in[1], call->in[1], d, at[0], at[1]), at, s);
        gather_any(op, frame, s, s->samples);
        vrt_unit_put_row(s->panel + (size_t)i * row, row, s->samples, (int)row_samples(op));
    }
    for (int i = n; i % VRT_DEFORM_PLACES; i++)
        memset(s->panel + (size_t)i * row, 0, row * sizeof(vrt_unit));
}

/* sums, bias (NULL: none), out [n] */
static void add_bias(const float *restrict sums, const float *restrict bias, float *restrict out,
                     int n)
{
    for (int i = 0; i < n; i++)
        out[i] = sums[i] + (bias ? bias[i] : 0);
}

static void deform_conv2d_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *out = &op->out;
    const struct scratch s = lay_out(op, call->scratch);
    const int64_t w = out->shape.w, end = y1 * w;
    const int c = out->shape.c, most = panel_places(op);
    const int bias_index = op->deform_conv2d.bias;
    const float *bias = bias_index >= 0 ? call->params[bias_index].values : NULL;

    memset(s.samples, 0, row_samples(op) * sizeof(float));
    for (int i = 0; i < 9 * op->deform_conv2d.offset_groups; i++) {
        s.y.steps[i] = i % 9 / 3 - 1;
        s.x.steps[i] = i % 3 - 1;
    }
    for (int64_t first = y0 * w; first < end; first += most) {
        const int n = (int)VRT_MIN(most, end - first);

        fill_panel(call, &s, d, first, n);
        multiply_groups(call, &s, n);
        for (int i = 0; i < n; i++) {
            int at[2];

            locate(op, first + i, at);
            add_bias(s.sums + (size_t)i * vrt_cpu_deform_row(c), bias, s.out, c);
            vrt_cpu_store(out->dtype, s.out, vrt_cpu_at(out, call->out, d, at[0], at[1]),
                          (size_t)c);
        }
    }
    vrt_product_end();
}

/* Gathering and multiplying take as long as writing all of the panel would, or longer: units are
 * as small as leaves the weights, read for each, a panel's worth of places. */
static size_t deform_conv2d_row_bytes(const struct vrt_op *op)
{
    return (size_t)op->out.shape.w * 9 * (size_t)op->in[0].shape.c * sizeof(float);
}

const struct vrt_cpu_kernel vrt_cpu_op_deform_units = {
    .rows = deform_conv2d_rows,
    .scratch_bytes = deform_conv2d_scratch_bytes,
    .row_bytes = deform_conv2d_row_bytes,
};
