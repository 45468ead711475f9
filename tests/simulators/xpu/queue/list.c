/* SPDX-License-Identifier: MIT */

/* zeCommandList*, but for what is appended (append.c). */

#include "tests/simulators/xpu/queue/list.h"

#include <stdlib.h>

#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/queue/queue.h"

struct drv_list *drv_list_find(ze_command_list_handle_t handle)
{
    return drv_object_find(handle, DRV_LIST);
}

static void clear(struct drv_list *list)
{
    for (size_t i = 0; i < list->n_commands; i++)
        drv_command_free(list->commands[i]);
    list->n_commands = 0;
}

/* A list without a queue. */
static ze_result_t make(ze_context_handle_t context, ze_device_handle_t device, uint32_t group,
                        struct drv_list **ret_list)
{
    struct drv_place place = { .group = group };
    ze_result_t r = drv_context_find_device(context, device, &place.context, &place.device);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    if (group >= DRV_QUEUE_GROUP_COUNT)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "there is no group %u", group);
    struct drv_list *list = calloc(1, sizeof(*list));
    if (!list)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    place.life = place.device->life;
    list->place = place;
    *ret_list = list;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandListCreate(ze_context_handle_t context, ze_device_handle_t device,
                                    const ze_command_list_desc_t *desc,
                                    ze_command_list_handle_t *ret_list)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_list *list;
    if (!desc || !ret_list)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    ze_result_t r = make(context, device, desc->commandQueueGroupOrdinal, &list);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    drv_object_add(&list->object, DRV_LIST, &list->place.context->object);
    *ret_list = DRV_HANDLE(ze_command_list_handle_t, list);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandListCreateImmediate(ze_context_handle_t context, ze_device_handle_t device,
                                             const ze_command_queue_desc_t *desc,
                                             ze_command_list_handle_t *ret_list)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_list *list;
    if (!desc || !ret_list)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    ze_result_t r = make(context, device, desc->ordinal, &list);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    const struct drv_queue_params params = {
        .context = list->place.context,
        .device = list->place.device,
        .desc = desc,
    };
    r = drv_queue_start(&params, &list->queue);
    if (r != ZE_RESULT_SUCCESS) {
        free(list);
        return r;
    }
    drv_object_add(&list->object, DRV_LIST, &list->place.context->object);
    *ret_list = DRV_HANDLE(ze_command_list_handle_t, list);
    return ZE_RESULT_SUCCESS;
}

/* Whether the device isn't done with it. */
static bool is_busy(const struct drv_list *list)
{
    if (drv_device_is_dead(list->place.device, list->place.life))
        return false;
    return list->is_busy || (list->queue && !drv_queue_is_idle(list->queue));
}

ze_result_t drv_zeCommandListDestroy(ze_command_list_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_list *list = drv_list_find(handle);
    if (!list)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (is_busy(list))
        return drv_misuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the list isn't done");
    /* What a lost device has of it is let go first. */
    while (list->is_busy)
        drv_wait(INT64_MAX);
    ze_result_t r = drv_object_remove(&list->object);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    if (list->queue)
        drv_queue_stop(list->queue);
    clear(list);
    free(list->commands);
    free(list);
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandListClose(ze_command_list_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_list *list = drv_list_find(handle);
    if (!list)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (list->queue || list->is_closed)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the list is %s",
                          list->queue ? "immediate" : "closed already");
    list->is_closed = true;
    return ZE_RESULT_SUCCESS;
}

ze_result_t drv_zeCommandListReset(ze_command_list_handle_t handle)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    struct drv_list *list = drv_list_find(handle);
    if (!list)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (list->queue)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the list is immediate");
    if (list->is_busy)
        return drv_misuse(ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "the list isn't done");
    clear(list);
    list->is_closed = false;
    return ZE_RESULT_SUCCESS;
}
