/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * How the threads of a launch cover a tensor
 *
 * A thread has an item: a place, and a packet of its channels. Items of a row, [W, packets], lie
 * side by side, so that neighbours in a warp read and write neighbours in memory; a block has
 * 2^log2_items items of each of 2^log2_rows rows, and blocks follow each other along the rows. All
 * of it is one dimension of the grid, the only one that may be large.
 */

#include <stdbool.h>
#include <string.h>

#include "backend/cuda/kernels/divisor.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/op/tensor.h"

#ifdef __cplusplus
}
#endif

#define VRT_CUDA_COVER_LOG2_THREADS 8  /* eight warps */
#define VRT_CUDA_COVER_THREADS (1 << VRT_CUDA_COVER_LOG2_THREADS)

/* Of rows, and of items in one: far more than memory holds, and sums with it fit an int. */
#define VRT_CUDA_COVER_MAX (1 << 30)

/* Channels that a thread has at a time: 16 bytes of halves, or twice as much of f32. */
#define VRT_CUDA_PACKET 8

struct vrt_cuda_cover {
    int n_rows, n_items;            /* D * H; W * packets */
    int n_across;                   /* blocks side by side */
    int n_blocks;
    int log2_items;
    struct vrt_divisor h, packets, across;
};

/* Where a thread is. */
struct vrt_cuda_item {
    int d, h, w, packet;
    bool exists;                    /* or the thread is beyond the end */
};

/* Packets of `c` channels. */
static inline int vrt_cuda_n_packets(int c)
{
    return (int)(((int64_t)c + VRT_CUDA_PACKET - 1) / VRT_CUDA_PACKET);
}

/* Blocks of 2^log2_items by as many rows as make it full. */
static inline int64_t vrt_cuda_cover_n_blocks(int n_rows, int n_items, int log2_items)
{
    const int log2_rows = VRT_CUDA_COVER_LOG2_THREADS - log2_items;
    const int64_t n_across = (((int64_t)n_items - 1) >> log2_items) + 1;

    return n_across * ((((int64_t)n_rows - 1) >> log2_rows) + 1);
}

/* Of the widths from a warp (or a row, where that is less) to a block the one that leaves the
 * fewest threads idle, the widest of these. */
static inline int vrt_cuda_cover_log2_items(int n_rows, int n_items)
{
    int least = 0, best = VRT_CUDA_COVER_LOG2_THREADS;

    while (least < 5 && (1 << least) < n_items)
        least++;
    for (int log2 = best - 1; log2 >= least; log2--)
        if (vrt_cuda_cover_n_blocks(n_rows, n_items, log2) <
            vrt_cuda_cover_n_blocks(n_rows, n_items, best))
            best = log2;
    return best;
}

/* Covers places of this shape, `n_packets` items each. Return: how; n_blocks is 0, which no launch
 * accepts, where there are more rows, items in one, or blocks than VRT_CUDA_COVER_MAX. */
static inline struct vrt_cuda_cover vrt_cuda_cover_of(struct vrt_shape shape, int n_packets)
{
    struct vrt_cuda_cover cover;
    const int64_t n_rows = (int64_t)shape.d * shape.h, n_items = (int64_t)shape.w * n_packets;

    memset(&cover, 0, sizeof(cover));
    if (n_rows > VRT_CUDA_COVER_MAX || n_items > VRT_CUDA_COVER_MAX)
        return cover;
    cover.n_rows = (int)n_rows;
    cover.n_items = (int)n_items;
    cover.log2_items = vrt_cuda_cover_log2_items(cover.n_rows, cover.n_items);
    cover.n_across = ((cover.n_items - 1) >> cover.log2_items) + 1;
    cover.h = vrt_divisor_of(shape.h);
    cover.packets = vrt_divisor_of(n_packets);
    cover.across = vrt_divisor_of(cover.n_across);
    const int64_t n = vrt_cuda_cover_n_blocks(cover.n_rows, cover.n_items, cover.log2_items);
    cover.n_blocks = n <= VRT_CUDA_COVER_MAX ? (int)n : 0;
    return cover;
}

/* The item of thread `thread` of block `block`. */
static inline VRT_DEVICE struct vrt_cuda_item vrt_cuda_cover_find(
    const struct vrt_cuda_cover *cover, int block, int thread)
{
    const int log2_rows = VRT_CUDA_COVER_LOG2_THREADS - cover->log2_items;
    const int down = vrt_divide(block, &cover->across);
    const int across = vrt_remainder(block, down, &cover->across);
    const int item = (across << cover->log2_items) + (thread & ((1 << cover->log2_items) - 1));
    const int row = (down << log2_rows) + (thread >> cover->log2_items);
    struct vrt_cuda_item at;

    at.exists = item < cover->n_items && row < cover->n_rows;
    at.d = vrt_divide(row, &cover->h);
    at.h = vrt_remainder(row, at.d, &cover->h);
    at.w = vrt_divide(item, &cover->packets);
    at.packet = vrt_remainder(item, at.w, &cover->packets);
    return at;
}
