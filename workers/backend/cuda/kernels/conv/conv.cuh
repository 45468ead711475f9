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

#include "backend/cuda/kernels/products/product-start.cuh"
#include "backend/cuda/kernels/products/sums.cuh"

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
    const char *data;               /* of the frame */
    int granule;
    int rows, width;                /* of the patch with its neighbours */
    int n_quick;                    /* slabs without chunks that exist in part or in pieces */
};

/* Bytes from a frame's data to a place that doesn't exist; nothing is read there. */
#define VRT_CUDA_NOWHERE (-16)

template <class Sums>
static __device__ __forceinline__ patch_input patch_input_of(const product &p, const patch &tile)
{
    using T = typename Sums::element_type;
    constexpr int IN_SLAB = VRT_CUDA_SLAB_CHUNKS * element<T>::IN_CHUNK;
    patch_input in = { view_data(p.x), 0, 0, VRT_CUDA_PATCH_WIDTH + p.kernel - 1, 0 };

    in.granule = view_granule(p.x, in.data);
    in.data += tile.d * p.x.stride_d * element_bytes(p.x.dtype);
    in.rows = (Sums::ROWS / VRT_CUDA_PATCH_WIDTH + p.kernel - 1) * in.width;
    in.n_quick = in.granule < 16 ? 0
                 : p.n_in % element<T>::IN_CHUNK ? p.n_in / IN_SLAB : INT32_MAX;
    return in;
}

/* from [in.rows]: where the places of the patch and around it are, in bytes from the frame's data.
 * A barrier has to go after it. */
template <class Sums>
static __device__ __forceinline__ void place_input(const product &p, const patch_input &in,
                                                   const patch &tile, int64_t *from)
{
    for (int row = (int)threadIdx.x; row < in.rows; row += Sums::THREADS) {
        const int h = tile.h - p.kernel / 2 + row / in.width;
        const int w = tile.w - p.kernel / 2 + row % in.width;
        const bool inside = h >= 0 && h < p.x.h && w >= 0 && w < p.x.w;

        from[row] = inside ? (h * p.x.stride_h + w * p.x.stride_w) * element_bytes(p.x.dtype)
                           : VRT_CUDA_NOWHERE;
    }
}

/* The slab's n_chunks chunks of all places of the patch and around it; and one of zeros, if that is
 * an odd number. */
template <class Sums>
static __device__ __forceinline__ void fill_patch(const product &p, const patch_input &in,
                                                  const int64_t *from, unsigned char *dst, int slab)
{
    using T = typename Sums::element_type;
    constexpr int STEP = Sums::THREADS / VRT_CUDA_SLAB_CHUNKS;
    const int chunk = slab * VRT_CUDA_SLAB_CHUNKS + chunk_column();
    const int n = p.n_in - chunk * element<T>::IN_CHUNK;
    const char *data = in.data + chunk * VRT_CUDA_CHUNK_BYTES;
    int row = (int)threadIdx.x / VRT_CUDA_SLAB_CHUNKS;

    if (chunk >= (p.in_chunks + 1) / 2 * 2)
        return;
    dst += chunk_place();
    if (slab < in.n_quick) {
#pragma unroll 1
        for (; row < in.rows; row += STEP, dst += STEP * VRT_CUDA_ROW_BYTES)
            cp_async_16(dst, data + from[row], from[row] >= 0 && n > 0);
        return;
    }
#pragma unroll 1
    for (; row < in.rows; row += STEP, dst += STEP * VRT_CUDA_ROW_BYTES)
        copy_chunk<T>(dst, data + from[row], from[row] >= 0 ? n : 0, in.granule);
}

/* A step of the pipeline: a tap of a slab. */
struct tap_step {
    int slab, y, x;

    /* Return: whether that is another slab. */
    __device__ __forceinline__ bool next(int kernel)
    {
        if (++x < kernel)
            return false;
        x = 0;
        if (++y < kernel)
            return false;
        y = 0;
        slab++;
        return true;
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
    const patch_input in = patch_input_of<Sums>(p, tile);
    const int a_bytes = in.rows * VRT_CUDA_ROW_BYTES;
    const int n_slabs = (p.in_chunks + VRT_CUDA_SLAB_CHUNKS - 1) / VRT_CUDA_SLAB_CHUNKS;
    const int tap_bytes = p.in_chunks * VRT_CUDA_CHUNK_BYTES;
    row_place *rows = (row_place *)shared;
    int64_t *from = (int64_t *)(shared + Sums::ROWS * VRT_CUDA_ROW_PLACE_BYTES);
    unsigned char *a = (unsigned char *)(from + (in.rows + 1) / 2 * 2), *b = a + 2 * a_bytes;
    weight_rows<Sums::COLUMNS, Sums::THREADS> weights(p.weight + tile.column * p.weight_row_bytes,
                                                      p.weight_row_bytes, p.n_out - tile.column);
    tap_step ahead = { 0, 0, 0 }, now = ahead;
    int fill_at = 0, read_at = 0;
    Sums sums;

    const auto fill = [&]() {
        if (ahead.slab < n_slabs)
            weights.copy(b + fill_at * B_BYTES,
                         p.in_chunks - ahead.slab * VRT_CUDA_SLAB_CHUNKS);
        cp_async_commit();
        weights.from += tap_bytes;
        if (ahead.next(p.kernel))
            weights.from += VRT_CUDA_SLAB_CHUNKS * VRT_CUDA_CHUNK_BYTES -
                            p.kernel * p.kernel * tap_bytes;
        fill_at = fill_at + 1 < STAGES ? fill_at + 1 : 0;
    };
    place_patch<Sums>(p, tile, rows);
    place_input<Sums>(p, in, tile, from);
    __syncthreads();
    sums.clear();
    fill_patch<Sums>(p, in, from, a, 0);
    for (int i = 0; i < STAGES - 1; i++)
        fill();
#pragma unroll 1
    for (; now.slab < n_slabs; now.next(p.kernel)) {
        const int tap = (now.y * in.width + now.x) * VRT_CUDA_ROW_BYTES;
        cp_async_wait<STAGES - 2>();
        __syncthreads();
        if (now.x + now.y == 0 && now.slab + 1 < n_slabs)
            fill_patch<Sums>(p, in, from, a + (now.slab + 1) % 2 * a_bytes, now.slab + 1);
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
