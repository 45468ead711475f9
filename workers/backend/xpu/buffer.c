/* SPDX-License-Identifier: MIT */

/*
 * Memory of an XPU device, and copies to and from it
 *
 * Copies go through pinned memory in pieces, each with an event that says when it is done: a write
 * returns when the last piece is on its way, and while one piece travels the next is copied.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/xpu/device.h"

#define ALIGN 256

static ze_result_t init_stage(struct vrt_xpu_device *xpu, uint32_t i, struct vrt_xpu_stage *stage)
{
    const ze_host_mem_alloc_desc_t host = { .stype = ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC };
    const ze_event_desc_t event = {
        .stype = ZE_STRUCTURE_TYPE_EVENT_DESC,
        .index = i,
        .signal = ZE_EVENT_SCOPE_FLAG_HOST,
        .wait = ZE_EVENT_SCOPE_FLAG_HOST,
    };
    void *data;
    ze_result_t r = xpu->ze->zeMemAllocHost(xpu->context, &host, VRT_XPU_STAGE_BYTES, 4096, &data);

    if (r != 0)
        return r;
    stage->host = data;
    return xpu->ze->zeEventCreate(xpu->events, &event, &stage->done);
}

ze_result_t vrt_xpu_stages_init(struct vrt_xpu_device *xpu)
{
    ze_result_t r = ZE_RESULT_SUCCESS;

    for (uint32_t i = 0; r == 0 && i < VRT_XPU_STAGES; i++) {
        r = init_stage(xpu, i, &xpu->up[i]);
        if (r != 0)
            return r;
        r = init_stage(xpu, VRT_XPU_STAGES + i, &xpu->down[i]);
    }
    return r;
}

static void stage_done(struct vrt_xpu_device *xpu, struct vrt_xpu_stage *stage)
{
    if (stage->done)
        xpu->ze->zeEventDestroy(stage->done);
    if (stage->host)
        xpu->ze->zeMemFree(xpu->context, stage->host);
}

void vrt_xpu_stages_done(struct vrt_xpu_device *xpu)
{
    for (int i = 0; i < VRT_XPU_STAGES; i++) {
        stage_done(xpu, &xpu->up[i]);
        stage_done(xpu, &xpu->down[i]);
    }
}

ze_result_t vrt_xpu_alloc(struct vrt_xpu_device *xpu, size_t size_bytes, char **ret_data)
{
    const ze_relaxed_allocation_limits_exp_desc_t relaxed = {
        .stype = ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC,
        .flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE,
    };
    const ze_device_mem_alloc_desc_t desc = {
        .stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC,
        .pNext = size_bytes > xpu->max_allocation_bytes ? &relaxed : NULL,
    };
    void *data;
    ze_result_t r = xpu->ze->zeMemAllocDevice(xpu->context, &desc, VRT_MAX(size_bytes, 1), ALIGN,
                                              xpu->device, &data);

    if (r != 0)
        return r;
    *ret_data = data;
    return 0;
}

void vrt_xpu_free(struct vrt_xpu_device *xpu, char *data)
{
    if (data && !xpu->is_stuck)
        xpu->ze->zeMemFree(xpu->context, data);
}

static struct vrt_xpu_buffer *buffer_of(const struct vrt_buffer *base)
{
    return vrt_container_of(base, struct vrt_xpu_buffer, base);
}

int vrt_xpu_buffer_new(struct vrt_device *device, size_t size_bytes,
                       struct vrt_buffer **ret_buffer)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_buffer *buffer = calloc(1, sizeof(*buffer));

    if (!buffer)
        return vrt_raise(-ENOMEM);
    int r = vrt_xpu_outcome(xpu, vrt_xpu_alloc(xpu, size_bytes, &buffer->data),
                            "allocating memory");
    if (r != 0) {
        free(buffer);
        return r;
    }
    *ret_buffer = &buffer->base;
    return 0;
}

void vrt_xpu_buffer_free(struct vrt_device *device, struct vrt_buffer *base)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_buffer *buffer = buffer_of(base);

    /* What is under way may still read or write it. */
    if (!device->lost)
        vrt_xpu_outcome(xpu, vrt_xpu_await_uploads(xpu), "copying to it");
    if (!device->lost)
        vrt_xpu_outcome(xpu, vrt_xpu_await(xpu, buffer->used), "computing");
    vrt_xpu_free(xpu, buffer->data);
    free(buffer);
}

/* Waits until a stage may be used again. */
static ze_result_t await_stage(struct vrt_xpu_device *xpu, struct vrt_xpu_stage *stage)
{
    if (!stage->busy)
        return ZE_RESULT_SUCCESS;
    ze_result_t r = xpu->ze->zeEventHostSynchronize(stage->done, xpu->patience_ns);
    if (r != 0)
        return r;
    r = xpu->ze->zeEventHostReset(stage->done);
    if (r != 0)
        return r;
    stage->busy = false;
    return 0;
}

ze_result_t vrt_xpu_await_uploads(struct vrt_xpu_device *xpu)
{
    ze_result_t r = ZE_RESULT_SUCCESS;

    for (int i = 0; r == 0 && i < VRT_XPU_STAGES; i++)
        r = await_stage(xpu, &xpu->up[i]);
    return r;
}

/* Enqueues a copy that `stage` is one side of. */
static ze_result_t start_copy(struct vrt_xpu_device *xpu, ze_command_list_handle_t list,
                              struct vrt_xpu_stage *stage, char *to, const char *from,
                              size_t size_bytes)
{
    ze_result_t r = xpu->ze->zeCommandListAppendMemoryCopy(list, to, from, size_bytes,
                                                           stage->done, 0, NULL);

    stage->busy = r == 0;
    return r;
}

ze_result_t vrt_xpu_upload(struct vrt_xpu_device *xpu, char *to, const char *from,
                           size_t size_bytes)
{
    ze_result_t r = ZE_RESULT_SUCCESS;

    for (size_t at = 0; r == 0 && at < size_bytes; at += VRT_XPU_STAGE_BYTES) {
        struct vrt_xpu_stage *stage = &xpu->up[xpu->next_up];
        const size_t n = VRT_MIN(size_bytes - at, VRT_XPU_STAGE_BYTES);
        r = await_stage(xpu, stage);
        if (r != 0)
            break;
        xpu->next_up = (xpu->next_up + 1) % VRT_XPU_STAGES;
        memcpy(stage->host, from + at, n);
        r = start_copy(xpu, xpu->upload, stage, to + at, stage->host, n);
    }
    return r;
}

/* Several pieces are on their way while the first that came is copied on. */
ze_result_t vrt_xpu_download(struct vrt_xpu_device *xpu, const char *from, char *to,
                             size_t size_bytes)
{
    const size_t step = VRT_XPU_STAGE_BYTES, n = (size_bytes + step - 1) / step;
    ze_result_t r = ZE_RESULT_SUCCESS;

    for (size_t i = 0; r == 0 && i < n + VRT_XPU_STAGES; i++) {
        struct vrt_xpu_stage *stage = &xpu->down[i % VRT_XPU_STAGES];
        const size_t done = i - VRT_XPU_STAGES;     /* the piece that it held before, if any */
        r = await_stage(xpu, stage);
        if (r != 0)
            return r;
        if (i >= VRT_XPU_STAGES && done < n)
            memcpy(to + done * step, stage->host, VRT_MIN(size_bytes - done * step, step));
        if (i < n)
            r = start_copy(xpu, xpu->download, stage, stage->host, from + i * step,
                           VRT_MIN(size_bytes - i * step, step));
    }
    return r;
}

ze_result_t vrt_xpu_copy_peer(struct vrt_xpu_device *xpu, char *to, const char *from,
                              size_t size_bytes)
{
    struct vrt_xpu_stage *stage = &xpu->down[0];    /* for its event */
    ze_result_t r = await_stage(xpu, stage);

    if (r != 0)
        return r;
    r = start_copy(xpu, xpu->download, stage, to, from, size_bytes);
    return r != 0 ? r : await_stage(xpu, stage);
}

int vrt_xpu_buffer_write(struct vrt_device *device, struct vrt_buffer *dst, size_t offset_bytes,
                         const void *src, size_t size_bytes)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    struct vrt_xpu_buffer *buffer = buffer_of(dst);
    ze_result_t r = vrt_xpu_await(xpu, buffer->used);

    if (r == 0)
        r = vrt_xpu_upload(xpu, buffer->data + offset_bytes, src, size_bytes);
    return vrt_xpu_outcome(xpu, r, "copying to it");
}

int vrt_xpu_buffer_read(struct vrt_device *device, const struct vrt_buffer *src,
                        size_t offset_bytes, void *dst, size_t size_bytes)
{
    struct vrt_xpu_device *xpu = vrt_xpu_device_of(device);
    const struct vrt_xpu_buffer *buffer = buffer_of(src);
    ze_result_t r = vrt_xpu_await(xpu, buffer->used);

    if (r == 0)
        r = vrt_xpu_await_uploads(xpu);
    if (r == 0)
        r = vrt_xpu_download(xpu, buffer->data + offset_bytes, dst, size_bytes);
    return vrt_xpu_outcome(xpu, r, "copying from it");
}
