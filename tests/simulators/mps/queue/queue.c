/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/queue/queue.h"

#include <stdlib.h>

#include "tests/simulators/mps/queue/command-buffer.h"
#include "tests/simulators/mps/metal/limits.h"

/* The thread's own: it may outlive its queue for a moment. */
struct mtl_worker {
    struct mtl_command_buffer *first, **last;   /* under the lock, as all of it */
    bool is_ended;
};

/* The next command buffer; NULL: the queue has ended. */
static struct mtl_command_buffer *take(struct mtl_worker *worker)
{
    mtl_lock();
    while (!worker->first && !worker->is_ended)
        mtl_wait(INT64_MAX);
    struct mtl_command_buffer *buffer = worker->first;
    if (buffer) {
        worker->first = buffer->next;
        if (!worker->first)
            worker->last = &worker->first;
    }
    mtl_unlock();
    return buffer;
}

static void *work(void *opaque)
{
    struct mtl_worker *worker = opaque;
    struct mtl_command_buffer *buffer;

    while ((buffer = take(worker)))
        mtl_command_buffer_run(buffer);
    free(worker);
    return NULL;
}

struct mtl_queue *mtl_queue_new(struct mtl_device *device)
{
    struct mtl_queue *queue = mtl_new(&mtl_queue_class);
    pthread_t thread;

    queue->device = device;
    queue->worker = mtl_allocate(sizeof(*queue->worker));
    queue->worker->last = &queue->worker->first;
    if (pthread_create(&thread, NULL, work, queue->worker) != 0)
        mtl_die("no thread");
    pthread_detach(thread);
    return queue;
}

void mtl_queue_commit(struct mtl_queue *queue, struct mtl_command_buffer *buffer)
{
    mtl_retain(buffer);
    mtl_lock();
    *queue->worker->last = buffer;
    queue->worker->last = &buffer->next;
    mtl_changed();
    mtl_unlock();
}

/* The next one, for which there has to be room. */
static mtl_object command_buffer(MTL_SELF(mtl_queue))
{
    mtl_lock();
    while (self->n_open == MTL_MAX_COMMAND_BUFFERS)
        mtl_wait(INT64_MAX);
    self->n_open++;
    mtl_unlock();
    return mtl_autorelease(mtl_command_buffer_new(self));
}

static void destroy(struct mtl_base *object)
{
    struct mtl_queue *queue = (struct mtl_queue *)object;

    mtl_lock();
    queue->worker->is_ended = true;
    mtl_changed();
    mtl_unlock();
}

const struct mtl_class mtl_queue_class = {
    .name = "MTLCommandQueue",
    .n_bytes = sizeof(struct mtl_queue),
    .methods = (const struct mtl_method[]){
        MTL_METHOD("commandBuffer", command_buffer, mtl_queue, mtl_object),
        { 0 },
    },
    .destroy = destroy,
};
