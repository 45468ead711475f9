/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/queue/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/simulators/mps/queue/flip.h"
#include "tests/simulators/mps/runtime/faults.h"

struct mtl_command *mtl_command_new(enum mtl_command_kind kind)
{
    struct mtl_command *command = mtl_allocate(sizeof(*command));

    command->kind = kind;
    return command;
}

static void release_dispatch(struct mtl_dispatch *dispatch)
{
    for (size_t i = 0; i < VRT_MSL_BUFFERS; i++) {
        mtl_release(dispatch->buffers[i]);
        mtl_memory_done(&dispatch->bytes[i]);
    }
    mtl_release(dispatch->pipeline);
}

void mtl_command_free(struct mtl_command *command)
{
    if (!command)
        return;
    switch (command->kind) {
    case MTL_COMMAND_DISPATCH:
        release_dispatch(&command->dispatch);
        break;
    case MTL_COMMAND_COPY:
        mtl_release(command->copy.from);
        mtl_release(command->copy.to);
        break;
    case MTL_COMMAND_SIGNAL:
    case MTL_COMMAND_WAIT:
        mtl_release(command->event.event);
        break;
    }
    free(command);
}

static void run_dispatch(const struct mtl_dispatch *dispatch, struct mtl_device *device,
                         struct mtl_outcome *ret_outcome)
{
    struct mtl_flip *flip = NULL;

    if (mtl_faults_count(device->index, MTL_AT_RUN).flips)
        flip = mtl_flip_new(dispatch);
    mtl_grid_run(&dispatch->grid, ret_outcome);
    mtl_flip_strike(flip);
    mtl_flip_free(flip);
    if (ret_outcome->code)
        fprintf(stderr, "vrt-mps-sim: %s\n", ret_outcome->why);
}

static void run_copy(const struct mtl_copy *copy, struct mtl_device *device)
{
    char *to = copy->to->memory.data + copy->to_offset;

    memcpy(to, copy->from->memory.data + copy->from_offset, copy->n_bytes);
    if (mtl_faults_count(device->index, MTL_AT_COPY).flips)
        mtl_flip_bytes(to, copy->n_bytes);
}

/* Until the event comes: the device may be gone first. */
static void wait_for(const struct mtl_event_use *use, struct mtl_device *device,
                     struct mtl_outcome *ret_outcome)
{
    mtl_lock();
    while (use->event->value < use->value && !device->gone)
        mtl_wait(INT64_MAX);
    if (use->event->value < use->value)
        ret_outcome->code = device->gone;
    mtl_unlock();
}

void mtl_command_run(const struct mtl_command *command, struct mtl_device *device,
                     struct mtl_outcome *ret_outcome)
{
    *ret_outcome = (struct mtl_outcome){ 0 };
    switch (command->kind) {
    case MTL_COMMAND_DISPATCH:
        run_dispatch(&command->dispatch, device, ret_outcome);
        break;
    case MTL_COMMAND_COPY:
        run_copy(&command->copy, device);
        break;
    case MTL_COMMAND_SIGNAL:
        mtl_event_signal(command->event.event, command->event.value);
        break;
    case MTL_COMMAND_WAIT:
        wait_for(&command->event, device, ret_outcome);
        break;
    }
}
