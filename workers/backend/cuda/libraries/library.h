/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Which op a library of NVIDIA's computes, and which our own kernels do: a function of what is
 * asked for, of nothing that was tried or measured, so that devices of one class choose alike
 */

#include "backend/backend.h"

/* What a library may have of an op's workspace: its scratch, however it goes about it. */
#define VRT_CUDA_LIBRARY_SCRATCH_BYTES ((size_t)4 << 20)

/* In AUTO ops of fewer multiplications and additions stay ours. Linear layers: a large card is done
 * with such a one before a launch is. Convolutions: cuDNN compiles each shape, which takes a
 * second, and what a smaller one takes less would have to be gained 100000 times. */
#define VRT_CUDA_LIBRARY_LINEAR_FLOPS_MIN ((int64_t)1 << 28)
#define VRT_CUDA_LIBRARY_CONV2D_FLOPS_MIN ((int64_t)1 << 33)

enum vrt_cuda_library {
    VRT_CUDA_LIBRARY_NONE,          /* our own kernels */
    VRT_CUDA_LIBRARY_CUBLASLT,
    VRT_CUDA_LIBRARY_CUDNN,
};

/* What a device is told. */
struct vrt_cuda_library_rules {
    enum vrt_cuda_libraries_wanted wanted;
    int capability;                 /* 75 for 7.5 */
    bool tf32;                      /* see struct vrt_device_info */
};

/* Whether any op at all may be a library's. */
bool vrt_cuda_library_is_wanted(const struct vrt_cuda_library_rules *rules);

/* Which library may compute the op, going by what a plan knows: neither by where tensors are, nor
 * by why weights are f32. What is NONE here is so for ever. */
enum vrt_cuda_library vrt_cuda_library_may(const struct vrt_cuda_library_rules *rules,
                                           const struct vrt_op *op);

/* Which library shall compute the op, whose weights are strict if `is_strict`: f32 in every
 * precision. */
enum vrt_cuda_library vrt_cuda_library_of(const struct vrt_cuda_library_rules *rules,
                                          const struct vrt_op *op, bool is_strict);
