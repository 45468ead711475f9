/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Convolutions of K by K taps, K of 3 and more
 *
 * A tile is a patch of places, 16 wide. A slab of its channels comes to shared memory once, with
 * the neighbours around it, and serves all taps: a tap's rows of A are the same rows further on.
 * While a slab is multiplied the next one comes; the weights come tap by tap, in a ring of STAGES.
 * The order of the sums: slabs of channels, then taps, then channels.
 */

#include "backend/cuda/kernels/product-start.cuh"
#include "backend/cuda/kernels/sums.cuh"

namespace vrt {

/* A block's patch: its frame, and the row and column of its first place. */
struct patch {
    int d, h, w, column;
};

/* Outputs first, then patches side by side: blocks that run together share rows and neighbours. */
template <class Sums>
static __device__ __forceinline__ patch patch_of(const product &p)
{
    const int64_t at = blockIdx.x / p.tiles_n;
    const int64_t row = at / p.tiles_x;

    return { (int)(row / p.tiles_y),
             (int)(row % p.tiles_y) * (Sums::ROWS / VRT_CUDA_PATCH_WIDTH),
             (int)(at % p.tiles_x) * VRT_CUDA_PATCH_WIDTH,
             (int)(blockIdx.x % p.tiles_n) * Sums::COLUMNS };
}

template <class Sums>
static __device__ __forceinline__ void place_patch(const product &p, const patch &tile,
                                                   row_place *rows)
{
    for (int r = (int)threadIdx.x; r < Sums::ROWS; r += Sums::THREADS) {
        const int h = tile.h + r / VRT_CUDA_PATCH_WIDTH, w = tile.w + r % VRT_CUDA_PATCH_WIDTH;
        rows[r] = { -1, 0 };
        if (h < p.out.h && w < p.out.w)
            rows[r] = row_place_at(p, tile.d, h, w);
    }
}

/* How a patch's channels are read. */
struct patch_input {
    const char *data;
    int granule;
    int rows, width;                /* of the patch with its neighbours */
};

template <class Sums>
static __device__ __forceinline__ patch_input patch_input_of(const product &p)
{
    patch_input in = { view_data(p.x), 0, 0, VRT_CUDA_PATCH_WIDTH + p.kernel - 1 };

    in.granule = view_granule(p.x, in.data);
    in.rows = (Sums::ROWS / VRT_CUDA_PATCH_WIDTH + p.kernel - 1) * in.width;
    return in;
}

/* The slab's n_chunks chunks of all places of the patch and around it; and one of zeros, if that is
 * an odd number. */
template <class Sums>
static __device__ __forceinline__ void fill_patch(const product &p, const patch_input &in,
                                                  const patch &tile, unsigned char *dst, int slab)
{
    using T = typename Sums::element_type;
    constexpr int STEP = Sums::THREADS / VRT_CUDA_SLAB_CHUNKS;
    const int chunk = (int)threadIdx.x % VRT_CUDA_SLAB_CHUNKS;
    const int c = (slab * VRT_CUDA_SLAB_CHUNKS + chunk) * element<T>::IN_CHUNK;
    const char *frame = in.data + (tile.d * p.x.stride_d + c) * element_bytes(p.x.dtype);
    int row = (int)threadIdx.x / VRT_CUDA_SLAB_CHUNKS, y = row / in.width, x = row % in.width;

    if (slab * VRT_CUDA_SLAB_CHUNKS + chunk >= (p.in_chunks + 1) / 2 * 2)
        return;
    dst += chunk * VRT_CUDA_CHUNK_BYTES;
    for (; row < in.rows; row += STEP) {
        const int h = tile.h - p.kernel / 2 + y, w = tile.w - p.kernel / 2 + x;
        const bool inside = h >= 0 && h < p.x.h && w >= 0 && w < p.x.w;
        const int64_t at = inside ? h * p.x.stride_h + w * p.x.stride_w : 0;
        copy_chunk<T>(dst + row * VRT_CUDA_ROW_BYTES, frame + at * element_bytes(p.x.dtype),
                      inside ? p.n_in - c : 0, in.granule);
        for (x += STEP; x >= in.width; x -= in.width)
            y++;
    }
}

/* A step of the pipeline: a tap of a slab. */
struct tap_step {
    int slab, y, x;

    __device__ __forceinline__ void next(int kernel)
    {
        if (++x < kernel)
            return;
        x = 0;
        if (++y < kernel)
            return;
        y = 0;
        slab++;
    }
};

template <class Sums, int STAGES, int N_BLOCKS>
static __global__ void __launch_bounds__(Sums::THREADS, N_BLOCKS) conv_product(const product p)
{
    if constexpr (!is_wanted<typename Sums::element_type>()) {
        __trap();
        return;
    }
    constexpr int B_BYTES = Sums::COLUMNS * VRT_CUDA_ROW_BYTES;
    VRT_DYNAMIC_SHARED(shared);
    const patch tile = patch_of<Sums>(p);
    const patch_input in = patch_input_of<Sums>(p);
    const int a_bytes = in.rows * VRT_CUDA_ROW_BYTES;
    const int n_slabs = (p.in_chunks + VRT_CUDA_SLAB_CHUNKS - 1) / VRT_CUDA_SLAB_CHUNKS;
    const int n_rows = p.n_out - tile.column;
    const char *weight = p.weight + tile.column * p.weight_row_bytes;
    row_place *rows = (row_place *)shared;
    unsigned char *a = shared + Sums::ROWS * VRT_CUDA_ROW_PLACE_BYTES, *b = a + 2 * a_bytes;
    tap_step ahead = { 0, 0, 0 }, now = ahead;
    int fill_at = 0, read_at = 0;
    Sums sums;

    const auto fill = [&]() {
        if (ahead.slab < n_slabs) {
            const int chunk = ahead.slab * VRT_CUDA_SLAB_CHUNKS;
            const int at = (ahead.y * p.kernel + ahead.x) * p.in_chunks + chunk;
            copy_weights<Sums::COLUMNS, Sums::THREADS>(
                b + fill_at * B_BYTES, weight + at * VRT_CUDA_CHUNK_BYTES, p.weight_row_bytes,
                n_rows, p.in_chunks - chunk);
        }
        cp_async_commit();
        ahead.next(p.kernel);
        fill_at = fill_at + 1 < STAGES ? fill_at + 1 : 0;
    };
    place_patch<Sums>(p, tile, rows);
    sums.clear();
    fill_patch<Sums>(p, in, tile, a, 0);
    for (int i = 0; i < STAGES - 1; i++)
        fill();
#pragma unroll 1
    for (; now.slab < n_slabs; now.next(p.kernel)) {
        const int tap = (now.y * in.width + now.x) * VRT_CUDA_ROW_BYTES;
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        if (now.x + now.y == 0 && now.slab + 1 < n_slabs)
            fill_patch<Sums>(p, in, tile, a + (now.slab + 1) % 2 * a_bytes, now.slab + 1);
        fill();
        sums.add(a + now.slab % 2 * a_bytes + tap, in.width * VRT_CUDA_ROW_BYTES,
                 b + read_at * B_BYTES,
                 min(VRT_CUDA_SLAB_CHUNKS, p.in_chunks - now.slab * VRT_CUDA_SLAB_CHUNKS));
        read_at = read_at + 1 < STAGES ? read_at + 1 : 0;
    }
    cp_async_wait<0>();
    __syncthreads();
    sums.finish(epilogue_of(p, rows, 0), (float *)a, tile.column);
}

}
