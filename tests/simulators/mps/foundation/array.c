/* SPDX-License-Identifier: MIT */

#include <stdlib.h>

#include "tests/simulators/mps/foundation/foundation.h"

struct mtl_array *mtl_array_new(struct mtl_base *const *objects, size_t n)
{
    struct mtl_array *array = mtl_new(&mtl_array_class);

    array->n = n;
    array->objects = mtl_allocate(n * sizeof(array->objects[0]));
    for (size_t i = 0; i < n; i++)
        array->objects[i] = mtl_retain(objects[i]);
    return array;
}

static mtl_object with_objects(MTL_SELF(mtl_class_object), mtl_pointer handles, mtl_u64 n)
{
    const mtl_object *from = handles;
    VRT_CLEANUP(vrt_freep) struct mtl_base **objects = mtl_allocate(n * sizeof(objects[0]));

    for (size_t i = 0; i < n; i++)
        objects[i] = mtl_find_any(from[i]);
    return mtl_autorelease(mtl_array_new(objects, n));
}

static mtl_u64 count(MTL_SELF(mtl_array))
{
    return self->n;
}

static mtl_object at(MTL_SELF(mtl_array), mtl_u64 index)
{
    if (index >= self->n)
        mtl_die("index %lu of %zu", index, self->n);
    return mtl_handle(self->objects[index]);
}

static void destroy(struct mtl_base *object)
{
    struct mtl_array *array = (struct mtl_array *)object;

    for (size_t i = 0; i < array->n; i++)
        mtl_release(array->objects[i]);
    free(array->objects);
}

const struct mtl_class mtl_array_class = {
    .name = "NSArray",
    .n_bytes = sizeof(struct mtl_array),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("count", count, mtl_array, mtl_u64),
        MTL_METHOD("objectAtIndex:", at, mtl_array, mtl_object, mtl_u64),
        { 0 },
    },
    .class_methods = (const struct mtl_method[]){
        MTL_METHOD("arrayWithObjects:count:", with_objects, mtl_class_object, mtl_object,
                   mtl_pointer, mtl_u64),
        { 0 },
    },
    .destroy = destroy,
};
