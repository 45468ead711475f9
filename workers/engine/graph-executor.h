/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * An executor: a graph ready to run on one device: its plan, its recorded program, and the arena,
 * which several executors of a device may share, since they run one after the other
 *
 * Thread: that of the device.
 */

#include <stdatomic.h>
#include <stdbool.h>

#include "backend/backend.h"
#include "base/cleanup.h"
#include "engine/plan.h"

struct vrt_graph_executor;

/* What ops took, by kind. */
struct vrt_op_times {
    int64_t ns[VRT_OP_KIND_COUNT];
    int64_t flops[VRT_OP_KIND_COUNT];       /* by vrt_op_flops() */
    int64_t n_ops[VRT_OP_KIND_COUNT];
};

/* Who looks on while a graph runs. */
struct vrt_graph_executor_watch {
    bool (*go_on)(void *ctx);       /* asked between parts of a long one: whether to go on; NULL:
                                     * nobody is asked */
    void *ctx;
    struct vrt_op_times *op_times;  /* NULL, or added to: vrt_graph_executor_submit_timed() */
    atomic_llong *done_flops;       /* NULL, or added to with each part that was submitted */
};

/* One arena for several executors; embedded, zero-initialised. */
struct vrt_arena {
    struct vrt_buffer *buffer;
    size_t size_bytes;
};

/*
 * Plans the graphs of `graphs` (n of them), allocates one arena for the largest, and records them.
 * `replica` (NULL: none needs params) and the device must outlive the executors.
 * Return: 0; outcome of the backend; -errno. *ret_arena is set on success only, and what is in
 * ret_executors[0..n-1] is of use then only.
 */
int vrt_graph_executor_new_all(struct vrt_device *device, struct vrt_replica *replica,
                         struct vrt_graph *const *graphs, size_t n, struct vrt_arena *ret_arena,
                         struct vrt_graph_executor **ret_executors);

/*
 * One more executor in an arena that others have, which must outlive it.
 * Return: 0; VRT_BACKEND_E_NOMEM: the arena is too small for it; outcome; -errno.
 */
int vrt_graph_executor_new_in(struct vrt_device *device, struct vrt_replica *replica,
                        const struct vrt_graph *graph, const struct vrt_arena *arena,
                        struct vrt_graph_executor **ret_executor);

/* Return: NULL. */
struct vrt_graph_executor *vrt_graph_executor_free(struct vrt_graph_executor *executor);
VRT_DEFINE_CLEANUP(struct vrt_graph_executor, vrt_graph_executor_free)

/* Frees the buffer, after the executors that use it. */
void vrt_arena_done(struct vrt_device *device, struct vrt_arena *arena);

/* Bindings: inputs, then outputs, in order of creation. Return: as vrt_program_submit(). */
int vrt_graph_executor_submit(struct vrt_graph_executor *executor,
                              const struct vrt_binding *bindings);

/*
 * The same op by op, each waited for: adds what each took to *times. The result is that of
 * vrt_graph_executor_submit(), the sum of the times is more than that takes: here nothing overlaps,
 * and each op is started by itself. The first call makes a program for each op, which it keeps.
 * Return: as vrt_graph_executor_submit() and vrt_device_finish().
 */
int vrt_graph_executor_submit_timed(struct vrt_graph_executor *executor,
                                    const struct vrt_binding *bindings,
                              struct vrt_op_times *times);

/*
 * Either of both, and stops where it is told to: a part takes seconds of a slow device, unless one
 * op takes longer. On a device that computes beside the host, parts are asked about ahead of it.
 * Return: as those; -ECANCELED: the watch said so, and what it has submitted may be under way.
 */
int vrt_graph_executor_submit_watched(struct vrt_graph_executor *executor,
                                      const struct vrt_binding *bindings,
                                const struct vrt_graph_executor_watch *watch);
