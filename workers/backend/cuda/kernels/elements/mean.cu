/* SPDX-License-Identifier: MIT */

/*
 * mean: of each channel, over all frames, rows and columns
 *
 * A block sums up a run of rows, in each thread row by row, then over its threads, and leaves a
 * partial sum; a second launch adds those. How rows are cut depends on the shape alone, and so does
 * the order of all sums.
 */

#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

#define THREADS VRT_CUDA_COVER_THREADS

/* Partial sums at most: enough blocks for any device, few enough for one block to add. */
#define MAX_PARTIALS 2048

/* Channels that a block of the second launch adds up, each with THREADS / CHANNELS threads. */
#define CHANNELS 32

/* How a tensor is cut. */
struct cut {
    int rows_each, n_partials;
    int n_packets;                  /* of a place that a block adds up; the grid's y has the rest */
    int n_columns;                  /* that it reads side by side */
};

static cut cut_of(const vrt_shape &in)
{
    const int64_t n_rows = (int64_t)in.d * in.h;
    cut c = {};

    c.rows_each = (int)((n_rows + MAX_PARTIALS - 1) / MAX_PARTIALS);
    c.n_partials = (int)((n_rows + c.rows_each - 1) / c.rows_each);
    c.n_packets = VRT_MIN(vrt_cuda_n_packets(in.c), THREADS);
    c.n_columns = THREADS / c.n_packets;
    return c;
}

/* What a thread of a block adds up: n channels from c on, of every n_columns-th column. */
struct share {
    int c, n, column;
};

/* sums += those of the row that begins at `at`. */
static __device__ __forceinline__ void sum_row(const view &in, const cut &u, const share &s,
                                               int64_t at, float sums[8])
{
    const elements from = elements_of(in);
    float of_row[8] = {};

#pragma unroll 4
    for (int w = s.column; w < in.w; w += u.n_columns) {
        float x[8];

        packet_load(from, at + w * in.stride_w + s.c, s.n, x);
#pragma unroll
        for (int i = 0; i < 8; i++)
            of_row[i] += x[i];
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        sums[i] += of_row[i];
}

/* partials [n_partials,C] */
static __global__ void __launch_bounds__(THREADS) sum_parts(view in, cut u, float *partials)
{
    /* A warp's threads side by side: all banks have a part in each access. */
    __shared__ float shared[VRT_CUDA_PACKET][THREADS];
    const int t = (int)threadIdx.x;
    const int c = ((int)blockIdx.y * u.n_packets + t % u.n_packets) * VRT_CUDA_PACKET;
    const share mine = { c, min(VRT_CUDA_PACKET, in.c - c), t / u.n_packets };
    const int64_t first = (int64_t)blockIdx.x * u.rows_each;
    int d = (int)(first / in.h), h = (int)(first % in.h);
    float sums[8] = {};

    for (int i = 0; i < u.rows_each && d < in.d; i++) {
        if (mine.n > 0 && mine.column < u.n_columns)
            sum_row(in, u, mine, view_at(in, d, h, 0), sums);
        h = h + 1 == in.h ? 0 : h + 1;
        d += h == 0;
    }
#pragma unroll
    for (int i = 0; i < 8; i++)
        shared[i][t] = sums[i];
    /* Threads with the same channels, pair by pair. */
    for (int apart = THREADS / 2; apart > 0; apart /= 2) {
        __syncthreads();
        if (mine.column < apart && mine.column + apart < u.n_columns)
            for (int i = 0; i < 8; i++)
                shared[i][t] += shared[i][t + apart * u.n_packets];
    }
    if (mine.column == 0)
        for (int i = 0; i < mine.n; i++)
            partials[(int64_t)blockIdx.x * in.c + c + i] = shared[i][t];
}

/* partials [n_partials,C] */
static __global__ void __launch_bounds__(THREADS) sum_all(const float *partials, int n_partials,
                                                          view out, float n_places)
{
    __shared__ float shared[THREADS / CHANNELS][CHANNELS];
    const int i = (int)threadIdx.x % CHANNELS, first = (int)threadIdx.x / CHANNELS;
    const int c = (int)blockIdx.x * CHANNELS + i;
    float sum = 0;

    if (c < out.c)
        for (int k = first; k < n_partials; k += THREADS / CHANNELS)
            sum += partials[(int64_t)k * out.c + c];
    shared[first][i] = sum;
    for (int apart = THREADS / CHANNELS / 2; apart > 0; apart /= 2) {
        __syncthreads();
        if (first < apart)
            shared[first][i] += shared[first + apart][i];
    }
    if (first == 0 && c < out.c)
        store(view_data(out), out.dtype, c, shared[0][i] / n_places);
}

size_t vrt_cuda_mean_workspace_bytes(const vrt_cuda_limits *, const vrt_op *op)
{
    const vrt_shape in = op->in[0].shape;

    return sizeof(float) * (size_t)cut_of(in).n_partials * (size_t)in.c;
}

int vrt_cuda_mean(const vrt_cuda_call *call)
{
    const vrt_shape in = call->op->in[0].shape;
    const cut u = cut_of(in);
    const unsigned n_across = (unsigned)((vrt_cuda_n_packets(in.c) + u.n_packets - 1) /
                                         u.n_packets);
    float *partials = (float *)call->workspace;
    const int r = vrt_launch(sum_parts, dim3((unsigned)u.n_partials, n_across), dim3(THREADS), 0,
                             call->stream, view_of_in(call, 0), u, partials);

    if (r)
        return r;
    return vrt_launch(sum_all, dim3((unsigned)((in.c + CHANNELS - 1) / CHANNELS)), dim3(THREADS),
                      0, call->stream, partials, u.n_partials,
                      view_of(call, vrt_op_out(call->op, 0)),
                      (float)((double)in.d * in.h * in.w));
}
