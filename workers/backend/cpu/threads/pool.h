/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The threads a CPU device computes with: the one that owns it, and n - 1 of its own
 *
 * A run is a list of tasks; a task is a number of units, each done by whichever thread is free, in
 * the order of their numbers. A unit begins when what it needs is done: the whole task before, or
 * those of its units that the task names; and in any case all of the tasks before that. So one
 * thread that the system takes off its core holds up few others. What a unit computes depends on
 * its number alone, never on the thread or on how many there are, so that results don't either.
 * Waits spin for some microseconds, then block: encoders and decoders share the cores.
 *
 * Thread: that of the device; the tasks' functions run on all.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "base/cleanup.h"

struct vrt_cpu_pool;

/* Units first to last of a task; none where last < first. */
struct vrt_cpu_span {
    int first, last;
};

struct vrt_cpu_task {
    int n_units;            /* at least 1 */
    void (*run)(const void *context, int unit, int thread);
    const void *context;

    /* [n_units]: what each unit needs of the task before, where that has unit_done; NULL: all. */
    const struct vrt_cpu_span *needs;

    /* The pool's own. */
    atomic_int next, n_done;
    atomic_bool *unit_done; /* [n_units], of the caller; NULL: no task needs single units */
};

struct vrt_cpu_pool_params {
    int n_threads;              /* the caller's included */
    void (*begin)(void);        /* called first on each of the others; NULL: nothing */
};

/*
 * Starts n_threads - 1 threads, on the cores that the caller may use. All of them and the caller
 * have a slightly lower priority from now on. Return: 0, -errno.
 */
int vrt_cpu_pool_new(const struct vrt_cpu_pool_params *params, struct vrt_cpu_pool **ret_pool);

/* Stops and joins the threads. Return: NULL. */
struct vrt_cpu_pool *vrt_cpu_pool_free(struct vrt_cpu_pool *pool);

/* Does the tasks, the caller computing too; returns when all are done. */
void vrt_cpu_pool_run(struct vrt_cpu_pool *pool, struct vrt_cpu_task *tasks, int n_tasks);

VRT_DEFINE_CLEANUP(struct vrt_cpu_pool, vrt_cpu_pool_free)
