/* SPDX-License-Identifier: MIT */

/* warp: each place taken from where its flow points, between four places or beside them */

#include <math.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"
#include "backend/op/half.h"
#include "backend/op/position.h"

/* So many places are found at a time: loops of a length that is known become vectors. */
#define N_PLACES 64

/* Between which places of one dimension positions lie, and how much each counts. */
struct axis {
    int first[N_PLACES], second[N_PLACES];
    float first_weight[N_PLACES], second_weight[N_PLACES];      /* 0 outside the picture */
};

static int run_columns(const struct vrt_op *op)
{
    return VRT_MIN(N_PLACES, vrt_cpu_run_columns(op->out.shape.c));
}

static size_t warp_scratch_bytes(const struct vrt_op *op)
{
    return (size_t)run_columns(op) * sizeof(float) * (size_t)op->out.shape.c;
}

/* x, or a bound where it is beyond it or no number. */
static inline float clamped(float x, float low, float high)
{
    x = x > low ? x : low;
    return x < high ? x : high;
}

/* at [N_PLACES]: where flows point, in a dimension of `size` */
static void find_axis(const float *restrict at, int size, bool border,
                      struct axis *restrict ret_axis)
{
    const float low = border ? 0 : -2, high = border ? (float)(size - 1) : (float)size + 1;

    for (int i = 0; i < N_PLACES; i++) {
        const float position = clamped(vrt_position_warped(at[i], size), low, high);
        const float below = floorf(position), weight = position - below;
        const int first = (int)below, second = first + 1;

        ret_axis->first[i] = VRT_MIN(VRT_MAX(first, 0), size - 1);
        ret_axis->second[i] = VRT_MIN(VRT_MAX(second, 0), size - 1);
        ret_axis->first_weight[i] = first >= 0 && first < size ? 1 - weight : 0;
        ret_axis->second_weight[i] = second >= 0 && second < size ? weight : 0;
    }
}

/* Up to four channels of a place. */
typedef float quad __attribute__((vector_size(16)));

/* c: 3 or 4 */
static inline quad load_quad(const char *from, int c, bool is_bf16)
{
    typedef uint32_t bits __attribute__((vector_size(16)));
    typedef uint16_t halves_at __attribute__((vector_size(8), aligned(2), may_alias));
    typedef float quad_at __attribute__((vector_size(16), aligned(4), may_alias));
    const uint16_t *bf16 = (const uint16_t *)(const void *)from;
    const float *f32 = (const float *)(const void *)from;

    if (c == 4 && is_bf16)
        return (quad)(__builtin_convertvector(*(const halves_at *)from, bits) << 16);
    if (c == 4)
        return (quad)*(const quad_at *)from;
    return is_bf16 ? (quad)((bits){ bf16[0], bf16[1], bf16[2], 0 } << 16) :
                     (quad){ f32[0], f32[1], f32[2], 0 };
}

/* out [c] */
static inline void blend_quad(const char *const from[4], const float weights[4],
                              float *restrict out, int c, bool is_bf16)
{
    quad sum = load_quad(from[0], c, is_bf16) * weights[0];

    for (int i = 1; i < 4; i++)
        sum += load_quad(from[i], c, is_bf16) * weights[i];
    for (int i = 0; i < c; i++)
        out[i] = sum[i];
}

/* a, b, c, d, out [n] */
static void blend_f32(const char *const from[4], const float weights[4],
                             float *restrict out, int n)
{
    const float *a = (const float *)(const void *)from[0];
    const float *b = (const float *)(const void *)from[1];
    const float *c = (const float *)(const void *)from[2];
    const float *d = (const float *)(const void *)from[3];
    const float w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];

    for (int i = 0; i < n; i++)
        out[i] = a[i] * w0 + b[i] * w1 + c[i] * w2 + d[i] * w3;
}

/* The same of bf16. */
static void blend_bf16(const char *const from[4], const float weights[4], float *restrict out,
                       int n)
{
    const uint16_t *a = (const uint16_t *)(const void *)from[0];
    const uint16_t *b = (const uint16_t *)(const void *)from[1];
    const uint16_t *c = (const uint16_t *)(const void *)from[2];
    const uint16_t *d = (const uint16_t *)(const void *)from[3];
    const float w0 = weights[0], w1 = weights[1], w2 = weights[2], w3 = weights[3];

    for (int i = 0; i < n; i++)
        out[i] = vrt_f32_from_bf16(a[i]) * w0 + vrt_f32_from_bf16(b[i]) * w1 +
                 vrt_f32_from_bf16(c[i]) * w2 + vrt_f32_from_bf16(d[i]) * w3;
}

/* Places of one frame, and where n of them go: `out_stride` floats apart. */
struct places {
    const struct vrt_tensor *in;
    const char *frame;
    struct axis v, h;
    int n;
    float *out;
    int64_t out_stride;
};

/* c: the frame's channels; inline, so that few of them are no loop */
static inline void sample_channels(const struct places *places, int c, bool is_bf16)
{
    const struct axis *v = &places->v, *h = &places->h;
    const int64_t size = is_bf16 ? sizeof(uint16_t) : sizeof(float);
    const int64_t row = places->in->stride_h * size, column = places->in->stride_w * size;

    for (int i = 0; i < places->n; i++) {
        const char *above = places->frame + v->first[i] * row;
        const char *below = places->frame + v->second[i] * row;
        const int64_t left = h->first[i] * column, right = h->second[i] * column;
        const char *const from[4] = { above + left, above + right, below + left, below + right };
        const float weights[4] = {
            v->first_weight[i] * h->first_weight[i], v->first_weight[i] * h->second_weight[i],
            v->second_weight[i] * h->first_weight[i], v->second_weight[i] * h->second_weight[i],
        };

        float *out = places->out + i * places->out_stride;
        if (c == 3 || c == 4)
            blend_quad(from, weights, out, c, is_bf16);
        else if (is_bf16)
            blend_bf16(from, weights, out, c);
        else
            blend_f32(from, weights, out, c);
    }
}

static void sample(const struct places *places)
{
    const bool is_bf16 = places->in->dtype == VRT_DTYPE_BF16;
    const int c = places->in->shape.c;

    if (c == 3 && !is_bf16)
        sample_channels(places, 3, false);
    else if (c == 4 && is_bf16)
        sample_channels(places, 4, true);
    else if (c == 4)
        sample_channels(places, 4, false);
    else
        sample_channels(places, c, is_bf16);
}

/* y, x [N_PLACES]: where the n pixels from `at` on come from, in their frame; 0 behind them. */
static void aim(const struct vrt_cpu_call *call, const int at[3], int n, float *restrict y,
                float *restrict x)
{
    const struct vrt_tensor *t = &call->op->in[1];
    const float *flow = (float *)(void *)vrt_cpu_at(t, call->in[1], at[0], at[1], at[2]);

    for (int i = 0; i < n; i++) {
        y[i] = (float)at[1] + flow[i * t->stride_w + 1];
        x[i] = (float)(at[2] + i) + flow[i * t->stride_w];
    }
    for (int i = n; i < N_PLACES; i++)
        y[i] = x[i] = 0;
}

/* The n pixels from `at` on, no more than N_PLACES, at `out`, where they are out_stride floats
 * apart. */
static void sample_run(const struct vrt_cpu_call *call, const int at[3], int n, float *out,
                       int64_t out_stride)
{
    const struct vrt_tensor *in = &call->op->in[0];
    const bool border = call->op->warp.mode == VRT_WARP_BILINEAR_BORDER;
    struct places places;
    float y[N_PLACES], x[N_PLACES];

    aim(call, at, n, y, x);
    find_axis(y, in->shape.h, border, &places.v);
    find_axis(x, in->shape.w, border, &places.h);
    places.in = in;
    places.frame = vrt_cpu_at(in, call->in[0], at[0], 0, 0);
    places.n = n;
    places.out = out;
    places.out_stride = out_stride;
    sample(&places);
}

/* out [C]: the place itself, or zeros outside. */
static void take(const struct vrt_cpu_call *call, int d, float y, float x, float *out)
{
    const struct vrt_tensor *in = &call->op->in[0];

    if (y >= 0 && x >= 0 && y < (float)in->shape.h && x < (float)in->shape.w)
        vrt_cpu_load(in->dtype, vrt_cpu_at(in, call->in[0], d, (int)y, (int)x), out,
                     (size_t)in->shape.c);
    else
        for (int i = 0; i < in->shape.c; i++)
            out[i] = 0;
}

/* Of each of the n pixels from `at` on, no more than N_PLACES, four: out [n,4,C]. */
static void take_run(const struct vrt_cpu_call *call, const int at[3], int n, float *out)
{
    const size_t c = (size_t)call->op->in[0].shape.c;
    float y[N_PLACES], x[N_PLACES];

    aim(call, at, n, y, x);
    for (int i = 0; i < n; i++, out += 4 * c) {
        take(call, at[0], floorf(y[i]), floorf(x[i]), out);
        take(call, at[0], ceilf(y[i]), floorf(x[i]), out + c);
        take(call, at[0], floorf(y[i]), ceilf(x[i]), out + 2 * c);
        take(call, at[0], ceilf(y[i]), ceilf(x[i]), out + 3 * c);
    }
}

static void warp_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *out = &op->out;
    const int w = out->shape.w, columns = run_columns(op);
    const bool takes = op->warp.mode == VRT_WARP_NEAREST4;
    const bool in_place = !takes && out->dtype == VRT_DTYPE_F32;

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };

        if (in_place) {
            sample_run(call, at, n, (float *)(void *)vrt_cpu_at(out, call->out, d, y, x),
                       out->stride_w);
            continue;
        }
        float *target = vrt_cpu_row_target(out, call->out, at, call->scratch);
        if (takes)
            take_run(call, at, n, target);
        else
            sample_run(call, at, n, target, out->shape.c);
        vrt_cpu_row_put(out, call->out, at, n, target);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_warp = {
    .rows = warp_rows,
    .scratch_bytes = warp_scratch_bytes,
};
