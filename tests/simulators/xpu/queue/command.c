/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/queue/command.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "tests/simulators/xpu/driver/faults.h"
#include "tests/simulators/xpu/queue/flip.h"
#include "tests/simulators/xpu/driver/report.h"

#define HANG_LOOK_NS (20 * VRT_NS_PER_MS)

/* The same command, by the addresses of the bytes that it is about. */
struct work {
    enum drv_command_kind kind;
    void *to;
    const void *from;
    struct drv_launch *launch;          /* of its own */
};

struct drv_command *drv_command_free(struct drv_command *command)
{
    if (command) {
        free(command->launch);
        free(command->waits);
    }
    free(command);
    return NULL;
}

static bool resolve_launch(const struct drv_command *command, const struct drv_place *place,
                           struct work *work)
{
    const struct drv_launch *launch = command->launch;
    const size_t n = sizeof(*launch) + launch->kernel->n_arguments * sizeof(*launch->arguments);
    if (!drv_object_find((void *)(uintptr_t)launch->module, DRV_MODULE))
        return false;
    work->launch = malloc(n);
    if (!work->launch)
        return false;
    memcpy(work->launch, launch, n);
    for (uint32_t i = 0; i < launch->kernel->n_arguments; i++) {
        struct drv_argument *argument = &work->launch->arguments[i];
        if (launch->kernel->arguments[i].kind != DRV_ARGUMENT_POINTER || !argument->pointer)
            continue;
        argument->pointer = drv_memory_reach(place->context, place->device, argument->pointer, 1,
                                             false);
        if (!argument->pointer)
            return false;
    }
    return true;
}

/* Return: false, and misuse, where the command is about what it can't have. */
static bool resolve(const struct drv_command *command, const struct drv_place *place,
                    struct work *work)
{
    *work = (struct work){ .kind = command->kind };
    if (command->launch && !resolve_launch(command, place, work))
        return false;
    if (command->to && !(work->to = drv_memory_reach(place->context, place->device, command->to,
                                                     command->n_bytes, true)))
        return false;
    return !command->from ||
           (work->from = drv_memory_reach(place->context, place->device, command->from,
                                          command->n_bytes, true)) != NULL;
}

static bool check_events(const struct drv_command *command)
{
    for (uint32_t i = 0; i < command->n_waits; i++) {
        if (!drv_event_find(command->waits[i]))
            return false;
    }
    return !command->signal || drv_event_find(command->signal);
}

bool drv_command_check(const struct drv_command *command, const struct drv_place *place)
{
    struct work work;
    if (!check_events(command))
        return false;
    const bool can = resolve(command, place, &work);
    free(work.launch);
    return can;
}

/* Return: DEVICE_LOST where the device was lost meanwhile. */
static ze_result_t wait_for_events(const struct drv_command *command,
                                   const struct drv_place *place)
{
    for (uint32_t i = 0; i < command->n_waits;) {
        const struct drv_event *event = drv_event_find(command->waits[i]);
        if (drv_device_is_dead(place->device, place->life))
            return ZE_RESULT_ERROR_DEVICE_LOST;
        if (!event || event->is_signaled)
            i++;
        else
            drv_wait(INT64_MAX);
    }
    return ZE_RESULT_SUCCESS;
}

/* Not locked: what takes long. Return: false where it failed. */
static bool do_work(const struct drv_command *command, const struct work *work)
{
    switch (work->kind) {
    case DRV_COMMAND_COPY:
        memmove(work->to, work->from, command->n_bytes);
        return true;
    case DRV_COMMAND_LAUNCH:
        return drv_launch_run(work->launch) == 0;
    default:
        return true;
    }
}

/* What the schedule of faults says of the command. */
static struct drv_fault count(const struct drv_command *command, const struct drv_place *place)
{
    switch (command->kind) {
    case DRV_COMMAND_COPY:
        return drv_faults_count(place->device, DRV_AT_COPY);
    case DRV_COMMAND_LAUNCH:
        return drv_faults_count(place->device, DRV_AT_RUN);
    default:
        return (struct drv_fault){ .slow = 1 };
    }
}

/* The command never ends, unless the device is lost. */
static ze_result_t hang(const struct drv_place *place)
{
    place->device->n_hanging++;
    while (!drv_device_is_dead(place->device, place->life)) {
        drv_wait(vrt_clock_now_ns() + HANG_LOOK_NS);
        drv_faults_refresh();
    }
    place->device->n_hanging--;
    return ZE_RESULT_ERROR_DEVICE_LOST;
}

/* Whose memory it is; NULL: the host's. */
static const struct drv_device *owner_of(const void *address)
{
    const struct drv_memory *memory = drv_memory_find(address);
    return memory && memory->type == ZE_MEMORY_TYPE_DEVICE ? memory->device : NULL;
}

/* From when to when the device was busy with it. */
static void report_span(const struct drv_command *command, const struct drv_place *place,
                        int64_t start_ns)
{
    const bool is_copy = command->kind == DRV_COMMAND_COPY;
    if (command->kind == DRV_COMMAND_LAUNCH)
        drv_report_span(place->device, "run", start_ns);
    else if (is_copy && !owner_of(command->to) != !owner_of(command->from))
        drv_report_span(place->device, owner_of(command->to) ? "up" : "down", start_ns);
}

/* Does it, in all the time it takes. Return: whether it was done. */
static bool do_slowly(const struct drv_command *command, const struct drv_place *place,
                      struct work *work, const struct drv_fault *fault)
{
    const int64_t start_ns = vrt_clock_now_ns();
    VRT_CLEANUP(drv_flip_freep) struct drv_flip *flip =
        fault->flips && command->launch ? drv_flip_new(command->launch) : NULL;

    drv_sleep(fault->delay_ns);
    const int64_t begin_ns = vrt_clock_now_ns();
    drv_unlock();
    const bool is_done = do_work(command, work);
    drv_relock();
    if (flip)
        drv_flip_launch(flip);
    else if (fault->flips)
        drv_flip_bytes(work->to, command->n_bytes);
    drv_sleep((vrt_clock_now_ns() - begin_ns) * (fault->slow - 1));
    report_span(command, place, start_ns);
    place->device->busy_ns[place->group] += vrt_clock_now_ns() - start_ns;
    return is_done;
}

/* What is left to do when the work is done. */
static void finish(const struct drv_command *command)
{
    if (command->kind == DRV_COMMAND_COPY)
        drv_report_copy(owner_of(command->to), owner_of(command->from), command->n_bytes);
    if (command->signal)
        drv_event_signal(command->signal);
}

ze_result_t drv_command_run(const struct drv_command *command, const struct drv_place *place)
{
    struct work work;
    ze_result_t r = wait_for_events(command, place);
    if (r != ZE_RESULT_SUCCESS)
        return r;
    const struct drv_fault fault = count(command, place);
    if (fault.hangs)
        return hang(place);
    if (drv_device_is_dead(place->device, place->life))
        return ZE_RESULT_ERROR_DEVICE_LOST;

    bool is_done = resolve(command, place, &work);
    if (is_done) {
        is_done = do_slowly(command, place, &work, &fault);
        if (!is_done)
            drv_misuse(ZE_RESULT_SUCCESS, "PoCL doesn't run kernel %s",
                       command->launch->kernel->name);
    }
    free(work.launch);
    /* As on a card: who does what can't be done loses it. */
    if (!is_done)
        drv_device_lose(place->device, INT64_MAX);
    if (drv_device_is_dead(place->device, place->life))
        return ZE_RESULT_ERROR_DEVICE_LOST;
    finish(command);
    return ZE_RESULT_SUCCESS;
}

bool drv_command_uses_event(const struct drv_command *command, ze_event_handle_t event)
{
    for (uint32_t i = 0; i < command->n_waits; i++) {
        if (command->waits[i] == event)
            return true;
    }
    return command->signal == event;
}

bool drv_command_uses_memory(const struct drv_command *command, const struct drv_memory *memory)
{
    if (drv_memory_find(command->to) == memory || drv_memory_find(command->from) == memory)
        return true;
    const struct drv_launch *launch = command->launch;
    for (uint32_t i = 0; launch && i < launch->kernel->n_arguments; i++) {
        if (launch->kernel->arguments[i].kind == DRV_ARGUMENT_POINTER &&
            drv_memory_find(launch->arguments[i].pointer) == memory)
            return true;
    }
    return false;
}
