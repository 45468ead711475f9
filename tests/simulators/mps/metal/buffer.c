/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/metal/buffer.h"

#include "tests/simulators/mps/runtime/faults.h"
#include "tests/simulators/mps/runtime/settings.h"

/* MTLResourceOptions: the cache mode has four bits, then the storage mode, then how hazards are
 * tracked. */
enum {
    CACHE_WRITE_COMBINED = 1,
    STORAGE_SHIFT = 4,
    STORAGE_SHARED = 0,
    STORAGE_PRIVATE = 2,
    STORAGE_MASK = 15,
    HAZARD_SHIFT = 8,
    HAZARD_MASK = 3,
};

uint64_t mtl_buffer_limit(void)
{
    return mtl_settings()->memory_bytes / 4 * 3;
}

static void expect_options(uint64_t options)
{
    const uint64_t storage = options >> STORAGE_SHIFT & STORAGE_MASK;
    const uint64_t known = CACHE_WRITE_COMBINED | STORAGE_MASK << STORAGE_SHIFT |
                           HAZARD_MASK << HAZARD_SHIFT;

    if ((storage != STORAGE_SHARED && storage != STORAGE_PRIVATE) || (options & ~known))
        mtl_die("options %#llx: the storage is neither shared nor private, or they are unknown",
                (unsigned long long)options);
}

/* Takes so much of the device's memory. Return: whether it has as much. */
static bool reserve(struct mtl_device *device, uint64_t length)
{
    mtl_lock();
    const bool fits = length <= mtl_settings()->memory_bytes - device->used_bytes;
    if (fits)
        device->used_bytes += length;
    mtl_unlock();
    return fits;
}

static void unreserve(struct mtl_device *device, uint64_t length)
{
    mtl_lock();
    device->used_bytes -= length;
    mtl_unlock();
}

struct mtl_buffer *mtl_buffer_new(struct mtl_device *device, uint64_t length, uint64_t options)
{
    struct mtl_memory memory;

    if (!length)
        mtl_die("a buffer of no bytes");
    expect_options(options);
    if (mtl_faults_count(device->index, MTL_AT_ALLOC).fails || length > mtl_buffer_limit() ||
        !reserve(device, length))
        return NULL;
    if (!mtl_memory_init(&memory, length)) {
        unreserve(device, length);
        return NULL;
    }
    struct mtl_buffer *buffer = mtl_new(&mtl_buffer_class);
    buffer->device = device;
    buffer->memory = memory;
    buffer->is_private = (options >> STORAGE_SHIFT & STORAGE_MASK) == STORAGE_PRIVATE;
    return buffer;
}

static mtl_pointer contents(MTL_SELF(mtl_buffer))
{
    return self->is_private ? NULL : self->memory.data;
}

static void destroy(struct mtl_base *object)
{
    struct mtl_buffer *buffer = (struct mtl_buffer *)object;

    unreserve(buffer->device, buffer->memory.n_bytes);
    mtl_memory_done(&buffer->memory);
}

const struct mtl_class mtl_buffer_class = {
    .name = "MTLBuffer",
    .n_bytes = sizeof(struct mtl_buffer),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("contents", contents, mtl_buffer, mtl_pointer),
        { 0 },
    },
    .destroy = destroy,
};
