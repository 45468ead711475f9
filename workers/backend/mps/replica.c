/* SPDX-License-Identifier: MIT */

/* A network's weights on an MPS device: one buffer, laid out as "backend/kernels/args.h" says. */

#include <errno.h>
#include <stdlib.h>

#include "backend/kernels/weights.h"
#include "backend/mps/device.h"

static struct vrt_mps_replica *replica_of(const struct vrt_replica *base)
{
    return vrt_container_of(base, struct vrt_mps_replica, base);
}

int vrt_mps_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                       struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    if (!vrt_mps_has_type(vrt_mps_device_of(device), pack->dtype))
        return vrt_raise(-EINVAL);
    return vrt_packed_blob_new(&vrt_kernel_rule, pack, places, ret_packed);
}

static int new_buffer(struct vrt_device *device, size_t size_bytes,
                      struct vrt_mps_buffer **ret_buffer)
{
    struct vrt_buffer *buffer;
    int r = vrt_mps_buffer_new(device, size_bytes, &buffer);

    if (r != 0)
        return r;
    *ret_buffer = vrt_mps_buffer_of(buffer);
    return 0;
}

static int allocate(struct vrt_device *device, const struct vrt_packed *packed,
                    struct vrt_mps_replica *replica)
{
    replica->size_bytes = packed->size_bytes;
    replica->params = calloc(packed->n_params + 1, sizeof(*replica->params));
    if (!replica->params)
        return vrt_raise(-ENOMEM);
    int r = new_buffer(device, packed->size_bytes, &replica->blob);
    if (r != 0)
        return r;
    return new_buffer(device, VRT_KERNEL_CHECKSUM_ITEMS * sizeof(uint64_t), &replica->sums);
}

int vrt_mps_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                          struct vrt_replica **ret_replica)
{
    struct vrt_mps_replica *replica = calloc(1, sizeof(*replica));

    if (!replica)
        return vrt_raise(-ENOMEM);
    int r = allocate(device, packed, replica);
    if (r != 0) {
        vrt_mps_replica_free(device, &replica->base);
        return r;
    }
    vrt_kernel_place_params(packed, replica->blob->memory, replica->params);
    *ret_replica = &replica->base;
    return 0;
}

void vrt_mps_replica_free(struct vrt_device *device, struct vrt_replica *base)
{
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    struct vrt_mps_replica *replica = replica_of(base);

    /* Whichever program used it last. */
    if (replica->blob)
        replica->blob->used = mps->compute.n_committed;
    if (replica->blob)
        vrt_mps_buffer_free(device, &replica->blob->base);
    if (replica->sums)
        vrt_mps_buffer_free(device, &replica->sums->base);
    free(replica->params);
    free(replica);
}

int vrt_mps_replica_fill(struct vrt_device *device, struct vrt_replica *base,
                         struct vrt_packed *packed, const size_t range[2])
{
    const char *blob = vrt_packed_blob_bytes(packed);

    return vrt_mps_buffer_write(device, &replica_of(base)->blob->base, range[0], blob + range[0],
                                range[1] - range[0]);
}

int vrt_mps_replica_checksum(struct vrt_device *device, const struct vrt_replica *base,
                             uint64_t *ret_checksum)
{
    VRT_METAL_POOL;
    struct vrt_mps_device *mps = vrt_mps_device_of(device);
    const struct vrt_mps_replica *replica = replica_of(base);
    struct vrt_mps_encoding encoding = { .device = mps };
    const struct vrt_kernel_call call = { .target = &vrt_mps_target, .ctx = &encoding };
    uint64_t sums[VRT_KERNEL_CHECKSUM_ITEMS];
    int r = vrt_kernel_checksum(&call, replica->blob->memory, replica->size_bytes,
                                replica->sums->memory);

    if (r != 0)
        return r;
    r = vrt_mps_encoding_finish(&encoding);
    if (r != 0)
        return r;
    replica->sums->used = mps->compute.n_committed;
    r = vrt_mps_buffer_read(device, &replica->sums->base, 0, sums, sizeof(sums));
    if (r != 0)
        return r;
    *ret_checksum = vrt_kernel_total(sums);
    return 0;
}
