/* SPDX-License-Identifier: MIT */

/*
 * A network's weights on a CUDA device: one block of memory, laid out as "kernels/kernels.h" says
 *
 * What is packed on the host is the same block, so that any part of it can be copied by itself. All
 * that comes to a replica, from wherever, goes through the device's upload stream.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/device.h"
#include "backend/half.h"

#define ALIGN 256

struct cuda_packed {
    struct vrt_packed base;
    char *blob;
};

/* How a param is kept: `rows` runs of row_elements, each of `taps` runs of `inner` elements, of
 * which the first `kept` are the param's. */
struct layout {
    enum vrt_dtype dtype;
    size_t rows, taps, inner, kept;
};

static struct vrt_cuda_replica *replica_of(const struct vrt_replica *base)
{
    return vrt_container_of(base, struct vrt_cuda_replica, base);
}

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

int vrt_cuda_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                        struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    struct cuda_packed *packed;
    size_t bytes = 0;

    if (!vrt_cuda_has_type(vrt_cuda_device_of(device), pack->dtype))
        return vrt_raise(-EINVAL);
    packed = calloc(1, sizeof(*packed));
    if (!packed)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; i < pack->n_params; i++) {
        const struct layout layout = lay_out(&pack->params[i], pack->dtype);
        places[i] = (struct vrt_packed_place){ bytes, layout_bytes(&layout), NULL };
        bytes += layout_bytes(&layout);
    }
    /* Pages that are never packed, because another device has them, are never there. */
    packed->blob = calloc(1, bytes + 1);
    if (!packed->blob) {
        free(packed);
        return vrt_raise(-ENOMEM);
    }
    *ret_packed = &packed->base;
    return 0;
}

int vrt_cuda_packed_fill(struct vrt_packed *base, const struct vrt_pack *pack_, size_t i)
{
    struct cuda_packed *packed = vrt_container_of(base, struct cuda_packed, base);
    const struct layout layout = lay_out(&pack_->params[i], pack_->dtype);
    char *to = packed->blob + base->places[i].offset_bytes;

    pack(&pack_->params[i], &layout, to);
    base->places[i].data = to;
    return 0;
}

void vrt_cuda_packed_free(struct vrt_packed *base)
{
    struct cuda_packed *packed = vrt_container_of(base, struct cuda_packed, base);

    free(packed->blob);
    free(packed);
}

/* Where each param is, once the block of memory is there. */
static void place(struct vrt_cuda_replica *replica, const struct vrt_packed *packed)
{
    for (size_t i = 0; i < packed->n_params; i++) {
        const struct layout layout = lay_out(&packed->params[i], packed->dtype);
        struct vrt_cuda_param *param = &replica->params[i];
        param->data = replica->blob + packed->places[i].offset_bytes;
        param->dtype = layout.dtype;
        param->row_elements = (int64_t)(layout.taps * layout.inner);
        param->n_dims = packed->params[i].n_dims;
        memcpy(param->dims, packed->params[i].dims, sizeof(param->dims));
        param->is_strict = vrt_param_use_is_f32(packed->params[i].use);
    }
}

int vrt_cuda_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                           struct vrt_replica **ret_replica)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_cuda_replica *replica = calloc(1, sizeof(*replica));
    int r;

    if (!replica)
        return vrt_raise(-ENOMEM);
    replica->card = device->info->card;
    replica->bytes = packed->size_bytes;
    replica->params = calloc(packed->n_params + 1, sizeof(*replica->params));
    r = replica->params ? (int)cudaMalloc((void **)&replica->blob, VRT_MAX(replica->bytes, 1)) : 0;
    if (!r && replica->params)
        r = (int)cudaMalloc((void **)&replica->sums, VRT_CUDA_CHECKSUM_BLOCKS * sizeof(uint64_t));
    r = replica->params ? vrt_cuda_outcome(cuda, r, "allocating memory for weights")
                        : vrt_raise(-ENOMEM);
    if (r) {
        vrt_cuda_replica_free(device, &replica->base);
        return r;
    }
    place(replica, packed);
    *ret_replica = &replica->base;
    return 0;
}

void vrt_cuda_replica_free(struct vrt_device *device, struct vrt_replica *base)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    struct vrt_cuda_replica *replica = replica_of(base);

    cudaStreamSynchronize(cuda->upload);
    cudaStreamSynchronize(cuda->compute);
    cudaFree(replica->blob);
    cudaFree(replica->sums);
    free(replica->params);
    free(replica);
}

int vrt_cuda_replica_fill(struct vrt_device *device, struct vrt_replica *base,
                          struct vrt_packed *packed, const size_t range[2])
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    const char *blob = vrt_container_of(packed, struct cuda_packed, base)->blob;
    int r = vrt_cuda_upload(cuda, replica_of(base)->blob + range[0], blob + range[0],
                            range[1] - range[0]);

    return vrt_cuda_outcome(cuda, r, "copying weights to it");
}

bool vrt_cuda_replica_can_receive(const struct vrt_device *device)
{
    (void)device;
    return true;
}

int vrt_cuda_replica_receive(struct vrt_device *device, struct vrt_replica *base,
                             const struct vrt_replica *source)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    const struct vrt_cuda_replica *from = replica_of(source), *to = replica_of(base);
    int r = (int)cudaMemcpyPeerAsync(to->blob, to->card, from->blob, from->card, to->bytes,
                                     cuda->upload);

    if (!r)
        r = (int)cudaStreamSynchronize(cuda->upload);
    return vrt_cuda_outcome(cuda, r, "copying weights from another card");
}

int vrt_cuda_replica_checksum(struct vrt_device *device, const struct vrt_replica *base,
                              uint64_t *ret_checksum)
{
    struct vrt_cuda_device *cuda = vrt_cuda_device_of(device);
    const struct vrt_cuda_replica *replica = replica_of(base);
    uint64_t sums[VRT_CUDA_CHECKSUM_BLOCKS] = { 0 }, checksum = 0;
    int r = vrt_cuda_checksum(cuda->upload, replica->blob, replica->bytes, replica->sums);

    if (!r)
        r = (int)cudaMemcpyAsync(sums, replica->sums, sizeof(sums), cudaMemcpyDeviceToHost,
                                 cuda->upload);
    if (!r)
        r = (int)cudaStreamSynchronize(cuda->upload);
    r = vrt_cuda_outcome(cuda, r, "adding up weights");
    if (r)
        return r;
    for (size_t i = 0; i < VRT_CUDA_CHECKSUM_BLOCKS; i++)
        checksum += sums[i];
    *ret_checksum = checksum;
    return 0;
}
