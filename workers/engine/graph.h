/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A graph: the list of ops that computes outputs from inputs, for one fixed size of work
 *
 * A model builds it once per size with the functions below, in the order of execution. Each
 * allocates a new storage for its result unless it is told where to write; views of a storage
 * (vrt_tensor_channels() and others) cost nothing, so that a concatenation is often only a
 * matter of writing into the right channels. A failure (no memory, a wrong shape) is remembered,
 * later calls do nothing, and vrt_graph_status() tells.
 *
 * Thread: any one at a time.
 */

#include "backend/op/op.h"
#include "base/cleanup.h"

struct vrt_graph;
struct vrt_param;

enum vrt_storage_role {
    VRT_STORAGE_INTERMEDIATE,       /* placed in the arena by the plan */
    VRT_STORAGE_INPUT,              /* bound by the caller at each run */
    VRT_STORAGE_OUTPUT,
};

/* A block of memory that tensors look into. */
struct vrt_storage {
    enum vrt_storage_role role;
    size_t size_bytes;
    int binding;                    /* inputs, then outputs, each in order of creation; -1 */
};

/* Return: 0, -ENOMEM. */
int vrt_graph_new(struct vrt_graph **ret_graph);

/* Return: NULL. */
struct vrt_graph *vrt_graph_free(struct vrt_graph *graph);

/* 0, or the first -errno that building it met. */
int vrt_graph_status(const struct vrt_graph *graph);

/* Remembers that building it failed with `r`, unless it had failed before. */
void vrt_graph_fail(struct vrt_graph *graph, int r);

/* A dense tensor that the caller binds at each run. */
struct vrt_tensor vrt_graph_input(struct vrt_graph *graph, enum vrt_dtype dtype,
                                  struct vrt_shape shape);

/* The same with the strides of a larger tensor that it is cut from, in elements. */
struct vrt_tensor vrt_graph_input_view(struct vrt_graph *graph, const struct vrt_tensor *like);

/* A dense tensor that the caller binds at each run, to be written by an op. */
struct vrt_tensor vrt_graph_output(struct vrt_graph *graph, enum vrt_dtype dtype,
                                   struct vrt_shape shape);

/* The same with the strides of a larger tensor that it is cut from. */
struct vrt_tensor vrt_graph_output_view(struct vrt_graph *graph, const struct vrt_tensor *like);

/* A new dense tensor in the arena. */
struct vrt_tensor vrt_graph_tensor(struct vrt_graph *graph, enum vrt_dtype dtype,
                                   struct vrt_shape shape);

/*
 * Says what the weights of the ops appended from now on are: by index those of `params`, as a
 * replica of `dtype` keeps them. They live until the graph is told of others, or of none (NULL).
 */
void vrt_graph_set_params(struct vrt_graph *graph, const struct vrt_param *params, size_t n_params,
                          enum vrt_dtype dtype);

/* Appends `op`, whose tensors all exist and whose attributes are filled in. The type of its weights
 * follows from the graph's params; where it knows none the op has it already. */
void vrt_graph_append(struct vrt_graph *graph, const struct vrt_op *op);

/* The ops, in order; they live until the graph changes. */
const struct vrt_op *vrt_graph_ops(const struct vrt_graph *graph, size_t *ret_n_ops);

/* The storages, by index. */
const struct vrt_storage *vrt_graph_storages(const struct vrt_graph *graph, size_t *ret_n);

/* Whether an op writes to `storage`, or the caller does before each run. */
bool vrt_graph_is_written(const struct vrt_graph *graph, int storage);

/* Sum of vrt_op_flops(). */
int64_t vrt_graph_flops(const struct vrt_graph *graph);

VRT_DEFINE_CLEANUP(struct vrt_graph, vrt_graph_free)
