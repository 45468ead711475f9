/* SPDX-License-Identifier: MIT */

/*
 * A network's weights on a CUDA device: one block of memory, laid out as "kernels/kernels.h" says
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/device.h"
#include "backend/half.h"

#define ALIGN 256

/* How a param is kept: `rows` runs of row_elements, each of `taps` runs of `inner` elements, of
 * which the first `kept` are the param's. */
struct layout {
    enum vrt_dtype dtype;
    size_t rows, taps, inner, kept;
};

static size_t rounded(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static struct layout lay_out(const struct vrt_param *param, enum vrt_dtype dtype)
{
    const bool is_matrix = param->n_dims >= 2 && param->use != VRT_PARAM_TABLE;
    size_t n = 1;

    for (int i = 0; i < param->n_dims; i++)
        n *= (size_t)param->dims[i];
    if (!is_matrix)
        return (struct layout){ VRT_DTYPE_F32, 1, 1, n, n };
    const size_t kept = (size_t)param->dims[1];
    return (struct layout){
        .dtype = vrt_param_use_is_f32(param->use) ? VRT_DTYPE_F32 : dtype,
        .rows = (size_t)param->dims[0],
        .taps = n / ((size_t)param->dims[0] * kept),
        .inner = rounded(kept, 8),
        .kept = kept,
    };
}

static size_t layout_bytes(const struct layout *layout)
{
    return rounded(layout->rows * layout->taps * layout->inner *
                   vrt_dtype_size(layout->dtype), ALIGN);
}

static void put(char *to, enum vrt_dtype dtype, size_t i, float x)
{
    const uint16_t half = dtype == VRT_DTYPE_BF16 ? vrt_bf16_from_f32(x) : vrt_f16_from_f32(x);

    if (dtype == VRT_DTYPE_F32)
        memcpy(to + i * sizeof(x), &x, sizeof(x));
    else
        memcpy(to + i * sizeof(half), &half, sizeof(half));
}

/* [O][I][taps] becomes [O][taps][inner]; `to` is zeros. */
static void pack(const struct vrt_param *param, const struct layout *layout, char *to)
{
    for (size_t o = 0; o < layout->rows; o++)
        for (size_t i = 0; i < layout->kept; i++)
            for (size_t t = 0; t < layout->taps; t++)
                put(to, layout->dtype, (o * layout->taps + t) * layout->inner + i,
                    param->data[(o * layout->kept + i) * layout->taps + t]);
}

static int upload(struct vrt_cuda_device *cuda, struct vrt_cuda_replica *replica,
                  const char *packed)
{
    int r = (int)cudaMalloc((void **)&replica->blob, VRT_MAX(replica->bytes, (size_t)1));

    if (!r)
        r = (int)cudaMemcpy(replica->blob, packed, replica->bytes, cudaMemcpyHostToDevice);
    return vrt_cuda_outcome(cuda, r, "copying weights to it");
}

/* All params as they are kept, one behind the other; the caller frees it. NULL: no memory. */
static char *pack_all(const struct vrt_param *params, size_t n_params, enum vrt_dtype dtype,
                      size_t bytes)
{
    char *packed = calloc(1, bytes + 1);
    size_t at = 0;

    for (size_t i = 0; packed && i < n_params; i++) {
        const struct layout layout = lay_out(&params[i], dtype);
        pack(&params[i], &layout, packed + at);
        at += layout_bytes(&layout);
    }
    return packed;
}

/* Where each param is, once the block of memory is there. */
static void place(struct vrt_cuda_replica *replica, const struct vrt_param *params,
                  enum vrt_dtype dtype)
{
    size_t at = 0;

    for (size_t i = 0; i < replica->n_params; i++) {
        const struct layout layout = lay_out(&params[i], dtype);
        struct vrt_cuda_param *param = &replica->params[i];
        param->data = replica->blob + at;
        param->dtype = layout.dtype;
        param->row_elements = (int64_t)(layout.taps * layout.inner);
        param->n_dims = params[i].n_dims;
        memcpy(param->dims, params[i].dims, sizeof(param->dims));
        at += layout_bytes(&layout);
    }
}

int vrt_cuda_replica_new(struct vrt_device *device, const struct vrt_param *params,
                         size_t n_params, enum vrt_dtype dtype, struct vrt_replica **ret_replica)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_cuda_replica *replica = calloc(1, sizeof(*replica));
    VRT_CLEANUP(vrt_freep) char *packed = NULL;
    int r;

    if (!replica)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; i < n_params; i++) {
        const struct layout layout = lay_out(&params[i], dtype);
        replica->bytes += layout_bytes(&layout);
    }
    replica->n_params = n_params;
    replica->params = calloc(n_params + 1, sizeof(*replica->params));
    packed = pack_all(params, n_params, dtype, replica->bytes);
    r = replica->params && packed ? upload(cuda, replica, packed) : vrt_raise(-ENOMEM);
    if (r) {
        vrt_cuda_replica_free(device, &replica->base);
        return r < 0 ? vrt_fold(r) : r;
    }
    place(replica, params, dtype);
    *ret_replica = &replica->base;
    return 0;
}

void vrt_cuda_replica_free(struct vrt_device *device, struct vrt_replica *base)
{
    struct vrt_cuda_replica *replica = vrt_container_of(base, struct vrt_cuda_replica, base);

    cudaStreamSynchronize(vrt_cuda_device_of(device)->compute);
    cudaFree(replica->blob);
    free(replica->params);
    free(replica);
}

size_t vrt_cuda_replica_bytes(const struct vrt_device *device, const struct vrt_replica *base)
{
    (void)device;
    return vrt_container_of(base, struct vrt_cuda_replica, base)->bytes;
}
