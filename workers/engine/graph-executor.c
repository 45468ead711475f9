/* SPDX-License-Identifier: MIT */

/*
 * A clip of a large network can take a device minutes. Its program is cut into parts, each a
 * program of its own: between two of them whoever waits can be heard.
 */

#include "engine/graph-executor.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"

/* What a part computes at least, but for the last: seconds of the slowest devices, and so much that
 * nobody sees what it costs to wait for its end. */
#define PART_FLOPS INT64_C(50000000000)

struct part {
    struct vrt_program *program;
    const struct vrt_op *ops;           /* n_ops, the program's */
    size_t n_ops;
    int64_t flops;
    struct vrt_program **steps;         /* n_ops of one op each; NULL: never needed */
};

struct vrt_graph_executor {
    struct vrt_device *device;
    struct vrt_program_params params;   /* what the programs have in common: not the ops */
    struct part *parts;                 /* n_parts, in order */
    size_t n_parts;
};

static void free_steps(struct vrt_graph_executor *executor, struct part *part)
{
    for (size_t i = 0; part->steps && i < part->n_ops; i++)
        vrt_program_free(executor->device, part->steps[i]);
    free(part->steps);
    part->steps = NULL;
}

struct vrt_graph_executor *vrt_graph_executor_free(struct vrt_graph_executor *executor)
{
    if (!executor)
        return NULL;
    for (size_t i = 0; i < executor->n_parts; i++) {
        free_steps(executor, &executor->parts[i]);
        vrt_program_free(executor->device, executor->parts[i].program);
    }
    free(executor->parts);
    free(executor);
    return NULL;
}

void vrt_arena_done(struct vrt_device *device, struct vrt_arena *arena)
{
    arena->buffer = vrt_buffer_free(device, arena->buffer);
    arena->size_bytes = 0;
}

/* How many of the ops make the next part, and what these compute. */
static size_t part_length(const struct vrt_op *ops, size_t n_ops, int64_t *ret_flops)
{
    size_t n = 0;

    for (*ret_flops = 0; n < n_ops && *ret_flops < PART_FLOPS; n++)
        *ret_flops += vrt_op_flops(&ops[n]);
    return n;
}

static int make_parts(struct vrt_graph_executor *executor, const struct vrt_op *ops, size_t n_ops)
{
    struct vrt_program_params params = executor->params;
    size_t n_parts = 0;
    int64_t flops;
    int r = 0;

    for (size_t at = 0; at < n_ops; at += part_length(ops + at, n_ops - at, &flops))
        n_parts++;
    executor->parts = calloc(n_parts + 1, sizeof(executor->parts[0]));
    if (!executor->parts)
        return vrt_raise(-ENOMEM);
    for (size_t at = 0; r == 0 && at < n_ops; at += params.n_ops) {
        struct part *part = &executor->parts[executor->n_parts];
        params.ops = ops + at;
        params.n_ops = part_length(params.ops, n_ops - at, &part->flops);
        r = vrt_program_new(executor->device, &params, &part->program);
        if (r != 0)
            break;
        part->ops = vrt_program_ops(part->program, &part->n_ops);
        executor->n_parts++;
    }
    return r < 0 ? vrt_fold(r) : r;
}

static int new_executor(struct vrt_device *device, struct vrt_replica *replica,
                        const struct vrt_plan *plan, const struct vrt_arena *arena,
                        struct vrt_graph_executor **ret_executor)
{
    VRT_CLEANUP(vrt_graph_executor_freep) struct vrt_graph_executor *executor =
        calloc(1, sizeof(*executor));
    size_t n_ops;
    const struct vrt_op *ops = vrt_plan_ops(plan, &n_ops);

    if (n_ops == 0)
        return vrt_raise(-EINVAL);
    if (!executor)
        return vrt_raise(-ENOMEM);
    executor->device = device;
    executor->params = (struct vrt_program_params){
        .replica = replica,
        .arena = arena->buffer,
        .arena_bytes = vrt_plan_arena_bytes(plan),
        .n_bindings = vrt_plan_n_bindings(plan),
    };
    int r = make_parts(executor, ops, n_ops);
    if (r != 0)
        return r;
    *ret_executor = VRT_STEAL(executor);
    return 0;
}

/* Allocates the arena for the largest of the plans, and an executor for each. */
static int new_from_plans(struct vrt_device *device, struct vrt_replica *replica,
                          struct vrt_plan *const *plans, size_t n, struct vrt_arena *ret_arena,
                          struct vrt_graph_executor **ret_executors)
{
    struct vrt_arena arena = { 0 };
    size_t n_made = 0;
    int r = 0;

    for (size_t i = 0; i < n; i++)
        arena.size_bytes = VRT_MAX(arena.size_bytes, vrt_plan_arena_bytes(plans[i]));
    if (arena.size_bytes)
        r = vrt_buffer_new(device, arena.size_bytes, &arena.buffer);
    for (; r == 0 && n_made < n; n_made += r == 0)
        r = new_executor(device, replica, plans[n_made], &arena, &ret_executors[n_made]);
    if (r != 0) {
        while (n_made > 0)
            vrt_graph_executor_free(ret_executors[--n_made]);
        vrt_arena_done(device, &arena);
        return r < 0 ? vrt_fold(r) : r;
    }
    *ret_arena = arena;
    return 0;
}

int vrt_graph_executor_new_all(struct vrt_device *device, struct vrt_replica *replica,
                         struct vrt_graph *const *graphs, size_t n, struct vrt_arena *ret_arena,
                         struct vrt_graph_executor **ret_executors)
{
    struct vrt_plan **plans;
    int r = 0;

    if (n == 0)
        return vrt_raise(-EINVAL);
    plans = calloc(n, sizeof(plans[0]));
    if (!plans)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = vrt_plan_new(graphs[i], device, &plans[i]);
    if (r == 0)
        r = new_from_plans(device, replica, plans, n, ret_arena, ret_executors);
    for (size_t i = 0; i < n; i++)
        vrt_plan_free(plans[i]);
    free(plans);
    return r < 0 ? vrt_fold(r) : r;
}

int vrt_graph_executor_new_in(struct vrt_device *device, struct vrt_replica *replica,
                        const struct vrt_graph *graph, const struct vrt_arena *arena,
                        struct vrt_graph_executor **ret_executor)
{
    VRT_CLEANUP(vrt_plan_freep) struct vrt_plan *plan = NULL;
    int r = vrt_plan_new(graph, device, &plan);

    if (r != 0)
        return vrt_fold(r);
    if (vrt_plan_arena_bytes(plan) > arena->size_bytes)
        return VRT_BACKEND_E_NOMEM;
    return new_executor(device, replica, plan, arena, ret_executor);
}

static int make_steps(struct vrt_graph_executor *executor, struct part *part)
{
    struct vrt_program_params params = executor->params;
    int r = 0;

    part->steps = calloc(part->n_ops + 1, sizeof(part->steps[0]));
    if (!part->steps)
        return vrt_raise(-ENOMEM);
    params.n_ops = 1;
    for (size_t i = 0; r == 0 && i < part->n_ops; i++) {
        params.ops = &part->ops[i];
        r = vrt_program_new(executor->device, &params, &part->steps[i]);
    }
    if (r != 0)
        free_steps(executor, part);
    return r < 0 ? vrt_fold(r) : r;
}

static int submit_steps(struct vrt_graph_executor *executor, struct part *part,
                        const struct vrt_binding *bindings, struct vrt_op_times *times)
{
    int r = part->steps ? 0 : make_steps(executor, part);

    if (r != 0)
        return vrt_fold(r);
    /* What was submitted before isn't the first op's. */
    r = vrt_device_finish(executor->device);
    for (size_t i = 0; r == 0 && i < part->n_ops; i++) {
        const struct vrt_op *op = &part->ops[i];
        int64_t start_ns = vrt_clock_now_ns();
        r = vrt_program_submit(executor->device, part->steps[i], bindings);
        if (r == 0)
            r = vrt_device_finish(executor->device);
        times->ns[op->kind] += vrt_clock_now_ns() - start_ns;
        times->flops[op->kind] += vrt_op_flops(op);
        times->n_ops[op->kind]++;
    }
    return r < 0 ? vrt_fold(r) : r;
}

int vrt_graph_executor_submit_watched(struct vrt_graph_executor *executor,
                                      const struct vrt_binding *bindings,
                                const struct vrt_graph_executor_watch *watch)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < executor->n_parts; i++) {
        struct part *part = &executor->parts[i];
        if (i > 0 && watch->go_on && !watch->go_on(watch->ctx))
            return vrt_raise(-ECANCELED);
        if (watch->op_times)
            r = submit_steps(executor, part, bindings, watch->op_times);
        else
            r = vrt_program_submit(executor->device, part->program, bindings);
        if (r == 0 && watch->done_flops)
            atomic_fetch_add_explicit(watch->done_flops, part->flops, memory_order_relaxed);
    }
    return r < 0 ? vrt_fold(r) : r;
}

int vrt_graph_executor_submit(struct vrt_graph_executor *executor,
                              const struct vrt_binding *bindings)
{
    return vrt_graph_executor_submit_watched(executor, bindings,
                                             &(struct vrt_graph_executor_watch){ 0 });
}

int vrt_graph_executor_submit_timed(struct vrt_graph_executor *executor,
                                    const struct vrt_binding *bindings,
                              struct vrt_op_times *times)
{
    const struct vrt_graph_executor_watch watch = { .op_times = times };

    return vrt_graph_executor_submit_watched(executor, bindings, &watch);
}
