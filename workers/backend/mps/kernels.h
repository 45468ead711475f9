/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The kernels of a device: compiled when they are first wanted, kept until it is closed
 *
 * Their text is part of the program, "text.h". What Metal compiles of it for the GPU is kept in
 * archives, one a kernel, from one run to the next.
 *
 * Thread: that of the device.
 */

#include <stdbool.h>
#include <stdint.h>

#include "backend/cache.h"
#include "backend/kernels/launch.h"
#include "backend/mps/metal.h"

struct vrt_mps_device;

/* Types of factors: f32, f16, bf16. */
#define VRT_MPS_FACTORS 3

/* Items that make a tile of a product: four simdgroups of 32. */
#define VRT_MPS_PRODUCT_ITEMS 128

struct vrt_mps_kernels {
    vrt_metal_id pipelines[VRT_KERNEL_COUNT][VRT_MPS_FACTORS];      /* NULL: not wanted yet */
    vrt_metal_id nothing;           /* a buffer where a kernel is given none: it has to have one */
    bool has_matrices;              /* simdgroup_matrix */
    struct vrt_cache cache;
    char made_for[256];             /* what compiled kernels depend on besides what they are */
};

/*
 * Command buffers being filled: the ctx of a struct vrt_kernel_call. Each is committed when what
 * comes would be too much for it, and what is too much for one is cut into several.
 */
struct vrt_mps_encoding {
    struct vrt_mps_device *device;
    const struct vrt_binding *bindings;     /* whose copies the first one waits for */
    int n_bindings;
    bool has_begun;
    vrt_metal_id commands, encoder; /* of the open one; NULL: none is open */
    double flops;                   /* in it */
    double op_flops;                /* of the op that is encoded next, which each of its kernels is
                                     * taken to have */
};

/* Runs kernels by an encoding; compiles them if need be. Its failures are outcomes, and were
 * logged. */
extern const struct vrt_kernel_target vrt_mps_target;

/* Commits the last of them. Return: 0, or an outcome. */
int vrt_mps_encoding_finish(struct vrt_mps_encoding *encoding);

/* Gives up what is open, unfinished; nothing is fine. */
void vrt_mps_encoding_abandon(struct vrt_mps_encoding *encoding);

/* Encodes a kernel behind what was encoded before. Return: 0, or an outcome. */
int vrt_mps_encode(struct vrt_mps_encoding *encoding, vrt_metal_id pipeline,
                   const struct vrt_kernel_launch *launch);

/* Before any is wanted. Return: 0, or an outcome. */
int vrt_mps_kernels_init(struct vrt_mps_device *mps);

void vrt_mps_kernels_done(struct vrt_mps_kernels *kernels);

/*
 * Whether a device compiles, and can run, kernels of factors of type bf16 by matrix units, as it
 * can from macOS 14 on. Thread: any; it needs a pool.
 */
bool vrt_mps_has_bf16(vrt_metal_id device);
