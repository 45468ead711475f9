/* SPDX-License-Identifier: MIT */

/* warp: each place taken from where its flow points, between four places or beside them */

#include <math.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"
#include "backend/op/half.h"
#include "backend/op/position.h"

/* Between which places of one dimension a position lies, and how much each counts. */
struct axis {
    int first, second;
    float first_weight, second_weight;      /* 0 outside the picture */
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

static inline struct axis find_axis(float at, int size, bool border)
{
    const float position = border ? clamped(at, 0, (float)(size - 1))
                                  : clamped(at, -2, (float)size + 1);
    const float below = floorf(position), weight = position - below;
    const int i = (int)below;

    return (struct axis){
        .first = VRT_MIN(VRT_MAX(i, 0), size - 1),
        .second = VRT_MIN(VRT_MAX(i + 1, 0), size - 1),
        .first_weight = i >= 0 && i < size ? 1 - weight : 0,
        .second_weight = i + 1 >= 0 && i + 1 < size ? weight : 0,
    };
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

/* out [C]: of frame d, at row y and column x. */
static void sample(const struct vrt_cpu_call *call, int d, float y, float x, float *out)
{
    const struct vrt_tensor *in = &call->op->in[0];
    const bool border = call->op->warp.mode == VRT_WARP_BILINEAR_BORDER;
    const struct axis v = find_axis(y, in->shape.h, border), h = find_axis(x, in->shape.w, border);
    const char *const from[4] = {
        vrt_cpu_at(in, call->in[0], d, v.first, h.first),
        vrt_cpu_at(in, call->in[0], d, v.first, h.second),
        vrt_cpu_at(in, call->in[0], d, v.second, h.first),
        vrt_cpu_at(in, call->in[0], d, v.second, h.second),
    };
    const float weights[4] = {
        v.first_weight * h.first_weight, v.first_weight * h.second_weight,
        v.second_weight * h.first_weight, v.second_weight * h.second_weight,
    };

    if (in->dtype == VRT_DTYPE_BF16)
        blend_bf16(from, weights, out, in->shape.c);
    else if (in->shape.c == 3)
        blend_f32(from, weights, out, 3);
    else if (in->shape.c == 4)
        blend_f32(from, weights, out, 4);
    else if (in->shape.c == 8)
        blend_f32(from, weights, out, 8);
    else
        blend_f32(from, weights, out, in->shape.c);
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

/* out [4,C] */
static void take_four(const struct vrt_cpu_call *call, int d, float y, float x, float *out)
{
    const size_t c = (size_t)call->op->in[0].shape.c;

    take(call, d, floorf(y), floorf(x), out);
    take(call, d, ceilf(y), floorf(x), out + c);
    take(call, d, floorf(y), ceilf(x), out + 2 * c);
    take(call, d, ceilf(y), ceilf(x), out + 3 * c);
}

static void warp_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const int w = op->out.shape.w, c = op->out.shape.c, columns = vrt_cpu_run_columns(c);

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };
        float *target = vrt_cpu_row_target(&op->out, call->out, at, call->scratch);

        for (int i = 0; i < n; i++) {
            const float *flow = (float *)(void *)vrt_cpu_at(&op->in[1], call->in[1], d, y, x + i);
            const float from_y = (float)y + flow[1], from_x = (float)(x + i) + flow[0];
            float *out = target + (size_t)i * (size_t)c;

            if (op->warp.mode == VRT_WARP_NEAREST4)
                take_four(call, d, from_y, from_x, out);
            else
                sample(call, d, vrt_position_warped(from_y, op->in[0].shape.h),
                       vrt_position_warped(from_x, op->in[0].shape.w), out);
        }
        vrt_cpu_row_put(&op->out, call->out, at, n, target);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_warp = {
    .rows = warp_rows,
    .scratch_bytes = warp_scratch_bytes,
};
