/* SPDX-License-Identifier: MIT */

/*
 * Pictures wait until all of their frame are there; then they are added up one after the other, so
 * that the sum's order is that of the clips, divided by their weights' total, and converted.
 */

#include "workers/media/blender.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/kind.h"
#include "base/list.h"
#include "engine/graph-executor.h"
#include "workers/plan/colour-graph.h"

/* Threads beside the encoder's, for a few frames of each clip. */
#define N_THREADS 2

enum {
    GRAPH_CLEAR,                    /* -> sum */
    GRAPH_ADD,                      /* picture, weights of rows, of columns, sum -> sum */
    GRAPH_FINISH,                   /* sum, weights of rows, of columns -> planes */
    GRAPH_COUNT,
};

struct pending {
    struct vrt_list link;
    struct vrt_picture *picture;    /* a reference */
};

struct vrt_blender {
    struct vrt_frame_format format;
    struct vrt_frame_pool *frames;
    struct vrt_registry *registry;
    struct vrt_device *device;
    struct vrt_graph_executor *executors[GRAPH_COUNT];
    struct vrt_arena arena;
    struct vrt_buffer *picture, *sum;
    struct vrt_buffer *weights;     /* of rows, then ones for the columns */
    struct vrt_buffer *planes[VRT_FRAME_MAX_PLANES];
    float *rows;                    /* [height], then [width] ones */
    uint8_t *host;                  /* a plane without gaps */
    struct vrt_list waiting;        /* of struct pending.link: in order of arrival */
};

static size_t plane_bytes(const struct vrt_frame_format *format, int p)
{
    int width, height;

    vrt_frame_format_plane_size(format, p, &width, &height);
    return (size_t)width * (size_t)height * (size_t)vrt_frame_format_sample_bytes(format);
}

static int build(struct vrt_graph *graph, const struct vrt_frame_format *format, int g)
{
    struct vrt_shape shape = { 1, format->height, format->width, 3 };
    struct vrt_op op = { .kind = VRT_OP_FILL };

    if (g != GRAPH_CLEAR) {
        op = (struct vrt_op){ .kind = VRT_OP_BLEND, .n_in = 3 };
        op.in[0] = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
        op.in[1] = vrt_graph_input(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, shape.h, 1, 1 });
        op.in[2] = vrt_graph_input(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, shape.w, 1 });
    }
    if (g == GRAPH_ADD)
        op.in[op.n_in++] = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    op.blend.divides = g == GRAPH_FINISH;
    if (g == GRAPH_CLEAR)
        op.fill.value = 0;
    op.out = g == GRAPH_FINISH ? vrt_graph_tensor(graph, VRT_DTYPE_F32, shape) :
                                 vrt_graph_output(graph, VRT_DTYPE_F32, shape);
    vrt_graph_append(graph, &op);
    if (g == GRAPH_FINISH)
        return vrt_fold(vrt_colour_graph_to_planes(graph, format, &op.out));
    return vrt_graph_status(graph);
}

static int executors_new(struct vrt_blender *blender)
{
    struct vrt_graph *graphs[GRAPH_COUNT] = { NULL };
    int r = 0;

    for (int g = 0; r == 0 && g < GRAPH_COUNT; g++) {
        r = vrt_graph_new(&graphs[g]);
        if (r == 0)
            r = build(graphs[g], &blender->format, g);
    }
    if (r == 0)
        r = vrt_graph_executor_new_all(blender->device, NULL, graphs, GRAPH_COUNT, &blender->arena,
                                 blender->executors);
    for (int g = 0; g < GRAPH_COUNT; g++)
        vrt_graph_free(graphs[g]);
    return vrt_fold(r);
}

static int buffers_new(struct vrt_blender *blender)
{
    const struct vrt_frame_format *format = &blender->format;
    size_t rgb_bytes = vrt_picture_bytes(format->width, format->height);
    size_t n_weights = (size_t)format->height + (size_t)format->width;
    int r = vrt_buffer_new(blender->device, rgb_bytes, &blender->picture);

    if (r != 0)
        return vrt_fold(r);
    r = vrt_buffer_new(blender->device, rgb_bytes, &blender->sum);
    if (r != 0)
        return vrt_fold(r);
    r = vrt_buffer_new(blender->device, n_weights * sizeof(float), &blender->weights);
    for (int p = 0; r == 0 && p < vrt_frame_format_n_planes(format); p++)
        r = vrt_buffer_new(blender->device, plane_bytes(format, p), &blender->planes[p]);
    if (r != 0)
        return vrt_fold(r);
    blender->rows = malloc(n_weights * sizeof(float));
    blender->host = malloc(plane_bytes(format, 0));
    if (!blender->rows || !blender->host)
        return vrt_raise(-ENOMEM);
    for (size_t i = 0; i < n_weights; i++)
        blender->rows[i] = 1;
    return 0;
}

/* The fast CPU device, or the plain one where there is none. */
static int open_device(struct vrt_blender *blender, struct vrt_error *error)
{
    const struct vrt_registry_params params = {
        .values = VRT_BACKEND_VALUES({ "cpu", "threads", N_THREADS }),
        .leave_out = 1u << VRT_DEVICE_ACCELERATOR,
    };
    const struct vrt_device_info *info;
    int r = vrt_registry_new(&params, &blender->registry, error);

    if (r < 0)
        return vrt_fold(r);
    info = vrt_registry_find(blender->registry, "cpu:0");
    if (!info)
        info = vrt_registry_find(blender->registry, "ref:0");
    vrt_assert(info);
    return vrt_device_open(blender->registry, info, &blender->device);
}

int vrt_blender_new(const struct vrt_frame_format *format, struct vrt_blender **ret_blender,
                    struct vrt_error *error)
{
    VRT_CLEANUP(vrt_blender_freep) struct vrt_blender *blender = calloc(1, sizeof(*blender));
    int r;

    if (!blender)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "blending clips");
    vrt_list_init(&blender->waiting);
    blender->format = *format;
    r = vrt_frame_pool_new(format, &blender->frames);
    if (r == 0)
        r = open_device(blender, error);
    if (r == 0)
        r = buffers_new(blender);
    if (r == 0)
        r = executors_new(blender);
    if (r != 0)
        return vrt_refuse(error, r < 0 ? r : -EIO, "device.failed", "blending clips: %s",
                          vrt_backend_strerror(r));
    *ret_blender = VRT_STEAL(blender);
    return 0;
}

/* Drops the pictures of frames up to `index`: they come in order. */
static void drop_up_to(struct vrt_blender *blender, int64_t index)
{
    struct pending *pending;

    VRT_LIST_FOREACH(pending, &blender->waiting, link) {
        if (pending->picture->index > index)
            continue;
        vrt_list_remove(&pending->link);
        vrt_picture_unref(pending->picture);
        free(pending);
    }
}

struct vrt_blender *vrt_blender_free(struct vrt_blender *blender)
{
    if (!blender)
        return NULL;
    drop_up_to(blender, INT64_MAX);
    for (int g = 0; g < GRAPH_COUNT; g++)
        vrt_graph_executor_free(blender->executors[g]);
    if (blender->device) {
        vrt_arena_done(blender->device, &blender->arena);
        vrt_buffer_free(blender->device, blender->picture);
        vrt_buffer_free(blender->device, blender->sum);
        vrt_buffer_free(blender->device, blender->weights);
        for (int p = 0; p < VRT_FRAME_MAX_PLANES; p++)
            vrt_buffer_free(blender->device, blender->planes[p]);
    }
    vrt_device_close(blender->device);
    vrt_registry_free(blender->registry);
    vrt_frame_pool_free(blender->frames);
    free(blender->rows);
    free(blender->host);
    free(blender);
    return NULL;
}

/* Puts `weight` before every pixel of what is computed next. */
static int write_weight(struct vrt_blender *blender, float weight)
{
    size_t h = (size_t)blender->format.height, w = (size_t)blender->format.width;

    for (size_t y = 0; y < h; y++)
        blender->rows[y] = weight;
    return vrt_buffer_write(blender->device, blender->weights, 0, blender->rows,
                            (h + w) * sizeof(float));
}

static int add_picture(struct vrt_blender *blender, const struct vrt_picture *picture)
{
    const struct vrt_binding bindings[] = {
        { blender->picture, 0 },
        { blender->weights, 0 },
        { blender->weights, (size_t)blender->format.height * sizeof(float) },
        { blender->sum, 0 },
        { blender->sum, 0 },
    };
    int r = write_weight(blender, picture->share.weight);

    if (r != 0)
        return r;
    r = vrt_buffer_write(blender->device, blender->picture, 0, picture->rgb,
                         vrt_picture_bytes(picture->width, picture->height));
    return r != 0 ? r : vrt_graph_executor_submit(blender->executors[GRAPH_ADD], bindings);
}

static int read_plane(struct vrt_blender *blender, struct vrt_frame *frame, int p)
{
    const struct vrt_plane *plane = &frame->planes[p];
    size_t row_bytes = (size_t)plane->width *
                       (size_t)vrt_frame_format_sample_bytes(&frame->format);
    int r = vrt_buffer_read(blender->device, blender->planes[p], 0, blender->host,
                            row_bytes * (size_t)plane->height);

    for (int y = 0; r == 0 && y < plane->height; y++)
        memcpy(plane->data + (size_t)y * plane->stride_bytes,
               blender->host + (size_t)y * row_bytes, row_bytes);
    return r;
}

/* Makes the sum samples. */
static int finish(struct vrt_blender *blender, float total, struct vrt_frame *frame)
{
    struct vrt_binding bindings[3 + VRT_FRAME_MAX_PLANES] = {
        { blender->sum, 0 },
        { blender->weights, 0 },
        { blender->weights, (size_t)blender->format.height * sizeof(float) },
    };
    int n_planes = vrt_frame_format_n_planes(&blender->format);
    int r = write_weight(blender, total);

    for (int p = 0; p < n_planes; p++)
        bindings[3 + p] = (struct vrt_binding){ blender->planes[p], 0 };
    if (r != 0)
        return r;
    r = vrt_graph_executor_submit(blender->executors[GRAPH_FINISH], bindings);
    if (r != 0)
        return r;
    r = vrt_device_finish(blender->device);
    for (int p = 0; r == 0 && p < n_planes; p++)
        r = read_plane(blender, frame, p);
    return r;
}

/* Makes a frame of all the pictures that wait for it, the last of which is `last`. */
static int blend(struct vrt_blender *blender, const struct vrt_picture *last,
                 struct vrt_frame **ret_frame)
{
    VRT_CLEANUP(vrt_frame_unrefp) struct vrt_frame *frame = NULL;
    const struct vrt_binding sum = { blender->sum, 0 };
    const struct pending *pending;
    int r = vrt_frame_pool_get(blender->frames, &frame);

    if (r == 0)
        r = vrt_graph_executor_submit(blender->executors[GRAPH_CLEAR], &sum);
    VRT_LIST_FOREACH(pending, &blender->waiting, link)
        if (r == 0 && pending->picture->index == last->index)
            r = add_picture(blender, pending->picture);
    if (r != 0)
        return vrt_fold(r);
    r = finish(blender, last->share.total, frame);
    if (r != 0)
        return vrt_fold(r);
    frame->pts = last->pts;
    frame->duration = last->duration;
    frame->index = last->index;
    frame->concealed = last->concealed;
    frame->extra = last->extra;
    *ret_frame = VRT_STEAL(frame);
    return 0;
}

int vrt_blender_add(struct vrt_blender *blender, struct vrt_picture *picture,
                    struct vrt_frame **ret_frame, struct vrt_error *error)
{
    struct pending *pending = calloc(1, sizeof(*pending));
    const struct pending *other;
    int n = 0, r;

    *ret_frame = NULL;
    if (!pending) {
        vrt_picture_unref(picture);
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), "blending clips");
    }
    pending->picture = picture;
    vrt_list_append(&blender->waiting, &pending->link);
    VRT_LIST_FOREACH(other, &blender->waiting, link)
        n += other->picture->index == picture->index;
    if (n < picture->share.n)
        return 0;
    r = blend(blender, picture, ret_frame);
    drop_up_to(blender, picture->index);
    if (r != 0)
        return vrt_refuse(error, r < 0 ? r : -EIO, "device.failed", "blending clips: %s",
                          vrt_backend_strerror(r));
    return 0;
}

int vrt_blender_waiting(const struct vrt_blender *blender, struct vrt_tail *ret_tail)
{
    const struct pending *pending;

    ret_tail->n = 0;
    VRT_LIST_FOREACH(pending, &blender->waiting, link) {
        if (ret_tail->n == VRT_TAIL_PICTURES_MAX)
            return vrt_raise(-E2BIG);
        ret_tail->pictures[ret_tail->n++] = pending->picture;
    }
    return 0;
}
