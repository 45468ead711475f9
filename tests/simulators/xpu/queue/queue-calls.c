/* SPDX-License-Identifier: MIT */

/* zeCommandQueue* and zeFence*. */

#include <stdlib.h>

#include "base/clock.h"
#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/driver/faults.h"
#include "tests/simulators/xpu/queue/fence.h"
#include "tests/simulators/xpu/queue/queue-impl.h"

static struct drv_queue *queue_find(ze_command_queue_handle_t handle)
{
    return drv_object_find(handle, DRV_QUEUE);
}

struct drv_fence *drv_fence_find(ze_fence_handle_t handle)
{
    return drv_object_find(handle, DRV_FENCE);
}

ze_result_t drv_zeCommandQueueCreate(ze_context_handle_t context, ze_device_handle_t device,
                                     const ze_command_queue_desc_t *desc,
                                     ze_command_queue_handle_t *ret_queue)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_queue_params params = { .desc = desc };
    struct drv_queue *queue;
    if (!desc || !ret_queue)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    ze_result_t r = drv_context_find_device(context, device, &params.context, &params.device);
    if (r == ZE_RESULT_SUCCESS)
        r = drv_queue_start(&params, &queue);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    drv_object_add(&queue->object, DRV_QUEUE, &params.context->object);
    *ret_queue = DRV_HANDLE(ze_command_queue_handle_t, queue);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandQueueDestroy(ze_command_queue_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_queue *queue = queue_find(handle);
    if (!queue)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!drv_queue_is_idle(queue) && !drv_device_is_dead(queue->place.device, queue->place.life))
        return drv_misuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the queue has work to do");
    ze_result_t r = drv_object_remove(&queue->object);
    if (r == ZE_RESULT_SUCCESS)
        drv_queue_stop(queue);
    return r;
}

ze_result_t drv_zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t handle, uint32_t n,
                                                  ze_command_list_handle_t *lists,
                                                  ze_fence_handle_t fence)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_queue *queue = queue_find(handle);
    if (!queue)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!lists || !n)
        return lists ? ZE_RESULT_ERROR_INVALID_SIZE : ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    const ze_result_t r = drv_device_use(queue->place.device);
    return r == ZE_RESULT_SUCCESS ? drv_queue_execute(queue, lists, n, fence) : r;
}

ze_result_t drv_zeCommandQueueSynchronize(ze_command_queue_handle_t handle, uint64_t timeout_ns)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_queue *queue = queue_find(handle);
    if (!queue)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    const ze_result_t r = drv_device_use(queue->place.device);
    return r == ZE_RESULT_SUCCESS ? drv_queue_wait(queue, timeout_ns) : r;
}

ze_result_t drv_zeFenceCreate(ze_command_queue_handle_t handle, const ze_fence_desc_t *desc,
                              ze_fence_handle_t *ret_fence)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_queue *queue = queue_find(handle);
    if (!queue)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!desc || !ret_fence)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    struct drv_fence *fence = calloc(1, sizeof(*fence));
    if (!fence)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    fence->queue = queue;
    fence->is_signaled = desc->flags & ZE_FENCE_FLAG_SIGNALED;
    drv_object_add(&fence->object, DRV_FENCE, &queue->object);
    *ret_fence = DRV_HANDLE(ze_fence_handle_t, fence);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeFenceDestroy(ze_fence_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_fence *fence = drv_fence_find(handle);
    if (!fence)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (fence->is_busy)
        return drv_misuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "a queue is to signal the fence");
    drv_object_remove(&fence->object);
    free(fence);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeFenceHostSynchronize(ze_fence_handle_t handle, uint64_t timeout_ns)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const int64_t deadline_ns = drv_deadline(timeout_ns);
    for (;;) {
        /* It may be destroyed in between. */
        const struct drv_fence *fence = drv_fence_find(handle);
        if (!fence)
            return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
        if (fence->is_signaled)
            return ZE_RESULT_SUCCESS;
        if (drv_device_is_dead(fence->queue->place.device, fence->queue->place.life))
            return ZE_RESULT_ERROR_DEVICE_LOST;
        if (vrt_clock_now_ns() >= deadline_ns)
            return ZE_RESULT_NOT_READY;
        drv_wait(deadline_ns);
    }
}

ze_result_t drv_zeFenceQueryStatus(ze_fence_handle_t handle)
{
    return drv_zeFenceHostSynchronize(handle, 0);
}

ze_result_t drv_zeFenceReset(ze_fence_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_fence *fence = drv_fence_find(handle);
    if (!fence)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (fence->is_busy)
        return drv_misuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "a queue is to signal the fence");
    fence->is_signaled = false;
    return ZE_RESULT_SUCCESS;
}
