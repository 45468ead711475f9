/* SPDX-License-Identifier: MIT */
#pragma once

/* Queues: a thread for each, which does one command after the other. */

#include "tests/simulators/xpu/queue/list.h"

struct drv_queue;

/* A queue for an immediate list, or for zeCommandQueueCreate(). */
struct drv_queue_params {
    struct drv_context *context;
    struct drv_device *device;
    const ze_command_queue_desc_t *desc;
};

/* Locked. Return: as zeCommandQueueCreate(). The queue is no object yet. */
ze_result_t drv_queue_start(const struct drv_queue_params *params, struct drv_queue **ret_queue);

/*
 * Locked, but while it waits for the thread. Ends the queue, which has nothing left to do, or whose
 * device is lost.
 */
void drv_queue_stop(struct drv_queue *queue);

/*
 * Locked, but while it waits. The process ends: the threads of all queues do as well, whatever they
 * were at, and all devices are lost.
 */
void drv_queues_end(void);

/* Locked. Gives the queue a command of its own, which it frees. Return: as the append would. */
ze_result_t drv_queue_submit(struct drv_queue *queue, struct drv_command *command);

/* Locked. Whether it has nothing to do. */
bool drv_queue_is_idle(const struct drv_queue *queue);

/* Locked. Whether a command that was given to a queue and isn't done needs the event. */
bool drv_queues_use_event(ze_event_handle_t event);

/* Locked. Likewise, of memory. */
bool drv_queues_use_memory(const struct drv_memory *memory);
