/* SPDX-License-Identifier: MIT */

/*
 * The colour ops work on whole frames, the network on one tile of RGB. Their graphs are built apart
 * and run one after the other, so that a frame is converted once, however many tiles it has.
 */

#include "workers/device/session/session-graph.h"

#include <errno.h>

#include "base/error.h"
#include "workers/plan/colour-graph.h"

/* Planes begin at multiples of this in their buffer. */
#define PLANE_ALIGN_BYTES 256

static size_t align_up(size_t bytes)
{
    return (bytes + PLANE_ALIGN_BYTES - 1) / PLANE_ALIGN_BYTES * PLANE_ALIGN_BYTES;
}

static size_t rgb_bytes(int width, int height)
{
    return (size_t)width * (size_t)height * 3 * sizeof(float);
}

static bool is_tiled(const struct vrt_job_spec_size *size)
{
    return size->grid.x.n > 1 || size->grid.y.n > 1;
}

static bool is_blended(const struct vrt_job_spec *spec, const struct vrt_job_spec_size *size)
{
    return is_tiled(size) && spec->needs.joint != VRT_TILES_CUT;
}

/* Places the weights of blended tiles. */
static void lay_out_weights(const struct vrt_job_spec *spec, const struct vrt_job_spec_size *size,
                            struct vrt_session_layout *layout)
{
    size_t scale = (size_t)vrt_network_info(spec->network)->scale;
    const struct vrt_tile_axis *x = &size->grid.x, *y = &size->grid.y;
    size_t bytes = 0;

    layout->rows_offset = bytes;
    bytes += align_up((size_t)y->n * (size_t)y->size * scale * sizeof(float));
    layout->columns_offset = bytes;
    bytes += align_up((size_t)x->n * (size_t)x->size * scale * sizeof(float));
    layout->totals_offset[0] = bytes;
    bytes += align_up((size_t)spec->out.height * sizeof(float));
    layout->totals_offset[1] = bytes;
    layout->weights_bytes = bytes + align_up((size_t)spec->out.width * sizeof(float));
}

/* Frames that the network makes of a clip; between two from place `first` on: from 1, the most. */
static int n_made(const struct vrt_job_spec *spec, const struct vrt_job_spec_size *size, int first)
{
    return vrt_clip_is_between(&spec->rule)
               ? (spec->rule.times - 1 - first) / VRT_MAX(spec->rule.every, 1) + 1
               : size->frames;
}

void vrt_session_layout(const struct vrt_job_spec *spec, const struct vrt_job_spec_size *size,
                    struct vrt_session_layout *ret_layout)
{
    const struct vrt_frame_format *const formats[2] = { &spec->in, &spec->out };
    int scale = vrt_network_info(spec->network)->scale;
    const size_t n_rgb[2] = { (size_t)size->frames, (size_t)n_made(spec, size, 1) };
    /* One that is passed on isn't made. */
    const size_t n_planes[2] = { n_rgb[0], n_rgb[1] + vrt_clip_is_between(&spec->rule) };
    struct vrt_session_layout layout = { 0 };

    layout.planes_bytes[1] = align_up(VRT_SESSION_N_RANGE * sizeof(float));
    for (int side = 0; side < 2; side++) {
        for (int p = 0; p < vrt_frame_format_n_planes(formats[side]); p++) {
            int width, height;
            vrt_frame_format_plane_size(formats[side], p, &width, &height);
            layout.plane_offset[side][p] = layout.planes_bytes[side];
            layout.planes_bytes[side] += align_up(
                (size_t)width * (size_t)height *
                (size_t)vrt_frame_format_sample_bytes(formats[side]));
        }
        layout.slot_bytes[side] = n_planes[side] * layout.planes_bytes[side];
        layout.frame_bytes[side] = rgb_bytes(formats[side]->width, formats[side]->height);
        layout.rgb_bytes[side] = n_rgb[side] * layout.frame_bytes[side];
    }
    if (is_tiled(size)) {
        layout.tile_frame_bytes = rgb_bytes(size->grid.x.size * scale, size->grid.y.size * scale);
        layout.tile_bytes = n_rgb[1] * layout.tile_frame_bytes;
    }
    if (is_blended(spec, size))
        lay_out_weights(spec, size, &layout);
    *ret_layout = layout;
}

static struct vrt_shape rgb_shape(const struct vrt_frame_format *format)
{
    return (struct vrt_shape){ .d = 1, .h = format->height, .w = format->width, .c = 3 };
}

/* Appends the range of `rgb` as an output of its own. */
static void append_range(struct vrt_graph *graph, const struct vrt_tensor *rgb)
{
    struct vrt_op op = { .kind = VRT_OP_RANGE, .n_in = 1, .in = { *rgb } };

    op.out = vrt_graph_output(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, 1, 4 });
    vrt_graph_append(graph, &op);
}

/* Bindings: rgb; the planes, the range of rgb. */
static int build_to_planes(struct vrt_graph *graph, const struct vrt_frame_format *format)
{
    struct vrt_tensor rgb = vrt_graph_input(graph, VRT_DTYPE_F32, rgb_shape(format));
    int r = vrt_colour_graph_to_planes(graph, format, &rgb);

    if (r != 0)
        return vrt_fold(r);
    append_range(graph, &rgb);
    return vrt_graph_status(graph);
}

/* A view of `depth` frames of h rows and w columns out of RGB frames of frame_w x frame_h. */
struct view {
    int depth, h, w, channels;
    int frame_w, frame_h;
};

static struct vrt_tensor rgb_view(struct view v)
{
    return (struct vrt_tensor){
        .dtype = VRT_DTYPE_F32,
        .shape = { v.depth, v.h, v.w, v.channels },
        .stride_w = 3,
        .stride_h = (int64_t)v.frame_w * 3,
        .stride_d = (int64_t)v.frame_w * v.frame_h * 3,
    };
}

/* Bindings: a tile of the frames' rgb; what the network makes of it. */
static int build_network(struct vrt_graph *graph, const struct vrt_job_spec *spec,
                         const struct vrt_job_spec_size *size, enum vrt_dtype dtype, int first)
{
    const struct vrt_network_info *info = vrt_network_info(spec->network);
    bool tiled = is_tiled(size);
    int out_h = size->grid.y.size * info->scale, out_w = size->grid.x.size * info->scale;
    const struct vrt_network_use use = {
        .dtype = dtype,
        .noise = spec->noise,
        .moments = { first, VRT_MAX(spec->rule.every, 1), spec->rule.times },
    };
    struct vrt_tensor in = rgb_view((struct view){
        .depth = size->frames, .h = size->grid.y.size, .w = size->grid.x.size,
        .channels = info->in_channels, .frame_w = spec->in.width, .frame_h = spec->in.height,
    });
    struct vrt_tensor out = rgb_view((struct view){
        .depth = n_made(spec, size, first), .h = out_h, .w = out_w, .channels = info->out_channels,
        .frame_w = tiled ? out_w : spec->out.width, .frame_h = tiled ? out_h : spec->out.height,
    });

    in = vrt_graph_input_view(graph, &in);
    out = vrt_graph_output_view(graph, &out);
    return vrt_fold(vrt_network_build(spec->network, graph, &in, &out, &use));
}

/* Bindings: what the network made of a tile, from its cut on; that place in the frame. */
static int build_copy(struct vrt_graph *graph, const struct vrt_job_spec *spec,
                      const struct vrt_tile_grid *grid, int variant)
{
    int scale = vrt_network_info(spec->network)->scale;
    struct view view = {
        .depth = 1, .channels = 3,
        .w = (grid->x.size - (variant & 1 ? grid->x.cut : 0)) * scale,
        .h = (grid->y.size - (variant & 2 ? grid->y.cut : 0)) * scale,
        .frame_w = grid->x.size * scale, .frame_h = grid->y.size * scale,
    };
    struct vrt_tensor in = rgb_view(view), out;
    struct vrt_op op = { .kind = VRT_OP_COPY, .n_in = 1 };

    view.frame_w = spec->out.width;
    view.frame_h = spec->out.height;
    out = rgb_view(view);
    op.in[0] = vrt_graph_input_view(graph, &in);
    op.out = vrt_graph_output_view(graph, &out);
    vrt_graph_append(graph, &op);
    return vrt_graph_status(graph);
}

/* Bindings: rgb. */
static int build_clear(struct vrt_graph *graph, const struct vrt_job_spec *spec)
{
    struct vrt_op op = { .kind = VRT_OP_FILL };

    op.out = vrt_graph_output(graph, VRT_DTYPE_F32, rgb_shape(&spec->out));
    vrt_graph_append(graph, &op);
    return vrt_graph_status(graph);
}

/* Bindings: the tile, its weights of rows, of columns, its place in the frame; that place. */
static int build_blend(struct vrt_graph *graph, const struct vrt_job_spec *spec,
                       const struct vrt_tile_grid *grid)
{
    int scale = vrt_network_info(spec->network)->scale;
    int h = grid->y.size * scale, w = grid->x.size * scale;
    struct vrt_tensor place = rgb_view((struct view){
        .depth = 1, .h = h, .w = w, .channels = 3,
        .frame_w = spec->out.width, .frame_h = spec->out.height,
    });
    struct vrt_op op = { .kind = VRT_OP_BLEND, .n_in = 4 };

    op.in[0] = vrt_graph_input(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, h, w, 3 });
    op.in[1] = vrt_graph_input(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, h, 1, 1 });
    op.in[2] = vrt_graph_input(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, w, 1 });
    op.in[3] = vrt_graph_input_view(graph, &place);
    op.out = vrt_graph_output_view(graph, &place);
    vrt_graph_append(graph, &op);
    return vrt_graph_status(graph);
}

/* Bindings: the frame's rgb, totals of rows, of columns; rgb. */
static int build_divide(struct vrt_graph *graph, const struct vrt_job_spec *spec)
{
    struct vrt_shape shape = rgb_shape(&spec->out);
    struct vrt_op op = { .kind = VRT_OP_BLEND, .n_in = 3, .blend = { .divides = true } };

    op.in[0] = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    op.in[1] = vrt_graph_input(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, shape.h, 1, 1 });
    op.in[2] = vrt_graph_input(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, shape.w, 1 });
    op.out = vrt_graph_output(graph, VRT_DTYPE_F32, shape);
    vrt_graph_append(graph, &op);
    return vrt_graph_status(graph);
}

/* Bindings: the input's rgb, what the network made of it; that again, which only the op behind the
 * last one that reads it writes to. Without any strength only what the input becomes. */
static int build_mix(struct vrt_graph *graph, const struct vrt_job_spec *spec)
{
    const float strength = (float)spec->recipe.strength;
    const struct vrt_shape shape = rgb_shape(&spec->out);
    struct vrt_op resize = { .kind = VRT_OP_RESIZE, .n_in = 1,
                             .resize = { .mode = VRT_RESIZE_BICUBIC } };
    struct vrt_op weaken = { .kind = VRT_OP_AFFINE, .n_in = 1 };
    struct vrt_op add = { .kind = VRT_OP_ADD, .n_in = 2, .add = { .scale = 1 - strength } };

    resize.in[0] = vrt_graph_input(graph, VRT_DTYPE_F32, rgb_shape(&spec->in));
    weaken.in[0] = vrt_graph_input(graph, VRT_DTYPE_F32, shape);
    add.out = vrt_graph_output(graph, VRT_DTYPE_F32, shape);
    resize.out = strength > 0 ? vrt_graph_tensor(graph, VRT_DTYPE_F32, shape) : add.out;
    vrt_graph_append(graph, &resize);
    if (strength > 0) {
        for (int c = 0; c < shape.c; c++)
            weaken.affine.scale[c] = strength;
        weaken.out = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
        vrt_graph_append(graph, &weaken);
        add.in[0] = resize.out;
        add.in[1] = weaken.out;
        vrt_graph_append(graph, &add);
    }
    return vrt_graph_status(graph);
}

/* Whether a session of this size needs the graph at all. */
static bool is_needed(const struct vrt_job_spec *spec, const struct vrt_job_spec_size *size, int g)
{
    int variant = g - VRT_SESSION_COPY;

    if (g <= VRT_SESSION_NETWORK)
        return true;
    if (g == VRT_SESSION_MIX)
        return spec->recipe.strength < 1;
    if (g == VRT_SESSION_DIVIDE)
        return is_blended(spec, size) && spec->needs.joint == VRT_TILES_AVERAGED;
    if (variant < 0)
        return is_blended(spec, size);
    if (!is_tiled(size) || is_blended(spec, size))
        return false;
    return (!(variant & 1) || size->grid.x.n > 1) && (!(variant & 2) || size->grid.y.n > 1);
}

static int build(struct vrt_graph *graph, const struct vrt_job_spec *spec,
                 const struct vrt_job_spec_size *size, enum vrt_dtype dtype, int g)
{
    switch (g) {
    case VRT_SESSION_TO_RGB:    return vrt_colour_graph_to_rgb(graph, &spec->in);
    case VRT_SESSION_TO_PLANES: return build_to_planes(graph, &spec->out);
    case VRT_SESSION_NETWORK:   return build_network(graph, spec, size, dtype, 1);
    case VRT_SESSION_CLEAR:     return build_clear(graph, spec);
    case VRT_SESSION_BLEND:     return build_blend(graph, spec, &size->grid);
    case VRT_SESSION_DIVIDE:    return build_divide(graph, spec);
    case VRT_SESSION_MIX:       return build_mix(graph, spec);
    default:                return build_copy(graph, spec, &size->grid, g - VRT_SESSION_COPY);
    }
}

int vrt_session_graphs_new(const struct vrt_job_spec *spec, const struct vrt_job_spec_size *size,
                       enum vrt_dtype dtype, struct vrt_graph *ret_graphs[VRT_SESSION_GRAPH_COUNT])
{
    for (int g = 0; g < VRT_SESSION_GRAPH_COUNT; g++)
        ret_graphs[g] = NULL;
    for (int g = 0; g < VRT_SESSION_GRAPH_COUNT; g++) {
        if (!is_needed(spec, size, g))
            continue;
        int r = vrt_graph_new(&ret_graphs[g]);
        if (r != 0)
            return vrt_fold(r);
        r = build(ret_graphs[g], spec, size, dtype, g);
        if (r != 0)
            return vrt_fold(r);
    }
    return 0;
}

int vrt_session_network_graph_new(const struct vrt_job_spec *spec, int depth, int first,
                              enum vrt_dtype dtype, struct vrt_graph **ret_graph)
{
    struct vrt_job_spec_size size = { .grid = spec->grid, .frames = depth };
    VRT_CLEANUP(vrt_graph_freep) struct vrt_graph *graph = NULL;
    int r = vrt_graph_new(&graph);

    if (r != 0)
        return vrt_fold(r);
    r = build_network(graph, spec, &size, dtype, first);
    if (r != 0)
        return vrt_fold(r);
    *ret_graph = VRT_STEAL(graph);
    return 0;
}
