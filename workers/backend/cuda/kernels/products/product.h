/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Products of activations with weights, as the launchers of ops ask for them
 *
 *     C[m][n] = activation(sum over k of A[m][k] * B[n][k] + bias[n]) * scale + residual[m][n]
 *
 * m is a place of the output, n one of its channels; B are the weights, in rows of k, and A is what
 * the op gathers: "linear/rows.cuh" a place's channels, "conv/conv.cuh" those of its neighbours
 * too, "deform/deform.cuh" samples. T is the type of both factors: __half, __nv_bfloat16, float,
 * tf32, or split_tf32.
 */

#include "backend/cuda/kernels/products/product-tiles.h"
#include "backend/cuda/kernels/view.cuh"

namespace vrt {

/* f32 in memory, whose last 13 bits are rounded away before they are multiplied. */
struct tf32 {};

/* f32 in memory, multiplied in parts ("split.cuh"). Only where has_fast_tf32(). */
struct split_tf32 {};

/* What kernels are given. */
struct product {
    view x, residual, out;          /* residual.c is 0 where there is none */
    const char *weight;
    int64_t weight_row_bytes;
    const float *bias, *slopes;     /* NULL: none */
    int activation;                 /* enum vrt_activation */
    float slope, scale;
    int kernel;                     /* K */
    int n_in, in_chunks;            /* channels of a tap; 16 bytes each, the last filled up */
    int n_out;                      /* of a group */
    int64_t n_places;               /* rows only: so many from these places on, row-major */
    int64_t first_x, first_out;
    int tiles_n;                    /* the tile's, filled in by the launch */
    int tiles_y, tiles_x;

    view offsets;                   /* deform_conv2d: groups of channels, runs with own offsets */
    int n_groups, n_runs;
};

/* Enqueue the product with the tile that suits it. x has the type of the weights, but for
 * deform_launch. Instantiated in rows-*.cu, conv-*.cu and deform-*.cu. Return: 0, cudaError_t. */
template <class T> int rows_launch(const vrt_cuda_call *call, const product &p);
template <class T> int conv_launch(const vrt_cuda_call *call, const product &p);
template <class T> int deform_launch(const vrt_cuda_call *call, const product &p);

/* A product without epilogue with the weights `weight` and the bias `bias` (-1: none), whose taps
 * have n_in channels; the caller fills in the rest. */
static inline product product_of(const vrt_cuda_call *call, int weight, int bias, int n_in)
{
    const vrt_cuda_param *param = &call->params[weight];
    const int64_t size = (int64_t)vrt_dtype_size(param->dtype);
    product p = {};

    p.weight = (const char *)param->data;
    p.weight_row_bytes = param->row_elements * size;
    p.bias = bias < 0 ? NULL : (const float *)call->params[bias].data;
    p.scale = 1;
    p.kernel = 1;
    p.n_in = n_in;
    p.in_chunks = (int)((n_in + 7) / 8 * 8 * size / VRT_CUDA_CHUNK_BYTES);
    p.x = view_of_in(call, 0);
    p.out = view_of(call, vrt_op_out(call->op, 0));
    p.n_out = p.out.c;
    p.n_places = (int64_t)p.out.d * p.out.h * p.out.w;
    p.n_groups = 1;
    return p;
}

}
