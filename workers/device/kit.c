/* SPDX-License-Identifier: MIT */

/*
 * A kit's making: everything is planned before anything is allocated, and all programs share one
 * arena, since they run one after the other.
 *
 * Clips of one job differ in length: a scene may be shorter than the recipe's clips. The program
 * for those is recorded with the kit, others when they are needed, in the same arena: what is true
 * of a clip's intermediates is true of a shorter one's, which need no more.
 */

#include "workers/device/kit.h"

#include <errno.h>
#include <stdlib.h>

#include "workers/device/kit-impl.h"

/* Frees the graphs that a failed or finished set-up leaves. */
static void free_graphs(struct vrt_graph **graphs)
{
    for (int g = 0; g < VRT_KIT_GRAPH_COUNT; g++)
        vrt_graph_free(graphs[g]);
}

/* Bytes of the buffers beside arena and replica. */
static size_t buffers_bytes(const struct vrt_kit_layout *layout)
{
    return layout->planes_bytes[VRT_KIT_IN] + layout->planes_bytes[VRT_KIT_OUT] +
           layout->rgb_bytes[VRT_KIT_IN] + layout->rgb_bytes[VRT_KIT_OUT] + layout->tile_bytes +
           layout->weights_bytes + VRT_KIT_RANGE_BYTES;
}

int vrt_kit_plan(struct vrt_device *device, const struct vrt_work *work,
                 const struct vrt_work_size *size, enum vrt_dtype dtype,
                 struct vrt_kit_plan *ret_plan)
{
    struct vrt_graph *graphs[VRT_KIT_GRAPH_COUNT];
    struct vrt_kit_layout layout;
    int64_t tile_flops;
    size_t arena_bytes = 0;
    int r = vrt_kit_graphs_new(work, size, dtype, graphs);

    for (int g = 0; !r && g < VRT_KIT_GRAPH_COUNT; g++) {
        VRT_CLEANUP(vrt_plan_freep) struct vrt_plan *plan = NULL;
        if (!graphs[g])
            continue;
        r = vrt_plan_new(graphs[g], device, &plan);
        if (!r)
            arena_bytes = VRT_MAX(arena_bytes, vrt_plan_arena_bytes(plan));
    }
    tile_flops = r ? 0 : vrt_graph_flops(graphs[VRT_KIT_NETWORK]);
    free_graphs(graphs);
    if (r)
        return vrt_fold(r);
    vrt_kit_layout(work, size, &layout);
    *ret_plan = (struct vrt_kit_plan){ arena_bytes + buffers_bytes(&layout), tile_flops };
    return 0;
}

static int buffers_new(struct vrt_kit *kit)
{
    const struct vrt_kit_layout *layout = &kit->layout;
    const struct {
        struct vrt_buffer **buffer;
        size_t bytes;
    } wanted[] = {
        { &kit->planes[VRT_KIT_IN], layout->planes_bytes[VRT_KIT_IN] },
        { &kit->planes[VRT_KIT_OUT], layout->planes_bytes[VRT_KIT_OUT] },
        { &kit->rgb[VRT_KIT_IN], layout->rgb_bytes[VRT_KIT_IN] },
        { &kit->rgb[VRT_KIT_OUT], layout->rgb_bytes[VRT_KIT_OUT] },
        { &kit->tile, layout->tile_bytes },
        { &kit->weights, layout->weights_bytes },
        { &kit->range, VRT_KIT_RANGE_BYTES },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(wanted); i++) {
        int r = wanted[i].bytes ?
            vrt_buffer_new(kit->device, wanted[i].bytes, wanted[i].buffer) : 0;
        if (r)
            return vrt_fold(r);
    }
    kit->host = malloc(VRT_MAX(layout->planes_bytes[VRT_KIT_IN],
                               layout->planes_bytes[VRT_KIT_OUT]));
    return kit->host ? 0 : vrt_raise(-ENOMEM);
}

/* Fills in what the tiles along one side are worth, and the totals that they come to. */
static void weigh_axis(const struct vrt_tile_axis *axis, const struct vrt_work *work,
                       float *weights, float *totals)
{
    int scale = vrt_network_info(work->network)->scale;
    struct vrt_lap lap = vrt_tile_lap(axis, work->needs.joint, scale);
    int64_t length = (int64_t)axis->frame * scale;

    for (int i = 0; i < axis->n; i++) {
        int64_t start = vrt_lap_start(&lap, length, i);
        for (int k = 0; k < lap.size; k++) {
            struct vrt_share share = vrt_lap_share(&lap, length, i, start + k);
            *weights++ = share.weight;
            totals[start + k] = share.total;
        }
    }
}

static int write_weights(struct vrt_kit *kit)
{
    const struct vrt_kit_layout *layout = &kit->layout;
    VRT_CLEANUP(vrt_freep) char *weights = NULL;

    if (!layout->weights_bytes)
        return 0;
    weights = calloc(1, layout->weights_bytes);
    if (!weights)
        return vrt_raise(-ENOMEM);
    weigh_axis(&kit->work->grid.y, kit->work, (float *)(void *)(weights + layout->rows_offset),
               (float *)(void *)(weights + layout->totals_offset[0]));
    weigh_axis(&kit->work->grid.x, kit->work, (float *)(void *)(weights + layout->columns_offset),
               (float *)(void *)(weights + layout->totals_offset[1]));
    return vrt_buffer_write(kit->device, kit->weights, 0, weights, layout->weights_bytes);
}

static int executors_new(struct vrt_kit *kit)
{
    struct vrt_graph *graphs[VRT_KIT_GRAPH_COUNT], *packed[VRT_KIT_GRAPH_COUNT];
    struct vrt_executor *executors[VRT_KIT_GRAPH_COUNT];
    struct vrt_work_size size = vrt_work_size(kit->work);
    size_t n = 0;
    int r = vrt_kit_graphs_new(kit->work, &size, kit->dtype, graphs);

    for (int g = 0; !r && g < VRT_KIT_GRAPH_COUNT; g++)
        if (graphs[g])
            packed[n++] = graphs[g];
    if (!r)
        r = vrt_executor_new_all(kit->device, kit->replica, packed, n, &kit->arena, executors);
    if (!r) {
        n = 0;
        for (int g = 0; g < VRT_KIT_GRAPH_COUNT; g++)
            if (graphs[g])
                kit->executors[g] = executors[n++];
    }
    free_graphs(graphs);
    return vrt_fold(r);
}

int vrt_kit_new(struct vrt_device *device, const struct vrt_work *work, struct vrt_replica *replica,
                enum vrt_dtype dtype, struct vrt_kit **ret_kit)
{
    struct vrt_kit *kit = calloc(1, sizeof(*kit));
    struct vrt_work_size size = vrt_work_size(work);
    int r;

    if (!kit)
        return vrt_raise(-ENOMEM);
    kit->device = device;
    kit->work = work;
    kit->replica = replica;
    kit->dtype = dtype;
    vrt_kit_layout(work, &size, &kit->layout);
    r = buffers_new(kit);
    if (!r)
        r = write_weights(kit);
    if (!r)
        r = executors_new(kit);
    if (r) {
        vrt_kit_free(kit);
        return vrt_fold(r);
    }
    *ret_kit = kit;
    return 0;
}

struct vrt_kit *vrt_kit_free(struct vrt_kit *kit)
{
    if (!kit)
        return NULL;
    for (int g = 0; g < VRT_KIT_GRAPH_COUNT; g++)
        vrt_executor_free(kit->executors[g]);
    for (int i = 0; i < VRT_KIT_N_SHORTER; i++)
        vrt_executor_free(kit->shorter[i].executor);
    vrt_arena_done(kit->device, &kit->arena);
    for (int side = 0; side < VRT_KIT_SIDE_COUNT; side++) {
        vrt_buffer_free(kit->device, kit->planes[side]);
        vrt_buffer_free(kit->device, kit->rgb[side]);
    }
    vrt_buffer_free(kit->device, kit->tile);
    vrt_buffer_free(kit->device, kit->weights);
    vrt_buffer_free(kit->device, kit->range);
    free(kit->host);
    free(kit);
    return NULL;
}

size_t vrt_kit_bytes(const struct vrt_kit *kit)
{
    return kit->arena.size_bytes + buffers_bytes(&kit->layout);
}

int vrt_kit_network(struct vrt_kit *kit, int depth, struct vrt_executor **ret_executor)
{
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    struct vrt_executor *executor;
    int i = 0, r;

    if (depth == vrt_work_size(kit->work).frames) {
        *ret_executor = kit->executors[VRT_KIT_NETWORK];
        return 0;
    }
    while (i < VRT_KIT_N_SHORTER && kit->shorter[i].depth != depth)
        i++;
    if (i < VRT_KIT_N_SHORTER) {
        *ret_executor = kit->shorter[i].executor;
        return 0;
    }
    r = vrt_kit_network_graph_new(kit->work, depth, kit->dtype, &graph);
    if (!r)
        r = vrt_executor_new_in(kit->device, kit->replica, graph, &kit->arena, &executor);
    if (r)
        return vrt_fold(r);
    /* The oldest makes room. Nothing of it is under way: a clip ends with the device at rest. */
    i = kit->n_shorter++ % VRT_KIT_N_SHORTER;
    vrt_executor_free(kit->shorter[i].executor);
    kit->shorter[i].executor = executor;
    kit->shorter[i].depth = depth;
    *ret_executor = executor;
    return 0;
}
