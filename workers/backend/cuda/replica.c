/* SPDX-License-Identifier: MIT */

/*
 * A network's weights on a CUDA device: one block of memory, laid out as "kernels/kernels.h" says
 *
 * All that comes to a replica, from wherever, goes through the device's upload stream.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/cuda/device.h"
#include "backend/packed-blob.h"

static const struct vrt_packed_rule rule = {
    .order = VRT_PACKED_OUTPUTS_TAPS_INPUTS,
    .align_elements = VRT_CUDA_ROW_ALIGN,
};

static struct vrt_cuda_replica *replica_of(const struct vrt_replica *base)
{
    return vrt_container_of(base, struct vrt_cuda_replica, base);
}

int vrt_cuda_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                        struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    if (!vrt_cuda_has_type(vrt_cuda_device_of(device), pack->dtype))
        return vrt_raise(-EINVAL);
    return vrt_packed_blob_new(&rule, pack, places, ret_packed);
}

/* Where each param is, once the block of memory is there. */
static void place(struct vrt_cuda_replica *replica, const struct vrt_packed *packed)
{
    for (size_t i = 0; i < packed->n_params; i++) {
        const struct vrt_packed_layout layout =
            vrt_packed_layout_of(&rule, &packed->params[i], packed->dtype);
        struct vrt_cuda_param *param = &replica->params[i];
        param->data = replica->blob + packed->places[i].offset_bytes;
        param->dtype = layout.dtype;
        param->row_elements = (int64_t)layout.output_stride;
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
    if (r == 0 && replica->params)
        r = (int)cudaMalloc((void **)&replica->sums, VRT_CUDA_CHECKSUM_BLOCKS * sizeof(uint64_t));
    r = replica->params ? vrt_cuda_outcome(cuda, r, "allocating memory for weights")
                        : vrt_raise(-ENOMEM);
    if (r != 0) {
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
    const char *blob = vrt_packed_blob_bytes(packed);
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

    if (r == 0)
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

    if (r == 0)
        r = (int)cudaMemcpyAsync(sums, replica->sums, sizeof(sums), cudaMemcpyDeviceToHost,
                                 cuda->upload);
    if (r == 0)
        r = (int)cudaStreamSynchronize(cuda->upload);
    r = vrt_cuda_outcome(cuda, r, "adding up weights");
    if (r != 0)
        return r;
    for (size_t i = 0; i < VRT_CUDA_CHECKSUM_BLOCKS; i++)
        checksum += sums[i];
    *ret_checksum = checksum;
    return 0;
}
