/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/queue/event.h"

#include <stdlib.h>

#include "base/clock.h"
#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/queue/queue.h"

struct drv_event *drv_event_find(ze_event_handle_t handle)
{
    return drv_object_find(handle, DRV_EVENT);
}

void drv_event_expect(struct drv_event *event, struct drv_device *device)
{
    event->device = device;
    event->life = device->life;
}

void drv_event_signal(ze_event_handle_t handle)
{
    struct drv_event *event = drv_event_find(handle);
    if (!event)
        return;
    if (event->is_signaled)
        drv_misuse(ZE_RESULT_SUCCESS, "event %u of its pool is signaled again without a reset",
                   event->index);
    event->is_signaled = true;
    drv_changed();
}

static struct drv_event_pool *pool_free(struct drv_event_pool *pool)
{
    if (pool)
        free(pool->is_taken);
    free(pool);
    return NULL;
}

VRT_DEFINE_CLEANUP(struct drv_event_pool, pool_free)

ze_result_t drv_zeEventPoolCreate(ze_context_handle_t context_handle,
                                  const ze_event_pool_desc_t *desc, uint32_t n_devices,
                                  ze_device_handle_t *devices, ze_event_pool_handle_t *ret_pool)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    VRT_CLEANUP(pool_freep) struct drv_event_pool *pool = NULL;
    struct drv_context *context = drv_context_find(context_handle);
    if (!context)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!desc || !ret_pool)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (!desc->count)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    for (uint32_t i = 0; devices && i < n_devices; i++) {
        struct drv_device *device;
        ze_result_t r = drv_context_find_device(context_handle, devices[i], &context, &device);
        if (r != ZE_RESULT_SUCCESS)
            return r;
    }
    pool = calloc(1, sizeof(*pool));
    if (!pool || !(pool->is_taken = calloc(desc->count, sizeof(bool))))
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    pool->context = context;
    pool->flags = desc->flags;
    pool->n_events = desc->count;
    drv_object_add(&pool->object, DRV_POOL, &context->object);
    *ret_pool = DRV_HANDLE(ze_event_pool_handle_t, pool);
    pool = NULL;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeEventPoolDestroy(ze_event_pool_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_event_pool *pool = drv_object_find(handle, DRV_POOL);
    if (!pool)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    ze_result_t r = drv_object_remove(&pool->object);
    if (r == ZE_RESULT_SUCCESS)
        pool_free(pool);
    return r;
}

ze_result_t drv_zeEventCreate(ze_event_pool_handle_t handle, const ze_event_desc_t *desc,
                              ze_event_handle_t *ret_event)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_event_pool *pool = drv_object_find(handle, DRV_POOL);
    if (!pool)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!desc || !ret_event)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (desc->index >= pool->n_events)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the pool has %u events, no index %u",
                          pool->n_events, desc->index);
    if (pool->is_taken[desc->index])
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "index %u is another event's",
                          desc->index);
    struct drv_event *event = calloc(1, sizeof(*event));
    if (!event)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    event->pool = pool;
    event->index = desc->index;
    pool->is_taken[desc->index] = true;
    drv_object_add(&event->object, DRV_EVENT, &pool->object);
    *ret_event = DRV_HANDLE(ze_event_handle_t, event);
    return ZE_RESULT_SUCCESS;
}

/* Nothing that was enqueued may need it any more. */
static ze_result_t check_unused(ze_event_handle_t handle, const struct drv_event *event)
{
    if (!drv_queues_use_event(handle))
        return ZE_RESULT_SUCCESS;
    return drv_misuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE,
                      "commands that wait for event %u or signal it aren't done", event->index);
}

ze_result_t drv_zeEventDestroy(ze_event_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_event *event = drv_event_find(handle);
    if (!event)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    ze_result_t r = check_unused(handle, event);
    if (r)
        return r;
    drv_object_remove(&event->object);
    event->pool->is_taken[event->index] = false;
    free(event);
    return ZE_RESULT_SUCCESS;
}

/* The event, for a call of the host, which its pool must have been made for. */
static struct drv_event *find_visible(ze_event_handle_t handle)
{
    struct drv_event *event = drv_event_find(handle);
    if (event && !(event->pool->flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE)) {
        drv_misuse(ZE_RESULT_SUCCESS, "the pool's events aren't visible to the host");
        return NULL;
    }
    return event;
}

ze_result_t drv_zeEventHostSignal(ze_event_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_event *event = find_visible(handle);
    if (!event)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    event->is_signaled = true;
    drv_changed();
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeEventHostReset(ze_event_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_event *event = find_visible(handle);
    if (!event)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    ze_result_t r = check_unused(handle, event);
    if (r)
        return r;
    event->is_signaled = false;
    event->device = NULL;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeEventHostSynchronize(ze_event_handle_t handle, uint64_t timeout_ns)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const int64_t deadline_ns = drv_deadline(timeout_ns);
    for (;;) {
        /* It may be destroyed in between. */
        const struct drv_event *event = find_visible(handle);
        if (!event)
            return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
        if (event->is_signaled)
            return ZE_RESULT_SUCCESS;
        if (event->device && drv_device_is_dead(event->device, event->life))
            return ZE_RESULT_ERROR_DEVICE_LOST;
        if (vrt_clock_now_ns() >= deadline_ns)
            return ZE_RESULT_NOT_READY;
        drv_wait(deadline_ns);
    }
}

ze_result_t drv_zeEventQueryStatus(ze_event_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct drv_event *event = find_visible(handle);
    if (!event)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (event->is_signaled)
        return ZE_RESULT_SUCCESS;
    return event->device && drv_device_is_dead(event->device, event->life)
               ? ZE_RESULT_ERROR_DEVICE_LOST
               : ZE_RESULT_NOT_READY;
}
