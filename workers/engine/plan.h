/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A plan: where each intermediate of a graph lives in one arena, for how long, and so the exact
 * peak of memory, known before anything is allocated
 *
 * A storage lives from the first op that writes it to the last that reads it; two whose lives
 * meet don't overlap. The ops' workspaces are one place, as large as the largest, apart from all
 * tensors: a device may begin an op before the last is quite done. Places are found greedily, at
 * the lowest free offset, in several orders, of which the one with the smallest arena is taken;
 * the result depends on the graph and device class alone.
 *
 * Thread: that of the device.
 */

#include "backend/backend.h"
#include "engine/graph.h"

struct vrt_plan;

/*
 * Return: 0; -EINVAL if the device doesn't support an op, or no op writes to an output (the log
 * names it); -ENOMEM; the graph's own status. The plan keeps a lowered copy of the ops and doesn't
 * need the graph.
 */
int vrt_plan_new(const struct vrt_graph *graph, const struct vrt_device *device,
                 struct vrt_plan **ret_plan);

/* The name of the first op that the device doesn't support; NULL: it supports all. */
const char *vrt_plan_lacks(const struct vrt_graph *graph, const struct vrt_device *device);

/* Return: NULL. */
struct vrt_plan *vrt_plan_free(struct vrt_plan *plan);

/* Bytes of the arena: the peak of all intermediates, and the workspace. */
size_t vrt_plan_arena_bytes(const struct vrt_plan *plan);

/* The ops with slots, offsets and workspaces filled in. */
const struct vrt_op *vrt_plan_ops(const struct vrt_plan *plan, size_t *ret_n_ops);

/* How many bindings a run needs: inputs, then outputs. */
int vrt_plan_n_bindings(const struct vrt_plan *plan);

VRT_DEFINE_CLEANUP(struct vrt_plan, vrt_plan_free)
