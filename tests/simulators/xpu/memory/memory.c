/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/memory/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/driver/faults.h"
#include "tests/simulators/xpu/queue/queue.h"
#include "tests/simulators/xpu/driver/report.h"

#define PAGE_BYTES 4096u
#define MIN_ALIGNMENT 64u
#define MAX_ALIGNMENT (2u << 20)
#define POISONED_BYTES (256u << 20)
#define POISON 0xff
#define SLACK 0xa5                      /* between the last byte and the page behind */

/* All that there ever was, by address. */
static struct {
    struct drv_memory **sorted;
    size_t n, capacity;
} table;

/* How many lie before `address`. */
static size_t count_before(const char *address)
{
    size_t low = 0, high = table.n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table.sorted[middle]->address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

struct drv_memory *drv_memory_find(const void *address)
{
    size_t n = count_before(address);
    struct drv_memory *memory = n ? table.sorted[n - 1] : NULL;
    return memory && (size_t)((const char *)address - memory->address) < memory->n_bytes ? memory
                                                                                         : NULL;
}

static bool insert(struct drv_memory *memory)
{
    if (table.n == table.capacity) {
        size_t capacity = table.capacity ? 2 * table.capacity : 64;
        struct drv_memory **grown = reallocarray(table.sorted, capacity, sizeof(*grown));
        if (!grown)
            return false;
        table.sorted = grown;
        table.capacity = capacity;
    }
    size_t at = count_before(memory->address);
    memmove(table.sorted + at + 1, table.sorted + at, (table.n - at) * sizeof(*table.sorted));
    table.sorted[at] = memory;
    table.n++;
    return true;
}

void *drv_memory_reach(const struct drv_context *context, const struct drv_device *device,
                       const void *address, size_t n_bytes, bool allow_host)
{
    const struct drv_memory *memory = drv_memory_find(address);
    const char *wrong = NULL;

    if (!memory) {
        if (allow_host && address)
            return (void *)(uintptr_t)address;
        drv_misuse(ZE_RESULT_SUCCESS, "%p is no memory of this driver", address);
        return NULL;
    }
    const size_t offset = (size_t)((const char *)address - memory->address);
    if (!memory->data)
        wrong = "was freed";
    else if (memory->context != context)
        wrong = "is of another context";
    else if (memory->type == ZE_MEMORY_TYPE_DEVICE && memory->life != memory->device->life)
        wrong = "was lost with its device";
    else if (memory->device && !drv_device_reaches(device, memory->device))
        wrong = "is of a device that this one can't reach";
    else if (n_bytes > memory->n_bytes - offset)
        wrong = "ends before";
    if (!wrong)
        return memory->data + offset;
    drv_misuse(ZE_RESULT_SUCCESS, "memory at %p, %zu of %zu bytes from byte %zu on: it %s", address,
               n_bytes, memory->n_bytes, offset, wrong);
    return NULL;
}

void drv_memory_report_leaks(void)
{
    for (size_t i = 0; i < table.n; i++) {
        const struct drv_memory *memory = table.sorted[i];
        if (memory->data)
            drv_misuse(ZE_RESULT_SUCCESS, "%zu bytes at %p were never freed", memory->n_bytes,
                       (void *)memory->address);
    }
}

/* Address space whose first and last page can't be touched, and the rest neither if `closed`. */
static char *map(size_t n_bytes, bool closed)
{
    char *mapping = mmap(NULL, n_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                         0);
    if (mapping == MAP_FAILED)
        return NULL;
    if (!closed && mprotect(mapping + PAGE_BYTES, n_bytes - 2 * PAGE_BYTES,
                            PROT_READ | PROT_WRITE) != 0) {
        munmap(mapping, n_bytes);
        return NULL;
    }
    return mapping;
}

/* Where in a mapping the allocation begins so that it ends where the last open page does. */
static char *place(char *mapping, size_t mapping_bytes, size_t n_bytes, size_t alignment)
{
    uintptr_t end = (uintptr_t)mapping + mapping_bytes - PAGE_BYTES;
    return (char *)((end - n_bytes) & ~((uintptr_t)alignment - 1));
}

/* The bytes behind the last one that are in its page. */
static size_t slack_bytes(const struct drv_memory *memory)
{
    const char *end = memory->mapping + memory->mapping_bytes - PAGE_BYTES;
    return (size_t)(end - (memory->data + memory->n_bytes));
}

static bool map_memory(struct drv_memory *memory, size_t alignment)
{
    const size_t pages = (memory->n_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
    memory->mapping_bytes = pages * PAGE_BYTES + alignment + 2 * PAGE_BYTES;
    memory->mapping_bytes &= ~(size_t)(PAGE_BYTES - 1);
    memory->mapping = map(memory->mapping_bytes, false);
    if (!memory->mapping)
        return false;
    memory->data = place(memory->mapping, memory->mapping_bytes, memory->n_bytes, alignment);
    memory->address = memory->data;
    if (memory->type == ZE_MEMORY_TYPE_DEVICE) {
        char *closed = map(memory->mapping_bytes, true);
        if (!closed)
            return false;
        memory->address = place(closed, memory->mapping_bytes, memory->n_bytes, alignment);
    }
    memset(memory->data, POISON, VRT_MIN(memory->n_bytes, POISONED_BYTES));
    memset(memory->data + memory->n_bytes, SLACK, slack_bytes(memory));
    return true;
}

/* What an allocation takes of a device's memory: of a tile's card as well. */
static bool charge(struct drv_memory *memory)
{
    struct drv_device *device = memory->device, *whole = device->whole;
    const uint64_t n = memory->charged_bytes;
    if (n > device->memory_bytes - device->used_bytes ||
        (whole && n > whole->memory_bytes - whole->used_bytes))
        return false;
    device->used_bytes += n;
    if (whole)
        whole->used_bytes += n;
    drv_report_use(device, whole ? whole->used_bytes : device->used_bytes);
    return true;
}

static void discharge(struct drv_memory *memory)
{
    if (!memory->charged_bytes)
        return;
    memory->device->used_bytes -= memory->charged_bytes;
    if (memory->device->whole)
        memory->device->whole->used_bytes -= memory->charged_bytes;
    memory->charged_bytes = 0;
}

/* Only its address remains. */
static void empty(struct drv_memory *memory)
{
    if (memory->mapping && memory->address == memory->data) {
        mmap(memory->mapping, memory->mapping_bytes, PROT_NONE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    } else if (memory->mapping) {
        munmap(memory->mapping, memory->mapping_bytes);
    }
    memory->mapping = memory->data = NULL;
    discharge(memory);
}

static bool is_relaxed(const void *chain)
{
    for (const ze_base_desc_t *d = chain; d; d = d->pNext) {
        if (d->stype == ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC)
            return true;
    }
    return false;
}

static ze_result_t check_wanted(const struct drv_memory *wanted, size_t alignment,
                                const void *chain)
{
    if ((alignment & (alignment - 1)) || alignment > MAX_ALIGNMENT)
        return ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT;
    const struct drv_device *device = wanted->device;
    if (!wanted->n_bytes || wanted->n_bytes > SIZE_MAX / 4 ||
        (device && wanted->n_bytes > (is_relaxed(chain) ? device->memory_bytes
                                                        : DRV_MAX_ALLOCATION_BYTES)))
        return ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    return ZE_RESULT_SUCCESS;
}

/* Takes what it needs of its device's memory, unless a fault is in the way. */
static ze_result_t take(struct drv_memory *memory)
{
    if (memory->type != ZE_MEMORY_TYPE_DEVICE)
        return ZE_RESULT_SUCCESS;
    const struct drv_fault fault = drv_faults_count(memory->device, DRV_AT_ALLOC);
    drv_sleep(fault.delay_ns);
    if (drv_device_is_lost(memory->device))
        return ZE_RESULT_ERROR_DEVICE_LOST;
    memory->life = memory->device->life;
    memory->charged_bytes = (memory->n_bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
    if (!fault.fails && charge(memory))
        return ZE_RESULT_SUCCESS;
    memory->charged_bytes = 0;
    return ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
}

/* `wanted` says what: context, device, type and size. */
static ze_result_t allocate(const struct drv_memory *wanted, size_t alignment, const void *chain,
                            void **ret_address)
{
    ze_result_t r = ret_address ? check_wanted(wanted, alignment, chain)
                                : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (r != ZE_RESULT_SUCCESS)
        return r;
    struct drv_memory *memory = malloc(sizeof(*memory));
    if (!memory)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    *memory = *wanted;
    r = take(memory);
    if (r == ZE_RESULT_SUCCESS &&
        (!map_memory(memory, VRT_MAX(alignment, MIN_ALIGNMENT)) || !insert(memory)))
        r = ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    if (r != ZE_RESULT_SUCCESS) {
        empty(memory);
        free(memory);
        return r;
    }
    memory->context->object.n_children++;
    *ret_address = memory->address;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeMemAllocDevice(ze_context_handle_t context,
                                 const ze_device_mem_alloc_desc_t *desc, size_t n_bytes,
                                 size_t alignment, ze_device_handle_t device, void **ret_address)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_memory wanted = { .type = ZE_MEMORY_TYPE_DEVICE, .n_bytes = n_bytes };
    ze_result_t r = drv_context_find_device(context, device, &wanted.context, &wanted.device);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    return desc ? allocate(&wanted, alignment, desc->pNext, ret_address)
                : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

ze_result_t drv_zeMemAllocHost(ze_context_handle_t context, const ze_host_mem_alloc_desc_t *desc,
                               size_t n_bytes, size_t alignment, void **ret_address)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_memory wanted = { .type = ZE_MEMORY_TYPE_HOST, .n_bytes = n_bytes };
    wanted.context = drv_context_find(context);
    if (!wanted.context)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    return desc ? allocate(&wanted, alignment, desc->pNext, ret_address)
                : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
}

/* Whether something wrote right behind its last byte. */
static bool is_overrun(const struct drv_memory *memory)
{
    const char *end = memory->data + memory->n_bytes;
    for (size_t i = 0; i < slack_bytes(memory); i++) {
        if ((unsigned char)end[i] != SLACK)
            return true;
    }
    return false;
}

ze_result_t drv_zeMemFree(ze_context_handle_t handle, void *address)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_context *context = drv_context_find(handle);
    struct drv_memory *memory = drv_memory_find(address);
    if (!context || !address)
        return context ? ZE_RESULT_ERROR_INVALID_NULL_POINTER : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!memory || memory->address != address)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%p begins no memory of this driver",
                          address);
    if (!memory->data || memory->context != context)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "memory at %p %s", address,
                          memory->data ? "is of another context" : "was freed already");
    if (drv_queues_use_memory(memory))
        return drv_misuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                          "commands that use the memory at %p aren't done", address);
    ze_result_t r = ZE_RESULT_SUCCESS;
    if (is_overrun(memory))
        r = drv_misuse(ZE_RESULT_ERROR_UNKNOWN, "something wrote behind the %zu bytes at %p",
                       memory->n_bytes, address);
    empty(memory);
    context->object.n_children--;
    return r;
}
