/* SPDX-License-Identifier: MIT */

/*
 * A frame's way over a device: planes -> RGB -> network, tile by tile -> RGB -> planes. Everything
 * stays on the device between the two copies of planes; RGB is f32 and whole, so that tiles are
 * views into it and need no copies of their own. All programs share one arena, since they run one
 * after the other. Where the frame is cut, a tile's result goes through a buffer of its own, and a
 * copy leaves out its cut (frames/tile.h).
 */

#include "workers/kit.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "engine/executor.h"
#include "frames/frame.h"
#include "workers/kit-graph.h"

/* What the op `range` gives: smallest, largest, how many not finite, how many. */
#define N_RANGE 4
#define RANGE_BYTES (N_RANGE * sizeof(float))

/* A frame with less contrast is blank: generous for what comes out, strict for what goes in, so
 * that only a result that lost everything is called so. */
#define BLANK_IN (1.0f / 16)
#define BLANK_OUT (1.0f / 256)

enum {
    SIDE_IN,
    SIDE_OUT,
    SIDE_COUNT,
};

struct vrt_kit {
    struct vrt_device *device;
    const struct vrt_work *work;
    struct vrt_kit_layout layout;
    struct vrt_executor *executors[VRT_KIT_GRAPH_COUNT];    /* NULL: not needed */
    struct vrt_arena arena;
    struct vrt_buffer *planes[SIDE_COUNT], *rgb[SIDE_COUNT];
    struct vrt_buffer *tile;            /* NULL: not tiled */
    struct vrt_buffer *range;
    uint8_t *host;                      /* a plane without gaps, of either side */
    struct vrt_op_times *op_times;      /* of the run at hand; NULL: not wanted */
};

/* Frees the graphs that a failed or finished set-up leaves. */
static void free_graphs(struct vrt_graph **graphs)
{
    for (int g = 0; g < VRT_KIT_GRAPH_COUNT; g++)
        vrt_graph_free(graphs[g]);
}

/* Bytes of the buffers beside arena and replica. */
static size_t buffers_bytes(const struct vrt_kit_layout *layout)
{
    return layout->planes_bytes[SIDE_IN] + layout->planes_bytes[SIDE_OUT] +
           layout->rgb_bytes[SIDE_IN] + layout->rgb_bytes[SIDE_OUT] + layout->tile_bytes +
           RANGE_BYTES;
}

int vrt_kit_plan(struct vrt_device *device, const struct vrt_work *work,
                 const struct vrt_tile_grid *grid, enum vrt_dtype dtype,
                 struct vrt_kit_plan *ret_plan)
{
    struct vrt_graph *graphs[VRT_KIT_GRAPH_COUNT];
    struct vrt_kit_layout layout;
    int64_t tile_flops;
    size_t arena_bytes = 0;
    int r = vrt_kit_graphs_new(work, grid, dtype, graphs);

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
    vrt_kit_layout(work, grid, &layout);
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
        { &kit->planes[SIDE_IN], layout->planes_bytes[SIDE_IN] },
        { &kit->planes[SIDE_OUT], layout->planes_bytes[SIDE_OUT] },
        { &kit->rgb[SIDE_IN], layout->rgb_bytes[SIDE_IN] },
        { &kit->rgb[SIDE_OUT], layout->rgb_bytes[SIDE_OUT] },
        { &kit->tile, layout->tile_bytes },
        { &kit->range, RANGE_BYTES },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(wanted); i++) {
        int r = wanted[i].bytes ?
            vrt_buffer_new(kit->device, wanted[i].bytes, wanted[i].buffer) : 0;
        if (r)
            return vrt_fold(r);
    }
    kit->host = malloc(VRT_MAX(layout->planes_bytes[SIDE_IN], layout->planes_bytes[SIDE_OUT]));
    return kit->host ? 0 : vrt_raise(-ENOMEM);
}

static int executors_new(struct vrt_kit *kit, struct vrt_replica *replica, enum vrt_dtype dtype)
{
    struct vrt_graph *graphs[VRT_KIT_GRAPH_COUNT], *packed[VRT_KIT_GRAPH_COUNT];
    struct vrt_executor *executors[VRT_KIT_GRAPH_COUNT];
    size_t n = 0;
    int r = vrt_kit_graphs_new(kit->work, &kit->work->grid, dtype, graphs);

    for (int g = 0; !r && g < VRT_KIT_GRAPH_COUNT; g++)
        if (graphs[g])
            packed[n++] = graphs[g];
    if (!r)
        r = vrt_executor_new_all(kit->device, replica, packed, n, &kit->arena, executors);
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
    int r;

    if (!kit)
        return vrt_raise(-ENOMEM);
    kit->device = device;
    kit->work = work;
    vrt_kit_layout(work, &work->grid, &kit->layout);
    r = buffers_new(kit);
    if (!r)
        r = executors_new(kit, replica, dtype);
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
    vrt_arena_done(kit->device, &kit->arena);
    for (int side = 0; side < SIDE_COUNT; side++) {
        vrt_buffer_free(kit->device, kit->planes[side]);
        vrt_buffer_free(kit->device, kit->rgb[side]);
    }
    vrt_buffer_free(kit->device, kit->tile);
    vrt_buffer_free(kit->device, kit->range);
    free(kit->host);
    free(kit);
    return NULL;
}

size_t vrt_kit_bytes(const struct vrt_kit *kit)
{
    return kit->arena.size_bytes + buffers_bytes(&kit->layout);
}

size_t vrt_kit_arena_bytes(const struct vrt_kit *kit)
{
    return kit->arena.size_bytes;
}

static size_t row_bytes(const struct vrt_frame *frame, const struct vrt_plane *plane)
{
    return (size_t)plane->width * (size_t)vrt_frame_format_sample_bytes(&frame->format);
}

/* Where the plane's samples are without gaps between the rows: in place, or packed at kit->host. */
static uint8_t *packed(const struct vrt_kit *kit, const struct vrt_frame *frame,
                       const struct vrt_plane *plane)
{
    return plane->stride_bytes == row_bytes(frame, plane) ? plane->data : kit->host;
}

static int upload(struct vrt_kit *kit, const struct vrt_frame *frame)
{
    for (int p = 0; p < vrt_frame_format_n_planes(&frame->format); p++) {
        const struct vrt_plane *plane = &frame->planes[p];
        size_t bytes = row_bytes(frame, plane);
        uint8_t *from = packed(kit, frame, plane);
        for (int y = 0; from == kit->host && y < plane->height; y++)
            memcpy(from + (size_t)y * bytes, plane->data + (size_t)y * plane->stride_bytes, bytes);
        int r = vrt_buffer_write(kit->device, kit->planes[SIDE_IN],
                                 kit->layout.plane_offset[SIDE_IN][p], from,
                                 bytes * (size_t)plane->height);
        if (r)
            return vrt_fold(r);
    }
    return 0;
}

/* Bindings of the frame's planes. Return: how many. */
static int bind_planes(const struct vrt_kit *kit, int side, struct vrt_binding *bindings)
{
    const struct vrt_frame_format *format = side == SIDE_IN ? &kit->work->in : &kit->work->out;
    int n = vrt_frame_format_n_planes(format);

    for (int p = 0; p < n; p++)
        bindings[p] = (struct vrt_binding){ kit->planes[side], kit->layout.plane_offset[side][p] };
    return n;
}

/* Every submission's way, so that all of them can be timed. */
static int submit(struct vrt_kit *kit, int graph, const struct vrt_binding *bindings)
{
    struct vrt_executor *executor = kit->executors[graph];

    if (kit->op_times)
        return vrt_executor_submit_timed(executor, bindings, kit->op_times);
    return vrt_executor_submit(executor, bindings);
}

static int submit_to_rgb(struct vrt_kit *kit)
{
    struct vrt_binding bindings[VRT_FRAME_MAX_PLANES + 1];
    int n = bind_planes(kit, SIDE_IN, bindings);

    bindings[n] = (struct vrt_binding){ kit->rgb[SIDE_IN], 0 };
    return submit(kit, VRT_KIT_TO_RGB, bindings);
}

static int submit_to_planes(struct vrt_kit *kit)
{
    struct vrt_binding bindings[VRT_FRAME_MAX_PLANES + 2] = { { kit->rgb[SIDE_OUT], 0 } };
    int n = 1 + bind_planes(kit, SIDE_OUT, bindings + 1);

    bindings[n] = (struct vrt_binding){ kit->range, 0 };
    return submit(kit, VRT_KIT_TO_PLANES, bindings);
}

/* Bytes from the beginning of an RGB frame of this width to a pixel of it. */
static size_t pixel_offset(int x, int y, int width)
{
    return ((size_t)y * (size_t)width + (size_t)x) * 3 * sizeof(float);
}

/* Runs the network over the tile in column `i`, row `j` of the grid. */
static int submit_tile(struct vrt_kit *kit, int i, int j)
{
    const struct vrt_work *work = kit->work;
    const struct vrt_network_info *info = vrt_network_info(work->network);
    int scale = info->scale;
    int x = vrt_tile_origin(&work->grid.x, i), y = vrt_tile_origin(&work->grid.y, j);
    int cut_x = vrt_tile_cut(&work->grid.x, i), cut_y = vrt_tile_cut(&work->grid.y, j);
    struct vrt_binding in = { kit->rgb[SIDE_IN], pixel_offset(x, y, work->in.width) };
    /* A whole frame is written where it belongs, without a copy. */
    struct vrt_binding out = { kit->tile ? kit->tile : kit->rgb[SIDE_OUT], 0 };
    int r = 0;

    /* A gray network restores red, green and blue one after the other. */
    for (int c = 0; !r && c < 3; c += info->in_channels) {
        struct vrt_binding bindings[2] = { in, out };
        bindings[0].offset_bytes += (size_t)c * sizeof(float);
        bindings[1].offset_bytes += (size_t)c * sizeof(float);
        r = submit(kit, VRT_KIT_NETWORK, bindings);
    }
    if (r || !kit->tile)
        return r;

    struct vrt_binding bindings[2] = {
        { kit->tile, pixel_offset(cut_x * scale, cut_y * scale, work->grid.x.size * scale) },
        { kit->rgb[SIDE_OUT],
          pixel_offset((x + cut_x) * scale, (y + cut_y) * scale, work->out.width) },
    };
    int variant = (cut_x ? 1 : 0) + (cut_y ? 2 : 0);
    return submit(kit, VRT_KIT_COPY + variant, bindings);
}

static int compute(struct vrt_kit *kit, const struct vrt_kit_watch *watch)
{
    const struct vrt_tile_grid *grid = &kit->work->grid;
    int r = submit_to_rgb(kit);

    /* Row by row, left to right: a tile relies on its later neighbours to overwrite its end. */
    for (int j = 0; !r && j < grid->y.n; j++) {
        for (int i = 0; !r && i < grid->x.n; i++) {
            if (!watch->go_on(watch->ctx))
                return vrt_raise(-ECANCELED);
            r = submit_tile(kit, i, j);
        }
    }
    if (!r)
        r = submit_to_planes(kit);
    return r ? r : vrt_device_finish(kit->device);
}

/* Whether samples of the first plane differ by more than `share` of full scale. Most pictures show
 * that within a few rows, and are looked at no further. */
static bool has_contrast(const struct vrt_frame *frame, float share)
{
    const struct vrt_plane *plane = &frame->planes[0];
    bool is_wide = vrt_frame_format_sample_bytes(&frame->format) == 2;
    float wanted = share * (float)((1U << frame->format.depth) - 1);
    unsigned smallest = UINT_MAX, largest = 0;

    for (int y = 0; y < plane->height; y++) {
        const uint8_t *row = plane->data + (size_t)y * plane->stride_bytes;
        const uint16_t *wide_row = (const uint16_t *)(const void *)row;
        for (int x = 0; x < plane->width; x++) {
            unsigned sample = is_wide ? wide_row[x] : row[x];
            smallest = VRT_MIN(smallest, sample);
            largest = VRT_MAX(largest, sample);
        }
        if ((float)(largest - smallest) > wanted)
            return true;
    }
    return false;
}

static int download_planes(struct vrt_kit *kit, struct vrt_frame *frame)
{
    for (int p = 0; p < vrt_frame_format_n_planes(&frame->format); p++) {
        const struct vrt_plane *plane = &frame->planes[p];
        size_t bytes = row_bytes(frame, plane);
        uint8_t *to = packed(kit, frame, plane);
        int r = vrt_buffer_read(kit->device, kit->planes[SIDE_OUT],
                                kit->layout.plane_offset[SIDE_OUT][p], to,
                                bytes * (size_t)plane->height);
        if (r)
            return vrt_fold(r);
        for (int y = 0; to == kit->host && y < plane->height; y++)
            memcpy(plane->data + (size_t)y * plane->stride_bytes, to + (size_t)y * bytes, bytes);
    }
    return 0;
}

static int download(struct vrt_kit *kit, struct vrt_frame *out,
                    struct vrt_kit_evidence *evidence)
{
    float range[N_RANGE];
    int r = vrt_buffer_read(kit->device, kit->range, 0, range, sizeof(range));

    if (!r)
        r = download_planes(kit, out);
    if (r)
        return vrt_fold(r);
    evidence->min = range[0];
    evidence->max = range[1];
    evidence->n_not_finite = range[2];
    evidence->out_is_blank = !has_contrast(out, BLANK_OUT);
    return 0;
}

int vrt_kit_run(struct vrt_kit *kit, const struct vrt_frame *in, struct vrt_frame *out,
                const struct vrt_kit_watch *watch, struct vrt_kit_report *report)
{
    struct vrt_kit_times *times = &report->times;
    int64_t start_ns = vrt_clock_now_ns(), now_ns;
    int r;

    kit->op_times = report->op_times;
    report->evidence.in_is_blank = !has_contrast(in, BLANK_IN);
    r = upload(kit, in);
    now_ns = vrt_clock_now_ns();
    times->upload_ns += now_ns - start_ns;
    if (r)
        return vrt_fold(r);

    start_ns = now_ns;
    r = compute(kit, watch);
    now_ns = vrt_clock_now_ns();
    times->compute_ns += now_ns - start_ns;
    if (r) {
        /* What was submitted before must be done with the buffers before they are used again. */
        int ignored = vrt_device_finish(kit->device);
        (void)ignored;
        return vrt_fold(r);
    }

    start_ns = now_ns;
    r = download(kit, out, &report->evidence);
    times->download_ns += vrt_clock_now_ns() - start_ns;
    return vrt_fold(r);
}
