/* SPDX-License-Identifier: MIT */
#pragma once

/* By what f32 is multiplied with all of its bits. */

/* Both give what conformance wants of f32, but not the same bits. */
enum vrt_cuda_f32_products {
    VRT_CUDA_F32_FMA,               /* fma, a product each */
    VRT_CUDA_F32_SPLIT,             /* three of TF32 each, by tensor cores: "products/split.cuh" */
};

/*
 * What suits devices of this compute capability (75 for 7.5, ...). By their data sheets cards of
 * data centres multiply TF32 at least 7 times as fast as f32, so that three are worth it, and all
 * others up to twice as fast; before 8.0 there is no TF32; of newer ones nothing is known.
 * isa/mma.cuh has the same list.
 */
static inline enum vrt_cuda_f32_products vrt_cuda_f32_products(int capability)
{
    switch (capability) {
    case 80:
    case 90:
    case 100:
    case 103: return VRT_CUDA_F32_SPLIT;
    default: return VRT_CUDA_F32_FMA;
    }
}
