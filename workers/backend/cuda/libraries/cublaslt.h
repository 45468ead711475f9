/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * cuBLASLt, which multiplies rows of places by weights: loaded where it is there
 *
 *     out[m][n] = sum over k of rows[m][k] * weight[n][k] + bias[n] + residual[m][n]
 *
 * Thread: that of the device, which is its current one.
 */

#include <stdint.h>

#include <cuda_runtime_api.h>

#include "backend/op/tensor.h"
#include "base/cleanup.h"
#include "base/error.h"

struct vrt_cuda_cublaslt;
struct vrt_cuda_rows_way;

/* What is multiplied. All of the same size, so that two of them are compared as bytes. */
struct vrt_cuda_rows {
    int64_t dtype, out_dtype;       /* enum vrt_dtype: of both factors; of out and the residual */
    int64_t m, n, k;
    int64_t row_stride, weight_stride, residual_stride, out_stride;     /* elements */
    int64_t row_align, weight_align, residual_align, out_align;         /* of addresses, bytes */
    int64_t has_bias, has_residual;
};

/* Where it is, this time. */
struct vrt_cuda_rows_data {
    const void *rows, *weight, *residual;   /* residual: NULL if there is none, and so bias */
    const float *bias;              /* at a multiple of 256 bytes, as scratch is */
    void *out, *scratch;            /* scratch: VRT_CUDA_LIBRARY_SCRATCH_BYTES */
};

/*
 * Loads `library` and starts it on the current device.
 * Return: 0; -ENOENT, -ENOSYS, -EIO: it can't be loaded, is another one, doesn't start on this
 * device; -ENOMEM. The error says which. The caller closes *ret_cublaslt.
 */
int vrt_cuda_cublaslt_open(const char *library, struct vrt_cuda_cublaslt **ret_cublaslt,
                           struct vrt_error *error);

/* Its version, 130101 for 13.1.1, without use of a device. Return and error as above. */
int vrt_cuda_cublaslt_version(const char *library, int *ret_version, struct vrt_error *error);

/* NULL is fine. What it enqueued must be done, and programs that hold it freed. Return: NULL. */
struct vrt_cuda_cublaslt *vrt_cuda_cublaslt_close(struct vrt_cuda_cublaslt *cublaslt);

VRT_DEFINE_CLEANUP(struct vrt_cuda_cublaslt, vrt_cuda_cublaslt_close)

/* Whether it has been asked for more than half of the shapes that it takes. NULL is fine. */
bool vrt_cuda_cublaslt_is_crowded(const struct vrt_cuda_cublaslt *cublaslt);

/*
 * How it multiplies these, asked once; it lives as long as the library is open. `bias`: of one such
 * op, NULL if there is none. *ret_way is NULL where it can't, or not by the rules of the .c file.
 * Return: 0; cudaErrorMemoryAllocation: it had no memory to say, and is asked again another time.
 */
int vrt_cuda_cublaslt_find(struct vrt_cuda_cublaslt *cublaslt, const struct vrt_cuda_rows *rows,
                           const float *bias, const struct vrt_cuda_rows_way **ret_way);

/* Enqueues it. Return: 0; cudaErrorMemoryAllocation; -EIO: the library refused. The log says so. */
int vrt_cuda_cublaslt_run(struct vrt_cuda_cublaslt *cublaslt, const struct vrt_cuda_rows_way *way,
                          const struct vrt_cuda_rows_data *data, cudaStream_t stream);
