/* SPDX-License-Identifier: MIT */

/* layernorm: each place's channels brought to mean 0 and variance 1, then weight and bias */

#include <math.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"
#include "backend/cpu/isa/vector.h"

static size_t layernorm_scratch_bytes(const struct vrt_op *op)
{
    return vrt_cpu_run_bytes(2, op->out.shape.c);
}

/* x [c] */
static inline float mean_of(const float *x, int c)
{
    vrt_cpu_vector sums = { 0 };
    float rest = 0;
    int i = 0;

    for (; i + VRT_CPU_VECTOR_FLOATS <= c; i += VRT_CPU_VECTOR_FLOATS)
        sums += *(const vrt_cpu_vector_at *)(x + i);
    for (; i < c; i++)
        rest += x[i];
    return (vrt_cpu_vector_sum(&sums) + rest) / (float)c;
}

/* x [c] */
static inline float variance_of(const float *x, float mean, int c)
{
    vrt_cpu_vector sums = { 0 };
    float rest = 0;
    int i = 0;

    for (; i + VRT_CPU_VECTOR_FLOATS <= c; i += VRT_CPU_VECTOR_FLOATS) {
        const vrt_cpu_vector apart = *(const vrt_cpu_vector_at *)(x + i) - mean;
        sums += apart * apart;
    }
    for (; i < c; i++)
        rest += (x[i] - mean) * (x[i] - mean);
    return (vrt_cpu_vector_sum(&sums) + rest) / (float)c;
}

/* x, weight, bias, out [c] */
static inline void norm_place(const float *x, const float *restrict weight,
                              const float *restrict bias, float *restrict out, int c)
{
    const float mean = mean_of(x, c);
    const float scale = 1 / sqrtf(variance_of(x, mean, c) + VRT_NORM_EPSILON);

    for (int i = 0; i < c; i++)
        out[i] = (x[i] - mean) * scale * weight[i] + bias[i];
}

static void layernorm_rows(const struct vrt_cpu_call *call, int d, int y0, int y1)
{
    const struct vrt_op *op = call->op;
    const int w = op->out.shape.w, c = op->out.shape.c, columns = vrt_cpu_run_columns(c);
    const float *weight = call->params[op->layernorm.norm.weight].values;
    const float *bias = call->params[op->layernorm.norm.bias].values;
    float *scratch = call->scratch;
    float *scratch_out = scratch + vrt_cpu_run_bytes(1, c) / sizeof(float);

    for (int y = y0; y < y1; y++)
    for (int x = 0; x < w; x += columns) {
        const int n = VRT_MIN(columns, w - x), at[3] = { d, y, x };
        const float *in = vrt_cpu_row_get(&op->in[0], call->in[0], at, n, scratch);
        float *out = vrt_cpu_row_target(&op->out, call->out, at, scratch_out);

        for (int i = 0; i < n; i++)
            norm_place(in + (size_t)i * (size_t)c, weight, bias, out + (size_t)i * (size_t)c, c);
        vrt_cpu_row_put(&op->out, call->out, at, n, out);
    }
}

const struct vrt_cpu_kernel vrt_cpu_op_layernorm = {
    .rows = layernorm_rows,
    .scratch_bytes = layernorm_scratch_bytes,
};
