/* SPDX-License-Identifier: MIT */

#include "engine/graph.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "backend/op-params.h"
#include "base/error.h"
#include "base/log.h"

#define VRT_LOG_TOPIC "graph"

struct vrt_graph {
    int status;                         /* the first -errno */
    struct vrt_op *ops;
    size_t n_ops, capacity_ops;
    struct vrt_storage *storages;
    bool *written;                      /* by an op so far; for each storage */
    size_t n_storages, capacity_storages;
    int n_inputs, n_outputs;
    const struct vrt_param *params;     /* n_params, of the ops that come next; NULL: unknown */
    size_t n_params;
    enum vrt_dtype params_dtype;        /* of the replica that will have them */
};

int vrt_graph_new(struct vrt_graph **ret_graph)
{
    struct vrt_graph *graph = calloc(1, sizeof(*graph));

    if (!graph)
        return vrt_raise(-ENOMEM);
    *ret_graph = graph;
    return 0;
}

struct vrt_graph *vrt_graph_free(struct vrt_graph *graph)
{
    if (!graph)
        return NULL;
    free(graph->ops);
    free(graph->storages);
    free(graph->written);
    free(graph);
    return NULL;
}

int vrt_graph_status(const struct vrt_graph *graph)
{
    return graph->status;
}

void vrt_graph_fail(struct vrt_graph *graph, int r)
{
    if (!graph->status)
        graph->status = vrt_raise(r);
}

/* Remembers that a caller of ours built the graph wrongly. */
static void refuse(struct vrt_graph *graph, const char *what, const char *why)
{
    vrt_log_error("%s: %s", what, why);
    vrt_graph_fail(graph, -EINVAL);
}

/* Return: the array with room for one more item, or NULL; the old one stays valid then. */
static void *grown(void *array, size_t n, size_t *capacity, size_t item_bytes)
{
    if (n < *capacity)
        return array;
    size_t wanted = *capacity ? *capacity * 2 : 32;
    void *larger = reallocarray(array, wanted, item_bytes);
    if (larger)
        *capacity = wanted;
    return larger;
}

static bool grow_storages(struct vrt_graph *graph)
{
    size_t capacity = graph->capacity_storages;
    void *written = grown(graph->written, graph->n_storages, &capacity, sizeof(bool));

    if (!written)
        return false;
    graph->written = written;
    void *storages = grown(graph->storages, graph->n_storages, &graph->capacity_storages,
                           sizeof(struct vrt_storage));
    if (!storages)
        return false;
    graph->storages = storages;
    return true;
}

/* Bindings are inputs, then outputs: a new input moves every output by one. */
static int next_binding(struct vrt_graph *graph, enum vrt_storage_role role)
{
    if (role == VRT_STORAGE_INTERMEDIATE)
        return -1;
    if (role == VRT_STORAGE_OUTPUT)
        return graph->n_inputs + graph->n_outputs++;
    for (size_t i = 0; i < graph->n_storages; i++)
        if (graph->storages[i].role == VRT_STORAGE_OUTPUT)
            graph->storages[i].binding++;
    return graph->n_inputs++;
}

/* A storage that holds `t` from its first element to its last. */
static struct vrt_tensor add_storage(struct vrt_graph *graph, enum vrt_storage_role role,
                                     struct vrt_tensor t)
{
    t.storage = -1;
    t.offset = 0;
    t.slot = 0;
    t.offset_bytes = 0;
    if (graph->status)
        return t;

    const char *wrong = t.dtype < VRT_DTYPE_COUNT ? vrt_tensor_check(&t) : "there is no such type";
    if (wrong) {
        refuse(graph, "a new tensor", wrong);
        return t;
    }
    if (graph->n_storages >= INT_MAX || !grow_storages(graph)) {
        vrt_graph_fail(graph, -ENOMEM);
        return t;
    }
    graph->written[graph->n_storages] = role == VRT_STORAGE_INPUT;
    const int binding = next_binding(graph, role);
    t.storage = (int)graph->n_storages;
    graph->storages[graph->n_storages++] = (struct vrt_storage){
        .role = role,
        .size_bytes = (size_t)vrt_tensor_extent(&t) * vrt_dtype_size(t.dtype),
        .binding = binding,
    };
    return t;
}

struct vrt_tensor vrt_graph_input(struct vrt_graph *graph, enum vrt_dtype dtype,
                                  struct vrt_shape shape)
{
    return add_storage(graph, VRT_STORAGE_INPUT, vrt_tensor_dense(dtype, shape));
}

struct vrt_tensor vrt_graph_input_view(struct vrt_graph *graph, const struct vrt_tensor *like)
{
    return add_storage(graph, VRT_STORAGE_INPUT, *like);
}

struct vrt_tensor vrt_graph_output(struct vrt_graph *graph, enum vrt_dtype dtype,
                                   struct vrt_shape shape)
{
    return add_storage(graph, VRT_STORAGE_OUTPUT, vrt_tensor_dense(dtype, shape));
}

struct vrt_tensor vrt_graph_output_view(struct vrt_graph *graph, const struct vrt_tensor *like)
{
    return add_storage(graph, VRT_STORAGE_OUTPUT, *like);
}

struct vrt_tensor vrt_graph_tensor(struct vrt_graph *graph, enum vrt_dtype dtype,
                                   struct vrt_shape shape)
{
    return add_storage(graph, VRT_STORAGE_INTERMEDIATE, vrt_tensor_dense(dtype, shape));
}

/* Return: NULL, or why `t` is no view of a storage of the graph. */
static const char *check_view(const struct vrt_graph *graph, const struct vrt_tensor *t)
{
    if ((size_t)t->storage >= graph->n_storages)
        return "a tensor is of another graph";

    const size_t end_bytes = (size_t)(t->offset + vrt_tensor_extent(t)) * vrt_dtype_size(t->dtype);
    if (end_bytes > graph->storages[t->storage].size_bytes)
        return "a view reaches beyond its storage";
    return NULL;
}

/* Return: NULL, or why the graph's storages don't allow `op`. */
static const char *check_use(const struct vrt_graph *graph, const struct vrt_op *op)
{
    const char *wrong = NULL;

    for (int i = 0; !wrong && i < op->n_in; i++) {
        const struct vrt_tensor *in = vrt_op_in(op, i);
        if (!in)
            continue;
        wrong = check_view(graph, in);
        if (!wrong && !graph->written[in->storage])
            wrong = "an input was not written before";
    }
    for (int i = 0; !wrong && i < vrt_op_n_out(op); i++) {
        const struct vrt_tensor *out = vrt_op_out(op, i);
        wrong = check_view(graph, out);
        if (!wrong && graph->storages[out->storage].role == VRT_STORAGE_INPUT)
            wrong = "it writes to an input of the graph";
    }
    return wrong;
}

void vrt_graph_set_params(struct vrt_graph *graph, const struct vrt_param *params, size_t n_params,
                          enum vrt_dtype dtype)
{
    graph->params = params;
    graph->n_params = n_params;
    graph->params_dtype = dtype;
}

/* Appends `op`, of which nothing is missing. */
static void append(struct vrt_graph *graph, const struct vrt_op *op)
{
    int r = vrt_op_check(op);

    if (r < 0) {
        graph->status = vrt_fold(r);
        return;
    }
    const char *wrong = check_use(graph, op);
    if (wrong) {
        refuse(graph, vrt_op_kind_name(op->kind), wrong);
        return;
    }
    struct vrt_op *ops = grown(graph->ops, graph->n_ops, &graph->capacity_ops, sizeof(*ops));
    if (!ops || graph->n_ops >= INT_MAX) {
        vrt_graph_fail(graph, -ENOMEM);
        return;
    }
    graph->ops = ops;
    graph->ops[graph->n_ops++] = *op;
    for (int i = 0; i < vrt_op_n_out(op); i++)
        graph->written[vrt_op_out(op, i)->storage] = true;
}

void vrt_graph_append(struct vrt_graph *graph, const struct vrt_op *op)
{
    struct vrt_op known = *op;
    const char *wrong = NULL;

    if (graph->status)
        return;
    if (graph->params)
        wrong = vrt_op_find_weights(&known, graph->params, graph->n_params, graph->params_dtype);
    if (wrong)
        refuse(graph, vrt_op_kind_name(op->kind), wrong);
    else
        append(graph, &known);
}

const struct vrt_op *vrt_graph_ops(const struct vrt_graph *graph, size_t *ret_n_ops)
{
    *ret_n_ops = graph->n_ops;
    return graph->ops;
}

const struct vrt_storage *vrt_graph_storages(const struct vrt_graph *graph, size_t *ret_n)
{
    *ret_n = graph->n_storages;
    return graph->storages;
}

bool vrt_graph_is_written(const struct vrt_graph *graph, int storage)
{
    return graph->written[storage];
}

int64_t vrt_graph_flops(const struct vrt_graph *graph)
{
    int64_t flops = 0;

    for (size_t i = 0; i < graph->n_ops; i++)
        flops += vrt_op_flops(&graph->ops[i]);
    return flops;
}
