/* SPDX-License-Identifier: MIT */

#include "engine/executor.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"

struct vrt_executor {
    struct vrt_device *device;
    struct vrt_program *program;
    struct vrt_program_params params;   /* of the program; its ops are the program's own */
    struct vrt_program **steps;         /* params.n_ops of one op each; NULL: never needed */
};

static void free_steps(struct vrt_executor *executor)
{
    for (size_t i = 0; executor->steps && i < executor->params.n_ops; i++)
        vrt_program_free(executor->device, executor->steps[i]);
    free(executor->steps);
    executor->steps = NULL;
}

struct vrt_executor *vrt_executor_free(struct vrt_executor *executor)
{
    if (!executor)
        return NULL;
    free_steps(executor);
    executor->program = vrt_program_free(executor->device, executor->program);
    free(executor);
    return NULL;
}

void vrt_arena_done(struct vrt_device *device, struct vrt_arena *arena)
{
    arena->buffer = vrt_buffer_free(device, arena->buffer);
    arena->size_bytes = 0;
}

static int new_executor(struct vrt_device *device, struct vrt_replica *replica,
                        const struct vrt_plan *plan, const struct vrt_arena *arena,
                        struct vrt_executor **ret_executor)
{
    size_t n_ops;
    const struct vrt_op *ops = vrt_plan_ops(plan, &n_ops);
    const struct vrt_program_params params = {
        .ops = ops,
        .n_ops = n_ops,
        .replica = replica,
        .arena = arena->buffer,
        .arena_bytes = vrt_plan_arena_bytes(plan),
        .n_bindings = vrt_plan_n_bindings(plan),
    };
    struct vrt_executor *executor = calloc(1, sizeof(*executor));

    if (!executor)
        return vrt_raise(-ENOMEM);
    executor->device = device;
    int r = vrt_program_new(device, &params, &executor->program);
    if (r) {
        free(executor);
        return r < 0 ? vrt_fold(r) : r;
    }
    executor->params = params;
    executor->params.ops = vrt_program_ops(executor->program, &executor->params.n_ops);
    *ret_executor = executor;
    return 0;
}

/* Allocates the arena for the largest of the plans, and an executor for each. */
static int new_from_plans(struct vrt_device *device, struct vrt_replica *replica,
                          struct vrt_plan *const *plans, size_t n, struct vrt_arena *ret_arena,
                          struct vrt_executor **ret_executors)
{
    struct vrt_arena arena = { 0 };
    size_t n_made = 0;
    int r = 0;

    for (size_t i = 0; i < n; i++)
        arena.size_bytes = VRT_MAX(arena.size_bytes, vrt_plan_arena_bytes(plans[i]));
    if (arena.size_bytes)
        r = vrt_buffer_new(device, arena.size_bytes, &arena.buffer);
    for (; !r && n_made < n; n_made += !r)
        r = new_executor(device, replica, plans[n_made], &arena, &ret_executors[n_made]);
    if (r) {
        while (n_made > 0)
            vrt_executor_free(ret_executors[--n_made]);
        vrt_arena_done(device, &arena);
        return r < 0 ? vrt_fold(r) : r;
    }
    *ret_arena = arena;
    return 0;
}

int vrt_executor_new_all(struct vrt_device *device, struct vrt_replica *replica,
                         struct vrt_graph *const *graphs, size_t n, struct vrt_arena *ret_arena,
                         struct vrt_executor **ret_executors)
{
    struct vrt_plan **plans;
    int r = 0;

    if (n == 0)
        return vrt_raise(-EINVAL);
    plans = calloc(n, sizeof(plans[0]));
    if (!plans)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; !r && i < n; i++)
        r = vrt_plan_new(graphs[i], device, &plans[i]);
    if (!r)
        r = new_from_plans(device, replica, plans, n, ret_arena, ret_executors);
    for (size_t i = 0; i < n; i++)
        vrt_plan_free(plans[i]);
    free(plans);
    return r < 0 ? vrt_fold(r) : r;
}

int vrt_executor_new_in(struct vrt_device *device, struct vrt_replica *replica,
                        const struct vrt_graph *graph, const struct vrt_arena *arena,
                        struct vrt_executor **ret_executor)
{
    VRT_CLEANUP(vrt_plan_freep) struct vrt_plan *plan = NULL;
    int r = vrt_plan_new(graph, device, &plan);

    if (r)
        return vrt_fold(r);
    if (vrt_plan_arena_bytes(plan) > arena->size_bytes)
        return VRT_BACKEND_E_NOMEM;
    return new_executor(device, replica, plan, arena, ret_executor);
}

int vrt_executor_submit(struct vrt_executor *executor, const struct vrt_binding *bindings)
{
    return vrt_program_submit(executor->device, executor->program, bindings);
}

static int make_steps(struct vrt_executor *executor)
{
    struct vrt_program_params params = executor->params;
    int r = 0;

    executor->steps = calloc(params.n_ops + 1, sizeof(executor->steps[0]));
    if (!executor->steps)
        return vrt_raise(-ENOMEM);
    params.n_ops = 1;
    for (size_t i = 0; !r && i < executor->params.n_ops; i++) {
        params.ops = &executor->params.ops[i];
        r = vrt_program_new(executor->device, &params, &executor->steps[i]);
    }
    if (r)
        free_steps(executor);
    return r < 0 ? vrt_fold(r) : r;
}

int vrt_executor_submit_timed(struct vrt_executor *executor, const struct vrt_binding *bindings,
                              struct vrt_op_times *times)
{
    int r = executor->steps ? 0 : make_steps(executor);

    /* What was submitted before isn't the first op's. */
    if (!r)
        r = vrt_device_finish(executor->device);
    for (size_t i = 0; !r && i < executor->params.n_ops; i++) {
        const struct vrt_op *op = &executor->params.ops[i];
        int64_t start_ns = vrt_clock_now_ns();
        r = vrt_program_submit(executor->device, executor->steps[i], bindings);
        if (!r)
            r = vrt_device_finish(executor->device);
        times->ns[op->kind] += vrt_clock_now_ns() - start_ns;
        times->flops[op->kind] += vrt_op_flops(op);
        times->n_ops[op->kind]++;
    }
    return r < 0 ? vrt_fold(r) : r;
}
