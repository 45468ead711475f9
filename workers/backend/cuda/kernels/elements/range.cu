/* SPDX-License-Identifier: MIT */

/*
 * range: of each frame the smallest and largest finite value, how many are not finite, how many
 * there are
 *
 * Blocks share a frame's packets and leave what they found; a second launch joins that. None of it
 * depends on an order: extremes and counts are exact.
 */

#include "backend/cuda/kernels/elements/merge.h"
#include "backend/cuda/kernels/packet.cuh"

using namespace vrt;

#define THREADS VRT_CUDA_COVER_THREADS

/* Blocks of a frame at most: enough for any device, few enough for one block to join. */
#define MAX_BLOCKS 1024

/* What was found: the extremes are infinite where nothing finite was. */
struct found {
    float smallest, largest;
    unsigned long long n_not_finite;
};

/* How a frame is shared out: block after block of the cover, `each` to one of the launch. */
struct share {
    int each, n_blocks;
    vrt_divisor blocks;             /* by n_blocks */
};

static __device__ __forceinline__ void join(found &f, const found &other)
{
    f.smallest = fminf(f.smallest, other.smallest);
    f.largest = fmaxf(f.largest, other.largest);
    f.n_not_finite += other.n_not_finite;
}

/* Joins what all threads found: thread 0's is that of the block. */
static __device__ __forceinline__ void join_block(found (&all)[THREADS], const found &mine)
{
    const int t = (int)threadIdx.x;

    all[t] = mine;
    for (int apart = THREADS / 2; apart > 0; apart /= 2) {
        __syncthreads();
        if (t < apart)
            join(all[t], all[t + apart]);
    }
}

/* frame: how a frame is covered; partials [D,n_blocks] */
VRT_COVER_KERNEL find(vrt_cuda_cover frame, view in, share s, found *partials)
{
    __shared__ found all[THREADS];
    const int d = vrt_divide((int)blockIdx.x, &s.blocks);
    const int first = vrt_remainder((int)blockIdx.x, d, &s.blocks) * s.each;
    const elements from = elements_of(in);
    found f = { INFINITY, -INFINITY, 0 };

    for (int block = first; block < min(first + s.each, frame.n_blocks); block++) {
        const vrt_cuda_item at = vrt_cuda_cover_find(&frame, block, (int)threadIdx.x);
        const int c = at.packet * VRT_CUDA_PACKET, n = min(VRT_CUDA_PACKET, in.c - c);
        float x[8];

        if (!at.exists)
            continue;
        packet_load(from, view_at(in, d, at.h, at.w) + c, n, x);
#pragma unroll
        for (int i = 0; i < 8; i++) {
            const bool finite = isfinite(x[i]);

            f.smallest = i < n && finite ? fminf(f.smallest, x[i]) : f.smallest;
            f.largest = i < n && finite ? fmaxf(f.largest, x[i]) : f.largest;
            f.n_not_finite += i < n && !finite;
        }
    }
    join_block(all, f);
    if (threadIdx.x == 0)
        partials[blockIdx.x] = all[0];
}

/* Block d joins what was found in frame d. */
static __global__ void __launch_bounds__(THREADS) join_all(const found *partials, int n_blocks,
                                                           view out, double n)
{
    __shared__ found all[THREADS];
    const int d = (int)blockIdx.x;
    found f = { INFINITY, -INFINITY, 0 };

    for (int i = (int)threadIdx.x; i < n_blocks; i += THREADS)
        join(f, partials[(int64_t)d * n_blocks + i]);
    join_block(all, f);
    if (threadIdx.x != 0)
        return;
    const bool any = (double)all[0].n_not_finite < n;
    const float result[4] = { any ? all[0].smallest : 0, any ? all[0].largest : 0,
                              (float)all[0].n_not_finite, (float)n };
    for (int i = 0; i < 4; i++)
        store(view_data(out), out.dtype, view_at(out, d, 0, 0) + i, result[i]);
}

static vrt_cuda_cover cover_frame(const vrt_shape &in)
{
    vrt_shape frame = in;

    frame.d = 1;
    return cover_of(frame);
}

/* The most that any view of the shape needs: what is merged needs no more blocks. */
size_t vrt_cuda_range_workspace_bytes(const vrt_cuda_limits *, const vrt_op *op)
{
    const vrt_shape in = op->in[0].shape;

    return sizeof(found) * (size_t)in.d *
           (size_t)VRT_MIN(VRT_MAX(cover_frame(in).n_blocks, 1), MAX_BLOCKS);
}

int vrt_cuda_range(const vrt_cuda_call *call)
{
    vrt_tensor in = *vrt_op_in(call->op, 0), *all[] = { &in };
    const double n = (double)in.shape.h * in.shape.w * in.shape.c;
    found *partials = (found *)call->workspace;
    share s = {};

    vrt_cuda_merge(all, 1, VRT_CUDA_MERGE_ROWS);
    const vrt_cuda_cover frame = cover_frame(in.shape);
    s.each = (frame.n_blocks + MAX_BLOCKS - 1) / MAX_BLOCKS;
    s.n_blocks = s.each ? (frame.n_blocks + s.each - 1) / s.each : 1;
    s.blocks = vrt_divisor_of(s.n_blocks);
    const int r = vrt_launch(find, dim3((unsigned)s.n_blocks * (unsigned)in.shape.d),
                             dim3(THREADS), 0, call->stream, frame, view_of(call, &in), s,
                             partials);
    if (r)
        return r;
    return vrt_launch(join_all, dim3((unsigned)in.shape.d), dim3(THREADS), 0, call->stream,
                      partials, s.n_blocks, view_of(call, vrt_op_out(call->op, 0)), n);
}
