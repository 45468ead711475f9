/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * cuDNN, which convolves: loaded where it is there
 *
 *     out = activation(x * weight + bias) * scale + residual
 *
 * as struct vrt_op_conv2d has it, with sums and all that follows in f32, rounded once. Thread: that
 * of the device, which is its current one.
 */

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/error.h"

struct vrt_cuda_cudnn;
struct vrt_cuda_conv_way;

/* A tensor of places; all of the same size, so that two of them are compared as bytes. */
struct vrt_cuda_conv_tensor {
    int64_t dtype;                  /* enum vrt_dtype */
    int64_t stride_d, stride_h, stride_w;   /* elements */
    int64_t align;                  /* of its address, bytes */
};

/* What is convolved: likewise. The weights have the type of x, and no gaps: [n_out][K][K][n_in]. */
struct vrt_cuda_conv {
    int64_t d, h, w, n_in, n_out, kernel;
    struct vrt_cuda_conv_tensor x, residual, out;
    int64_t has_bias, has_slope, has_slopes, has_scale, has_residual;
};

/* Where it is, this time; NULL where there is none. Params are at multiples of 256 bytes. */
struct vrt_cuda_conv_data {
    const void *x, *weight, *residual;
    const float *bias, *slopes;     /* slopes: one for each channel */
    float slope, scale;             /* slope: below zero, for all channels; 0: ReLU */
    void *out, *scratch;            /* scratch: VRT_CUDA_LIBRARY_SCRATCH_BYTES, at 256 */
};

/*
 * Loads `library` and starts it for this stream of the current device, `info`, which lives as long.
 * Return: 0; -ENOENT, -ENOSYS, -EIO: it can't be loaded, is another one, doesn't start on this
 * device; -ENOMEM. The error says which. The caller closes *ret_cudnn.
 */
int vrt_cuda_cudnn_open(const char *library, const struct vrt_device_info *info,
                        cudaStream_t stream, struct vrt_cuda_cudnn **ret_cudnn,
                        struct vrt_error *error);

/* Its version, 91900 for 9.19.0, without use of a device. Return and error as above. */
int vrt_cuda_cudnn_version(const char *library, int *ret_version, struct vrt_error *error);

/* NULL is fine. What it enqueued must be done, and programs that hold it freed. Return: NULL. */
struct vrt_cuda_cudnn *vrt_cuda_cudnn_close(struct vrt_cuda_cudnn *cudnn);

VRT_DEFINE_CLEANUP(struct vrt_cuda_cudnn, vrt_cuda_cudnn_close)

/* Whether it has been asked for more than half of the shapes that it takes. NULL is fine. */
bool vrt_cuda_cudnn_is_crowded(const struct vrt_cuda_cudnn *cudnn);

/*
 * How it convolves so, asked once, which may take a second where nothing is kept of it; it lives as
 * long as the library is open. *ret_way is NULL where it can't, or not by the rules of
 * cudnn-graph.c. Return: 0; cudaErrorMemoryAllocation: it had no memory to say, and is asked again
 * another time.
 */
int vrt_cuda_cudnn_find(struct vrt_cuda_cudnn *cudnn, const struct vrt_cuda_conv *conv,
                        const struct vrt_cuda_conv_way **ret_way);

/* Enqueues it on the stream. Return: 0; cudaErrorMemoryAllocation; -EIO: the library refused. The
 * log says so. */
int vrt_cuda_cudnn_run(struct vrt_cuda_cudnn *cudnn, const struct vrt_cuda_conv_way *way,
                       const struct vrt_cuda_conv_data *data);
