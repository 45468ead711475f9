/* SPDX-License-Identifier: MIT */
#pragma once

/* Included ahead of all kernels: how many blocks they think keep a device busy. */

/* VRT_CUDA_SIM_BUSY_BLOCKS, or what the kernels themselves say: 132. */
int vrt_sim_busy_blocks();

#define VRT_CUDA_BUSY_BLOCKS vrt_sim_busy_blocks()
