/* SPDX-License-Identifier: MIT */

/*
 * Where the loops for 24 channels are the faster ones
 *
 * On processors with AVX2 but not AVX-512, and on those whose AVX-512 takes two turns of 256 bits:
 * AMD's family 25 (Zen 4). Others multiply 16 numbers in the time of 8, so that oneDNN wins even
 * with a quarter thrown away, or have AMX.
 */

#include <cpuid.h>
#include <dnnl.h>
#include <string.h>

#include "backend/cpu/conv/narrow-kernels.h"

static bool is_zen4(void)
{
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;

    if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx) || ebx != signature_AMD_ebx ||
        ecx != signature_AMD_ecx || edx != signature_AMD_edx)
        return false;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) &&
           (eax >> 8 & 0xf) + (eax >> 20 & 0xff) == 25;
}

static bool has(int isa, int wanted)
{
    return (isa & wanted) == wanted;
}

const struct vrt_narrow_kernel *vrt_narrow_kernel(enum vrt_dtype dtype)
{
    const int isa = (int)dnnl_get_effective_cpu_isa();

    if (has(isa, dnnl_cpu_isa_avx512_core) && !is_zen4())
        return NULL;
    if (dtype == VRT_DTYPE_BF16 && has(isa, dnnl_cpu_isa_avx512_core_bf16))
        return &vrt_narrow_avx512_bf16;
    if (dtype == VRT_DTYPE_F32 && has(isa, dnnl_cpu_isa_avx512_core))
        return &vrt_narrow_avx512;
    if (dtype == VRT_DTYPE_F32 && has(isa, dnnl_cpu_isa_avx2) && __builtin_cpu_supports("fma"))
        return &vrt_narrow_avx2;
    return NULL;
}
