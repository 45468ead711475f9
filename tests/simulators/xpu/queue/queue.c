/* SPDX-License-Identifier: MIT */

#include "tests/simulators/xpu/queue/queue.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/list.h"
#include "tests/simulators/xpu/driver/calls.h"
#include "tests/simulators/xpu/queue/fence.h"
#include "tests/simulators/xpu/queue/order.h"
#include "tests/simulators/xpu/queue/queue-impl.h"

/* What a queue was given at once: lists, or one command of its own. */
struct job {
    struct vrt_list link;
    struct drv_list *list;
    struct drv_command *own;
    struct drv_fence *fence;            /* NULL: none */
};

static struct vrt_list queues = { &queues, &queues };

static struct job *job_free(struct job *job)
{
    if (job)
        drv_command_free(job->own);
    free(job);
    return NULL;
}

/* Whether `uses` says so of a command of the job. */
static bool job_uses(const struct job *job, bool (*uses)(const struct drv_command *, const void *),
                     const void *what)
{
    if (job->own)
        return uses(job->own, what);
    for (size_t i = 0; i < job->list->n_commands; i++) {
        if (uses(job->list->commands[i], what))
            return true;
    }
    return false;
}

/* The queue that has such a command to do, or NULL. */
static struct drv_queue *find_user(bool (*uses)(const struct drv_command *, const void *),
                                   const void *what)
{
    struct drv_queue *queue;
    struct job *job;
    VRT_LIST_FOREACH(queue, &queues, link) {
        VRT_LIST_FOREACH(job, &queue->jobs, link) {
            if (job_uses(job, uses, what))
                return queue;
        }
    }
    return NULL;
}

/* The commands of a lost device are waited for: it lets go of them. */
static bool queues_use(bool (*uses)(const struct drv_command *, const void *), const void *what)
{
    const struct drv_queue *user;
    while ((user = find_user(uses, what)) != NULL) {
        if (!drv_device_is_dead(user->place.device, user->place.life))
            return true;
        drv_wait(INT64_MAX);
    }
    return false;
}

static bool uses_event(const struct drv_command *command, const void *event)
{
    return drv_command_uses_event(command, (ze_event_handle_t)(uintptr_t)event);
}

static bool uses_memory(const struct drv_command *command, const void *memory)
{
    return drv_command_uses_memory(command, memory);
}

bool drv_queues_use_event(ze_event_handle_t event)
{
    return queues_use(uses_event, event);
}

bool drv_queues_use_memory(const struct drv_memory *memory)
{
    return queues_use(uses_memory, memory);
}

bool drv_queue_is_idle(const struct drv_queue *queue)
{
    return vrt_list_is_empty(&queue->jobs);
}

static void end_job(struct job *job, ze_result_t r)
{
    vrt_list_remove(&job->link);
    if (job->list)
        job->list->is_busy = false;
    if (job->fence) {
        job->fence->is_busy = false;
        job->fence->is_signaled = r == ZE_RESULT_SUCCESS;
    }
    job_free(job);
    drv_changed();
}

/* The queue's thread. */
static void *work(void *argument)
{
    struct drv_queue *queue = argument;
    VRT_CLEANUP(drv_leave) struct drv_call call = drv_enter("drv_a queue");

    while (!queue->is_stopping || !vrt_list_is_empty(&queue->jobs)) {
        struct job *job = VRT_LIST_FIRST(&queue->jobs, struct job, link);
        if (!job) {
            drv_wait_for(&queue->given);
            continue;
        }
        ze_result_t r = queue->result;
        if (r == ZE_RESULT_SUCCESS)
            r = job->own ? drv_command_run(job->own, &queue->place)
                         : drv_list_run(job->list, &queue->place);
        queue->result = r;
        end_job(job, r);
    }
    return NULL;
}

ze_result_t drv_queue_start(const struct drv_queue_params *params, struct drv_queue **ret_queue)
{
    const ze_command_queue_desc_t *desc = params->desc;
    if (desc->ordinal >= DRV_QUEUE_GROUP_COUNT || desc->index > 0)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "there is no queue %u of group %u",
                          desc->index, desc->ordinal);
    struct drv_queue *queue = calloc(1, sizeof(*queue));
    if (!queue)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    queue->place = (struct drv_place){
        .context = params->context,
        .device = params->device,
        .group = desc->ordinal,
        .life = params->device->life,
    };
    queue->is_synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
    vrt_list_init(&queue->jobs);
    pthread_cond_init(&queue->given, NULL);
    if (pthread_create(&queue->thread, NULL, work, queue) != 0) {
        pthread_cond_destroy(&queue->given);
        free(queue);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    vrt_list_append(&queues, &queue->link);
    *ret_queue = queue;
    return ZE_RESULT_SUCCESS;
}

void drv_queue_stop(struct drv_queue *queue)
{
    queue->is_stopping = true;
    pthread_cond_signal(&queue->given);
    drv_unlock();
    pthread_join(queue->thread, NULL);
    drv_relock();
    vrt_list_remove(&queue->link);
    pthread_cond_destroy(&queue->given);
    free(queue);
}

void drv_queues_end(void)
{
    struct drv_queue *queue;
    VRT_LIST_FOREACH(queue, &queues, link) {
        if (queue->is_stopping)
            continue;
        queue->is_stopping = true;
        pthread_cond_signal(&queue->given);
        drv_device_lose(queue->place.device, INT64_MAX);
        drv_unlock();
        pthread_join(queue->thread, NULL);
        drv_relock();
    }
}

ze_result_t drv_queue_wait(struct drv_queue *queue, uint64_t timeout_ns)
{
    const int64_t deadline_ns = drv_deadline(timeout_ns);
    while (!drv_queue_is_idle(queue)) {
        if (drv_device_is_dead(queue->place.device, queue->place.life))
            return ZE_RESULT_ERROR_DEVICE_LOST;
        if (vrt_clock_now_ns() >= deadline_ns)
            return ZE_RESULT_NOT_READY;
        drv_wait(deadline_ns);
    }
    return drv_device_is_dead(queue->place.device, queue->place.life)
               ? ZE_RESULT_ERROR_DEVICE_LOST
               : ZE_RESULT_SUCCESS;
}

static void expect_event(const struct drv_command *command, struct drv_device *device)
{
    struct drv_event *event = command->signal ? drv_event_find(command->signal) : NULL;
    if (event)
        drv_event_expect(event, device);
}

ze_result_t drv_queue_submit(struct drv_queue *queue, struct drv_command *command)
{
    VRT_CLEANUP(drv_command_freep) struct drv_command *owned = command;
    if (!drv_command_check(command, &queue->place))
        return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    struct job *job = calloc(1, sizeof(*job));
    if (!job)
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    expect_event(command, queue->place.device);
    job->own = owned;
    owned = NULL;
    vrt_list_append(&queue->jobs, &job->link);
    pthread_cond_signal(&queue->given);
    return queue->is_synchronous ? drv_queue_wait(queue, UINT64_MAX) : ZE_RESULT_SUCCESS;
}

/* Whether the list can be given to the queue: else misuse. */
static ze_result_t check_list(const struct drv_queue *queue, const struct drv_list *list)
{
    const struct drv_place *place = &queue->place;
    if (list->queue)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "the list is immediate");
    if (!list->is_closed)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the list isn't closed");
    if (list->is_busy)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT, "the list is being executed already");
    if (list->place.device != place->device || list->place.context != place->context)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_ARGUMENT,
                          "the list is of another device or context than the queue");
    if (list->place.group != place->group)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE,
                          "the list is for another group than the queue");
    for (size_t i = 0; i < list->n_commands; i++) {
        if (!drv_command_check(list->commands[i], place))
            return ZE_RESULT_ERROR_INVALID_ARGUMENT;
    }
    return ZE_RESULT_SUCCESS;
}

static ze_result_t check_fence(const struct drv_queue *queue, ze_fence_handle_t handle,
                               struct drv_fence **ret_fence)
{
    struct drv_fence *fence = handle ? drv_fence_find(handle) : NULL;
    if (handle && !fence)
        return ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
    if (fence && fence->queue != queue)
        return drv_misuse(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                          "the fence is of another queue");
    if (fence && (fence->is_signaled || fence->is_busy))
        return drv_misuse(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                          "the fence wasn't reset");
    *ret_fence = fence;
    return ZE_RESULT_SUCCESS;
}

/* A job for each list, in `jobs`. Return: false where there is no memory for them. */
static bool make_jobs(struct vrt_list *jobs, ze_command_list_handle_t *handles, uint32_t n,
                      struct drv_fence *fence)
{
    for (uint32_t i = 0; i < n; i++) {
        struct job *job = calloc(1, sizeof(*job));
        if (!job)
            return false;
        job->list = drv_list_find(handles[i]);
        job->fence = i + 1 == n ? fence : NULL;
        vrt_list_append(jobs, &job->link);
    }
    return true;
}

static void queue_jobs(struct drv_queue *queue, struct vrt_list *jobs)
{
    struct job *job;
    VRT_LIST_FOREACH(job, jobs, link) {
        vrt_list_remove(&job->link);
        job->list->is_busy = true;
        if (job->fence)
            job->fence->is_busy = true;
        for (size_t i = 0; i < job->list->n_commands; i++)
            expect_event(job->list->commands[i], queue->place.device);
        vrt_list_append(&queue->jobs, &job->link);
    }
    pthread_cond_signal(&queue->given);
}

ze_result_t drv_queue_execute(struct drv_queue *queue, ze_command_list_handle_t *handles,
                              uint32_t n, ze_fence_handle_t fence_handle)
{
    struct drv_fence *fence = NULL;
    struct vrt_list jobs;
    struct job *job;
    ze_result_t r = check_fence(queue, fence_handle, &fence);

    for (uint32_t i = 0; r == ZE_RESULT_SUCCESS && i < n; i++) {
        const struct drv_list *list = drv_list_find(handles[i]);
        r = list ? check_list(queue, list) : ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
    }
    if (r != ZE_RESULT_SUCCESS)
        return r;
    vrt_list_init(&jobs);
    if (!make_jobs(&jobs, handles, n, fence)) {
        VRT_LIST_FOREACH(job, &jobs, link)
            job_free(job);
        return ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    queue_jobs(queue, &jobs);
    return queue->is_synchronous ? drv_queue_wait(queue, UINT64_MAX) : ZE_RESULT_SUCCESS;
}
