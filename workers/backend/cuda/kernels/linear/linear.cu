/* SPDX-License-Identifier: MIT */

/*
 * linear: out = activation(norm(x) * weight^T + bias) + residual
 *
 * What is multiplied is of the weights' type. Where x is, and isn't normed, its rows are read where
 * they are; else they are made in the workspace first, a band of places after the other, so that
 * the workspace is small and a band still in the cache when it is multiplied.
 */

#include "backend/cuda/kernels/compose.cuh"
#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/products/product.h"
#include "backend/cuda/kernels/scalar.cuh"

using namespace vrt;

#define THREADS 256
#define WARPS (THREADS / 32)

#define BAND_BYTES (16 << 20)

/* Rows that a warp each makes. */
struct made_rows {
    view x;
    const float *weight, *bias;     /* of the norm; NULL: none */
    int64_t first, n;               /* places of x, row-major */
    char *to;                       /* [n][row] */
    int dtype, row;                 /* elements; zeros after x's channels */
};

static __global__ void __launch_bounds__(THREADS) make_rows(const made_rows rows)
{
    const view &x = rows.x;
    const int lane = (int)threadIdx.x % 32;
    const int64_t k = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32, m = rows.first + k;
    float mean = 0, variance = 0, scale = 1;

    if (k >= rows.n)
        return;
    const char *data = view_data(x);
    const int64_t at = view_at(x, (int)(m / x.w / x.h), (int)(m / x.w % x.h), (int)(m % x.w));
    if (rows.weight) {
        for (int c = lane; c < x.c; c += 32)
            mean += load(data, x.dtype, at + c);
        mean = warp_sum(mean) / (float)x.c;
        for (int c = lane; c < x.c; c += 32) {
            const float off = load(data, x.dtype, at + c) - mean;
            variance += off * off;
        }
        scale = 1 / sqrtf(warp_sum(variance) / (float)x.c + VRT_NORM_EPSILON);
    }
    for (int c = lane; c < rows.row; c += 32) {
        float y = c < x.c ? load(data, x.dtype, at + c) : 0;
        if (rows.weight && c < x.c)
            y = (y - mean) * scale * rows.weight[c] + rows.bias[c];
        store(rows.to, rows.dtype, k * rows.row + c, y);
    }
}

static int multiply_rows(const vrt_cuda_call *call, const product &p)
{
    const bool is_strict = call->params[call->op->linear.weight].is_strict;
    const bool tf32_allowed = call->tf32 && !is_strict;

    switch (call->op->weight_dtype) {
    case VRT_DTYPE_F16: return rows_launch<__half>(call, p);
    case VRT_DTYPE_BF16: return rows_launch<__nv_bfloat16>(call, p);
    default: return tf32_allowed ? rows_launch<tf32>(call, p) : rows_launch<float>(call, p);
    }
}

bool vrt_cuda_linear_makes_rows(const vrt_op *op)
{
    return op->linear.norm.weight >= 0 || op->in[0].dtype != op->weight_dtype;
}

int64_t vrt_cuda_linear_row_elements(const vrt_op *op)
{
    return (op->in[0].shape.c + 7) / 8 * 8;
}

int64_t vrt_cuda_linear_band(const vrt_op *op)
{
    const int64_t n = BAND_BYTES / 4 / vrt_cuda_linear_row_elements(op);

    return n > 1 ? n : 1;
}

int vrt_cuda_linear_make_rows(const vrt_cuda_call *call, int64_t first, int64_t n)
{
    const vrt_op_norm &norm = call->op->linear.norm;
    made_rows rows = {};

    rows.x = view_of_in(call, 0);
    if (norm.weight >= 0) {
        rows.weight = (const float *)call->params[norm.weight].data;
        rows.bias = (const float *)call->params[norm.bias].data;
    }
    rows.first = first;
    rows.n = n;
    rows.to = call->workspace;
    rows.dtype = call->op->weight_dtype;
    rows.row = (int)vrt_cuda_linear_row_elements(call->op);
    return vrt_launch(make_rows, dim3((unsigned)vrt_cuda_divided_up(n, WARPS)), THREADS, 0,
                      call->stream, rows);
}

/* The n rows that were made. */
static view band_of(const vrt_cuda_call *call, int64_t n)
{
    view v = {};

    v.base = call->workspace;
    v.stride_w = vrt_cuda_linear_row_elements(call->op);
    v.stride_h = v.stride_d = n * v.stride_w;
    v.d = v.h = 1;
    v.w = (int)n;
    v.c = call->op->in[0].shape.c;
    v.dtype = call->op->weight_dtype;
    return v;
}

int vrt_cuda_linear(const vrt_cuda_call *call)
{
    const vrt_op_linear &linear = call->op->linear;
    product p = product_of(call, linear.weight, linear.bias, call->op->in[0].shape.c);
    int r = 0;

    p.activation = linear.activation;
    p.residual = view_of_in(call, 1);
    if (!vrt_cuda_linear_makes_rows(call->op))
        return multiply_rows(call, p);
    r = check_workspace(call, vrt_cuda_linear_workspace_bytes(call->limits, call->op));
    const int64_t n_places = p.n_places, band = vrt_cuda_linear_band(call->op);
    for (int64_t first = 0; !r && first < n_places; first += band) {
        p.first_out = first;
        p.n_places = n_places - first < band ? n_places - first : band;
        p.x = band_of(call, p.n_places);
        r = vrt_cuda_linear_make_rows(call, first, p.n_places);
        if (!r)
            r = multiply_rows(call, p);
    }
    return r;
}

size_t vrt_cuda_linear_workspace_bytes(const vrt_cuda_limits *, const vrt_op *op)
{
    const int64_t n = vrt_shape_count(op->out.shape) / op->out.shape.c;
    const int64_t band = vrt_cuda_linear_band(op);

    if (!vrt_cuda_linear_makes_rows(op))
        return 0;
    return (size_t)((n < band ? n : band) * vrt_cuda_linear_row_elements(op)) *
           vrt_dtype_size(op->weight_dtype);
}
