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

static size_t warp_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(1, op->out.shape.c);
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

/* a, b, c, d, out [n]; inline, so that few channels, of a number that is known, are no loop. */
static inline void blend_f32(const char *const from[4], const float weights[4],
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

/* c: the frame's channels; inline, for blend_f32()'s sake */
static inline void sample_channels(const struct places *places, int c)
{
    const struct axis *v = &places->v, *h = &places->h;
    const bool is_bf16 = places->in->dtype == VRT_DTYPE_BF16;
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

        if (is_bf16)
            blend_bf16(from, weights, places->out + i * places->out_stride, c);
        else
            blend_f32(from, weights, places->out + i * places->out_stride, c);
    }
}

static void sample(const struct places *places)
{
    switch (places->in->shape.c) {
    case 3:
        sample_channels(places, 3);
        break;
    case 4:
        sample_channels(places, 4);
        break;
    case 8:
        sample_channels(places, 8);
        break;
    default:
        sample_channels(places, places->in->shape.c);
    }
}

/* Where pixel `i` of the run at `at` comes from, in its frame. */
static inline void aim(const struct vrt_cpu_call *call, const int at[3], int i, float *ret_y,
                       float *ret_x)
{
    const int x = at[2] + i;
    const float *flow = (float *)(void *)vrt_cpu_at(&call->op->in[1], call->in[1], at[0], at[1], x);

    *ret_y = (float)at[1] + flow[1];
    *ret_x = (float)x + flow[0];
}

/* Pixels [x, x + n) of row y of frame d, at `out`, where they are out_stride floats apart. */
static void sample_run(const struct vrt_cpu_call *call, const int at[3], int n, float *out,
                       int64_t out_stride)
{
    const struct vrt_tensor *in = &call->op->in[0];
    const bool border = call->op->warp.mode == VRT_WARP_BILINEAR_BORDER;
    struct places places;

    places.in = in;
    places.frame = vrt_cpu_at(in, call->in[0], at[0], 0, 0);
    places.out_stride = out_stride;
    for (int begin = 0; begin < n; begin += N_PLACES) {
        float y[N_PLACES], x[N_PLACES];

        places.n = VRT_MIN(N_PLACES, n - begin);
        for (int i = places.n; i < N_PLACES; i++)
            y[i] = x[i] = 0;
        for (int i = 0; i < places.n; i++)
            aim(call, at, begin + i, &y[i], &x[i]);
        find_axis(y, in->shape.h, border, &places.v);
        find_axis(x, in->shape.w, border, &places.h);
        places.out = out + begin * out_stride;
        sample(&places);
    }
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

/* Of each pixel of a run four, out [n,4,C]. */
static void take_run(const struct vrt_cpu_call *call, const int at[3], int n, float *out)
{
    const size_t c = (size_t)call->op->in[0].shape.c;

    for (int i = 0; i < n; i++, out += 4 * c) {
        const int d = at[0];
        float y, x;

        aim(call, at, i, &y, &x);
        take(call, d, floorf(y), floorf(x), out);
        take(call, d, ceilf(y), floorf(x), out + c);
        take(call, d, floorf(y), ceilf(x), out + 2 * c);
        take(call, d, ceilf(y), ceilf(x), out + 3 * c);
    }
}

static void warp_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const struct vrt_tensor *out = &op->out;
    const int w = out->shape.w, columns = vrt_cpu_run_columns(out->shape.c);
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
