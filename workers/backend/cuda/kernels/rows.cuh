/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Products whose rows of A are gathered one by one, k running through a row from its first chunk
 * to its last: STAGES slabs of A and B in a ring, copied while those before are multiplied
 *
 * A gather is made for a block's tile and then fills slabs:
 *     Gather(const product &p, int64_t first, int group)     row 0 is place p.first_x + first
 *     void fill(unsigned char *dst, int step)                 slab `step`, zeros where nothing is
 */

#include "backend/cuda/kernels/product-start.cuh"
#include "backend/cuda/kernels/sums.cuh"

namespace vrt {

struct place {
    int d, h, w;
};

/* Place m of those of `v`, row-major. */
static __device__ __forceinline__ place place_of(const view &v, int64_t m)
{
    const int64_t row = m / v.w;

    return { (int)(row / v.h), (int)(row % v.h), (int)(m % v.w) };
}

/* Rows that are the places' own channels. */
template <class T, int ROWS, int THREADS>
struct channel_gather {
    static constexpr int EACH = ROWS * VRT_CUDA_SLAB_CHUNKS / THREADS;

    const char *from[EACH];         /* this thread's chunk of slab 0 */
    unsigned exists;                /* bit i: there is such a place */
    int n_in, granule;

    __device__ __forceinline__ channel_gather(const product &p, int64_t first, int)
    {
        const char *data = view_data(p.x);
        const int chunk = (int)threadIdx.x % VRT_CUDA_SLAB_CHUNKS;

        exists = 0;
        granule = view_granule(p.x, data);
        n_in = p.n_in - chunk * element<T>::IN_CHUNK;
        data += chunk * VRT_CUDA_CHUNK_BYTES;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int64_t m = first + (i * THREADS + (int)threadIdx.x) / VRT_CUDA_SLAB_CHUNKS;
            from[i] = data;
            if (m < p.n_places) {
                const place at = place_of(p.x, p.first_x + m);
                from[i] += view_at(p.x, at.d, at.h, at.w) *
                           (int64_t)sizeof(typename element<T>::type);
                exists |= 1u << i;
            }
        }
    }

    __device__ __forceinline__ void fill(unsigned char *dst, int step)
    {
        const int k = step * VRT_CUDA_SLAB_CHUNKS * element<T>::IN_CHUNK;

        dst += threadIdx.x / VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_ROW_BYTES +
               threadIdx.x % VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_CHUNK_BYTES;
#pragma unroll
        for (int i = 0; i < EACH; i++)
            copy_chunk<T>(dst + i * (THREADS / VRT_CUDA_SLAB_CHUNKS) * VRT_CUDA_ROW_BYTES,
                          from[i] + step * VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_CHUNK_BYTES,
                          exists >> i & 1 ? n_in - k : 0, granule);
    }
};

/* Where the tile's rows stand. */
template <int ROWS, int THREADS>
static __device__ __forceinline__ void place_rows(const product &p, int64_t first, row_place *rows)
{
    for (int r = (int)threadIdx.x; r < ROWS; r += THREADS) {
        rows[r] = { -1, 0 };
        if (first + r < p.n_places) {
            const place at = place_of(p.out, p.first_out + first + r);
            rows[r] = row_place_at(p, at.d, at.h, at.w);
        }
    }
}

/* A block's place in the grid: outputs first, so that blocks beside each other share rows of A. */
struct rows_tile {
    int64_t first;
    int column, group;
};

template <class Sums>
static __device__ __forceinline__ rows_tile rows_tile_of(const product &p)
{
    return { (int64_t)(blockIdx.x / p.tiles_n) * Sums::ROWS,
             (int)(blockIdx.x % p.tiles_n) * Sums::COLUMNS, (int)blockIdx.y };
}

template <class Sums, class Gather, int STAGES, int N_BLOCKS>
static __global__ void __launch_bounds__(Sums::THREADS, N_BLOCKS) rows_product(const product p)
{
    if constexpr (!is_wanted<typename Sums::element_type>()) {
        __trap();
        return;
    }
    constexpr int A_BYTES = Sums::ROWS * VRT_CUDA_ROW_BYTES;
    constexpr int B_BYTES = Sums::COLUMNS * VRT_CUDA_ROW_BYTES;
    VRT_DYNAMIC_SHARED(shared);
    const rows_tile tile = rows_tile_of<Sums>(p);
    const int n_chunks = p.kernel * p.kernel * p.in_chunks;
    const int n_steps = (n_chunks + VRT_CUDA_SLAB_CHUNKS - 1) / VRT_CUDA_SLAB_CHUNKS;
    const int n_rows = p.n_out - tile.column;
    const char *weight =
        p.weight + (int64_t)(tile.group * p.n_out + tile.column) * p.weight_row_bytes;
    row_place *rows = (row_place *)shared;
    unsigned char *a = shared + Sums::ROWS * VRT_CUDA_ROW_PLACE_BYTES, *b = a + STAGES * A_BYTES;
    Gather gather(p, tile.first, tile.group);
    Sums sums;

    const auto fill = [&](int step) {
        const int chunk = step * VRT_CUDA_SLAB_CHUNKS, stage = step % STAGES;
        if (step < n_steps) {
            copy_weights<Sums::COLUMNS, Sums::THREADS>(
                b + stage * B_BYTES, weight + chunk * VRT_CUDA_CHUNK_BYTES, p.weight_row_bytes,
                n_rows, n_chunks - chunk);
            gather.fill(a + stage * A_BYTES, step);
        }
        cp_async_commit();
    };
    place_rows<Sums::ROWS, Sums::THREADS>(p, tile.first, rows);
    sums.clear();
    for (int step = 0; step < STAGES - 1; step++)
        fill(step);
#pragma unroll 1
    for (int step = 0; step < n_steps; step++) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        fill(step + STAGES - 1);
        sums.add(a + step % STAGES * A_BYTES, 16 * VRT_CUDA_ROW_BYTES,
                 b + step % STAGES * B_BYTES,
                 min(VRT_CUDA_SLAB_CHUNKS, n_chunks - step * VRT_CUDA_SLAB_CHUNKS));
    }
    cp_async_wait<0>();
    __syncthreads();
    sums.finish(epilogue_of(p, rows, tile.group), (float *)a, tile.column);
}

}
