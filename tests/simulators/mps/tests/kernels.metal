/* SPDX-License-Identifier: MIT */
/*
 * What the tests run: a kernel for each thing that kernels do together
 *
 * MUTANT is which of the mistakes is made that the tests expect to be found; 0: none.
 */

#include <metal_stdlib>
#include <metal_simdgroup_matrix>

using namespace metal;

#ifndef MUTANT
#define MUTANT 0
#endif

constant uint side = 16;

struct sizes {
    uint rows, columns, depth;
};

/* y = a * x + y, four numbers a thread */
kernel void axpy(device const float4 *x [[buffer(0)]], device float4 *y [[buffer(1)]],
                 constant uint &n [[buffer(2)]], uint i [[thread_position_in_grid]])
{
#if MUTANT != 1
    if (i >= n)
        return;
#endif
    y[i] = x[i] * float4(1.0, 2.0, 3.0, 4.0) + y[i];
}

/* c = a * b by tiles of 16 x 16, of half numbers, summed in float */
kernel void multiply(device const half *a [[buffer(0)]], device const half *b [[buffer(1)]],
                     device float *c [[buffer(2)]], constant sizes &s [[buffer(3)]],
                     uint2 at [[thread_position_in_grid]],
                     ushort2 here [[thread_position_in_threadgroup]])
{
    threadgroup float left[side * side], right[side][side];
#if MUTANT == 2
    half sum = 0.0h;
#else
    float sum = 0.0f;
#endif

#if MUTANT == 3
    if (at.x >= s.columns)
        return;
#endif
    for (uint k = 0; k < s.depth; k += side) {
        const bool has_left = at.y < s.rows && k + here.x < s.depth;
        const bool has_right = at.x < s.columns && k + here.y < s.depth;

        left[here.y * side + here.x] = has_left ? float(a[at.y * s.depth + k + here.x]) : 0.0f;
        right[here.y][here.x] = has_right ? float(b[(k + here.y) * s.columns + at.x]) : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < side; i++)
            sum += left[here.y * side + i] * right[i][here.x];
#if MUTANT != 4
        threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
    }
    if (at.y < s.rows && at.x < s.columns)
        c[at.y * s.columns + at.x] = sum;
}

/* c = a * b, of which each simdgroup has a tile of 8 x 8; b's rows lie side by side */
kernel void multiply_matrices(device const half *a [[buffer(0)]],
                              device const half *b [[buffer(1)]],
                              device float *c [[buffer(2)]], constant sizes &s [[buffer(3)]],
                              uint2 group [[threadgroup_position_in_grid]],
                              ushort simdgroup [[simdgroup_index_in_threadgroup]],
                              ushort n_simdgroups [[simdgroups_per_threadgroup]])
{
    const uint row = 8 * group.y, column = 8 * (group.x * n_simdgroups + simdgroup);
    simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    simdgroup_half8x8 left, right;

    if (column >= s.columns)
        return;
    for (uint k = 0; k < s.depth; k += 8) {
        simdgroup_load(left, a + row * s.depth + k, s.depth);
#if MUTANT == 5
        simdgroup_load(right, b + k * s.columns + column, s.columns, ulong2(0), true);
#else
        simdgroup_load(right, b, s.columns, ulong2(column, k));
#endif
        simdgroup_multiply_accumulate(sum, left, right, sum);
    }
    simdgroup_store(sum, c + row * s.columns + column, s.columns);
}

/* y = 2 * x transposed, by way of the threadgroup's memory */
kernel void transpose(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                      ushort lane [[thread_index_in_simdgroup]])
{
    threadgroup float tile[64];
    threadgroup uint unused[1 == 1 ? 4 : 8];
    simdgroup_float8x8 m;
    const simdgroup_float8x8 one(1.0f);
    const simdgroup_float8x8 zero = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);

    tile[2 * lane] = x[2 * lane];
    tile[2 * lane + 1] = x[2 * lane + 1];
#if MUTANT != 6
    simdgroup_barrier(mem_flags::mem_threadgroup);
#endif
    simdgroup_load(m, tile, 8, ulong2(0), true);
    simdgroup_multiply_accumulate(m, one, m, zero);
    unused[0] = 0;
    m.thread_elements()[0] *= 2.0f;
    m.thread_elements()[1] *= 2.0f;
    simdgroup_store(m, y);
}

/* y = softmax(x) of each row, a threadgroup to it */
kernel void softmax(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                    constant uint &n [[buffer(2)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint t [[thread_index_in_threadgroup]],
                    uint n_threads [[threads_per_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint n_simdgroups [[simdgroups_per_threadgroup]])
{
    device const float *from = x + row * n;
    float largest = -INFINITY, sum = 0.0f;
    threadgroup float shared[4];

    for (uint i = t; i < n; i += n_threads)
        largest = max(largest, from[i]);
    for (ushort mask = 16; mask; mask /= 2)
        largest = max(largest, simd_shuffle_xor(largest, mask));
    if (lane == 0)
        shared[simdgroup] = largest;
#if MUTANT == 7
    if (lane == 0)
        threadgroup_barrier(mem_flags::mem_threadgroup);
#else
    threadgroup_barrier(mem_flags::mem_threadgroup);
#endif
    for (uint i = 0; i < n_simdgroups; i++)
        largest = max(largest, shared[i]);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint i = t; i < n; i += n_threads)
        sum += exp(from[i] - largest);
    for (ushort mask = 16; mask; mask /= 2)
        sum += simd_shuffle_xor(sum, mask);
    if (lane == 0)
        shared[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = 0.0f;
    for (uint i = 0; i < n_simdgroups; i++)
        sum += shared[i];
    for (uint i = t; i < n; i += n_threads)
        y[row * n + i] = exp(from[i] - largest) / sum;
}
