/* SPDX-License-Identifier: MIT */
#pragma once

/* What a queue is made of, for the calls that are about queues and fences. */

#include <pthread.h>

#include "base/list.h"
#include "tests/simulators/xpu/queue/queue.h"

struct drv_queue {
    struct drv_object object;           /* not of an immediate list's */
    struct vrt_list link;               /* of all queues */
    struct drv_place place;
    bool is_synchronous, is_stopping;
    ze_result_t result;                 /* DEVICE_LOST: nothing is done any more */
    struct vrt_list jobs;               /* the first is being done */
    pthread_cond_t given;               /* jobs, or the word to stop */
    pthread_t thread;
};

/* Locked, but while it waits. Return: 0, NOT_READY, DEVICE_LOST. */
ze_result_t drv_queue_wait(struct drv_queue *queue, uint64_t timeout_ns);

/* Locked. Gives it `n` lists, and a fence that may be NULL. Return: as the API's call. */
ze_result_t drv_queue_execute(struct drv_queue *queue, ze_command_list_handle_t *handles,
                              uint32_t n, ze_fence_handle_t fence_handle);
