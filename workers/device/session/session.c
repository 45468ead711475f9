/* SPDX-License-Identifier: MIT */

/*
 * A session's making: everything is planned before anything is allocated, and all programs share
 * one arena, since they run one after the other.
 *
 * Clips of one job differ in length: a scene may be shorter than the recipe's clips. The program
 * for those is recorded with the session, others when they are needed, in the same arena: what is
 * true of a clip's intermediates is true of a shorter one's, which need no more.
 */

#include "workers/device/session/session.h"

#include <errno.h>
#include <stdlib.h>

#include "workers/device/session/session-impl.h"

/* Frees the graphs that a failed or finished set-up leaves. */
static void free_graphs(struct vrt_graph **graphs)
{
    for (int g = 0; g < VRT_SESSION_GRAPH_COUNT; g++)
        vrt_graph_free(graphs[g]);
}

static size_t slot_bytes(const struct vrt_session_layout *layout)
{
    return layout->slot_bytes[VRT_SESSION_IN] + layout->slot_bytes[VRT_SESSION_OUT];
}

/* Bytes of the buffers beside arena and replica, with one clip in flight. */
static size_t buffers_bytes(const struct vrt_session_layout *layout)
{
    return slot_bytes(layout) + layout->rgb_bytes[VRT_SESSION_IN] +
           layout->rgb_bytes[VRT_SESSION_OUT] + layout->tile_bytes + layout->weights_bytes;
}

int vrt_session_plan(struct vrt_device *device, const struct vrt_job_spec *spec,
                 const struct vrt_job_spec_size *size, enum vrt_dtype dtype,
                 struct vrt_session_plan *ret_plan)
{
    struct vrt_graph *graphs[VRT_SESSION_GRAPH_COUNT];
    struct vrt_session_layout layout;
    int64_t tile_flops;
    size_t arena_bytes = 0;
    int r = vrt_session_graphs_new(spec, size, dtype, graphs);

    for (int g = 0; r == 0 && g < VRT_SESSION_GRAPH_COUNT; g++) {
        VRT_CLEANUP(vrt_plan_freep) struct vrt_plan *plan = NULL;
        if (!graphs[g])
            continue;
        r = vrt_plan_new(graphs[g], device, &plan);
        if (r == 0)
            arena_bytes = VRT_MAX(arena_bytes, vrt_plan_arena_bytes(plan));
    }
    tile_flops = r != 0 ? 0 : vrt_graph_flops(graphs[VRT_SESSION_NETWORK]);
    free_graphs(graphs);
    if (r != 0)
        return vrt_fold(r);
    vrt_session_layout(spec, size, &layout);
    *ret_plan = (struct vrt_session_plan){
        .bytes = arena_bytes + buffers_bytes(&layout),
        .slot_bytes = slot_bytes(&layout),
        .tile_flops = tile_flops,
    };
    return 0;
}

const char *vrt_session_lacks(struct vrt_device *device, const struct vrt_job_spec *spec,
                              const struct vrt_job_spec_size *size, enum vrt_dtype dtype)
{
    struct vrt_graph *graphs[VRT_SESSION_GRAPH_COUNT];
    const char *lacks = NULL;
    int r = vrt_session_graphs_new(spec, size, dtype, graphs);

    for (int g = 0; r == 0 && g < VRT_SESSION_GRAPH_COUNT && !lacks; g++)
        if (graphs[g])
            lacks = vrt_plan_lacks(graphs[g], device);
    free_graphs(graphs);
    return lacks;
}

static int buffers_new(struct vrt_session *session)
{
    const struct vrt_session_layout *layout = &session->layout;
    const struct {
        struct vrt_buffer **buffer;
        size_t bytes;
    } wanted[] = {
        { &session->rgb[VRT_SESSION_IN], layout->rgb_bytes[VRT_SESSION_IN] },
        { &session->rgb[VRT_SESSION_OUT], layout->rgb_bytes[VRT_SESSION_OUT] },
        { &session->tile, layout->tile_bytes },
        { &session->weights, layout->weights_bytes },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(wanted); i++) {
        int r = wanted[i].bytes ?
            vrt_buffer_new(session->device, wanted[i].bytes, wanted[i].buffer) : 0;
        if (r != 0)
            return vrt_fold(r);
    }
    return 0;
}

static int slots_new(struct vrt_session *session)
{
    for (int i = 0; i < session->n_slots; i++) {
        for (int side = 0; side < VRT_SESSION_SIDE_COUNT; side++) {
            int r = vrt_staging_new(session->device, session->layout.slot_bytes[side],
                                    &session->slots[i].planes[side]);
            if (r != 0)
                return vrt_fold(r);
        }
    }
    return 0;
}

/* Fills in what the tiles along one side are worth, and the totals that they come to. */
static void weigh_axis(const struct vrt_tile_axis *axis, const struct vrt_job_spec *spec,
                       float *weights, float *totals)
{
    int scale = vrt_network_info(spec->network)->scale;
    struct vrt_overlap overlap = vrt_tile_overlap(axis, spec->needs.joint, scale);
    int64_t length = (int64_t)axis->frame * scale;

    for (int i = 0; i < axis->n; i++) {
        int64_t start = vrt_overlap_start(&overlap, length, i);
        for (int k = 0; k < overlap.size; k++) {
            struct vrt_share share = vrt_overlap_share(&overlap, length, i, start + k);
            *weights++ = share.weight;
            totals[start + k] = share.total;
        }
    }
}

static int write_weights(struct vrt_session *session)
{
    const struct vrt_session_layout *layout = &session->layout;
    VRT_CLEANUP(vrt_freep) char *weights = NULL;

    if (!layout->weights_bytes)
        return 0;
    weights = calloc(1, layout->weights_bytes);
    if (!weights)
        return vrt_raise(-ENOMEM);
    weigh_axis(&session->spec->grid.y, session->spec,
               (float *)(void *)(weights + layout->rows_offset),
               (float *)(void *)(weights + layout->totals_offset[0]));
    weigh_axis(&session->spec->grid.x, session->spec,
               (float *)(void *)(weights + layout->columns_offset),
               (float *)(void *)(weights + layout->totals_offset[1]));
    return vrt_buffer_write(session->device, session->weights, 0, weights, layout->weights_bytes);
}

static struct vrt_job_spec_size size_of(const struct vrt_session *session)
{
    return (struct vrt_job_spec_size){ .grid = session->spec->grid, .frames = session->depth };
}

static int executors_new(struct vrt_session *session)
{
    struct vrt_graph *graphs[VRT_SESSION_GRAPH_COUNT], *packed[VRT_SESSION_GRAPH_COUNT];
    struct vrt_graph_executor *executors[VRT_SESSION_GRAPH_COUNT];
    const struct vrt_job_spec_size size = size_of(session);
    size_t n = 0;
    int r = vrt_session_graphs_new(session->spec, &size, session->dtype, graphs);

    for (int g = 0; r == 0 && g < VRT_SESSION_GRAPH_COUNT; g++)
        if (graphs[g])
            packed[n++] = graphs[g];
    if (r == 0)
        r = vrt_graph_executor_new_all(session->device, session->replica, packed, n,
                                       &session->arena, executors);
    if (r == 0) {
        n = 0;
        for (int g = 0; g < VRT_SESSION_GRAPH_COUNT; g++)
            if (graphs[g])
                session->executors[g] = executors[n++];
    }
    free_graphs(graphs);
    return vrt_fold(r);
}

int vrt_session_new(struct vrt_device *device, const struct vrt_session_params *params,
                    struct vrt_session **ret_session)
{
    struct vrt_session *session = calloc(1, sizeof(*session));
    int r;

    vrt_assert(params->n_in_flight >= 1 && params->n_in_flight <= VRT_DEVICE_IN_FLIGHT);
    if (!session)
        return vrt_raise(-ENOMEM);
    session->depth = params->spec->rule.temporal ? vrt_job_spec_size(params->spec).frames :
                     params->batch;
    session->device = device;
    session->spec = params->spec;
    session->replica = params->replica;
    session->dtype = params->dtype;
    session->n_slots = params->n_in_flight;
    const struct vrt_job_spec_size size = size_of(session);
    vrt_session_layout(session->spec, &size, &session->layout);
    r = buffers_new(session);
    if (r == 0)
        r = slots_new(session);
    if (r == 0)
        r = write_weights(session);
    if (r == 0)
        r = executors_new(session);
    if (r != 0) {
        vrt_session_free(session);
        return vrt_fold(r);
    }
    *ret_session = session;
    return 0;
}

struct vrt_session *vrt_session_free(struct vrt_session *session)
{
    if (!session)
        return NULL;
    for (int g = 0; g < VRT_SESSION_GRAPH_COUNT; g++)
        vrt_graph_executor_free(session->executors[g]);
    for (int i = 0; i < VRT_SESSION_N_SHORTER; i++)
        vrt_graph_executor_free(session->shorter[i].executor);
    vrt_arena_done(session->device, &session->arena);
    for (int side = 0; side < VRT_SESSION_SIDE_COUNT; side++) {
        for (int i = 0; i < session->n_slots; i++)
            vrt_staging_free(session->device, session->slots[i].planes[side]);
        vrt_buffer_free(session->device, session->rgb[side]);
    }
    vrt_buffer_free(session->device, session->tile);
    vrt_buffer_free(session->device, session->weights);
    free(session);
    return NULL;
}

size_t vrt_session_bytes(const struct vrt_session *session)
{
    return session->arena.size_bytes + buffers_bytes(&session->layout) +
           (size_t)(session->n_slots - 1) * slot_bytes(&session->layout);
}

int vrt_session_network(struct vrt_session *session, int depth, int first,
                        struct vrt_graph_executor **ret_executor)
{
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    struct vrt_graph_executor *executor;
    int i = 0, r;

    if (depth == session->depth && first == 1) {
        *ret_executor = session->executors[VRT_SESSION_NETWORK];
        return 0;
    }
    while (i < VRT_SESSION_N_SHORTER &&
           (session->shorter[i].depth != depth || session->shorter[i].first != first))
        i++;
    if (i < VRT_SESSION_N_SHORTER) {
        *ret_executor = session->shorter[i].executor;
        return 0;
    }
    r = vrt_session_network_graph_new(session->spec, depth, first, session->dtype, &graph);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_graph_executor_new_in(session->device, session->replica, graph, &session->arena,
                                  &executor);
    if (r != 0)
        return vrt_fold(r);
    /* The oldest makes room. */
    i = session->n_shorter++ % VRT_SESSION_N_SHORTER;
    vrt_graph_executor_free(session->shorter[i].executor);
    session->shorter[i].executor = executor;
    session->shorter[i].depth = depth;
    session->shorter[i].first = first;
    *ret_executor = executor;
    return 0;
}
