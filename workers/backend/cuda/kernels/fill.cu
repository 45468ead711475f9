/* SPDX-License-Identifier: MIT */

/* fill: the same number everywhere. */

#include "backend/cuda/kernels/launch.cuh"
#include "backend/cuda/kernels/view.cuh"

#define THREADS 256

using namespace vrt;

/* A block's row of threads fills a row of the view: threads run over places and channels. */
static __global__ void __launch_bounds__(THREADS) fill(view out, float value)
{
    char *data = view_data(out);
    const int row = out.w * out.c;

    for (int64_t i = blockIdx.x; i < (int64_t)out.d * out.h; i += gridDim.x) {
        const int64_t at = view_at(out, (int)(i / out.h), (int)(i % out.h), 0);
        for (int k = threadIdx.x; k < row; k += THREADS)
            store(data, out.dtype, at + k / out.c * out.stride_w + k % out.c, value);
    }
}

int vrt_cuda_fill(const vrt_cuda_call *call)
{
    const view out = view_of(call, vrt_op_out(call->op, 0));
    const int64_t rows = (int64_t)out.d * out.h;

    return vrt_launch(fill, dim3((unsigned)(rows < 65535 ? rows : 65535)), THREADS, 0,
                      call->stream, out, call->op->fill.value);
}
