/* SPDX-License-Identifier: MIT */

/*
 * The thread pool of a CPU device
 *
 * The tasks of a run are an array that every thread walks through: it takes units off the current
 * task until there are none, and passes on when all of them are done. Only a thread that has
 * entered a run (n_inside) is waited for at its end: one that the system woke too late to find
 * any work holds nobody up.
 */

#include "backend/cpu/pool.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/thread.h"

#define SPINS 1000          /* some microseconds */
#define NICE 2              /* a little behind threads that answer, decode and encode */

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
    pthread_cond_t passed;  /* a task is done, or a thread left the run */
    struct vrt_cpu_task *tasks;             /* NULL: no run */
    int n_tasks;
    unsigned generation;    /* of runs */
    int n_inside;
    bool stop;

    atomic_int n_passed;    /* tasks done in this run; written under the lock */
};

static void wait_for_task(struct vrt_cpu_pool *pool, int i)
{
    for (int n = 0; n < SPINS; n++) {
        if (atomic_load_explicit(&pool->n_passed, memory_order_acquire) > i)
            return;
    }

    pthread_mutex_lock(&pool->lock);
    while (atomic_load_explicit(&pool->n_passed, memory_order_relaxed) <= i)
        pthread_cond_wait(&pool->passed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

static void pass_task(struct vrt_cpu_pool *pool, int i)
{
    pthread_mutex_lock(&pool->lock);
    atomic_store_explicit(&pool->n_passed, i + 1, memory_order_release);
    pthread_cond_broadcast(&pool->passed);
    pthread_mutex_unlock(&pool->lock);
}

static void run_tasks(struct vrt_cpu_pool *pool, struct vrt_cpu_task *tasks, int n_tasks,
                      int thread)
{
    for (int i = 0; i < n_tasks; i++) {
        struct vrt_cpu_task *task = &tasks[i];
        int mine = 0, unit;

        while ((unit = atomic_fetch_add_explicit(&task->next, 1, memory_order_relaxed)) <
               task->n_units) {
            task->run(task->context, unit, thread);
            mine++;
        }

        /* The release and acquire chain through `done` makes every unit visible to all. */
        if (mine > 0 && atomic_fetch_add_explicit(&task->done, mine, memory_order_acq_rel) ==
                            task->n_units - mine)
            pass_task(pool, i);
        else
            wait_for_task(pool, i);
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

static int start_thread(struct vrt_cpu_pool *pool, int i, const cpu_set_t *cores)
{
    struct pool_thread *thread = &pool->threads[i];
    pthread_attr_t attr;
    int r;

    thread->pool = pool;
    thread->index = i + 1;
    r = pthread_attr_init(&attr);
    if (r)
        return vrt_raise(-r);
    if (cores)
        pthread_attr_setaffinity_np(&attr, sizeof(*cores), cores);
    r = pthread_create(&thread->id, &attr, pool_main, thread);
    pthread_attr_destroy(&attr);
    if (r)
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
        r = start_thread(pool, i, params->cores);
        if (r)
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
        atomic_store_explicit(&tasks[i].done, 0, memory_order_relaxed);
    }

    pthread_mutex_lock(&pool->lock);
    atomic_store_explicit(&pool->n_passed, 0, memory_order_relaxed);
    pool->tasks = tasks;
    pool->n_tasks = n_tasks;
    pool->generation++;
    pthread_cond_broadcast(&pool->wake);
    pthread_mutex_unlock(&pool->lock);

    run_tasks(pool, tasks, n_tasks, 0);

    pthread_mutex_lock(&pool->lock);
    pool->tasks = NULL;
    while (pool->n_inside > 0)
        pthread_cond_wait(&pool->passed, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}
