/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/driver/object.h"

#include <stddef.h>

#define N_BUCKETS 1024

/* No address of a process on any machine that there is. */
#define HANDLE_BASE 0x7a70000000000000u

static const char *const kind_names[DRV_KIND_COUNT] = {
    [DRV_DRIVER] = "driver",
    [DRV_DEVICE] = "device",
    [DRV_SENSOR] = "sensor",
    [DRV_CONTEXT] = "context",
    [DRV_MODULE] = "module",
    [DRV_KERNEL] = "kernel",
    [DRV_QUEUE] = "command queue",
    [DRV_LIST] = "command list",
    [DRV_FENCE] = "fence",
    [DRV_POOL] = "event pool",
    [DRV_EVENT] = "event",
};

static struct {
    struct drv_object *buckets[N_BUCKETS];
    uint64_t n_made;
} table;

void drv_object_add(struct drv_object *object, enum drv_kind kind, struct drv_object *parent)
{
    object->kind = kind;
    object->handle = HANDLE_BASE + ++table.n_made;
    object->parent = parent;
    struct drv_object **bucket = &table.buckets[object->handle % N_BUCKETS];
    object->next = *bucket;
    *bucket = object;
    if (parent)
        parent->n_children++;
}

ze_result_t drv_object_remove(struct drv_object *object)
{
    if (object->n_children)
        return drv_misuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                          "the %s still has %u objects made from it", kind_names[object->kind],
                          object->n_children);
    struct drv_object **at = &table.buckets[object->handle % N_BUCKETS];
    while (*at != object)
        at = &(*at)->next;
    *at = object->next;
    if (object->parent)
        object->parent->n_children--;
    return ZE_RESULT_SUCCESS;
}

void *drv_object_find(const void *handle, enum drv_kind kind)
{
    uint64_t number = (uintptr_t)handle;
    if (!handle)
        return NULL;
    struct drv_object *object = table.buckets[number % N_BUCKETS];
    while (object && object->handle != number)
        object = object->next;
    if (object && object->kind == kind)
        return object;
    if (object)
        drv_misuse(ZE_RESULT_SUCCESS, "the handle is of a %s, not of a %s",
                   kind_names[object->kind], kind_names[kind]);
    else
        drv_misuse(ZE_RESULT_SUCCESS, "the handle is of no living %s", kind_names[kind]);
    return NULL;
}

void drv_object_report_leaks(void)
{
    unsigned n[DRV_KIND_COUNT] = { 0 };

    for (size_t i = 0; i < N_BUCKETS; i++) {
        for (const struct drv_object *o = table.buckets[i]; o; o = o->next)
            n[o->kind]++;
    }
    for (int kind = DRV_CONTEXT; kind < DRV_KIND_COUNT; kind++) {
        if (n[kind])
            drv_misuse(ZE_RESULT_SUCCESS, "%u of kind %s were never destroyed", n[kind],
                       kind_names[kind]);
    }
}
