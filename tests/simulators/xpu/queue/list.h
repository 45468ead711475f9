/* SPDX-License-Identifier: MIT */
#pragma once

/* Command lists: recorded, closed, and executed as often as one likes; or immediate. */

#include "tests/simulators/xpu/queue/command.h"

struct drv_list {
    struct drv_object object;
    struct drv_place place;
    struct drv_command **commands;
    size_t n_commands, capacity;
    bool is_closed;
    bool is_busy;                       /* given to a queue that isn't done with it */
    struct drv_queue *queue;            /* of an immediate list: its own; else NULL */
};

/* Locked. NULL: no such list (drv_object_find()). */
struct drv_list *drv_list_find(ze_command_list_handle_t handle);
