/* SPDX-License-Identifier: MIT */

/*
 * rgb_to_yuv: RGB to planes of samples ("backend/op/colour.h" has the formulas)
 *
 * A row of chroma is made from the weighted mean of its rows of RGB: the matrix is linear, so
 * that it is applied once, after the reduction downwards and before that across.
 */

#include "backend/op/colour.h"
#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"

/* Rows of a thread, each aligned to 64 bytes. */
struct scratch {
    float *rgb, *mean;              /* [W,3] */
    float *samples[3];              /* [W] */
    float *padded;                  /* [4 + W + 4]: the ends repeated */
    size_t size_bytes;
};

static float *place(struct scratch *s, char *base, size_t n)
{
    const size_t at = s->size_bytes;

    s->size_bytes += (n * sizeof(float) + 63) / 64 * 64;
    return (float *)(void *)(base + at);
}

static struct scratch lay_out(const struct vrt_op *op, char *base)
{
    const size_t w = (size_t)op->in[0].shape.w;
    struct scratch s = { 0 };

    s.rgb = place(&s, base, 3 * w);
    s.mean = place(&s, base, 3 * w);
    for (int i = 0; i < 3; i++)
        s.samples[i] = place(&s, base, w);
    s.padded = place(&s, base, w + 8);
    return s;
}

static size_t rgb_to_yuv_scratch_bytes(const struct vrt_op *op)
{
    static char anywhere[64];

    return lay_out(op, anywhere).size_bytes;
}

/* rgb [n,3], out [n] */
static void apply_line(const struct vrt_colour_line *line, const float *restrict rgb,
                       float *restrict out, int n)
{
    const struct vrt_colour_line l = *line;

    for (int x = 0; x < n; x++)
        out[x] = rgb[3 * x] * l.r + rgb[3 * x + 1] * l.g + rgb[3 * x + 2] * l.b + l.offset;
}

/* v [n]; a NaN is left to the store, which knows. */
static void clamp_top(float *v, float max, int n)
{
    for (int x = 0; x < n; x++)
        v[x] = v[x] > max ? max : v[x];
}

/* acc [n] (+)= in [n] * weight */
static void accumulate(float *restrict acc, const float *restrict in, float weight, bool first,
                       int n)
{
    if (first) {
        for (int i = 0; i < n; i++)
            acc[i] = in[i] * weight;
    } else {
        for (int i = 0; i < n; i++)
            acc[i] += in[i] * weight;
    }
}

/* The weighted mean of the rows of RGB about luma row y: [W,3]. */
static const float *mean_rows(const struct vrt_cpu_call *call, const struct scratch *s,
                              const struct vrt_colour_filter *f, int d, int y)
{
    const struct vrt_tensor *in = &call->op->in[0];
    const int w = in->shape.w;

    for (int i = 0; i < f->n; i++) {
        const int at = VRT_MIN(VRT_MAX(y + f->first + i, 0), in->shape.h - 1);
        const float *row = vrt_cpu_row_get(in, call->in[0], (int[3]){ d, at, 0 }, w, s->rgb);

        if (f->n == 1)
            return row;
        accumulate(s->mean, row, f->weights[i], i == 0, 3 * w);
    }
    return s->mean;
}

/* padded [4 + W + 4] from its fifth on, out [cw]: the filter about every r-th */
static void reduce(const struct vrt_colour_filter *f, float *restrict padded, int w, int r,
                   float *restrict out, int cw)
{
    const float *in = padded + 4 + f->first;

    for (int i = 0; i < 4; i++) {
        padded[i] = padded[4];
        padded[4 + w + i] = padded[4 + w - 1];
    }
    if (r == 2 && f->n == 3) {
        for (int x = 0; x < cw; x++)
            out[x] = (in[2 * x] + in[2 * x + 2]) * 0.25f + in[2 * x + 1] * 0.5f;
        return;
    }
    for (int x = 0; x < cw; x++) {
        float sum = 0;

        for (int i = 0; i < f->n; i++)
            sum += in[r * x + i] * f->weights[i];
        out[x] = sum;
    }
}

/* Row y of plane i from `rgb`, [W,3], which was reduced downwards already. */
static void write_plane(const struct vrt_cpu_call *call, const struct scratch *s, int i,
                        const float *rgb, const int d_y[2])
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *plane = vrt_op_out(op, i);
    const struct vrt_colour_line line = vrt_colour_line_of(&op->colour, i);
    const struct vrt_colour c = vrt_colour_of(&op->colour);
    const int w = op->in[0].shape.w, r = i ? 1 << op->colour.shift_x : 1;
    float *samples = s->samples[i];

    if (r == 1) {
        apply_line(&line, rgb, samples, w);
    } else {
        const struct vrt_colour_filter f = vrt_colour_filter_of(r, c.cosited_x);

        apply_line(&line, rgb, s->padded + 4, w);
        reduce(&f, s->padded, w, r, samples, plane->shape.w);
    }
    clamp_top(samples, (float)c.max, plane->shape.w);
    vrt_cpu_row_put(plane, i ? call->out_more[i - 1] : call->out, (int[3]){ d_y[0], d_y[1], 0 },
                    plane->shape.w, samples);
}

static void rgb_to_yuv_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *in = &op->in[0];
    const struct scratch s = lay_out(op, call->scratch);
    const int ry = 1 << op->colour.shift_y, w = in->shape.w;
    const bool cosited = vrt_colour_of(&op->colour).cosited_y;
    const struct vrt_colour_filter f = vrt_colour_filter_of(ry, cosited);

    for (int y = y0; y < y1; y++)
        write_plane(call, &s, 0, vrt_cpu_row_get(in, call->in[0], (int[3]){ d, y, 0 }, w, s.rgb),
                    (int[2]){ d, y });
    if (vrt_op_n_out(op) == 1)
        return;
    for (int y = y0; y < y1; y += ry) {
        const float *mean = mean_rows(call, &s, &f, d, y);

        for (int i = 1; i < 3; i++)
            write_plane(call, &s, i, mean, (int[2]){ d, y / ry });
    }
}

/* A band holds whole rows of chroma. */
static int rgb_to_yuv_align_rows(const struct vrt_op *op)
{
    return 1 << op->colour.shift_y;
}

/* What is read is more than what is written. */
static size_t rgb_to_yuv_row_bytes(const struct vrt_op *op)
{
    return vrt_cpu_tensor_row_bytes(&op->in[0]);
}

const struct vrt_cpu_kernel vrt_cpu_op_rgb_to_yuv = {
    .rows = rgb_to_yuv_rows,
    .scratch_bytes = rgb_to_yuv_scratch_bytes,
    .align_rows = rgb_to_yuv_align_rows,
    .row_bytes = rgb_to_yuv_row_bytes,
};
