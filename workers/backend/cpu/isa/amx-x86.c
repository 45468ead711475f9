/* SPDX-License-Identifier: MIT */

/*
 * Whether there is AMX: the processor has to have it, and the kernel to have been asked
 *
 * The registers are 8 KiB of each thread, which the kernel keeps room for only in processes that
 * asked; in others the first instruction is an illegal one. What is allowed to a process is so to
 * all of its threads, those that it has already too.
 */

#include <cpuid.h>
#include <dnnl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backend/cpu/isa/tiles.h"

/* As <asm/prctl.h> of Linux 5.16 has it, and the number of the registers' contents. */
#define ARCH_REQUEST_PERMISSION 0x1023
#define TILE_DATA 18

#define FEATURES_LEAF 7
#define HAS_AMX_BF16 (1u << 22)
#define HAS_AMX_TILE (1u << 24)
#define MORE_FEATURES 1
#define HAS_AVX512_BF16 (1u << 5)

/* What "backend/cpu/products/tiles/shapes.h" takes for granted. */
#define PALETTES_LEAF 0x1d
#define PALETTE 1
#define TILES 8
#define TILE_ROW_BYTES 64
#define TILE_ROWS 16

extern const struct vrt_cpu_kernel vrt_cpu_avx512_tiles_op_linear;
extern const struct vrt_cpu_kernel vrt_cpu_avx512_tiles_op_geglu;
extern const struct vrt_cpu_kernel vrt_cpu_avx512_tiles_op_window_attention;
extern const struct vrt_cpu_kernel vrt_cpu_avx512_tiles_op_deform_conv2d;

extern const struct vrt_cpu_kernel vrt_cpu_avx512_split_op_linear;
extern const struct vrt_cpu_kernel vrt_cpu_avx512_split_op_geglu;
extern const struct vrt_cpu_kernel vrt_cpu_avx512_split_op_window_attention;
extern const struct vrt_cpu_kernel vrt_cpu_avx512_split_op_deform_conv2d;

/* "backend/cpu/products/tiles/amx/tile.h": one for all kernels, as the registers are. */
extern _Thread_local int vrt_cpu_amx_heights[2];
_Thread_local int vrt_cpu_amx_heights[2];

static const struct vrt_cpu_tiles amx = {
    .name = ", tiles",
    .units = TILE_ROW_BYTES / sizeof(uint32_t),
    .bf16 = {
        [VRT_OP_LINEAR] = &vrt_cpu_avx512_tiles_op_linear,
        [VRT_OP_GEGLU] = &vrt_cpu_avx512_tiles_op_geglu,
        [VRT_OP_WINDOW_ATTENTION] = &vrt_cpu_avx512_tiles_op_window_attention,
        [VRT_OP_DEFORM_CONV2D] = &vrt_cpu_avx512_tiles_op_deform_conv2d,
    },
    .split = {
        [VRT_OP_LINEAR] = &vrt_cpu_avx512_split_op_linear,
        [VRT_OP_GEGLU] = &vrt_cpu_avx512_split_op_geglu,
        [VRT_OP_WINDOW_ATTENTION] = &vrt_cpu_avx512_split_op_window_attention,
        [VRT_OP_DEFORM_CONV2D] = &vrt_cpu_avx512_split_op_deform_conv2d,
    },
};

static bool has_instructions(void)
{
    const unsigned wanted = HAS_AMX_BF16 | HAS_AMX_TILE;
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid_count(FEATURES_LEAF, 0, &eax, &ebx, &ecx, &edx) &&
           (edx & wanted) == wanted &&
           __get_cpuid_count(FEATURES_LEAF, MORE_FEATURES, &eax, &ebx, &ecx, &edx) &&
           (eax & HAS_AVX512_BF16);
}

static bool has_palette(void)
{
    unsigned eax, ebx, ecx, edx;

    return __get_cpuid_count(PALETTES_LEAF, PALETTE, &eax, &ebx, &ecx, &edx) &&
           ebx >> 16 >= TILES && (ebx & 0xffff) == TILE_ROW_BYTES && (ecx & 0xffff) == TILE_ROWS;
}

const struct vrt_cpu_tiles *vrt_cpu_amx_tiles(void)
{
    const int isa = (int)dnnl_get_effective_cpu_isa();

    if ((isa & dnnl_cpu_isa_avx512_core_amx) != dnnl_cpu_isa_avx512_core_amx ||
        !has_instructions() || !has_palette() ||
        syscall(SYS_arch_prctl, ARCH_REQUEST_PERMISSION, TILE_DATA) != 0)
        return NULL;
    return &amx;
}
