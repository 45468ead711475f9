/* SPDX-License-Identifier: MIT */

/*
 * The colour ops work on whole frames, the network on one tile of RGB. Their graphs are built apart
 * and run one after the other, so that a frame is converted once, however many tiles it has.
 */

#include "workers/kit-graph.h"

#include <errno.h>

#include "base/error.h"

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

void vrt_kit_layout(const struct vrt_work *work, const struct vrt_tile_grid *grid,
                    struct vrt_kit_layout *ret_layout)
{
    const struct vrt_frame_format *const formats[2] = { &work->in, &work->out };
    int scale = vrt_network_info(work->network)->scale;
    struct vrt_kit_layout layout = { 0 };

    for (int side = 0; side < 2; side++) {
        for (int p = 0; p < vrt_frame_format_n_planes(formats[side]); p++) {
            int width, height;
            vrt_frame_format_plane_size(formats[side], p, &width, &height);
            layout.plane_offset[side][p] = layout.planes_bytes[side];
            layout.planes_bytes[side] += align_up(
                (size_t)width * (size_t)height *
                (size_t)vrt_frame_format_sample_bytes(formats[side]));
        }
        layout.rgb_bytes[side] = rgb_bytes(formats[side]->width, formats[side]->height);
    }
    if (grid->x.n > 1 || grid->y.n > 1)
        layout.tile_bytes = rgb_bytes(grid->x.size * scale, grid->y.size * scale);
    *ret_layout = layout;
}

/* What the samples of `format` mean, in the words of the colour ops. */
static int colour_of(const struct vrt_frame_format *format, struct vrt_op_colour *ret_colour)
{
    static const enum vrt_plane_layout layouts[VRT_LAYOUT_COUNT] = {
        [VRT_LAYOUT_GRAY] = VRT_PLANES_GRAY,
        [VRT_LAYOUT_YUV] = VRT_PLANES_YUV,
        [VRT_LAYOUT_GBR] = VRT_PLANES_GBR,
    };
    static const enum vrt_yuv_matrix matrices[VRT_FRAME_MATRIX_COUNT] = {
        [VRT_FRAME_MATRIX_BT601] = VRT_MATRIX_BT601,
        [VRT_FRAME_MATRIX_BT709] = VRT_MATRIX_BT709,
        [VRT_FRAME_MATRIX_BT2020_NCL] = VRT_MATRIX_BT2020,
    };
    enum vrt_chroma_site site = VRT_CHROMA_LEFT;

    if (format->chroma_location == VRT_CHROMA_LOCATION_CENTER)
        site = VRT_CHROMA_CENTER;
    else if (format->chroma_location == VRT_CHROMA_LOCATION_TOP_LEFT)
        site = VRT_CHROMA_TOP_LEFT;
    if ((unsigned)format->layout >= VRT_LAYOUT_COUNT ||
        (unsigned)format->matrix >= VRT_FRAME_MATRIX_COUNT)
        return vrt_raise(-EINVAL);
    *ret_colour = (struct vrt_op_colour){
        .layout = layouts[format->layout],
        .matrix = matrices[format->matrix],
        .site = site,
        .full_range = format->full_range,
        .depth = format->depth,
        .shift_x = format->chroma_shift_x,
        .shift_y = format->chroma_shift_y,
    };
    return 0;
}

static struct vrt_shape plane_shape(const struct vrt_frame_format *format, int plane)
{
    struct vrt_shape shape = { .d = 1, .c = 1 };

    vrt_frame_format_plane_size(format, plane, &shape.w, &shape.h);
    return shape;
}

static struct vrt_shape rgb_shape(const struct vrt_frame_format *format)
{
    return (struct vrt_shape){ .d = 1, .h = format->height, .w = format->width, .c = 3 };
}

static enum vrt_dtype sample_dtype(const struct vrt_frame_format *format)
{
    return vrt_frame_format_sample_bytes(format) == 1 ? VRT_DTYPE_U8 : VRT_DTYPE_U16;
}

/* Appends the range of `rgb` as an output of its own. */
static void append_range(struct vrt_graph *graph, const struct vrt_tensor *rgb)
{
    struct vrt_op op = { .kind = VRT_OP_RANGE, .n_in = 1, .in = { *rgb } };

    op.out = vrt_graph_output(graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, 1, 1, 4 });
    vrt_graph_append(graph, &op);
}

/* Bindings: the planes; rgb. */
static int build_to_rgb(struct vrt_graph *graph, const struct vrt_frame_format *format)
{
    struct vrt_op op = { .kind = VRT_OP_YUV_TO_RGB };
    int r = colour_of(format, &op.colour);

    if (r)
        return vrt_fold(r);
    op.n_in = vrt_frame_format_n_planes(format);
    for (int p = 0; p < op.n_in; p++)
        op.in[p] = vrt_graph_input(graph, sample_dtype(format), plane_shape(format, p));
    op.out = vrt_graph_output(graph, VRT_DTYPE_F32, rgb_shape(format));
    vrt_graph_append(graph, &op);
    return vrt_graph_status(graph);
}

/* Bindings: rgb; the planes, the range of rgb. */
static int build_to_planes(struct vrt_graph *graph, const struct vrt_frame_format *format)
{
    struct vrt_op op = { .kind = VRT_OP_RGB_TO_YUV, .n_in = 1,
                         .out_more = { VRT_TENSOR_NONE, VRT_TENSOR_NONE } };
    int r = colour_of(format, &op.colour);

    if (r)
        return vrt_fold(r);
    op.in[0] = vrt_graph_input(graph, VRT_DTYPE_F32, rgb_shape(format));
    for (int p = 0; p < vrt_frame_format_n_planes(format); p++) {
        struct vrt_tensor plane = vrt_graph_output(graph, sample_dtype(format),
                                                   plane_shape(format, p));
        if (p == 0)
            op.out = plane;
        else
            op.out_more[p - 1] = plane;
    }
    vrt_graph_append(graph, &op);
    append_range(graph, &op.in[0]);
    return vrt_graph_status(graph);
}

/* A view of h rows and w columns of `channels` channels of an RGB frame `frame_w` wide; or, with
 * frame_w the view's own width, of a dense block. */
static struct vrt_tensor rgb_view(int h, int w, int frame_w, int channels)
{
    return (struct vrt_tensor){
        .dtype = VRT_DTYPE_F32,
        .shape = { 1, h, w, channels },
        .stride_w = 3,
        .stride_h = (int64_t)frame_w * 3,
        .stride_d = (int64_t)frame_w * h * 3,
    };
}

/* Bindings: a tile of the frame's rgb; what the network makes of it. */
static int build_network(struct vrt_graph *graph, const struct vrt_work *work,
                         const struct vrt_tile_grid *grid, enum vrt_dtype dtype)
{
    const struct vrt_network_info *info = vrt_network_info(work->network);
    bool tiled = grid->x.n > 1 || grid->y.n > 1;
    int out_h = grid->y.size * info->scale, out_w = grid->x.size * info->scale;
    struct vrt_tensor in = rgb_view(grid->y.size, grid->x.size, work->in.width,
                                    info->in_channels);
    struct vrt_tensor out = rgb_view(out_h, out_w, tiled ? out_w : work->out.width,
                                     info->out_channels);

    in = vrt_graph_input_view(graph, &in);
    out = vrt_graph_output_view(graph, &out);
    return vrt_fold(vrt_network_build(work->network, graph, &in, &out,
                                      &(struct vrt_network_use){ .dtype = dtype }));
}

/* Bindings: what the network made of a tile, from its cut on; that place in the frame. */
static int build_copy(struct vrt_graph *graph, const struct vrt_work *work,
                      const struct vrt_tile_grid *grid, int variant)
{
    int scale = vrt_network_info(work->network)->scale;
    int w = (grid->x.size - (variant & 1 ? grid->x.cut : 0)) * scale;
    int h = (grid->y.size - (variant & 2 ? grid->y.cut : 0)) * scale;
    struct vrt_tensor in = rgb_view(h, w, grid->x.size * scale, 3);
    struct vrt_tensor out = rgb_view(h, w, work->out.width, 3);
    struct vrt_op op = { .kind = VRT_OP_COPY, .n_in = 1 };

    op.in[0] = vrt_graph_input_view(graph, &in);
    op.out = vrt_graph_output_view(graph, &out);
    vrt_graph_append(graph, &op);
    return vrt_graph_status(graph);
}

/* Whether tiles of the grid need the graph at all. */
static bool is_needed(const struct vrt_tile_grid *grid, int g)
{
    int variant = g - VRT_KIT_COPY;

    if (variant < 0)
        return true;
    if (grid->x.n == 1 && grid->y.n == 1)
        return false;
    return (!(variant & 1) || grid->x.n > 1) && (!(variant & 2) || grid->y.n > 1);
}

int vrt_kit_graphs_new(const struct vrt_work *work, const struct vrt_tile_grid *grid,
                       enum vrt_dtype dtype, struct vrt_graph *ret_graphs[VRT_KIT_GRAPH_COUNT])
{
    for (int g = 0; g < VRT_KIT_GRAPH_COUNT; g++)
        ret_graphs[g] = NULL;
    for (int g = 0; g < VRT_KIT_GRAPH_COUNT; g++) {
        int r = 0;
        if (!is_needed(grid, g))
            continue;
        r = vrt_graph_new(&ret_graphs[g]);
        if (!r && g == VRT_KIT_TO_RGB)
            r = build_to_rgb(ret_graphs[g], &work->in);
        else if (!r && g == VRT_KIT_TO_PLANES)
            r = build_to_planes(ret_graphs[g], &work->out);
        else if (!r && g == VRT_KIT_NETWORK)
            r = build_network(ret_graphs[g], work, grid, dtype);
        else if (!r)
            r = build_copy(ret_graphs[g], work, grid, g - VRT_KIT_COPY);
        if (r)
            return vrt_fold(r);
    }
    return 0;
}
