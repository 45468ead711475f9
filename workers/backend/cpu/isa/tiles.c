/* SPDX-License-Identifier: MIT */

#include "backend/cpu/isa/tiles.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

extern const struct vrt_cpu_kernel vrt_cpu_base_tiles_op_linear;
extern const struct vrt_cpu_kernel vrt_cpu_base_tiles_op_geglu;
extern const struct vrt_cpu_kernel vrt_cpu_base_tiles_op_window_attention;
extern const struct vrt_cpu_kernel vrt_cpu_base_tiles_op_deform_conv2d;

extern const struct vrt_cpu_kernel vrt_cpu_base_split_op_linear;
extern const struct vrt_cpu_kernel vrt_cpu_base_split_op_geglu;
extern const struct vrt_cpu_kernel vrt_cpu_base_split_op_window_attention;
extern const struct vrt_cpu_kernel vrt_cpu_base_split_op_deform_conv2d;

static const struct vrt_cpu_tiles plain = {
    .name = ", tiles in C",
    .units = 16,
    .bf16 = {
        [VRT_OP_LINEAR] = &vrt_cpu_base_tiles_op_linear,
        [VRT_OP_GEGLU] = &vrt_cpu_base_tiles_op_geglu,
        [VRT_OP_WINDOW_ATTENTION] = &vrt_cpu_base_tiles_op_window_attention,
        [VRT_OP_DEFORM_CONV2D] = &vrt_cpu_base_tiles_op_deform_conv2d,
    },
    .split = {
        [VRT_OP_LINEAR] = &vrt_cpu_base_split_op_linear,
        [VRT_OP_GEGLU] = &vrt_cpu_base_split_op_geglu,
        [VRT_OP_WINDOW_ATTENTION] = &vrt_cpu_base_split_op_window_attention,
        [VRT_OP_DEFORM_CONV2D] = &vrt_cpu_base_split_op_deform_conv2d,
    },
};

/* What the system allowed once it might not allow again: plans and weights have to agree. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static const struct vrt_cpu_tiles *found;

static void find(void)
{
    const char *wanted = getenv("VRT_CPU_TILES");

    found = wanted && strcmp(wanted, "plain") == 0 ? &plain : vrt_cpu_amx_tiles();
}

const struct vrt_cpu_tiles *vrt_cpu_tiles(void)
{
    pthread_once(&once, find);
    return found;
}

size_t vrt_cpu_pairs(size_t n)
{
    const struct vrt_cpu_tiles *tiles = vrt_cpu_tiles();
    const size_t step = tiles ? tiles->units : 1;

    return ((n + 1) / 2 + step - 1) / step * step;
}

const struct vrt_cpu_kernel *vrt_cpu_bf16_kernel(enum vrt_op_kind kind)
{
    const struct vrt_cpu_tiles *tiles = vrt_cpu_tiles();

    return tiles ? tiles->bf16[kind] : vrt_cpu_bf16_vectors(kind);
}

const struct vrt_cpu_kernel *vrt_cpu_split_kernel(enum vrt_op_kind kind)
{
    const struct vrt_cpu_tiles *tiles = vrt_cpu_tiles();

    return tiles ? tiles->split[kind] : NULL;
}
