/* SPDX-License-Identifier: MIT */
#pragma once

/* A command of a list: what a queue does at once. */

#include "tests/simulators/xpu/queue/event.h"
#include "tests/simulators/xpu/memory/memory.h"
#include "tests/simulators/xpu/modules/program.h"

enum drv_command_kind {
    DRV_COMMAND_COPY,
    DRV_COMMAND_LAUNCH,
    DRV_COMMAND_BARRIER,
};

struct drv_command {
    enum drv_command_kind kind;
    void *to;
    const void *from;
    size_t n_bytes;
    struct drv_launch *launch;
    ze_event_handle_t signal;           /* NULL: none */
    ze_event_handle_t *waits;
    uint32_t n_waits;
};

/* Whose command it is. */
struct drv_place {
    struct drv_context *context;
    struct drv_device *device;
    enum drv_queue_group group;
    unsigned life;                      /* of the device */
};

/* Return: NULL. */
struct drv_command *drv_command_free(struct drv_command *command);

VRT_DEFINE_CLEANUP(struct drv_command, drv_command_free)

/*
 * Locked. Looks whether the command can do as it says: misuse where it can't, as a whole list is
 * executed on its own.
 */
bool drv_command_check(const struct drv_command *command, const struct drv_place *place);

/*
 * Locked, but while it works. Waits for the command's events, does it, and signals its event.
 * Return: DEVICE_LOST where the device is, or was lost for what the command did.
 */
ze_result_t drv_command_run(const struct drv_command *command, const struct drv_place *place);

/* Locked. Whether the command needs the event. */
bool drv_command_uses_event(const struct drv_command *command, ze_event_handle_t event);

/* Locked. Whether the command reads or writes in the memory. */
bool drv_command_uses_memory(const struct drv_command *command, const struct drv_memory *memory);
