/* SPDX-License-Identifier: MIT */
#pragma once

/* A network's weights as the kernels here take them, in one block of a device's memory. */

#include "backend/kernels/launch.h"
#include "backend/packed-blob.h"

/* How they are packed: struct vrt_kernel_weights. */
extern const struct vrt_packed_rule vrt_kernel_rule;

/* Fills in params [packed->n_params]: where each is, once the block is at `memory`. */
void vrt_kernel_place_params(const struct vrt_packed *packed, void *memory,
                             struct vrt_kernel_param *params);

/* Runs what adds up `size_bytes` of a block: `sums` gets VRT_KERNEL_CHECKSUM_ITEMS of 8 bytes,
 * which make the checksum. Return: as vrt_kernel_run(). */
int vrt_kernel_checksum(const struct vrt_kernel_call *call, void *memory, size_t size_bytes,
                        void *sums);

/* The checksum of these sums. */
uint64_t vrt_kernel_total(const uint64_t sums[VRT_KERNEL_CHECKSUM_ITEMS]);
