/* SPDX-License-Identifier: MIT */

/*
 * resize: nearest, bilinear with corners on corners or edges on edges, bicubic
 *
 * Bilinear is done first down, then across: two rows of the input are blended whole, and each
 * pixel of the output then blends two neighbours of that. Nearest is the same with weight 0, and
 * bicubic with four rows and four neighbours.
 */

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"
#include "backend/op/position.h"

/* Where an output index looks: samples `first` and `second`, and the weight of the latter. */
struct tap {
    int first, second;
    float weight;
};

/* What a thread needs for a row. Each part is aligned to 64 bytes. */
struct scratch {
    struct tap *taps;               /* [w]; not of bicubic */
    struct vrt_cubic *cubics;       /* [w]; of bicubic */
    float *above, *below, *blended; /* [W,C] */
    float *out;                     /* [w,C] */
    size_t size_bytes;
};

/* The parts' places in the memory at `base`, which is not touched. */
static struct scratch lay_out(const struct vrt_op *op, char *base)
{
    const size_t c = (size_t)op->out.shape.c * sizeof(float);
    const size_t in_bytes = (size_t)op->in[0].shape.w * c;
    const size_t out_bytes = (size_t)op->out.shape.w * c;
    struct scratch s = { 0 };

    if (op->resize.mode == VRT_RESIZE_BICUBIC)
        s.cubics = vrt_cpu_part(base, &s.size_bytes, (size_t)op->out.shape.w * sizeof(*s.cubics));
    else
        s.taps = vrt_cpu_part(base, &s.size_bytes, (size_t)op->out.shape.w * sizeof(*s.taps));
    s.above = vrt_cpu_part(base, &s.size_bytes, in_bytes);
    s.below = vrt_cpu_part(base, &s.size_bytes, in_bytes);
    s.blended = vrt_cpu_part(base, &s.size_bytes, in_bytes);
    s.out = vrt_cpu_part(base, &s.size_bytes, out_bytes);
    return s;
}

static size_t resize_scratch_bytes(const struct vrt_op *op)
{
    static char anywhere[64];

    return lay_out(op, anywhere).size_bytes;
}

static struct tap find_tap(enum vrt_resize_mode mode, int i, int n_in, int n_out)
{
    struct tap tap = { 0 };

    if (mode == VRT_RESIZE_NEAREST) {
        tap.first = tap.second = (int)((int64_t)i * n_in / n_out);
        return tap;
    }

    const float at = vrt_position_resized(mode, i, n_out, n_in);
    tap.first = (int)at;
    tap.second = VRT_MIN(tap.first + 1, n_in - 1);
    tap.weight = at - (float)tap.first;
    return tap;
}

/* a, b, out [n] */
static void blend(const float *restrict a, const float *restrict b, float weight,
                  float *restrict out, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = a[i] + (b[i] - a[i]) * weight;
}

/* in [W,C], out [w,C] */
static inline void blend_across(const float *restrict in, const struct tap *restrict taps,
                                float *restrict out, int w, int c)
{
    for (int x = 0; x < w; x++) {
        const float *a = in + (size_t)taps[x].first * c, *b = in + (size_t)taps[x].second * c;
        const float weight = taps[x].weight;

        for (int k = 0; k < c; k++)
            out[(size_t)x * c + k] = a[k] + (b[k] - a[k]) * weight;
    }
}

static void resize_row(const struct vrt_cpu_call *call, const struct scratch *s, int d, int y)
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *in = &op->in[0], *out = &op->out;
    const struct tap tap = find_tap(op->resize.mode, y, in->shape.h, out->shape.h);
    const int first[3] = { d, tap.first, 0 }, second[3] = { d, tap.second, 0 }, at[3] = { d, y, 0 };
    const int c = out->shape.c;
    const float *row = vrt_cpu_row_get(in, call->in[0], first, in->shape.w, s->above);
    float *target = vrt_cpu_row_target(out, call->out, at, s->out);

    if (tap.weight > 0) {
        const float *below = vrt_cpu_row_get(in, call->in[0], second, in->shape.w, s->below);

        blend(row, below, tap.weight, s->blended, (size_t)in->shape.w * (size_t)c);
        row = s->blended;
    }
    if (c == 3)
        blend_across(row, s->taps, target, out->shape.w, 3);
    else
        blend_across(row, s->taps, target, out->shape.w, c);
    vrt_cpu_row_put(out, call->out, at, out->shape.w, target);
}

/* in, out [n]: out += in * weight, or without what was there where it is the first. */
static void add_row(const float *restrict in, float weight, bool is_first, float *restrict out,
                    size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (is_first ? 0 : out[i]) + in[i] * weight;
}

/* in [W,C], out [w,C] */
static inline void sum_across(const float *restrict in, const struct vrt_cubic *restrict cubics,
                              float *restrict out, struct vrt_shape from, int w)
{
    for (int x = 0; x < w; x++) {
        const struct vrt_cubic *cubic = &cubics[x];

        for (int k = 0; k < from.c; k++) {
            float sum = 0;
            for (int i = 0; i < 4; i++) {
                const int at = VRT_MAX(VRT_MIN(cubic->first + i, from.w - 1), 0);
                sum += in[(size_t)at * (size_t)from.c + (size_t)k] * cubic->weights[i];
            }
            out[(size_t)x * (size_t)from.c + (size_t)k] = sum;
        }
    }
}

static void resize_row_cubic(const struct vrt_cpu_call *call, const struct scratch *s, int d, int y)
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *in = &op->in[0], *out = &op->out;
    const struct vrt_cubic rows = vrt_position_cubic(y, out->shape.h, in->shape.h);
    const int at[3] = { d, y, 0 };
    float *target = vrt_cpu_row_target(out, call->out, at, s->out);
    const size_t n = (size_t)in->shape.w * (size_t)in->shape.c;

    for (int j = 0; j < 4; j++) {
        const int from[3] = { d, VRT_MAX(VRT_MIN(rows.first + j, in->shape.h - 1), 0), 0 };
        add_row(vrt_cpu_row_get(in, call->in[0], from, in->shape.w, s->above), rows.weights[j],
                j == 0, s->blended, n);
    }
    sum_across(s->blended, s->cubics, target, in->shape, out->shape.w);
    vrt_cpu_row_put(out, call->out, at, out->shape.w, target);
}

static void resize_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const struct scratch s = lay_out(op, call->scratch);

    for (int x = 0; s.cubics && x < op->out.shape.w; x++)
        s.cubics[x] = vrt_position_cubic(x, op->out.shape.w, op->in[0].shape.w);
    for (int y = y0; s.cubics && y < y1; y++)
        resize_row_cubic(call, &s, d, y);
    if (s.cubics)
        return;
    for (int x = 0; x < op->out.shape.w; x++)
        s.taps[x] = find_tap(op->resize.mode, x, op->in[0].shape.w, op->out.shape.w);
    for (int y = y0; y < y1; y++)
        resize_row(call, &s, d, y);
}

const struct vrt_cpu_kernel vrt_cpu_op_resize = {
    .rows = resize_rows,
    .scratch_bytes = resize_scratch_bytes,
};
