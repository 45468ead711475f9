/* SPDX-License-Identifier: MIT */

/*
 * A network's weights on an XPU device: one block of memory, laid out as "kernels.h" says
 *
 * What is packed on the host is the same block, so that any part of it can be copied by itself.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/half.h"
#include "backend/xpu/device.h"

#define ALIGN 256

struct xpu_packed {
    struct vrt_packed base;
    char *blob;
};

/* How a matrix is kept: `taps` times `inner` rows, in each an element for each of `outputs`, and
 * zeros up to `row_elements`. */
struct layout {
    enum vrt_dtype dtype;
    size_t taps, inner, outputs, row_elements;
};

static struct vrt_xpu_replica *replica_of(const struct vrt_replica *base)
{
    return vrt_container_of(base, struct vrt_xpu_replica, base);
}

static size_t rounded(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

static struct layout lay_out(const struct vrt_param *param, enum vrt_dtype dtype)
{
    size_t n = 1;

    for (int i = 0; i < param->n_dims; i++)
        n *= (size_t)param->dims[i];
    if (param->n_dims < 2 || param->use == VRT_PARAM_TABLE)
        return (struct layout){ VRT_DTYPE_F32, 1, 1, n, n };
    const size_t outputs = (size_t)param->dims[0], inner = (size_t)param->dims[1];
    return (struct layout){
        .dtype = vrt_param_use_is_f32(param->use) ? VRT_DTYPE_F32 : dtype,
        .taps = n / (outputs * inner),
        .inner = inner,
        .outputs = outputs,
        .row_elements = rounded(outputs, VRT_XPU_ROW_ALIGN),
    };
}

static size_t layout_bytes(const struct layout *layout)
{
    return rounded(layout->taps * layout->inner * layout->row_elements *
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

/* [O][I][taps] becomes [taps][I][row_elements]; `to` is zeros. */
static void pack_param(const struct vrt_param *param, const struct layout *layout, char *to)
{
    for (size_t o = 0; o < layout->outputs; o++)
        for (size_t i = 0; i < layout->inner; i++)
            for (size_t t = 0; t < layout->taps; t++)
                put(to, layout->dtype,
                    (t * layout->inner + i) * layout->row_elements + o,
                    param->data[(o * layout->inner + i) * layout->taps + t]);
}

int vrt_xpu_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                       struct vrt_packed_place *places, struct vrt_packed **ret_packed)
{
    struct xpu_packed *packed = calloc(1, sizeof(*packed));
    size_t bytes = 0;

    (void)device;
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

int vrt_xpu_packed_fill(struct vrt_packed *base, const struct vrt_pack *pack, size_t i)
{
    struct xpu_packed *packed = vrt_container_of(base, struct xpu_packed, base);
    const struct layout layout = lay_out(&pack->params[i], pack->dtype);
    char *to = packed->blob + base->places[i].offset_bytes;

    pack_param(&pack->params[i], &layout, to);
    base->places[i].data = to;
    return 0;
}

void vrt_xpu_packed_free(struct vrt_packed *base)
{
    struct xpu_packed *packed = vrt_container_of(base, struct xpu_packed, base);

    free(packed->blob);
    free(packed);
}

/* Where each param is, once the block of memory is there. */
static void place(struct vrt_xpu_replica *replica, const struct vrt_packed *packed)
{
    for (size_t i = 0; i < packed->n_params; i++) {
        const struct layout layout = lay_out(&packed->params[i], packed->dtype);
        struct vrt_xpu_param *param = &replica->params[i];
        param->data = replica->blob + packed->places[i].offset_bytes;
        param->dtype = layout.dtype;
        param->row_elements = (int)layout.row_elements;
        param->n_dims = packed->params[i].n_dims;
        memcpy(param->dims, packed->params[i].dims, sizeof(param->dims));
    }
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
        result = vrt_xpu_alloc(xpu, VRT_XPU_CHECKSUM_ITEMS * sizeof(uint64_t), &replica->sums);
    int r = replica->params ? vrt_xpu_outcome(xpu, result, "allocating memory for weights")
                            : vrt_raise(-ENOMEM);
    if (r) {
        vrt_xpu_replica_free(device, &replica->base);
        return r;
    }
    place(replica, packed);
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
    const char *blob = vrt_container_of(packed, struct xpu_packed, base)->blob;
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
        ze_bool_t can = false;
        if (unit == xpu->unit || unit->driver != xpu->unit->driver ||
            !are_compatible(unit, xpu->unit))
            continue;
        if (xpu->ze->zeDeviceCanAccessPeer(xpu->device, unit->device, &can) || !can)
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
    const struct vrt_xpu_checksum args = { .n_words = (int64_t)(replica->bytes / 8) };
    const struct vrt_xpu_launch launch = {
        .kernel = VRT_XPU_KERNEL_checksum,
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { replica->blob, replica->sums },
        .n_data = 2,
        .groups = { VRT_XPU_CHECKSUM_ITEMS / 64, 1, 1 },
        .local = { 64, 1, 1 },
    };
    struct vrt_xpu_call call = { .device = xpu };
    ze_result_t r = vrt_xpu_list_new(xpu, &call.list);

    if (!r)
        r = vrt_xpu_launch(&call, &launch);
    if (!r)
        r = xpu->ze->zeCommandListClose(call.list);
    if (!r)
        r = vrt_xpu_submit(xpu, &call.list, 1);
    if (!r)
        r = vrt_xpu_await(xpu, xpu->n_submitted);
    if (!r)
        r = vrt_xpu_download(xpu, replica->sums, (char *)sums,
                             VRT_XPU_CHECKSUM_ITEMS * sizeof(sums[0]));
    if (r != ZE_RESULT_NOT_READY)
        vrt_xpu_list_free(xpu, call.list);
    return r;
}

int vrt_xpu_replica_checksum(struct vrt_device *device, const struct vrt_replica *base,
                             uint64_t *ret_checksum)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    uint64_t sums[VRT_XPU_CHECKSUM_ITEMS], checksum = 0;
    int r = vrt_xpu_outcome(xpu, add_up(xpu, replica_of(base), sums), "adding up weights");

    if (r)
        return r;
    for (size_t i = 0; i < VRT_XPU_CHECKSUM_ITEMS; i++)
        checksum += sums[i];
    *ret_checksum = checksum;
    return 0;
}
