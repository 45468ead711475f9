/* SPDX-License-Identifier: MIT */

/* What surrounds oneDNN's convolutions: views made dense, and what it does not fuse. */

#include <string.h>

#include "backend/cpu/isa/kernels.h"
#include "backend/cpu/isa/rows.h"
#include "backend/cpu/isa/vector.h"

/* sums, out [n,C], slopes [C]; residual [n,C] or NULL */
static void finish(const struct vrt_cpu_epilogue *e, const float *restrict sums,
                   const float *residual, float *out, int n)
{
    const int c = e->out->shape.c;
    const float *restrict slopes = e->slopes;
    const float scale = e->scale;

    for (int x = 0; x < n; x++) {
        const float *in = sums + (size_t)x * c;
        float *o = out + (size_t)x * c;

        if (slopes && residual) {
            const float *r = residual + (size_t)x * c;

            for (int k = 0; k < c; k++)
                o[k] = (in[k] < 0 ? in[k] * slopes[k] : in[k]) * scale + r[k];
        } else if (slopes) {
            for (int k = 0; k < c; k++)
                o[k] = (in[k] < 0 ? in[k] * slopes[k] : in[k]) * scale;
        } else if (residual) {
            const float *r = residual + (size_t)x * c;

            for (int k = 0; k < c; k++)
                o[k] = in[k] * scale + r[k];
        } else {
            for (int k = 0; k < c; k++)
                o[k] = in[k] * scale;
        }
    }
}

/* The same in one pass, of bf16 and whole vectors of channels. */
static void finish_bf16(const struct vrt_cpu_epilogue *e, const int first[3], int n)
{
    const size_t c = (size_t)e->out->shape.c;
    const float *restrict slopes = e->slopes;
    const uint16_t *residual = NULL;
    uint16_t *out = (void *)vrt_cpu_at(e->out, e->out_base, first[0], first[1], first[2]);

    if (e->residual_base)
        residual = (void *)vrt_cpu_at(e->residual, e->residual_base, first[0], first[1], first[2]);
    for (int x = 0; x < n; x++, out += e->out->stride_w) {
        for (size_t k = 0; k < c; k += VRT_CPU_VECTOR_FLOATS) {
            vrt_cpu_vector v = vrt_cpu_vector_load(e->sums + (size_t)x * c + k);

            if (slopes)
                v = vrt_cpu_vector_select(v < 0, v * vrt_cpu_vector_load(slopes + k), v);
            v *= e->scale;
            if (residual)
                v += vrt_cpu_vector_load_bf16(residual + k);
            vrt_cpu_vector_store_bf16(out + k, v);
        }
        if (residual)
            residual += e->residual->stride_w;
    }
}

size_t vrt_cpu_conv_epilogue_scratch_bytes(int channels)
{
    return vrt_cpu_run_bytes(2, channels);
}

void vrt_cpu_conv_epilogue(const struct vrt_cpu_epilogue *e, const int first[3], int n)
{
    const int c = e->out->shape.c, columns = vrt_cpu_run_columns(c);
    const size_t step = vrt_cpu_run_bytes(1, c) / sizeof(float);

    if (c % VRT_CPU_VECTOR_FLOATS == 0 && e->out->dtype == VRT_DTYPE_BF16 &&
        (!e->residual_base || e->residual->dtype == VRT_DTYPE_BF16)) {
        finish_bf16(e, first, n);
        return;
    }
    for (int x = 0; x < n; x += columns) {
        const int run = VRT_MIN(columns, n - x), at[3] = { first[0], first[1], first[2] + x };
        float *target = vrt_cpu_row_target(e->out, e->out_base, at, e->scratch);
        const float *residual = NULL;

        if (e->residual_base)
            residual = vrt_cpu_row_get(e->residual, e->residual_base, at, run, e->scratch + step);
        finish(e, e->sums + (size_t)x * (size_t)c, residual, target, run);
        vrt_cpu_row_put(e->out, e->out_base, at, run, target);
    }
}

void vrt_cpu_conv_gather(const struct vrt_tensor *t, const void *base, const int at[3], int n,
                         void *dst)
{
    const size_t element = vrt_dtype_size(t->dtype);
    const size_t bytes = (size_t)t->shape.c * element, step = (size_t)t->stride_w * element;
    const char *src = vrt_cpu_at(t, base, at[0], at[1], at[2]);

    if (bytes == step) {
        memcpy(dst, src, bytes * (size_t)n);
        return;
    }
    for (int x = 0; x < n; x++)
        memcpy((char *)dst + (size_t)x * bytes, src + (size_t)x * step, bytes);
}
