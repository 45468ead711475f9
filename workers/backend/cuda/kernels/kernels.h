/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * What the host side of the CUDA backend calls: one launcher per op
 *
 * A launcher enqueues the kernels of one op on the call's stream and returns 0 or a cudaError_t.
 * What it enqueues is captured in a graph once and replayed with other bindings, so that it hands
 * no kernel the address of a bound tensor: kernels find those through `slots` ("view.cuh").
 * What a kernel computes depends on the op and the architecture alone, so that devices of one class
 * give the same bits. Thread: that of the device.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/cuda/kernels/f32-products.h"
#include "backend/op/op.h"

/* Slots of a program, the arena's included. */
#define VRT_CUDA_MAX_SLOTS 64

/* What a launcher may know of the device. */
struct vrt_cuda_limits {
    int capability;                 /* 75 for 7.5, ..., 120 for 12.0 */
    int code;                       /* which of these the kernels that it runs were compiled for */
    int n_multiprocessors;          /* for the size of a grid, never for the order of a sum */
    size_t shared_bytes;            /* that a block may have at most, asked for explicitly */
};

/* To which a matrix's inputs are filled up, in elements. */
#define VRT_CUDA_ROW_ALIGN 8

/*
 * A param on the device: f32 vectors and tables as they are; [O,I] in rows of I rounded up,
 * [O,I,K,K] as [O][K*K][I rounded up], to a multiple of VRT_CUDA_ROW_ALIGN; what is added is zeros.
 */
struct vrt_cuda_param {
    const void *data;               /* at a multiple of 256 bytes */
    enum vrt_dtype dtype;
    int64_t row_elements;           /* from one output's weights to the next one's */
    int n_dims;
    int dims[4];                    /* as of the checkpoint */
    bool is_strict;                 /* f32 in every precision: never multiplied as TF32 */
};

struct vrt_cuda_call {
    cudaStream_t stream;
    const struct vrt_cuda_limits *limits;
    const struct vrt_op *op;        /* checked, and supported */
    const struct vrt_cuda_param *params;    /* the replica's, by index */
    char *arena;                    /* the device's address of slot 0 */
    char *const *slots;             /* in the device's memory: where slot k is this time, k >= 1 */
    char *workspace;                /* aligned to 256 bytes */
    size_t workspace_bytes;         /* as many as the launcher's op wants */
    bool tf32;                      /* products of f32 may drop 13 bits of their factors, but for
                                     * those with strict weights */
    enum vrt_cuda_f32_products f32; /* all other products of f32 */
};

/* Addresses for a program's slots, by value: part of a launch, so that nobody has to keep them. */
struct vrt_cuda_slots {
    char *at[VRT_CUDA_MAX_SLOTS];
};

/* Enqueues the writing of all of *slots to `to`, in the device's memory. Return: cudaError_t. */
int vrt_cuda_bind(cudaStream_t stream, const struct vrt_cuda_slots *slots, char **to);

/* *ret_code: see struct vrt_cuda_limits; of the current device. Return: cudaError_t. */
int vrt_cuda_code(int *ret_code);

/* Parts that a checksum is added up of. */
#define VRT_CUDA_CHECKSUM_BLOCKS 256

/* Enqueues the adding up of `size_bytes` bytes, a multiple of 8, as "backend/checksum.h" says, to
 * sums[0..VRT_CUDA_CHECKSUM_BLOCKS-1] in the device's memory. Return: cudaError_t. */
int vrt_cuda_checksum(cudaStream_t stream, const void *data, size_t size_bytes, uint64_t *sums);

/* The launchers. Return: 0, cudaError_t. */
int vrt_cuda_add(const struct vrt_cuda_call *call);
int vrt_cuda_affine(const struct vrt_cuda_call *call);
int vrt_cuda_avgpool2(const struct vrt_cuda_call *call);
int vrt_cuda_blend(const struct vrt_cuda_call *call);
int vrt_cuda_concat(const struct vrt_cuda_call *call);
int vrt_cuda_conv2d(const struct vrt_cuda_call *call);
int vrt_cuda_copy(const struct vrt_cuda_call *call);
int vrt_cuda_deform_conv2d(const struct vrt_cuda_call *call);
int vrt_cuda_depth_to_space(const struct vrt_cuda_call *call);
int vrt_cuda_fill(const struct vrt_cuda_call *call);
int vrt_cuda_flow_offsets(const struct vrt_cuda_call *call);
int vrt_cuda_gate(const struct vrt_cuda_call *call);
int vrt_cuda_geglu(const struct vrt_cuda_call *call);
int vrt_cuda_layernorm(const struct vrt_cuda_call *call);
int vrt_cuda_linear(const struct vrt_cuda_call *call);
int vrt_cuda_mean(const struct vrt_cuda_call *call);
int vrt_cuda_pad(const struct vrt_cuda_call *call);
int vrt_cuda_range(const struct vrt_cuda_call *call);
int vrt_cuda_resize(const struct vrt_cuda_call *call);
int vrt_cuda_rgb_to_yuv(const struct vrt_cuda_call *call);
int vrt_cuda_space_to_depth(const struct vrt_cuda_call *call);
int vrt_cuda_warp(const struct vrt_cuda_call *call);
int vrt_cuda_window_attention(const struct vrt_cuda_call *call);
int vrt_cuda_yuv_to_rgb(const struct vrt_cuda_call *call);

/*
 * What a linear layer is before it is multiplied, for those who do that otherwise: whether its rows
 * must be made, being normed or of another type than its weights; elements of one, zeros after the
 * channels; how many are made at a time. make_rows() enqueues the making of those of the places
 * first .. first + n - 1, row-major, at call->workspace. Return: 0, cudaError_t.
 */
bool vrt_cuda_linear_makes_rows(const struct vrt_op *op);
int64_t vrt_cuda_linear_row_elements(const struct vrt_op *op);
int64_t vrt_cuda_linear_band(const struct vrt_op *op);
int vrt_cuda_linear_make_rows(const struct vrt_cuda_call *call, int64_t first, int64_t n);

/* Bytes that the launcher of the same name wants at call->workspace; the others want none. */
size_t vrt_cuda_geglu_workspace_bytes(const struct vrt_cuda_limits *limits,
                                      const struct vrt_op *op);
size_t vrt_cuda_linear_workspace_bytes(const struct vrt_cuda_limits *limits,
                                       const struct vrt_op *op);
size_t vrt_cuda_mean_workspace_bytes(const struct vrt_cuda_limits *limits,
                                     const struct vrt_op *op);
size_t vrt_cuda_range_workspace_bytes(const struct vrt_cuda_limits *limits,
                                      const struct vrt_op *op);
size_t vrt_cuda_window_attention_workspace_bytes(const struct vrt_cuda_limits *limits,
                                                 const struct vrt_op *op);

#ifdef __cplusplus
}
#endif
