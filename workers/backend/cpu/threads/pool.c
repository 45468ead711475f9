/* SPDX-License-Identifier: MIT */

/*
 * The thread pool of a CPU device
 *
 * The tasks of a run are an array that every thread walks through: it takes units off the current
 * task until there are none, and passes on. A unit that was taken is waited for with the unit in
 * hand: what it needs was taken before it, by a thread that is at work. Only a thread that has
 * entered a run (n_inside) is waited for at its end: one that the system woke too late to find
 * any work holds nobody up.
 */

#include "backend/cpu/threads/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/thread.h"

#define SPINS 1000          /* some microseconds */
#define NICE 14             /* behind threads that answer, decode and encode: DECODE_THREAD_NICE */

struct pool_thread {
    struct vrt_cpu_pool *pool;
    int index;
    pthread_t id;
};

struct vrt_cpu_pool {
    /* immutable */
    void (*begin)(void);
    int n_started;          /* of threads[] */
    struct pool_thread *threads;

    /* under lock */
    pthread_mutex_t lock;
    pthread_cond_t wake;    /* a run began, or the pool stops */
    pthread_cond_t passed;  /* a unit is done, or a thread left the run */
    struct vrt_cpu_task *tasks;             /* NULL: no run */
    int n_tasks;
    unsigned generation;    /* of runs */
    int n_inside;
    bool stop;

    atomic_int n_waiting;   /* threads that wait for units; written under the lock */
};

static bool is_done(const struct vrt_cpu_task *task)
{
    return atomic_load(&task->n_done) == task->n_units;
}

/* Whether a unit of task i, or what follows the last one, where i is their number, may begin. */
static bool is_ready(const struct vrt_cpu_task *tasks, int i, const struct vrt_cpu_span *needs)
{
    if (i > 1 && !is_done(&tasks[i - 2]))
        return false;
    if (i == 0)
        return true;
    if (!needs)
        return is_done(&tasks[i - 1]);
    for (int unit = needs->first; unit <= needs->last; unit++)
        if (!atomic_load(&tasks[i - 1].unit_done[unit]))
            return false;
    return true;
}

static void wait_until_ready(struct vrt_cpu_pool *pool, const struct vrt_cpu_task *tasks, int i,
                             const struct vrt_cpu_span *needs)
{
    for (int n = 0; n < SPINS; n++)
        if (is_ready(tasks, i, needs))
            return;

    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->n_waiting, 1);
    while (!is_ready(tasks, i, needs))
        pthread_cond_wait(&pool->passed, &pool->lock);
    atomic_fetch_sub(&pool->n_waiting, 1);
    pthread_mutex_unlock(&pool->lock);
}

/* All in one order for all threads (seq_cst): who begins to wait later sees the unit done, who
 * began before is seen waiting. */
static void finish_unit(struct vrt_cpu_pool *pool, struct vrt_cpu_task *task, int unit)
{
    if (task->unit_done)
        atomic_store(&task->unit_done[unit], true);
    atomic_fetch_add(&task->n_done, 1);
    if (atomic_load(&pool->n_waiting) == 0)
        return;
    pthread_mutex_lock(&pool->lock);
    pthread_cond_broadcast(&pool->passed);
    pthread_mutex_unlock(&pool->lock);
}

static void run_tasks(struct vrt_cpu_pool *pool, struct vrt_cpu_task *tasks, int n_tasks,
                      int thread)
{
    for (int i = 0; i < n_tasks; i++) {
        struct vrt_cpu_task *task = &tasks[i];
        int unit;

        while ((unit = atomic_fetch_add(&task->next, 1)) < task->n_units) {
            wait_until_ready(pool, tasks, i, task->needs ? &task->needs[unit] : NULL);
            task->run(task->context, unit, thread);
            finish_unit(pool, task, unit);
        }
    }
}

static void *pool_main(void *argument)
{
    struct pool_thread *self = argument;
    struct vrt_cpu_pool *pool = self->pool;
    unsigned seen = 0;

    vrt_thread_set_role(VRT_THREAD_POOL, "vrt-cpu-pool");
    vrt_thread_set_background(NICE);
    if (pool->begin)
        pool->begin();

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (!pool->stop && (!pool->tasks || pool->generation == seen))
            pthread_cond_wait(&pool->wake, &pool->lock);
        if (pool->stop)
            break;
        seen = pool->generation;
        struct vrt_cpu_task *tasks = pool->tasks;
        int n_tasks = pool->n_tasks;
        pool->n_inside++;
        pthread_mutex_unlock(&pool->lock);

        run_tasks(pool, tasks, n_tasks, self->index);

        pthread_mutex_lock(&pool->lock);
        if (--pool->n_inside == 0)
            pthread_cond_broadcast(&pool->passed);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static int start_thread(struct vrt_cpu_pool *pool, int i)
{
    struct pool_thread *thread = &pool->threads[i];
    int r;

    thread->pool = pool;
    thread->index = i + 1;
    r = pthread_create(&thread->id, NULL, pool_main, thread);
    if (r != 0)
        return vrt_raise(-r);
    pool->n_started++;
    return 0;
}

int vrt_cpu_pool_new(const struct vrt_cpu_pool_params *params, struct vrt_cpu_pool **ret_pool)
{
    VRT_CLEANUP(vrt_cpu_pool_freep) struct vrt_cpu_pool *pool = NULL;
    int r;

    pool = calloc(1, sizeof(*pool));
    if (!pool)
        return vrt_raise(-ENOMEM);
    pool->begin = params->begin;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wake, NULL);
    pthread_cond_init(&pool->passed, NULL);

    pool->threads = calloc((size_t)params->n_threads, sizeof(*pool->threads));
    if (!pool->threads)
        return vrt_raise(-ENOMEM);
    for (int i = 0; i < params->n_threads - 1; i++) {
        r = start_thread(pool, i);
        if (r < 0)
            return vrt_fold(r);
    }
    vrt_thread_set_background(NICE);

    *ret_pool = VRT_STEAL(pool);
    return 0;
}

struct vrt_cpu_pool *vrt_cpu_pool_free(struct vrt_cpu_pool *pool)
{
    if (!pool)
        return NULL;

    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->n_started; i++)
        pthread_join(pool->threads[i].id, NULL);

    pthread_cond_destroy(&pool->passed);
    pthread_cond_destroy(&pool->wake);
    pthread_mutex_destroy(&pool->lock);
    free(pool->threads);
    free(pool);
    return NULL;
}

void vrt_cpu_pool_run(struct vrt_cpu_pool *pool, struct vrt_cpu_task *tasks, int n_tasks)
{
    for (int i = 0; i < n_tasks; i++) {
        atomic_store_explicit(&tasks[i].next, 0, memory_order_relaxed);
        atomic_store_explicit(&tasks[i].n_done, 0, memory_order_relaxed);
        for (int unit = 0; tasks[i].unit_done && unit < tasks[i].n_units; unit++)
            atomic_store_explicit(&tasks[i].unit_done[unit], false, memory_order_relaxed);
    }

    pthread_mutex_lock(&pool->lock);
    pool->tasks = tasks;
    pool->n_tasks = n_tasks;
    pool->generation++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    run_tasks(pool, tasks, n_tasks, 0);
    wait_until_ready(pool, tasks, n_tasks, NULL);

    pthread_mutex_lock(&pool->lock);
    pool->tasks = NULL;
    while (pool->n_inside > 0)
        pthread_cond_wait(&pool->passed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
