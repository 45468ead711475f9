/* SPDX-License-Identifier: MIT */

/* Packed weights and replicas: arguments are checked and bytes counted here, once. */

#include "backend/replica.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend-impl.h"
#include "backend/checksum.h"
#include "backend/note.h"

static bool is_float(enum vrt_dtype dtype)
{
    return dtype == VRT_DTYPE_F32 || dtype == VRT_DTYPE_F16 || dtype == VRT_DTYPE_BF16;
}

static int check_param(const struct vrt_param *param)
{
    int64_t count = 1;

    if (param->n_dims < 1 || param->n_dims > 4 || !param->data ||
        param->use >= VRT_PARAM_USE_COUNT)
        return vrt_raise(-EINVAL);
    for (int i = 0; i < param->n_dims; i++) {
        if (param->dims[i] < 1 || count > INT32_MAX / param->dims[i])
            return vrt_raise(-EINVAL);
        count *= param->dims[i];
    }
    return 0;
}

/* Copies the params' shapes, checked. */
static int take_shapes(const struct vrt_pack *pack, struct vrt_param **ret_shapes)
{
    VRT_CLEANUP(vrt_freep) struct vrt_param *shapes = NULL;

    if (!is_float(pack->dtype))
        return vrt_raise(-EINVAL);
    shapes = calloc(pack->n_params + 1, sizeof(*shapes));
    if (!shapes)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; i < pack->n_params; i++) {
        int r = check_param(&pack->params[i]);
        if (r < 0)
            return vrt_fold(r);
        shapes[i] = pack->params[i];
        shapes[i].name = NULL;
        shapes[i].data = NULL;
    }
    *ret_shapes = VRT_STEAL(shapes);
    return 0;
}

int vrt_packed_new(struct vrt_device *device, const struct vrt_pack *pack,
                   struct vrt_packed **ret_packed)
{
    VRT_CLEANUP(vrt_freep) struct vrt_packed_place *places = NULL;
    VRT_CLEANUP(vrt_freep) struct vrt_param *shapes = NULL;
    struct vrt_packed *packed = NULL;

    if (device->lost)
        return VRT_BACKEND_E_LOST;
    int r = take_shapes(pack, &shapes);
    if (r != 0)
        return vrt_fold(r);
    places = calloc(pack->n_params + 1, sizeof(*places));
    if (!places)
        return vrt_raise(-ENOMEM);
    r = vrt_device_note(device, device->ops->packed_new(device, pack, places, &packed));
    if (r != 0)
        return r;
    /* The fault wrapper leaves its place to whom it wraps: what is packed has no device. */
    if (!packed->ops)
        packed->ops = device->ops;
    if (pack->n_params) {
        const struct vrt_packed_place *last = &places[pack->n_params - 1];
        packed->size_bytes = last->offset_bytes + last->size_bytes;
    }
    atomic_init(&packed->n_refs, 1);
    snprintf(packed->packing_id, sizeof(packed->packing_id), "%s", device->info->packing_id);
    packed->params = VRT_STEAL(shapes);
    packed->places = VRT_STEAL(places);
    packed->n_params = pack->n_params;
    packed->dtype = pack->dtype;
    *ret_packed = packed;
    return 0;
}

/* How many bytes are final. */
static size_t ready_bytes(const struct vrt_packed *packed)
{
    return packed->n_filled < packed->n_params ? packed->places[packed->n_filled].offset_bytes
                                               : packed->size_bytes;
}

int vrt_packed_fill(struct vrt_packed *packed, const struct vrt_pack *pack, size_t chunk_bytes,
                    size_t *ret_ready_bytes)
{
    const size_t begun_bytes = ready_bytes(packed);

    if (pack->n_params != packed->n_params || pack->dtype != packed->dtype)
        return vrt_raise(-EINVAL);
    while (packed->n_filled < packed->n_params &&
           ready_bytes(packed) - begun_bytes < VRT_MAX(chunk_bytes, 1)) {
        const struct vrt_packed_place *place = &packed->places[packed->n_filled];
        int r = packed->ops->packed_fill(packed, pack, packed->n_filled);
        if (r != 0)
            return r < 0 ? vrt_fold(r) : r;
        packed->checksum += vrt_checksum_bytes(place->data, place->offset_bytes,
                                               place->size_bytes);
        packed->n_filled++;
    }
    *ret_ready_bytes = ready_bytes(packed);
    return 0;
}

size_t vrt_packed_bytes(const struct vrt_packed *packed)
{
    return packed->size_bytes;
}

uint64_t vrt_packed_checksum(const struct vrt_packed *packed)
{
    return packed->checksum;
}

struct vrt_packed *vrt_packed_ref(struct vrt_packed *packed)
{
    atomic_fetch_add(&packed->n_refs, 1);
    return packed;
}

struct vrt_packed *vrt_packed_unref(struct vrt_packed *packed)
{
    if (!packed || atomic_fetch_sub(&packed->n_refs, 1) != 1)
        return NULL;
    struct vrt_param *params = packed->params;
    struct vrt_packed_place *places = packed->places;
    packed->ops->packed_free(packed);
    free(params);
    free(places);
    return NULL;
}

int vrt_replica_begin(struct vrt_device *device, struct vrt_packed *packed,
                      struct vrt_replica **ret_replica)
{
    VRT_CLEANUP(vrt_freep) struct vrt_param *shapes = NULL;
    struct vrt_replica *replica = NULL;

    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (strcmp(packed->packing_id, device->info->packing_id) != 0)
        return vrt_raise(-EINVAL);
    if (vrt_device_exceeds_limit(device, packed->size_bytes))
        return VRT_BACKEND_E_NOMEM;
    shapes = calloc(packed->n_params + 1, sizeof(*shapes));
    if (!shapes)
        return vrt_raise(-ENOMEM);
    memcpy(shapes, packed->params, packed->n_params * sizeof(*shapes));
    int r = vrt_device_note(device, device->ops->replica_begin(device, packed, &replica));
    if (r != 0)
        return r;
    replica->params = VRT_STEAL(shapes);
    replica->n_params = packed->n_params;
    replica->dtype = packed->dtype;
    replica->used_bytes = packed->size_bytes;
    replica->packed = packed->is_shared ? vrt_packed_ref(packed) : NULL;
    device->used_bytes += (int64_t)replica->used_bytes;
    *ret_replica = replica;
    return 0;
}

int vrt_replica_fill(struct vrt_device *device, struct vrt_replica *replica,
                     struct vrt_packed *packed, const size_t range[2])
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (range[0] > range[1] || range[1] > packed->size_bytes ||
        replica->used_bytes != packed->size_bytes)
        return vrt_raise(-EINVAL);
    if (!device->ops->replica_fill || range[0] == range[1])
        return 0;
    return vrt_device_note(device, device->ops->replica_fill(device, replica, packed, range));
}

bool vrt_replica_can_receive(const struct vrt_device *device)
{
    return !device->lost && device->ops->replica_can_receive &&
           device->ops->replica_can_receive(device);
}

int vrt_replica_receive(struct vrt_device *device, struct vrt_replica *replica,
                        const struct vrt_replica *source)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (!vrt_replica_can_receive(device) || replica->used_bytes != source->used_bytes)
        return vrt_raise(-EINVAL);
    return vrt_device_note(device, device->ops->replica_receive(device, replica, source));
}

uint64_t vrt_packed_sum(const struct vrt_packed *packed)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < packed->n_filled; i++)
        sum += vrt_checksum_bytes(packed->places[i].data, packed->places[i].offset_bytes,
                                  packed->places[i].size_bytes);
    return sum;
}

int vrt_replica_checksum(struct vrt_device *device, const struct vrt_replica *replica,
                         uint64_t *ret_checksum)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (device->ops->replica_checksum)
        return vrt_device_note(device, device->ops->replica_checksum(device, replica,
                                                                     ret_checksum));
    vrt_assert(replica->packed);
    *ret_checksum = vrt_packed_sum(replica->packed);
    return 0;
}

struct vrt_packed *vrt_replica_packed(const struct vrt_replica *replica)
{
    return replica->packed;
}

int vrt_replica_new(struct vrt_device *device, const struct vrt_param *params, size_t n_params,
                    enum vrt_dtype dtype, struct vrt_replica **ret_replica)
{
    VRT_CLEANUP(vrt_packed_unrefp) struct vrt_packed *packed = NULL;
    const struct vrt_pack pack = { params, n_params, dtype };
    struct vrt_replica *replica = NULL;
    size_t range[2] = { 0, 0 };

    if (device->lost)
        return VRT_BACKEND_E_LOST;
    int r = vrt_packed_new(device, &pack, &packed);
    if (r == 0)
        r = vrt_replica_begin(device, packed, &replica);
    if (r == 0)
        r = vrt_packed_fill(packed, &pack, SIZE_MAX, &range[1]);
    if (r == 0)
        r = vrt_replica_fill(device, replica, packed, range);
    /* It may still be reading what goes now. */
    if (r == 0 && !packed->is_shared)
        r = vrt_device_finish(device);
    if (r != 0) {
        vrt_replica_free(device, replica);
        return r;
    }
    *ret_replica = replica;
    return 0;
}

struct vrt_replica *vrt_replica_free(struct vrt_device *device, struct vrt_replica *replica)
{
    if (!replica)
        return NULL;
    struct vrt_param *shapes = replica->params;
    struct vrt_packed *packed = replica->packed;
    device->used_bytes -= (int64_t)replica->used_bytes;
    device->ops->replica_free(device, replica);
    vrt_packed_unref(packed);
    free(shapes);
    return NULL;
}

size_t vrt_replica_bytes(const struct vrt_device *device, const struct vrt_replica *replica)
{
    (void)device;
    return replica->used_bytes;
}

bool vrt_group_is_possible(const struct vrt_device *device)
{
    return !device->lost && device->ops->group_is_possible &&
           device->ops->group_is_possible(device);
}

int vrt_group_key_new(struct vrt_device *device, struct vrt_group_key *ret_key)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (!vrt_group_is_possible(device))
        return vrt_raise(-EINVAL);
    return vrt_device_note(device, device->ops->group_key_new(device, ret_key));
}

int vrt_group_join(struct vrt_device *device, const struct vrt_group_seat *seat,
                   struct vrt_group **ret_group)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (!vrt_group_is_possible(device) || seat->rank < 0 || seat->rank >= seat->n_ranks)
        return vrt_raise(-EINVAL);
    return vrt_device_note(device, device->ops->group_join(device, seat, ret_group));
}

int vrt_group_spread(struct vrt_device *device, struct vrt_group *group,
                     struct vrt_replica *replica, const size_t range[2])
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    if (range[0] > range[1] || range[1] > replica->used_bytes)
        return vrt_raise(-EINVAL);
    if (range[0] == range[1])
        return 0;
    return vrt_device_note(device, device->ops->group_spread(device, group, replica, range));
}

int vrt_group_finish(struct vrt_device *device, struct vrt_group *group)
{
    if (device->lost)
        return VRT_BACKEND_E_LOST;
    return vrt_device_note(device, device->ops->group_finish(device, group));
}

struct vrt_group *vrt_group_free(struct vrt_device *device, struct vrt_group *group)
{
    if (group)
        device->ops->group_free(device, group);
    return NULL;
}
