/* SPDX-License-Identifier: MIT */

/* zeCommandListAppend*: commands, as they are recorded, or given to an immediate list's queue. */

#include <stdlib.h>
#include <string.h>

#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/driver/faults.h"
#include "tests/simulators/xpu/modules/kernel.h"
#include "tests/simulators/xpu/queue/list.h"
#include "tests/simulators/xpu/queue/queue.h"

/* The events of an append. */
struct events {
    ze_event_handle_t signal;
    uint32_t n_waits;
    ze_event_handle_t *waits;
};

static ze_result_t check_events(const struct drv_list *list, const struct events *events)
{
    if (events->n_waits && !events->waits)
        return ZE_RESULT_ERROR_INVALID_SIZE;
    for (uint32_t i = 0; i <= events->n_waits; i++) {
        ze_event_handle_t handle = i < events->n_waits ? events->waits[i] : events->signal;
        const struct drv_event *event = handle ? drv_event_find(handle) : NULL;
        if (handle ? !event : i < events->n_waits)
            return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
        if (event && event->pool->context != list->place.context)
            return drv_misuse(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                              "the event is of another context");
    }
    return ZE_RESULT_SUCCESS;
}

static ze_result_t record(struct drv_list *list, struct drv_command *command)
{
    if (list->n_commands == list->capacity) {
        size_t capacity = list->capacity ? 2 * list->capacity : 32;
        struct drv_command **grown = reallocarray(list->commands, capacity, sizeof(*grown));
        if (!grown) {
            drv_command_free(command);
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        }
        list->commands = grown;
        list->capacity = capacity;
    }
    list->commands[list->n_commands++] = command;
    return ZE_RESULT_SUCCESS;
}

/*
 * Appends a copy of `wanted`, whose launch is the list's from now on.
 * Return: as the API's call.
 */
static ze_result_t append(ze_command_list_handle_t handle, const struct drv_command *wanted,
                          const struct events *events)
{
    VRT_CLEANUP(drv_command_freep) struct drv_command *command = calloc(1, sizeof(*command));
    struct drv_list *list = drv_list_find(handle);
    if (!command)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    *command = *wanted;
    if (!list)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (list->is_closed)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the list is closed");
    ze_result_t r = drv_device_use(list->place.device);
    if (r == ZE_RESULT_SUCCESS)
        r = check_events(list, events);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    command->signal = events->signal;
    command->n_waits = events->n_waits;
    if (events->n_waits) {
        command->waits = malloc(events->n_waits * sizeof(*command->waits));
        if (!command->waits)
            return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
        memcpy(command->waits, events->waits, events->n_waits * sizeof(*command->waits));
    }
    return list->queue ? drv_queue_submit(list->queue, VRT_STEAL(command))
                       : record(list, VRT_STEAL(command));
}

ze_result_t drv_zeCommandListAppendMemoryCopy(ze_command_list_handle_t list, void *to,
                                              const void *from, size_t n_bytes,
                                              ze_event_handle_t signal, uint32_t n_waits,
                                              ze_event_handle_t *waits)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct events events = { signal, n_waits, waits };
    if (!to || !from)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    return append(list, &(struct drv_command){ .kind = DRV_COMMAND_COPY, .to = to, .from = from,
                                               .n_bytes = n_bytes }, &events);
}

ze_result_t drv_zeCommandListAppendLaunchKernel(ze_command_list_handle_t handle,
                                                ze_kernel_handle_t kernel_handle,
                                                const ze_group_count_t *n_groups,
                                                ze_event_handle_t signal, uint32_t n_waits,
                                                ze_event_handle_t *waits)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct events events = { signal, n_waits, waits };
    const struct drv_list *list = drv_list_find(handle);
    const struct drv_kernel *kernel = drv_kernel_find(kernel_handle);
    if (!list || !kernel)
        return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    if (!n_groups)
        return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
    if (list->place.group != DRV_QUEUE_COMPUTE)
        return ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE;
    if (kernel->module->device != list->place.device ||
        kernel->module->context != list->place.context)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                          "%s is of another device or context than the list", kernel->info->name);
    if (!n_groups->groupCountX || !n_groups->groupCountY || !n_groups->groupCountZ)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "%s is launched on no group",
                          kernel->info->name);
    ze_result_t r;
    struct drv_launch *launch = drv_kernel_launch(kernel, n_groups, &r);
    if (!launch)
        return r;
    return append(handle, &(struct drv_command){ .kind = DRV_COMMAND_LAUNCH, .launch = launch },
                  &events);
}

ze_result_t drv_zeCommandListAppendBarrier(ze_command_list_handle_t list, ze_event_handle_t signal,
                                           uint32_t n_waits, ze_event_handle_t *waits)
{
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter(__func__);
    const struct events events = { signal, n_waits, waits };
    return append(list, &(struct drv_command){ .kind = DRV_COMMAND_BARRIER }, &events);
}
