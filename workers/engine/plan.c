/* SPDX-License-Identifier: MIT */

/*
 * Placing is packing rectangles: time (from first op to last) by bytes. Several greedy orders are
 * tried, and the smallest arena taken: no order is best for all graphs, and each costs nothing
 * beside what a network computes. For chains and dense blocks one of them meets the lower bound,
 * the largest sum of what lives at one op.
 *
 * Lives include both ends: an op's inputs and outputs never share memory, since devices may write a
 * result before they have read all of its op's inputs. Each order ends in the storage's index,
 * because qsort() may put equals in any order, and a plan must come out the same everywhere: a
 * job's need of memory is told, and compared with what there is, before anything is allocated.
 */

#include "engine/plan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "plan"

/* Where every device is content that a tensor begins. */
#define ALIGN_BYTES 256

/* A storage, or the workspace, in time and space. */
struct span {
    size_t size_bytes;
    size_t first, last;         /* ops */
    size_t offset_bytes;        /* in the arena */
    size_t index;               /* among all spans: breaks ties */
};

struct vrt_plan {
    struct vrt_op *ops;
    size_t n_ops;
    size_t arena_bytes;
    int n_bindings;
};

/* Spans while a plan is made: those of the storages by index, then the workspace. */
struct spans {
    struct span *all;
    size_t n;
    struct span **order;        /* as they are placed */
    struct span **placed;       /* so far, by offset */
};

typedef int (*compare_fn)(const void *, const void *);

static void spans_done(struct spans *spans)
{
    free(spans->all);
    free(spans->order);
    free(spans->placed);
}

static int spans_init(struct spans *spans, size_t n)
{
    *spans = (struct spans){
        .all = calloc(n, sizeof(spans->all[0])),
        .n = n,
        .order = calloc(n, sizeof(spans->order[0])),
        .placed = calloc(n, sizeof(spans->placed[0])),
    };
    return spans->all && spans->order && spans->placed ? 0 : vrt_raise(-ENOMEM);
}

static int compare(size_t a, size_t b)
{
    return (a > b) - (a < b);
}

static int by_size(const void *p, const void *q)
{
    const struct span *a = *(struct span *const *)p, *b = *(struct span *const *)q;
    int order = compare(b->size_bytes, a->size_bytes);

    if (!order)
        order = compare(a->first, b->first);
    return order ? order : compare(a->index, b->index);
}

static int by_first_use(const void *p, const void *q)
{
    const struct span *a = *(struct span *const *)p, *b = *(struct span *const *)q;
    int order = compare(a->first, b->first);

    if (!order)
        order = compare(b->size_bytes, a->size_bytes);
    return order ? order : compare(a->index, b->index);
}

static int by_life(const void *p, const void *q)
{
    const struct span *a = *(struct span *const *)p, *b = *(struct span *const *)q;
    int order = compare(b->last - b->first, a->last - a->first);

    return order ? order : by_size(p, q);
}

static int by_area(const void *p, const void *q)
{
    const struct span *a = *(struct span *const *)p, *b = *(struct span *const *)q;
    int order = compare((b->last - b->first + 1) * b->size_bytes,
                        (a->last - a->first + 1) * a->size_bytes);

    return order ? order : by_size(p, q);
}

static const compare_fn orders[] = { by_size, by_area, by_first_use, by_life };

/* The lowest offset at which `span` meets none of the `n` placed ones that live with it. They are
 * sorted by offset, so that the first gap that is wide enough is the lowest. */
static size_t lowest_free(const struct span *span, struct span *const *placed, size_t n)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        const struct span *other = placed[i];
        if (other->last < span->first || span->last < other->first)
            continue;
        if (other->offset_bytes >= at + span->size_bytes)
            break;
        at = VRT_MAX(at, other->offset_bytes + other->size_bytes);
    }
    return at;
}

/* Places the spans in an order. Return: how many bytes that takes. */
static size_t place(struct spans *spans, compare_fn order)
{
    size_t arena_bytes = 0, n_placed = 0, n = 0;

    for (size_t i = 0; i < spans->n; i++)
        if (spans->all[i].size_bytes)
            spans->order[n++] = &spans->all[i];
    qsort(spans->order, n, sizeof(spans->order[0]), order);
    for (size_t i = 0; i < n; i++) {
        struct span *span = spans->order[i];
        span->offset_bytes = lowest_free(span, spans->placed, n_placed);
        arena_bytes = VRT_MAX(arena_bytes, span->offset_bytes + span->size_bytes);
        size_t k = n_placed++;
        for (; k > 0 && spans->placed[k - 1]->offset_bytes > span->offset_bytes; k--)
            spans->placed[k] = spans->placed[k - 1];
        spans->placed[k] = span;
    }
    return arena_bytes;
}

static size_t aligned(size_t bytes)
{
    return (bytes + ALIGN_BYTES - 1) / ALIGN_BYTES * ALIGN_BYTES;
}

/* Notes that op `at` uses the storage of `t`, if that is to be in the arena. */
static void extend(struct spans *spans, const struct vrt_storage *storages,
                   const struct vrt_tensor *t, size_t at)
{
    struct span *span = &spans->all[t->storage];

    if (storages[t->storage].role != VRT_STORAGE_INTERMEDIATE)
        return;
    /* Met for the first time. Storages that no op uses stay empty, and get no place. */
    if (!span->size_bytes) {
        span->size_bytes = aligned(storages[t->storage].size_bytes);
        span->first = at;
    }
    span->last = at;
}

const char *vrt_plan_lacks(const struct vrt_graph *graph, const struct vrt_device *device)
{
    size_t n_ops;
    const struct vrt_op *ops = vrt_graph_ops(graph, &n_ops);

    for (size_t at = 0; at < n_ops; at++)
        if (!vrt_device_supports(device, &ops[at]))
            return vrt_op_kind_name(ops[at].kind);
    return NULL;
}

/* Finds out who lives when. An op that the device doesn't support ends it: -EINVAL. */
static int collect(struct spans *spans, const struct vrt_graph *graph,
                   const struct vrt_device *device)
{
    size_t n_ops, n_storages;
    const struct vrt_op *ops = vrt_graph_ops(graph, &n_ops);
    const struct vrt_storage *storages = vrt_graph_storages(graph, &n_storages);
    struct span *workspace = &spans->all[n_storages];

    for (size_t i = 0; i < spans->n; i++)
        spans->all[i].index = i;
    for (size_t at = 0; at < n_ops; at++) {
        if (!vrt_device_supports(device, &ops[at])) {
            vrt_log_error("%s does not support op %zu, %s", vrt_device_info(device)->name, at,
                          vrt_op_kind_name(ops[at].kind));
            return vrt_raise(-EINVAL);
        }
        for (int i = 0; i < ops[at].n_in; i++)
            if (vrt_op_in(&ops[at], i))
                extend(spans, storages, vrt_op_in(&ops[at], i), at);
        for (int i = 0; i < vrt_op_n_out(&ops[at]); i++)
            extend(spans, storages, vrt_op_out(&ops[at], i), at);
        workspace->size_bytes = VRT_MAX(workspace->size_bytes,
                                        aligned(vrt_device_workspace_bytes(device, &ops[at])));
    }
    /* It lives throughout: were it over a tensor of a neighbouring op, the two would have to wait
     * for each other on a device that overlaps them. */
    workspace->last = n_ops;
    return 0;
}

static void lower_tensor(struct vrt_tensor *t, const struct spans *spans,
                         const struct vrt_storage *storages)
{
    if (!vrt_tensor_exists(t))
        return;

    const struct vrt_storage *storage = &storages[t->storage];
    const bool in_arena = storage->role == VRT_STORAGE_INTERMEDIATE;
    t->slot = in_arena ? VRT_SLOT_ARENA : 1 + storage->binding;
    t->offset_bytes = (in_arena ? spans->all[t->storage].offset_bytes : 0) +
                      (size_t)t->offset * vrt_dtype_size(t->dtype);
}

static int lower(struct vrt_plan *plan, const struct vrt_graph *graph, const struct spans *spans)
{
    size_t n_storages;
    const struct vrt_op *ops = vrt_graph_ops(graph, &plan->n_ops);
    const struct vrt_storage *storages = vrt_graph_storages(graph, &n_storages);

    plan->ops = calloc(plan->n_ops, sizeof(*plan->ops));
    if (!plan->ops)
        return vrt_raise(-ENOMEM);
    for (size_t at = 0; at < plan->n_ops; at++) {
        struct vrt_op *op = &plan->ops[at];
        *op = ops[at];
        for (int i = 0; i < op->n_in; i++)
            lower_tensor(&op->in[i], spans, storages);
        lower_tensor(&op->out, spans, storages);
        for (int i = 1; i < vrt_op_n_out(op); i++)
            lower_tensor(&op->out_more[i - 1], spans, storages);
        op->workspace_offset_bytes = spans->all[n_storages].offset_bytes;
    }
    for (size_t i = 0; i < n_storages; i++)
        plan->n_bindings += storages[i].role != VRT_STORAGE_INTERMEDIATE;
    return 0;
}

/* The largest sum of what lives at one op, of `n_ops`: no order can do with less. Return: 0 where
 * there is no memory to find it. */
static size_t least_bytes(const struct spans *spans, size_t n_ops)
{
    VRT_CLEANUP(vrt_freep) size_t *begins = calloc(n_ops + 2, sizeof(*begins));
    VRT_CLEANUP(vrt_freep) size_t *ends = calloc(n_ops + 2, sizeof(*ends));
    size_t now = 0, most = 0;

    if (!begins || !ends)
        return 0;
    for (size_t i = 0; i < spans->n; i++) {
        begins[spans->all[i].first] += spans->all[i].size_bytes;
        ends[spans->all[i].last + 1] += spans->all[i].size_bytes;
    }
    for (size_t at = 0; at <= n_ops; at++) {
        now += begins[at] - ends[at];
        most = VRT_MAX(most, now);
    }
    return most;
}

static int make(struct vrt_plan *plan, struct spans *spans, const struct vrt_graph *graph,
                const struct vrt_device *device)
{
    int r = collect(spans, graph, device);
    if (r < 0)
        return vrt_fold(r);

    vrt_graph_ops(graph, &plan->n_ops);
    const size_t least = least_bytes(spans, plan->n_ops);
    size_t best = 0, last = 0;
    plan->arena_bytes = place(spans, orders[0]);
    for (size_t i = 1; i < VRT_ARRAY_SIZE(orders) && plan->arena_bytes > least; i++) {
        const size_t arena_bytes = place(spans, orders[i]);
        last = i;
        if (arena_bytes < plan->arena_bytes) {
            plan->arena_bytes = arena_bytes;
            best = i;
        }
    }
    /* Once more: the spans hold the offsets of the last order that was tried. */
    if (best != last)
        place(spans, orders[best]);
    r = lower(plan, graph, spans);
    return r < 0 ? vrt_fold(r) : 0;
}

/* A graph can be run if it does anything, and leaves no output as it was. */
static int check_graph(const struct vrt_graph *graph)
{
    size_t n_ops, n_storages;
    const struct vrt_storage *storages = vrt_graph_storages(graph, &n_storages);

    vrt_graph_ops(graph, &n_ops);
    if (n_ops == 0)
        return vrt_raise(-EINVAL);
    for (size_t i = 0; i < n_storages; i++)
        if (!vrt_graph_is_written(graph, (int)i) && storages[i].role == VRT_STORAGE_OUTPUT) {
            vrt_log_error("no op writes to binding %d", storages[i].binding);
            return vrt_raise(-EINVAL);
        }
    return 0;
}

int vrt_plan_new(const struct vrt_graph *graph, const struct vrt_device *device,
                 struct vrt_plan **ret_plan)
{
    VRT_CLEANUP(vrt_plan_freep) struct vrt_plan *plan = NULL;
    struct spans spans;
    size_t n_ops, n_storages;

    int r = vrt_graph_status(graph);
    if (r != 0)
        return vrt_fold(r);
    r = check_graph(graph);
    if (r != 0)
        return vrt_fold(r);
    vrt_graph_ops(graph, &n_ops);
    vrt_graph_storages(graph, &n_storages);
    plan = calloc(1, sizeof(*plan));
    if (!plan)
        return vrt_raise(-ENOMEM);
    r = spans_init(&spans, n_storages + 1);
    if (r == 0)
        r = make(plan, &spans, graph, device);
    spans_done(&spans);
    if (r != 0)
        return vrt_fold(r);
    *ret_plan = VRT_STEAL(plan);
    return 0;
}

struct vrt_plan *vrt_plan_free(struct vrt_plan *plan)
{
    if (!plan)
        return NULL;
    free(plan->ops);
    free(plan);
    return NULL;
}

size_t vrt_plan_arena_bytes(const struct vrt_plan *plan)
{
    return plan->arena_bytes;
}

const struct vrt_op *vrt_plan_ops(const struct vrt_plan *plan, size_t *ret_n_ops)
{
    *ret_n_ops = plan->n_ops;
    return plan->ops;
}

int vrt_plan_n_bindings(const struct vrt_plan *plan)
{
    return plan->n_bindings;
}
