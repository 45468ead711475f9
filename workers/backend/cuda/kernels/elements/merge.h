/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Tensors as long runs: what follows without a gap in all tensors of an op that works on single
 * elements is for it one place with many channels, whose packets are full however few a pixel has
 */

#ifdef __cplusplus
extern "C" {
#endif

#include "backend/op/tensor.h"

#ifdef __cplusplus
}
#endif

/* So long that offsets in a run, and sums of them, fit an int. */
#define VRT_CUDA_MERGE_MAX (1 << 30)

enum vrt_cuda_merge {
    VRT_CUDA_MERGE_COLUMNS,         /* columns alone: rows stay what they are */
    VRT_CUDA_MERGE_ROWS,            /* then rows: frames stay what they are */
    VRT_CUDA_MERGE_FRAMES,          /* then frames */
};

/*
 * Merges the places of n tensors of one shape as far as `most` allows, all alike. To each step the
 * strides say whether the next place begins where the last one's channels end.
 */
static inline void vrt_cuda_merge(struct vrt_tensor *const *tensors, int n,
                                  enum vrt_cuda_merge most)
{
    for (int step = VRT_CUDA_MERGE_COLUMNS; step <= (int)most; step++) {
        const struct vrt_shape s = tensors[0]->shape;
        const int count = step == VRT_CUDA_MERGE_COLUMNS ? s.w :
                          step == VRT_CUDA_MERGE_ROWS ? s.h : s.d;

        if ((int64_t)count * s.c > VRT_CUDA_MERGE_MAX)
            return;
        for (int i = 0; i < n; i++) {
            const int64_t stride = step == VRT_CUDA_MERGE_COLUMNS ? tensors[i]->stride_w :
                                   step == VRT_CUDA_MERGE_ROWS ? tensors[i]->stride_h :
                                                                 tensors[i]->stride_d;
            if (count > 1 && stride != s.c)
                return;
        }
        for (int i = 0; i < n; i++) {
            struct vrt_shape *shape = &tensors[i]->shape;

            shape->c *= count;
            *(step == VRT_CUDA_MERGE_COLUMNS ? &shape->w :
              step == VRT_CUDA_MERGE_ROWS ? &shape->h : &shape->d) = 1;
        }
    }
}
