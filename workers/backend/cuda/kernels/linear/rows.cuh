/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Products whose rows of A are gathered one by one, k running through a row from its first chunk
 * to its last: STAGES slabs of A and B in a ring, copied while those before are multiplied
 *
 * A gather is made for a block's tile and then fills slabs:
 *     Gather(const product &p, int64_t first, int group)     row 0 is place p.first_x + first
 *     void fill(unsigned char *dst, int step)                 slab `step`, zeros where nothing is;
 *                                                             from 0 on, one after the other
 */

#include "backend/cuda/kernels/products/product-start.cuh"
#include "backend/cuda/kernels/products/sums.cuh"

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

/*
 * Rows that are the places' own channels. Of a row that has no place nobody wants the sums: it has
 * those of the last place.
 */
template <class T, int ROWS, int THREADS>
struct channel_gather {
    static constexpr int EACH = ROWS * VRT_CUDA_SLAB_CHUNKS / THREADS;
    static constexpr int IN_SLAB = VRT_CUDA_SLAB_CHUNKS * element<T>::IN_CHUNK;

    const char *from[EACH];         /* this thread's chunks of the next slab */
    int left;                       /* channels from there on */
    int granule;
    int n_quick;                    /* slabs without chunks that exist in part or in pieces */

    __device__ __forceinline__ channel_gather(const product &p, int64_t first, int)
    {
        const char *data = view_data(p.x);

        granule = view_granule(p.x, data);
        n_quick = granule < 16 ? 0 : p.n_in % element<T>::IN_CHUNK ? p.n_in / IN_SLAB : INT32_MAX;
        left = p.n_in - chunk_column() * element<T>::IN_CHUNK;
        data += chunk_column() * VRT_CUDA_CHUNK_BYTES;
#pragma unroll
        for (int i = 0; i < EACH; i++) {
            const int64_t m = first + (i * THREADS + (int)threadIdx.x) / VRT_CUDA_SLAB_CHUNKS;
            const place at = place_of(p.x, p.first_x + (m < p.n_places ? m : p.n_places - 1));
            from[i] = data + view_at(p.x, at.d, at.h, at.w) *
                                 (int64_t)sizeof(typename element<T>::type);
        }
    }

    __device__ __forceinline__ void fill(unsigned char *dst, int step)
    {
        constexpr int APART = THREADS / VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_ROW_BYTES;

        dst += chunk_place();
        if (step < n_quick) {
#pragma unroll
            for (int i = 0; i < EACH; i++)
                cp_async_16(dst + i * APART, from[i], left > 0);
        } else {
#pragma unroll
            for (int i = 0; i < EACH; i++)
                copy_chunk<T>(dst + i * APART, from[i], left, granule);
        }
#pragma unroll
        for (int i = 0; i < EACH; i++)
            from[i] += VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_CHUNK_BYTES;
        left -= IN_SLAB;
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
    const char *weight =
        p.weight + (int64_t)(tile.group * p.n_out + tile.column) * p.weight_row_bytes;
    row_place *rows = (row_place *)shared;
    unsigned char *a = shared + Sums::ROWS * VRT_CUDA_ROW_PLACE_BYTES, *b = a + STAGES * A_BYTES;
    weight_rows<Sums::COLUMNS, Sums::THREADS> weights(weight, p.weight_row_bytes,
                                                      p.n_out - tile.column);
    Gather gather(p, tile.first, tile.group);
    int ahead = 0, fill_at = 0, read_at = 0;
    Sums sums;

    const auto fill = [&]() {
        if (ahead < n_steps) {
            weights.copy(b + fill_at * B_BYTES, n_chunks - ahead * VRT_CUDA_SLAB_CHUNKS);
            gather.fill(a + fill_at * A_BYTES, ahead);
            weights.from += VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_CHUNK_BYTES;
        }
        cp_async_commit();
        ahead++;
        fill_at = fill_at + 1 < STAGES ? fill_at + 1 : 0;
    };
    place_rows<Sums::ROWS, Sums::THREADS>(p, tile.first, rows);
    sums.clear();
    for (int step = 0; step < STAGES - 1; step++)
        fill();
#pragma unroll 1
    for (int left = n_chunks; left > 0; left -= VRT_CUDA_SLAB_CHUNKS) {
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        fill();
        sums.add(a + read_at * A_BYTES, 16 * VRT_CUDA_ROW_BYTES, b + read_at * B_BYTES,
                 min(VRT_CUDA_SLAB_CHUNKS, left));
        read_at = read_at + 1 < STAGES ? read_at + 1 : 0;
    }
    cp_async_wait<0>();
    __syncthreads();
    sums.finish(epilogue_of(p, rows, tile.group), (float *)a, tile.column);
}

}
