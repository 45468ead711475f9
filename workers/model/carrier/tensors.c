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
