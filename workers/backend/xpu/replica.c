/* SPDX-License-Identifier: MIT */

/* A network's weights on an XPU device: one block of memory, laid out as
 * "backend/kernels/args.h" says. */

#include <errno.h>
#include <stdlib.h>

#include "backend/kernels/weights.h"
#include "backend/xpu/device.h"

static struct vrt_xpu_replica *replica_of(const struct vrt_replica *base)
{
    return vrt_container_of(base, struct vrt_xpu_replica, base);
}

int vrt_xpu_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                       struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    (void)device;
    return vrt_packed_blob_new(&vrt_kernel_rule, pack, places, ret_packed);
}

int vrt_xpu_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                          struct vrt_replica **ret_replica)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_replica *replica = calloc(1, sizeof(*replica));

    if (!replica)
        return vrt_raise(-ENOMEM);
    replica->bytes = packed->size_bytes;
    replica->params = calloc(packed->n_params + 1, sizeof(*replica->params));
    ze_result_t result = ZE_RESULT_SUCCESS;
    if (replica->params)
        result = vrt_xpu_alloc(xpu, replica->bytes, &replica->blob);
    if (replica->params && !result)
        result = vrt_xpu_alloc(xpu, VRT_KERNEL_CHECKSUM_ITEMS * sizeof(uint64_t), &replica->sums);
    int r = replica->params ? vrt_xpu_outcome(xpu, result, "allocating memory for weights")
                            : vrt_raise(-ENOMEM);
    if (r != 0) {
        vrt_xpu_replica_free(device, &replica->base);
        return r;
    }
    vrt_kernel_place_params(packed, replica->blob, replica->params);
    *ret_replica = &replica->base;
    return 0;
}

void vrt_xpu_replica_free(struct vrt_device *device, struct vrt_replica *base)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_replica *replica = replica_of(base);

    if (!device->lost)
        vrt_xpu_outcome(xpu, vrt_xpu_await_uploads(xpu), "copying weights to it");
    if (!device->lost)
        vrt_xpu_outcome(xpu, vrt_xpu_await(xpu, xpu->n_submitted), "computing");
    vrt_xpu_free(xpu, replica->blob);
    vrt_xpu_free(xpu, replica->sums);
    free(replica->params);
    free(replica);
}

int vrt_xpu_replica_fill(struct vrt_device *device, struct vrt_replica *base,
                         struct vrt_packed *packed, const size_t range[2])
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    const char *blob = vrt_packed_blob_bytes(packed);
    ze_result_t r = vrt_xpu_upload(xpu, replica_of(base)->blob + range[0], blob + range[0],
                                   range[1] - range[0]);

    return vrt_xpu_outcome(xpu, r, "copying weights to it");
}

/* Whether both may be devices at a time: a GPU that has tiles, and a tile, aren't. */
static bool are_compatible(const struct vrt_xpu_unit *a, const struct vrt_xpu_unit *b)
{
    return !(a->n_tiles > 0 && b->root >= 0) && !(b->n_tiles > 0 && a->root >= 0);
}

/* Whoever of the same driver has the bytes must be in reach, or each device gets its own. */
bool vrt_xpu_replica_can_receive(const struct vrt_device *device)
{
    const struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    bool any = false;

    for (int i = 0; i < xpu->system->n_units; i++) {
        const struct vrt_xpu_unit *unit = &xpu->system->units[i];
        if (unit == xpu->unit || unit->driver != xpu->unit->driver ||
            !are_compatible(unit, xpu->unit))
            continue;
        if (!vrt_xpu_system_reaches(xpu->system, xpu->unit, unit))
            return false;
        any = true;
    }
    return any;
}

int vrt_xpu_replica_receive(struct vrt_device *device, struct vrt_replica *base,
                            const struct vrt_replica *source)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_replica *to = replica_of(base);
    ze_result_t r = vrt_xpu_copy_peer(xpu, to->blob, replica_of(source)->blob, to->bytes);

    return vrt_xpu_outcome(xpu, r, "copying weights from another GPU");
}

static ze_result_t add_up(struct vrt_xpu_device *xpu, const struct vrt_xpu_replica *replica,
                          uint64_t *sums)
{
    struct vrt_xpu_recording recording = { .device = xpu };
    const struct vrt_kernel_call call = { .target = &vrt_xpu_target, .ctx = &recording };
    ze_result_t r = vrt_xpu_list_new(xpu, &recording.list);

    if (r == 0)
        r = (ze_result_t)vrt_kernel_checksum(&call, replica->blob, replica->bytes, replica->sums);
    if (r == 0)
        r = xpu->ze->zeCommandListClose(recording.list);
    if (r == 0)
        r = vrt_xpu_submit(xpu, &recording.list, 1);
    if (r == 0)
        r = vrt_xpu_await(xpu, xpu->n_submitted);
    if (r == 0)
        r = vrt_xpu_download(xpu, replica->sums, (char *)sums,
                             VRT_KERNEL_CHECKSUM_ITEMS * sizeof(sums[0]));
    if (r != ZE_RESULT_NOT_READY)
        vrt_xpu_list_free(xpu, recording.list);
    return r;
}

int vrt_xpu_replica_checksum(struct vrt_device *device, const struct vrt_replica *base,
                             uint64_t *ret_checksum)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    uint64_t sums[VRT_KERNEL_CHECKSUM_ITEMS];
    int r = vrt_xpu_outcome(xpu, add_up(xpu, replica_of(base), sums), "adding up weights");

    if (r != 0)
        return r;
    *ret_checksum = vrt_kernel_total(sums);
    return 0;
}
