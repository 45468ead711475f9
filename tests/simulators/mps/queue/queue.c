/* SPDX-License-Identifier: MIT */

#include "tests/simulators/mps/queue/queue.h"

#include "tests/simulators/mps/queue/command-buffer.h"
#include "tests/simulators/mps/metal/limits.h"

/* A thread: a queue's, until that is freed, and then the next one's. */
struct mtl_worker {
    /* Under the lock: */
    struct mtl_command_buffer *first, **last;
    pthread_cond_t bell;                /* there is a first one */
    struct mtl_worker *next_idle;
};

static struct mtl_worker *idle;         /* under the lock */

static struct mtl_command_buffer *take(struct mtl_worker *worker)
{
    mtl_lock();
    while (!worker->first)
        mtl_wait_for(&worker->bell);
    struct mtl_command_buffer *buffer = worker->first;
    worker->first = buffer->next;
    if (!worker->first)
        worker->last = &worker->first;
    mtl_unlock();
    return buffer;
}

static void *work(void *opaque)
{
    for (;;) {
        mtl_command_buffer_run(take(opaque));
        mtl_work_end();
    }
    return NULL;
}

static struct mtl_worker *start_worker(void)
{
    struct mtl_worker *worker = mtl_allocate(sizeof(*worker));
    pthread_t thread;

    worker->last = &worker->first;
    pthread_cond_init(&worker->bell, NULL);
    if (pthread_create(&thread, NULL, work, worker) != 0)
        mtl_die("no thread");
    pthread_detach(thread);
    return worker;
}

struct mtl_queue *mtl_queue_new(struct mtl_device *device)
{
    struct mtl_queue *queue = mtl_new(&mtl_queue_class);

    queue->device = device;
    mtl_lock();
    queue->worker = idle;
    if (idle)
        idle = idle->next_idle;
    mtl_unlock();
    if (!queue->worker)
        queue->worker = start_worker();
    return queue;
}

void mtl_queue_commit(struct mtl_queue *queue, struct mtl_command_buffer *buffer)
{
    struct mtl_worker *worker = queue->worker;

    mtl_retain(buffer);
    mtl_lock();
    mtl_work_begin();
    *worker->last = buffer;
    worker->last = &buffer->next;
    pthread_cond_signal(&worker->bell);
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

/* Nothing is left to run: what is retains its queue. */
static void destroy(struct mtl_base *object)
{
    struct mtl_worker *worker = ((struct mtl_queue *)object)->worker;

    mtl_lock();
    worker->next_idle = idle;
    idle = worker;
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
