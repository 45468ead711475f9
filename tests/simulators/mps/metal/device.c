/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/metal/device.h"

#include <stdio.h>

#include "tests/simulators/mps/foundation/foundation.h"
#include "tests/simulators/mps/metal/archive.h"
#include "tests/simulators/mps/metal/buffer.h"
#include "tests/simulators/mps/metal/event.h"
#include "tests/simulators/mps/metal/library.h"
#include "tests/simulators/mps/metal/metal.h"
#include "tests/simulators/mps/metal/pipeline.h"
#include "tests/simulators/mps/queue/queue.h"
#include "tests/simulators/mps/runtime/settings.h"

#define FIRST_REGISTRY_ID 0x100000400u

static struct mtl_device *devices[MTL_MAX_DEVICES];

static void make_devices(void)
{
    for (unsigned i = 0; i < mtl_settings()->n_devices; i++) {
        devices[i] = mtl_new(&mtl_device_class);
        devices[i]->index = i;
    }
}

static void begin(const char *function)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    mtl_begin(NULL, function);
    mtl_start();
    pthread_once(&once, make_devices);
}

MTL_EXPORT mtl_object MTLCopyAllDevices(void)
{
    struct mtl_base *all[MTL_MAX_DEVICES];

    begin(__func__);
    for (unsigned i = 0; i < mtl_settings()->n_devices; i++)
        all[i] = &devices[i]->base;
    return mtl_handle(mtl_array_new(all, mtl_settings()->n_devices));
}

MTL_EXPORT mtl_object MTLCreateSystemDefaultDevice(void)
{
    begin(__func__);
    return mtl_handle(mtl_retain(devices[0]));
}

void mtl_device_expect(const struct mtl_device *device, const struct mtl_device *other,
                       const char *what)
{
    if (device != other)
        mtl_die("the %s is of device %u, not of %u", what, other->index, device->index);
}

static mtl_object name(MTL_SELF(mtl_device))
{
    char text[64];

    snprintf(text, sizeof(text), "Simulated %s GPU %u",
             mtl_settings_has_family(1001) ? "Apple" : "AMD", self->index);
    return mtl_autorelease(mtl_string_new(text));
}

static mtl_u64 registry_id(MTL_SELF(mtl_device))
{
    return FIRST_REGISTRY_ID + self->index;
}

static mtl_u64 working_set(MTL_SELF(mtl_device))
{
    return mtl_settings()->memory_bytes;
}

static mtl_u64 allocated(MTL_SELF(mtl_device))
{
    mtl_lock();
    const mtl_u64 n = self->used_bytes;
    mtl_unlock();
    return n;
}

static mtl_u64 max_buffer(MTL_SELF(mtl_device))
{
    return mtl_buffer_limit();
}

static mtl_bool is_unified(MTL_SELF(mtl_device))
{
    return mtl_settings()->is_unified;
}

static mtl_bool supports_family(MTL_SELF(mtl_device), mtl_i64 family)
{
    return mtl_settings_has_family(family);
}

static mtl_object new_buffer(MTL_SELF(mtl_device), mtl_u64 length, mtl_u64 options)
{
    return mtl_handle(mtl_buffer_new(self, length, options));
}

static mtl_object new_library(MTL_SELF(mtl_device), mtl_object source, mtl_object options,
                              mtl_pointer error)
{
    return mtl_handle(mtl_library_new(self, source, options, (mtl_object *)(uintptr_t)error));
}

static mtl_object new_pipeline(MTL_SELF(mtl_device), mtl_object function, mtl_pointer error)
{
    return mtl_handle(mtl_pipeline_new(self, mtl_find(function, &mtl_function_class, "function"),
                                       (mtl_object *)(uintptr_t)error));
}

static mtl_object new_pipeline_by(MTL_SELF(mtl_device), mtl_object descriptor, mtl_u64 options,
                                  mtl_pointer reflection, mtl_pointer error)
{
    if (reflection)
        mtl_die("reflection isn't simulated");
    return mtl_handle(mtl_pipeline_new_by(
        self, mtl_find(descriptor, &mtl_pipeline_descriptor_class, "descriptor"), options,
        (mtl_object *)(uintptr_t)error));
}

static mtl_object new_queue(MTL_SELF(mtl_device))
{
    return mtl_handle(mtl_queue_new(self));
}

static mtl_object new_event(MTL_SELF(mtl_device))
{
    return mtl_handle(mtl_event_new(self));
}

static mtl_object new_archive(MTL_SELF(mtl_device), mtl_object descriptor, mtl_pointer error)
{
    return mtl_handle(mtl_archive_new(
        self, mtl_find(descriptor, &mtl_archive_descriptor_class, "descriptor"),
        (mtl_object *)(uintptr_t)error));
}

const struct mtl_class mtl_device_class = {
    .name = "MTLDevice",
    .n_bytes = sizeof(struct mtl_device),
    .is_kept = true,
    .methods = (const struct mtl_method[]){
        MTL_METHOD("name", name, mtl_device, mtl_object),
        MTL_METHOD("registryID", registry_id, mtl_device, mtl_u64),
        MTL_METHOD("recommendedMaxWorkingSetSize", working_set, mtl_device, mtl_u64),
        MTL_METHOD("currentAllocatedSize", allocated, mtl_device, mtl_u64),
        MTL_METHOD("maxBufferLength", max_buffer, mtl_device, mtl_u64),
        MTL_METHOD("hasUnifiedMemory", is_unified, mtl_device, mtl_bool),
        MTL_METHOD("supportsFamily:", supports_family, mtl_device, mtl_bool, mtl_i64),
        MTL_METHOD("newBufferWithLength:options:", new_buffer, mtl_device, mtl_object, mtl_u64,
                   mtl_u64),
        MTL_METHOD("newLibraryWithSource:options:error:", new_library, mtl_device, mtl_object,
                   mtl_object, mtl_object, mtl_pointer),
        MTL_METHOD("newComputePipelineStateWithFunction:error:", new_pipeline, mtl_device,
                   mtl_object, mtl_object, mtl_pointer),
        MTL_METHOD("newComputePipelineStateWithDescriptor:options:reflection:error:",
                   new_pipeline_by, mtl_device, mtl_object, mtl_object, mtl_u64, mtl_pointer,
                   mtl_pointer),
        MTL_METHOD("newCommandQueue", new_queue, mtl_device, mtl_object),
        MTL_METHOD("newEvent", new_event, mtl_device, mtl_object),
        MTL_METHOD("newBinaryArchiveWithDescriptor:error:", new_archive, mtl_device, mtl_object,
                   mtl_object, mtl_pointer),
        { 0 },
    },
};
