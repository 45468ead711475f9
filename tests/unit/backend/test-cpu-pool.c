/* SPDX-License-Identifier: MIT */

/* The CPU device's threads, and what it makes of the machine. */

#include <stdatomic.h>

#include "backend/cpu/threads/machine.h"
#include "backend/cpu/threads/pool.h"
#include "base/macro.h"
#include "base/thread.h"
#include "tests/unit/test.h"

#define MAX_UNITS 1000
#define N_TASKS 4

/* How often each unit of a task ran, and what all units of the task before it must have done. */
struct work {
    atomic_int runs[MAX_UNITS];
    const struct work *before;
    int n_before;
    int n_threads;
    atomic_int n_wrong;
};

static atomic_int n_begun;

static void begin(void)
{
    atomic_fetch_add(&n_begun, 1);
}

static struct vrt_cpu_pool *new_pool(int n_threads)
{
    const struct vrt_cpu_pool_params params = { .n_threads = n_threads, .begin = begin };
    struct vrt_cpu_pool *pool = NULL;

    expect_int(vrt_cpu_pool_new(&params, &pool), 0);
    return pool;
}

static void run_unit(const void *context, int unit, int thread)
{
    struct work *work = (struct work *)context;

    if (thread < 0 || thread >= work->n_threads ||
        (thread > 0) != (vrt_thread_role() == VRT_THREAD_POOL))
        atomic_fetch_add(&work->n_wrong, 1);
    for (int i = 0; i < work->n_before; i++)
        if (atomic_load_explicit(&work->before->runs[i], memory_order_relaxed) == 0)
            atomic_fetch_add(&work->n_wrong, 1);
    atomic_fetch_add_explicit(&work->runs[unit], 1, memory_order_relaxed);
}

static void run_once(struct vrt_cpu_pool *pool, int n_threads)
{
    static const int n_units[N_TASKS] = { 7, 1, MAX_UNITS, 3 };
    static struct work works[N_TASKS];
    struct vrt_cpu_task tasks[N_TASKS] = { 0 };

    memset(works, 0, sizeof(works));
    for (int i = 0; i < N_TASKS; i++) {
        works[i].n_threads = n_threads;
        if (i > 0) {
            works[i].before = &works[i - 1];
            works[i].n_before = n_units[i - 1];
        }
        tasks[i].n_units = n_units[i];
        tasks[i].run = run_unit;
        tasks[i].context = &works[i];
    }
    vrt_cpu_pool_run(pool, tasks, N_TASKS);
    for (int i = 0; i < N_TASKS; i++) {
        expect_int(works[i].n_wrong, 0);
        for (int unit = 0; unit < n_units[i]; unit++)
            expect_int(works[i].runs[unit], 1);
    }
}

static void test_every_unit_once(void)
{
    for (int n_threads = 1; n_threads <= 6; n_threads++) {
        n_begun = 0;
        struct vrt_cpu_pool *pool = new_pool(n_threads);
        for (int i = 0; i < 20; i++)
            run_once(pool, n_threads);
        vrt_cpu_pool_free(pool);
        expect_int(n_begun, n_threads - 1);
    }
}

static void count(const void *context, int unit, int thread)
{
    (void)unit;
    (void)thread;
    atomic_fetch_add((atomic_int *)context, 1);
}

/* As in a chain of ops: each unit needs those beside it of the task before. */
struct link {
    atomic_int runs[MAX_UNITS];
    const struct link *before, *before_that;
    atomic_int n_wrong;
};

static void run_link(const void *context, int unit, int thread)
{
    struct link *link = (struct link *)context;

    (void)thread;
    for (int u = VRT_MAX(unit - 1, 0); link->before && u <= VRT_MIN(unit + 1, MAX_UNITS - 1); u++)
        if (atomic_load_explicit(&link->before->runs[u], memory_order_relaxed) != 1)
            atomic_fetch_add(&link->n_wrong, 1);
    for (int u = 0; link->before_that && u < MAX_UNITS; u++)
        if (atomic_load_explicit(&link->before_that->runs[u], memory_order_relaxed) != 1)
            atomic_fetch_add(&link->n_wrong, 1);
    atomic_fetch_add_explicit(&link->runs[unit], 1, memory_order_relaxed);
}

static void run_chain(struct vrt_cpu_pool *pool)
{
    static struct link links[N_TASKS];
    static struct vrt_cpu_span needs[MAX_UNITS];
    static atomic_bool units_done[N_TASKS][MAX_UNITS];
    struct vrt_cpu_task tasks[N_TASKS] = { 0 };

    memset(links, 0, sizeof(links));
    for (int u = 0; u < MAX_UNITS; u++)
        needs[u] = (struct vrt_cpu_span){ VRT_MAX(u - 1, 0), VRT_MIN(u + 1, MAX_UNITS - 1) };
    for (int i = 0; i < N_TASKS; i++) {
        links[i].before = i > 0 ? &links[i - 1] : NULL;
        links[i].before_that = i > 1 ? &links[i - 2] : NULL;
        tasks[i] = (struct vrt_cpu_task){
            .n_units = MAX_UNITS,
            .run = run_link,
            .context = &links[i],
            .needs = i > 0 ? needs : NULL,
            .unit_done = units_done[i],
        };
    }
    vrt_cpu_pool_run(pool, tasks, N_TASKS);
    for (int i = 0; i < N_TASKS; i++) {
        expect_int(links[i].n_wrong, 0);
        for (int u = 0; u < MAX_UNITS; u++)
            expect_int(links[i].runs[u], 1);
    }
}

static void test_units_needed(void)
{
    for (int n_threads = 1; n_threads <= 6; n_threads++) {
        struct vrt_cpu_pool *pool = new_pool(n_threads);
        for (int i = 0; i < 5; i++)
            run_chain(pool);
        vrt_cpu_pool_free(pool);
    }
}

/* Tasks that need nothing of the one before them may overtake it, and are waited for at the end. */
static void test_nothing_needed(void)
{
    static const struct vrt_cpu_span none = { 0, -1 };
    struct vrt_cpu_pool *pool = new_pool(3);
    atomic_bool units_done[3][1];
    atomic_int n = 0;

    for (int i = 0; i < 2000; i++) {
        struct vrt_cpu_task tasks[3];

        for (int t = 0; t < 3; t++)
            tasks[t] = (struct vrt_cpu_task){
                .n_units = 1, .run = count, .context = &n,
                .needs = t > 0 ? &none : NULL, .unit_done = units_done[t],
            };
        vrt_cpu_pool_run(pool, tasks, 3);
        expect_int(n, 3 * (i + 1));
    }
    vrt_cpu_pool_free(pool);
}

/* Threads that wake when all is done already, and runs that follow each other at once. */
static void test_short_runs(void)
{
    struct vrt_cpu_pool *pool = new_pool(4);
    atomic_int n = 0;

    for (int i = 0; i < 2000; i++) {
        struct vrt_cpu_task tasks[2] = {
            { .n_units = 1, .run = count, .context = &n },
            { .n_units = 2, .run = count, .context = &n },
        };

        vrt_cpu_pool_run(pool, tasks, 2);
        expect_int(n, 3 * (i + 1));
    }
    vrt_cpu_pool_free(pool);
}

static void test_no_run(void)
{
    expect_true(!vrt_cpu_pool_free(new_pool(3)));
    expect_true(!vrt_cpu_pool_free(NULL));
}

static void test_machine(void)
{
    static struct vrt_cpu_machine machine;

    vrt_cpu_machine_look(&machine);
    expect_true(machine.model[0] != '\0');
    expect_true(machine.n_allowed >= 1);
    expect_true(machine.n_cores >= 1 && machine.n_cores <= machine.n_allowed);
    expect_true(machine.n_nodes >= 1);
    for (int i = 1; i < machine.n_allowed; i++)
        for (int k = 0; k < i; k++)
            expect_true(machine.cores[i] != machine.cores[k]);
    expect_true(machine.memory_bytes > 0);
    expect_true(vrt_cpu_machine_free_bytes() > 0);
    expect_true(vrt_cpu_machine_free_bytes() <= machine.memory_bytes);
}

TEST_MAIN(
    { "every_unit_once", test_every_unit_once }, { "units_needed", test_units_needed },
    { "nothing_needed", test_nothing_needed },   { "short_runs", test_short_runs },
    { "no_run", test_no_run },                   { "machine", test_machine },
)
