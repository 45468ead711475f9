/* SPDX-License-Identifier: MIT */

/*
 * layernorm: each place's channels brought to mean 0 and variance 1, then weight and bias
 *
 * A place belongs to up to a warp's threads, a power of two of them, so that few of them idle where
 * channels are few. Each keeps its first packet; what more there is it reads again, from the cache.
 * Sums are made in each thread first, then between threads, pair by pair: their order depends on
 * the number of channels alone.
 */

#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

#define WARP 32

struct operands {
    view in, out;
    const float *weight, *bias;     /* [C] */
    int n_threads;                  /* of a place: 1, 2, .. 32 */
};

/* The sum of x over the threads of a place, the same to each of them. */
static __device__ __forceinline__ float sum_of(float x, int n_threads)
{
    for (int step = n_threads / 2; step > 0; step /= 2)
        x += __shfl_xor_sync(0xffffffff, x, step);
    return x;
}

static __device__ __forceinline__ float sum_of_8(const float x[8])
{
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
}

/* The sum of (x - mean)^2 over the n channels that there are. */
static __device__ __forceinline__ float squares_of(const float x[8], float mean, int n)
{
    float squares[8];

#pragma unroll
    for (int i = 0; i < 8; i++)
        squares[i] = i < n ? (x[i] - mean) * (x[i] - mean) : 0;
    return sum_of_8(squares);
}

/* Writes the n channels from c on. */
static __device__ __forceinline__ void put(const operands &o, const float x[8], const float norm[2],
                                           int64_t at, int c)
{
    const int n = min(VRT_CUDA_PACKET, o.out.c - c);
    const elements weight = { (char *)o.weight, VRT_DTYPE_F32 };
    const elements bias = { (char *)o.bias, VRT_DTYPE_F32 };
    float scale[8], shift[8];

    packet_load(weight, c, n, scale);
    packet_load(bias, c, n, shift);
#pragma unroll
    for (int i = 0; i < 8; i++)
        shift[i] += (x[i] - norm[0]) * norm[1] * scale[i];
    packet_store(shift, elements_of(o.out), at + c, n);
}

VRT_COVER_KERNEL layernorm(vrt_cuda_cover cover, operands o)
{
    const vrt_cuda_item item = vrt_cuda_cover_find(&cover, (int)blockIdx.x, (int)threadIdx.x);
    const elements from = elements_of(o.in);
    /* Threads without a place have no channels, but go along: shuffles take whole warps. */
    const int c = item.exists ? o.in.c : 0, first = item.packet * VRT_CUDA_PACKET;
    const int step = o.n_threads * VRT_CUDA_PACKET, n = min(VRT_CUDA_PACKET, c - first);
    const int64_t at = item.exists ? view_at(o.in, item.d, item.h, item.w) : 0;
    float x[8] = {}, more[8], sum, squares;

    if (n > 0)
        packet_load(from, at + first, n, x);
    sum = sum_of_8(x);
    for (int k = first + step; k < c; k += step) {
        packet_load(from, at + k, min(VRT_CUDA_PACKET, c - k), more);
        sum += sum_of_8(more);
    }
    const float mean = sum_of(sum, o.n_threads) / (float)o.in.c;

    squares = squares_of(x, mean, n);
    for (int k = first + step; k < c; k += step) {
        packet_load(from, at + k, min(VRT_CUDA_PACKET, c - k), more);
        squares += squares_of(more, mean, min(VRT_CUDA_PACKET, c - k));
    }
    const float variance = sum_of(squares, o.n_threads) / (float)o.in.c;
    const float norm[2] = { mean, 1 / sqrtf(variance + VRT_NORM_EPSILON) };

    if (n <= 0)
        return;
    const int64_t to = view_at(o.out, item.d, item.h, item.w);
    put(o, x, norm, to, first);
    for (int k = first + step; k < c; k += step) {
        packet_load(from, at + k, min(VRT_CUDA_PACKET, c - k), more);
        put(o, more, norm, to, k);
    }
}

int vrt_cuda_layernorm(const vrt_cuda_call *call)
{
    const vrt_op_norm *norm = &call->op->layernorm.norm;
    const vrt_tensor *out = vrt_op_out(call->op, 0);
    const int n_packets = vrt_cuda_n_packets(out->shape.c);
    operands o = {};

    o.in = view_of_in(call, 0);
    o.out = view_of(call, out);
    o.weight = (const float *)call->params[norm->weight].data;
    o.bias = (const float *)call->params[norm->bias].data;
    o.n_threads = 1;
    while (o.n_threads < n_packets && o.n_threads < WARP)
        o.n_threads *= 2;
    return cover_launch(layernorm, call, vrt_cuda_cover_of(out->shape, o.n_threads), o);
}
