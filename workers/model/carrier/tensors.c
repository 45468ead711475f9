/* SPDX-License-Identifier: MIT */

#include "model/carrier/tensors.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void vrt_carrier_tensors_done(struct vrt_carrier_tensors *tensors)
{
    for (int i = 0; i < tensors->n_items; i++)
        free((char *)tensors->items[i].name);
    free(tensors->items);
    *tensors = (struct vrt_carrier_tensors){ 0 };
}

const struct vrt_checkpoint_tensor *vrt_carrier_tensors_find(
    const struct vrt_carrier_tensors *tensors, const char *name)
{
    for (int i = 0; i < tensors->n_items; i++)
        if (strcmp(tensors->items[i].name, name) == 0)
            return &tensors->items[i];
    return NULL;
}

int vrt_carrier_tensors_put(struct vrt_carrier_tensors *tensors,
                            const struct vrt_checkpoint_tensor *tensor)
{
    if (tensors->n_items == tensors->capacity) {
        const int capacity = tensors->capacity ? 2 * tensors->capacity : 64;
        struct vrt_checkpoint_tensor *items = reallocarray(tensors->items, (size_t)capacity,
                                                           sizeof(*items));
        if (!items)
            return vrt_raise(-ENOMEM);
        tensors->items = items;
        tensors->capacity = capacity;
    }
    char *name = strdup(tensor->name);
    if (!name)
        return vrt_raise(-ENOMEM);
    tensors->items[tensors->n_items] = *tensor;
    tensors->items[tensors->n_items++].name = name;
    return 0;
}

int vrt_carrier_tensors_to_checkpoint(const struct vrt_carrier_tensors *tensors, const char *name,
                                      struct vrt_checkpoint **ret_checkpoint,
                                      struct vrt_error *error)
{
    const struct vrt_checkpoint_label label = { tensors->metadata[0], tensors->metadata[1] };

    return vrt_fold(vrt_checkpoint_new(tensors->items, tensors->n_items, &label, name,
                                       ret_checkpoint, error));
}
