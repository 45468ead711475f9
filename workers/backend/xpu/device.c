/* SPDX-License-Identifier: MIT */

/* An XPU device's life: opened, given lists of commands, asked, closed. */

#include "backend/xpu/device.h"

#include <errno.h>
#include <stdlib.h>

#include "backend/packed-blob.h"
#include "backend/xpu/staging.h"
#include "backend/xpu/xpu.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "xpu"

int vrt_xpu_outcome(struct vrt_xpu_device *xpu, ze_result_t result, const char *what)
{
    const char *name = xpu->base.info ? xpu->base.info->name : "a device";

    switch (result) {
    case ZE_RESULT_SUCCESS:
        return 0;
    case ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY:
    case ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY:
    case ZE_RESULT_ERROR_UNSUPPORTED_SIZE:
        return VRT_BACKEND_E_NOMEM;
    case ZE_RESULT_NOT_READY:
        xpu->is_stuck = true;
        vrt_log_warning("%s: %s took more than %d s: it is given up, with what it may still use",
                        name, what, (int)(xpu->patience_ns / 1000000000));
        return VRT_BACKEND_E_LOST;
    default:
        vrt_log_warning("%s: %s failed: %s (0x%x)", name, what, vrt_xpu_result_text(result),
                        (unsigned)result);
        return result == ZE_RESULT_ERROR_DEVICE_LOST ? VRT_BACKEND_E_LOST : VRT_BACKEND_E_FAILED;
    }
}

static ze_result_t make_queues(struct vrt_xpu_device *xpu)
{
    const ze_command_queue_desc_t compute = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = xpu->compute_group,
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
    };
    const ze_command_queue_desc_t copy = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC,
        .ordinal = xpu->copy_group,
        .mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS,
    };
    const ze_fence_desc_t fence = { .stype = ZE_STRUCTURE_TYPE_FENCE_DESC };
    ze_result_t r = xpu->ze->zeCommandQueueCreate(xpu->context, xpu->device, &compute,
                                                  &xpu->compute);

    for (int i = 0; r == 0 && i < VRT_XPU_IN_FLIGHT; i++)
        r = xpu->ze->zeFenceCreate(xpu->compute, &fence, &xpu->fences[i]);
    if (r != 0)
        return r;
    r = xpu->ze->zeCommandListCreateImmediate(xpu->context, xpu->device, &copy, &xpu->upload);
    if (r != 0)
        return r;
    return xpu->ze->zeCommandListCreateImmediate(xpu->context, xpu->device, &copy, &xpu->download);
}

static ze_result_t start(struct vrt_xpu_device *xpu)
{
    const ze_event_pool_desc_t events = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_POOL_DESC,
        .flags = ZE_EVENT_POOL_FLAG_HOST_VISIBLE,
        .count = 2 * VRT_XPU_STAGES,
    };
    ze_device_properties_t properties = { .stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES };
    ze_result_t r = xpu->ze->zeDeviceGetProperties(xpu->device, &properties);

    xpu->max_allocation_bytes = properties.maxMemAllocSize;
    xpu->has_dpas = vrt_xpu_unit_has_dpas(xpu->ze, xpu->unit);
    vrt_xpu_kernels_init(xpu, &properties);
    if (r != 0)
        return r;
    r = vrt_xpu_unit_find_queues(xpu->ze, xpu->unit, &xpu->compute_group, &xpu->copy_group);
    if (r != 0)
        return r;
    r = make_queues(xpu);
    if (r != 0)
        return r;
    r = xpu->ze->zeEventPoolCreate(xpu->context, &events, 1, &xpu->device, &xpu->events);
    return r != 0 ? r : vrt_xpu_stages_init(xpu);
}

static void stop(struct vrt_xpu_device *xpu)
{
    vrt_xpu_stages_done(xpu);
    vrt_xpu_kernels_done(&xpu->kernels, xpu->ze);
    if (xpu->events)
        xpu->ze->zeEventPoolDestroy(xpu->events);
    vrt_xpu_list_free(xpu, xpu->upload);
    vrt_xpu_list_free(xpu, xpu->download);
    for (int i = 0; i < VRT_XPU_IN_FLIGHT; i++)
        if (xpu->fences[i])
            xpu->ze->zeFenceDestroy(xpu->fences[i]);
    if (xpu->compute)
        xpu->ze->zeCommandQueueDestroy(xpu->compute);
}

static void xpu_close(struct vrt_device *device)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);

    /* What is stuck may still run, and needs all that it was given. */
    if (!xpu->is_stuck) {
        stop(xpu);
        vrt_xpu_system_close(xpu->system);
    }
    free(xpu);
}

static int xpu_open(const struct vrt_device_info *info, struct vrt_device **ret_device)
{
    struct vrt_xpu_device *xpu = calloc(1, sizeof(*xpu));
    struct vrt_error error = { 0 };

    if (!xpu)
        return vrt_raise(-ENOMEM);
    if (vrt_xpu_system_open(&xpu->system, &error) || info->card >= xpu->system->n_units) {
        vrt_log_warning("%s can't be opened: %s", info->name,
                        error.message[0] ? error.message : "it isn't there any more");
        vrt_xpu_system_close(xpu->system);
        free(xpu);
        return VRT_BACKEND_E_LOST;
    }
    xpu->base.info = info;
    xpu->ze = &xpu->system->loader;
    xpu->unit = &xpu->system->units[info->card];
    xpu->context = xpu->unit->driver->context;
    xpu->device = xpu->unit->device;
    xpu->patience_ns = (uint64_t)info->options[VRT_XPU_OPTION_PATIENCE_S] * 1000000000;
    int r = vrt_xpu_outcome(xpu, start(xpu), "opening it");
    if (r != 0) {
        xpu_close(&xpu->base);
        return r;
    }
    vrt_xpu_sysman_init(&xpu->sysman, xpu->system, xpu->unit);
    *ret_device = &xpu->base;
    return 0;
}

ze_result_t vrt_xpu_list_new(struct vrt_xpu_device *xpu, ze_command_list_handle_t *ret_list)
{
    const ze_command_list_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC,
        .commandQueueGroupOrdinal = xpu->compute_group,
    };

    return xpu->ze->zeCommandListCreate(xpu->context, xpu->device, &desc, ret_list);
}

void vrt_xpu_list_free(struct vrt_xpu_device *xpu, ze_command_list_handle_t list)
{
    if (list && !xpu->is_stuck)
        xpu->ze->zeCommandListDestroy(list);
}

ze_result_t vrt_xpu_await(struct vrt_xpu_device *xpu, uint64_t n)
{
    while (xpu->n_finished < n) {
        const ze_fence_handle_t fence = xpu->fences[(xpu->n_finished + 1) % VRT_XPU_IN_FLIGHT];
        ze_result_t r = xpu->ze->zeFenceHostSynchronize(fence, xpu->patience_ns);
        if (r != 0)
            return r;
        r = xpu->ze->zeFenceReset(fence);
        if (r != 0)
            return r;
        xpu->n_finished++;
    }
    return ZE_RESULT_SUCCESS;
}

ze_result_t vrt_xpu_submit(struct vrt_xpu_device *xpu, ze_command_list_handle_t *lists,
                           uint32_t n_lists)
{
    const uint64_t n = xpu->n_submitted + 1;
    ze_result_t r = vrt_xpu_await_uploads(xpu);

    if (r != 0)
        return r;
    if (n > VRT_XPU_IN_FLIGHT)
        r = vrt_xpu_await(xpu, n - VRT_XPU_IN_FLIGHT);
    if (r != 0)
        return r;
    r = xpu->ze->zeCommandQueueExecuteCommandLists(xpu->compute, n_lists, lists,
                                                   xpu->fences[n % VRT_XPU_IN_FLIGHT]);
    if (r != 0)
        return r;
    xpu->n_submitted = n;
    return 0;
}

static int xpu_finish(struct vrt_device *device)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    ze_result_t r = vrt_xpu_await_uploads(xpu);

    if (r == 0)
        r = vrt_xpu_await(xpu, xpu->n_submitted);
    return vrt_xpu_outcome(xpu, r, "computing");
}

static int xpu_memory(struct vrt_device *device, struct vrt_memory_info *ret_info)
{
    const struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);

    vrt_xpu_sysman_memory(&xpu->sysman, ret_info);
    if (ret_info->total_bytes < 0)
        ret_info->total_bytes = device->info->memory_total_bytes;
    return 0;
}

static void xpu_sensors(struct vrt_device *device, struct vrt_device_sensors *ret_sensors)
{
    vrt_xpu_sysman_read(&vrt_xpu_device_of(device)->sysman, ret_sensors);
}

const struct vrt_backend_ops vrt_xpu_ops = {
    .enumerate = vrt_xpu_enumerate,
    .open = xpu_open,
    .close = xpu_close,
    .buffer_new = vrt_xpu_buffer_new,
    .buffer_free = vrt_xpu_buffer_free,
    .buffer_write = vrt_xpu_buffer_write,
    .buffer_read = vrt_xpu_buffer_read,
    .staging_new = vrt_xpu_staging_new,
    .staging_free = vrt_xpu_staging_free,
    .staging_push = vrt_xpu_staging_push,
    .staging_pull = vrt_xpu_staging_pull,
    .staging_wait = vrt_xpu_staging_wait,
    .supports = vrt_kernel_supports,
    .workspace_bytes = vrt_kernel_workspace_bytes,
    .packed_new = vrt_xpu_packed_new,
    .packed_fill = vrt_packed_blob_fill,
    .packed_free = vrt_packed_blob_free,
    .replica_begin = vrt_xpu_replica_begin,
    .replica_free = vrt_xpu_replica_free,
    .replica_fill = vrt_xpu_replica_fill,
    .replica_checksum = vrt_xpu_replica_checksum,
    .replica_can_receive = vrt_xpu_replica_can_receive,
    .replica_receive = vrt_xpu_replica_receive,
    .program_new = vrt_xpu_program_new,
    .program_free = vrt_xpu_program_free,
    .program_submit = vrt_xpu_program_submit,
    .finish = xpu_finish,
    .memory = xpu_memory,
    .sensors = xpu_sensors,
};
