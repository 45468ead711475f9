/* SPDX-License-Identifier: MIT */

/* The CPU device's threads, and what it makes of the machine. */

#include <stdatomic.h>

#include "backend/cpu/machine.h"
#include "backend/cpu/pool.h"
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
        const struct vrt_cpu_pool_params params = { .n_threads = n_threads, .begin = begin };
        struct vrt_cpu_pool *pool = NULL;

        n_begun = 0;
        expect_int(vrt_cpu_pool_new(&params, &pool), 0);
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

/* Threads that wake when all is done already, and runs that follow each other at once. */
static void test_short_runs(void)
{
    const struct vrt_cpu_pool_params params = { .n_threads = 4 };
    struct vrt_cpu_pool *pool = NULL;
    atomic_int n = 0;

    expect_int(vrt_cpu_pool_new(&params, &pool), 0);
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
    const struct vrt_cpu_pool_params params = { .n_threads = 3 };
    struct vrt_cpu_pool *pool = NULL;

    expect_int(vrt_cpu_pool_new(&params, &pool), 0);
    expect_true(!vrt_cpu_pool_free(pool));
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

int main(int argc, char **argv)
{
    static const struct test_case cases[] = {
        { "every_unit_once", test_every_unit_once },
        { "short_runs", test_short_runs },
        { "no_run", test_no_run },
        { "machine", test_machine },
    };

    return test_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
