/* SPDX-License-Identifier: MIT */
#pragma once

/* Eight channels at a time, of whatever type, as f32. */

#include "backend/cuda/kernels/view.cuh"
#include "mma.cuh"

namespace vrt {

/* Two halves of a word, the lower one first. */
static __device__ __forceinline__ void unpack_2(uint32_t word, int dtype, float x[2])
{
    if (dtype == VRT_DTYPE_BF16) {
        x[0] = __uint_as_float(word << 16);
        x[1] = __uint_as_float(word & 0xffff0000);
        return;
    }
    x[0] = __half2float(__ushort_as_half((unsigned short)(word & 0xffff)));
    x[1] = __half2float(__ushort_as_half((unsigned short)(word >> 16)));
}

/* The inverse; rounds. */
static __device__ __forceinline__ uint32_t pack_2(float low, float high, int dtype)
{
    return dtype == VRT_DTYPE_BF16 ? pack_halves<__nv_bfloat16>(low, high)
                                   : pack_halves<__half>(low, high);
}

/* Sixteen bytes of halves. */
static __device__ __forceinline__ uint4 pack_8(const float x[8], int dtype)
{
    return make_uint4(pack_2(x[0], x[1], dtype), pack_2(x[2], x[3], dtype),
                      pack_2(x[4], x[5], dtype), pack_2(x[6], x[7], dtype));
}

static __device__ __forceinline__ void unpack_8(uint4 words, int dtype, float x[8])
{
    unpack_2(words.x, dtype, x);
    unpack_2(words.y, dtype, x + 2);
    unpack_2(words.z, dtype, x + 4);
    unpack_2(words.w, dtype, x + 6);
}

/* x [8] from element `at` on, all of which exist and begin at a multiple of 16 bytes. */
static __device__ __forceinline__ void load_8(const char *data, int dtype, int64_t at, float x[8])
{
    if (dtype != VRT_DTYPE_F32) {
        unpack_8(*(const uint4 *)(data + at * 2), dtype, x);
        return;
    }
    const float4 low = ((const float4 *)(data + at * 4))[0];
    const float4 high = ((const float4 *)(data + at * 4))[1];

    x[0] = low.x, x[1] = low.y, x[2] = low.z, x[3] = low.w;
    x[4] = high.x, x[5] = high.y, x[6] = high.z, x[7] = high.w;
}

/* The inverse; rounds. */
static __device__ __forceinline__ void store_8(char *data, int dtype, int64_t at, const float x[8])
{
    if (dtype != VRT_DTYPE_F32) {
        *(uint4 *)(data + at * 2) = pack_8(x, dtype);
        return;
    }
    ((float4 *)(data + at * 4))[0] = make_float4(x[0], x[1], x[2], x[3]);
    ((float4 *)(data + at * 4))[1] = make_float4(x[4], x[5], x[6], x[7]);
}

/* Bytes of an element. */
static __device__ __forceinline__ int element_bytes(int dtype)
{
    return dtype == VRT_DTYPE_F32 ? 4 : 2;
}

/* The largest of 16, 4 and 2 of which `first` (an address in `v`) and all strides are multiples:
 * what may be read at a time. Bound buffers can be anywhere, and so only the device knows. */
static __device__ __forceinline__ int view_granule(const view &v, const char *first)
{
    const int64_t size = element_bytes(v.dtype);
    const uint64_t any = (uint64_t)first | (uint64_t)(v.stride_d * size) |
                         (uint64_t)(v.stride_h * size) | (uint64_t)(v.stride_w * size);

    return any % 16 == 0 ? 16 : any % 4 == 0 ? 4 : 2;
}

}
