/* SPDX-License-Identifier: MIT */

/*
 * What an XPU device exchanges with the host: its memory, and memory of the host's that it reaches
 *
 * Three events keep the queues in order, without the host: programs wait for what was pushed, what
 * is pulled waits for the programs, the host for what was pulled. Two short lists on the compute
 * queue wait for the one and signal the other. A GPU that has the host's memory for its own works
 * in that: then the host waits for the programs, and there is nothing to push.
 */

#include "backend/xpu/staging.h"

#include <errno.h>
#include <stdlib.h>

static struct vrt_xpu_staging *staging_of(struct vrt_staging *base)
{
    return vrt_container_of(base, struct vrt_xpu_staging, base);
}

static struct vrt_xpu_buffer *buffer_of(const struct vrt_staging *base)
{
    return vrt_container_of(base->buffer, struct vrt_xpu_buffer, base);
}

/* The one that the host waits for. */
static uint32_t last_event(const struct vrt_xpu_staging *staging)
{
    return staging->is_shared ? VRT_XPU_STAGING_COMPUTED : VRT_XPU_STAGING_PULLED;
}

static ze_result_t await_pulled(struct vrt_xpu_device *xpu, struct vrt_xpu_staging *staging)
{
    return xpu->ze->zeEventHostSynchronize(staging->events[last_event(staging)],
                                           xpu->patience_ns);
}

static ze_result_t make_events(struct vrt_xpu_device *xpu, struct vrt_xpu_staging *staging)
{
    const ze_event_pool_desc_t pool = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
        .count = VRT_XPU_STAGING_COUNT,
    };
    ze_result_t r = xpu->ze->zeEventPoolCreate(xpu->context, &pool, 1, &xpu->device,
                                               &staging->pool);

    for (uint32_t i = 0; r == 0 && i < VRT_XPU_STAGING_COUNT; i++) {
        const ze_event_scope_flag_t scope = i == last_event(staging) ?
                                            ZE_EVENT_SCOPE_FLAG_HOST : ZE_EVENT_SCOPE_FLAG_DEVICE;
        const ze_event_desc_t event = {
            .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
            .index = i,
            .signal = scope,
            .wait = scope,
        };
        r = xpu->ze->zeEventCreate(staging->pool, &event, &staging->events[i]);
    }
    return r;
}

/* The lists on the compute queue. */
static ze_result_t make_lists(struct vrt_xpu_device *xpu, struct vrt_xpu_staging *staging)
{
    ze_result_t r = vrt_xpu_list_new(xpu, &staging->await);

    if (r == 0)
        r = xpu->ze->zeCommandListAppendBarrier(staging->await, NULL, 1,
                                                &staging->events[VRT_XPU_STAGING_PUSHED]);
    if (r == 0)
        r = xpu->ze->zeCommandListClose(staging->await);
    if (r == 0)
        r = vrt_xpu_list_new(xpu, &staging->tell);
    if (r == 0)
        r = xpu->ze->zeCommandListAppendBarrier(staging->tell,
                                                staging->events[VRT_XPU_STAGING_COMPUTED], 0,
                                                NULL);
    return r != 0 ? r : xpu->ze->zeCommandListClose(staging->tell);
}

/* A buffer for memory that is yet to be allocated. */
static int bare_buffer_new(struct vrt_buffer **ret_buffer)
{
    struct vrt_xpu_buffer *buffer = calloc(1, sizeof(*buffer));

    if (!buffer)
        return vrt_raise(-ENOMEM);
    *ret_buffer = &buffer->base;
    return 0;
}

int vrt_xpu_staging_new(struct vrt_device *device, size_t size_bytes,
                        struct vrt_staging **ret_staging)
{
    const ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_staging *staging = calloc(1, sizeof(*staging));
    void *data = NULL;

    if (!staging)
        return vrt_raise(-ENOMEM);
    staging->is_shared = device->info->shares_host_memory;
    int r = staging->is_shared ? bare_buffer_new(&staging->base.buffer) :
            vrt_xpu_buffer_new(device, size_bytes, &staging->base.buffer);
    if (r != 0) {
        free(staging);
        return r;
    }
    buffer_of(&staging->base)->staging = staging;
    ze_result_t result = xpu->ze->zeMemAllocHost(xpu->context, &host, size_bytes, 4096, &data);
    staging->base.host = data;
    if (staging->is_shared)
        buffer_of(&staging->base)->data = data;
    if (result == 0)
        result = make_events(xpu, staging);
    if (result == 0)
        result = make_lists(xpu, staging);
    r = vrt_xpu_outcome(xpu, result, "making memory to exchange");
    if (r != 0) {
        vrt_xpu_staging_free(device, &staging->base);
        return r;
    }
    *ret_staging = &staging->base;
    return 0;
}

/* Waits until none of its events is in use. */
static ze_result_t settle(struct vrt_xpu_device *xpu, struct vrt_xpu_staging *staging)
{
    ze_result_t r = ZE_RESULT_SUCCESS;

    if (staging->is_pushed)
        r = xpu->ze->zeEventHostSynchronize(staging->events[VRT_XPU_STAGING_PUSHED],
                                            xpu->patience_ns);
    if (r != 0)
        return r;
    r = vrt_xpu_await(xpu, buffer_of(&staging->base)->used);
    if (r != 0 || !staging->is_pulled)
        return r;
    return await_pulled(xpu, staging);
}

void vrt_xpu_staging_free(struct vrt_device *device, struct vrt_staging *base)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_staging *staging = staging_of(base);

    if (!device->lost)
        vrt_xpu_outcome(xpu, settle(xpu, staging), "copying");
    vrt_xpu_list_free(xpu, staging->await);
    vrt_xpu_list_free(xpu, staging->tell);
    for (int i = 0; i < VRT_XPU_STAGING_COUNT && !xpu->is_stuck; i++)
        if (staging->events[i])
            xpu->ze->zeEventDestroy(staging->events[i]);
    if (staging->pool && !xpu->is_stuck)
        xpu->ze->zeEventPoolDestroy(staging->pool);
    if (!staging->is_shared)
        vrt_xpu_free(xpu, (char *)base->host);
    vrt_xpu_buffer_free(device, base->buffer);
    free(staging);
}

int vrt_xpu_staging_push(struct vrt_device *device, struct vrt_staging *base, size_t size_bytes)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_staging *staging = staging_of(base);
    const ze_event_handle_t pushed = staging->events[VRT_XPU_STAGING_PUSHED];
    ze_result_t r = settle(xpu, staging);

    if (staging->is_shared)
        return vrt_xpu_outcome(xpu, r, "computing");
    if (r == 0 && staging->is_pushed)
        r = xpu->ze->zeEventHostReset(pushed);
    staging->is_pushed = staging->is_awaited = false;
    if (r == 0)
        r = xpu->ze->zeCommandListAppendMemoryCopy(xpu->upload, buffer_of(base)->data, base->host,
                                                   size_bytes, pushed, 0, NULL);
    staging->is_pushed = r == 0;
    return vrt_xpu_outcome(xpu, r, "copying to it");
}

ze_result_t vrt_xpu_staging_await(struct vrt_xpu_device *xpu, struct vrt_xpu_staging *staging)
{
    if (!staging || !staging->is_pushed || staging->is_awaited)
        return ZE_RESULT_SUCCESS;
    staging->is_awaited = true;
    return xpu->ze->zeCommandQueueExecuteCommandLists(xpu->compute, 1, &staging->await, NULL);
}

int vrt_xpu_staging_pull(struct vrt_device *device, struct vrt_staging *base, size_t size_bytes)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_staging *staging = staging_of(base);
    const ze_event_handle_t pulled = staging->events[VRT_XPU_STAGING_PULLED];
    ze_event_handle_t computed = staging->events[VRT_XPU_STAGING_COMPUTED];
    ze_result_t r = ZE_RESULT_SUCCESS;

    if (staging->is_pulled) {
        r = await_pulled(xpu, staging);
        if (r == 0 && !staging->is_shared)
            r = xpu->ze->zeEventHostReset(pulled);
        if (r == 0)
            r = xpu->ze->zeEventHostReset(computed);
    }
    staging->is_pulled = false;
    if (r == 0)
        r = xpu->ze->zeCommandQueueExecuteCommandLists(xpu->compute, 1, &staging->tell, NULL);
    if (r == 0 && !staging->is_shared)
        r = xpu->ze->zeCommandListAppendMemoryCopy(xpu->download, base->host, buffer_of(base)->data,
                                                   size_bytes, pulled, 1, &computed);
    staging->is_pulled = r == 0;
    return vrt_xpu_outcome(xpu, r, "copying from it");
}

int vrt_xpu_staging_wait(struct vrt_device *device, struct vrt_staging *base)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_staging *staging = staging_of(base);
    /* Program by program: for each there is as much patience. */
    ze_result_t r = vrt_xpu_await(xpu, buffer_of(base)->used);

    if (r == 0 && staging->is_pulled)
        r = await_pulled(xpu, staging);
    return vrt_xpu_outcome(xpu, r, "computing");
}
