/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What happens to sums before they are stored: bias, activation, scale, residual, the rounding
 *
 * A warp's sums pass through shared memory, so that each of its lanes gets eight channels of a
 * place, and a place's channels are written side by side.
 */

#include "backend/cuda/kernels/products/channels.cuh"
#include "backend/cuda/kernels/products/product.h"
#include "backend/cuda/kernels/scalar.cuh"

namespace vrt {

/* Where a row of the tile stands, in elements; out is -1 for one outside of the output. */
struct row_place {
    int64_t out, residual;
};

static_assert(sizeof(row_place) == VRT_CUDA_ROW_PLACE_BYTES, "as the tile's size counts it");

/* What is the same for all of a block. */
struct epilogue {
    const product *p;
    const row_place *rows;          /* of the tile, shared */
    char *out;                      /* channel 0 of the group, at the first place */
    const char *residual;
    const float *bias, *slopes;     /* of the group */
    bool whole_out, whole_residual; /* 16 bytes may be written, read at a time */
};

/* Rows of a warp's slab: slab row s is row first + s / 4 * step + s % 4 of the tile. */
struct slab_rows {
    int first, step, count;
};

static __device__ __forceinline__ row_place row_place_at(const product &p, int d, int h, int w)
{
    row_place place = { view_at(p.out, d, h, w), 0 };

    if (p.residual.c)
        place.residual = view_at(p.residual, d, h, w);
    return place;
}

static __device__ __forceinline__ epilogue epilogue_of(const product &p, const row_place *rows,
                                                       int group)
{
    const int first = group * p.n_out;
    epilogue e = { &p, rows, NULL, NULL, NULL, NULL, false, false };

    e.out = view_data(p.out) + (int64_t)first * element_bytes(p.out.dtype);
    e.whole_out = view_granule(p.out, e.out) == 16;
    if (p.bias)
        e.bias = p.bias + first;
    if (p.slopes)
        e.slopes = p.slopes + first;
    if (p.residual.c) {
        e.residual = view_data(p.residual) + (int64_t)first * element_bytes(p.residual.dtype);
        e.whole_residual = view_granule(p.residual, e.residual) == 16;
    }
    return e;
}

/* The kind is looked at once, not for each x. */
static __device__ __forceinline__ void activate(int activation, const float slopes[8], float x[8])
{
    if (activation == VRT_ACTIVATION_NONE)
        return;
    if (activation == VRT_ACTIVATION_GELU) {
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[i] = gelu(x[i]);
        return;
    }
    const bool is_relu = activation == VRT_ACTIVATION_RELU;
#pragma unroll
    for (int i = 0; i < 8; i++) {
        const float below = is_relu ? 0 : slopes[i] * x[i];
        x[i] = x[i] < 0 ? below : x[i];
    }
}

/* x [8] += the residual's n channels from element `at` on. */
static __device__ __forceinline__ void add_residual(const epilogue &e, int64_t at, int n,
                                                    float x[8])
{
    const int dtype = e.p->residual.dtype;

    if (e.whole_residual && n == 8) {
        float more[8];
        load_8(e.residual, dtype, at, more);
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[i] += more[i];
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < n)
            x[i] += load(e.residual, dtype, at + i);
}

static __device__ __forceinline__ void put_channels(const epilogue &e, int64_t at, int n,
                                                    const float x[8])
{
    if (e.whole_out && n == 8) {
        store_8(e.out, e.p->out.dtype, at, x);
        return;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        if (i < n)
            store(e.out, e.p->out.dtype, at + i, x[i]);
}

/* bias [8] and slopes [8] of the channels from n on, of which n_here exist. */
static __device__ __forceinline__ void load_vectors(const epilogue &e, int n, int n_here,
                                                    float bias[8], float slopes[8])
{
#pragma unroll
    for (int i = 0; i < 8; i++) {
        bias[i] = e.bias && i < n_here ? __ldg(e.bias + n + i) : 0;
        slopes[i] = e.slopes && i < n_here ? __ldg(e.slopes + n + i) : e.p->slope;
    }
}

/* slab [rows.count][COLUMNS + gap]: sums of the output channels from `column` on. By a warp. */
template <int COLUMNS>
static __device__ __forceinline__ void finish_slab(const epilogue &e, const float *slab,
                                                   slab_rows rows, int column)
{
    constexpr int LANES = COLUMNS / 8;
    const product &p = *e.p;
    const int lane = (int)threadIdx.x % 32, group = lane % LANES;
    const int n = column + group * 8, n_here = min(8, p.n_out - n);
    float bias[8], slopes[8];

    if (n_here <= 0)
        return;
    load_vectors(e, n, n_here, bias, slopes);
#pragma unroll 1
    for (int s = lane / LANES; s < rows.count; s += 32 / LANES) {
        const row_place place = e.rows[rows.first + s / 4 * rows.step + s % 4];
        float x[8];
        if (place.out < 0)
            continue;
        load_8((const char *)slab, VRT_DTYPE_F32,
               s * (COLUMNS + VRT_CUDA_FINISH_GAP) + group * 8, x);
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[i] += bias[i];
        activate(p.activation, slopes, x);
#pragma unroll
        for (int i = 0; i < 8; i++)
            x[i] *= p.scale;
        if (p.residual.c)
            add_residual(e, place.residual + n, n_here, x);
        put_channels(e, place.out + n, n_here, x);
    }
}

}
