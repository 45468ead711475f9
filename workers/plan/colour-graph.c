/* SPDX-License-Identifier: MIT */

#include "workers/plan/colour-graph.h"

#include <errno.h>

#include "base/error.h"

int vrt_colour_op_of(const struct vrt_frame_format *format, struct vrt_op_colour *ret_op)
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
    *ret_op = (struct vrt_op_colour){
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

int vrt_colour_graph_to_rgb(struct vrt_graph *graph, const struct vrt_frame_format *format)
{
    struct vrt_op op = { .kind = VRT_OP_YUV_TO_RGB };
    int r = vrt_colour_op_of(format, &op.colour);

    if (r < 0)
        return vrt_fold(r);
    op.n_in = vrt_frame_format_n_planes(format);
    for (int p = 0; p < op.n_in; p++)
        op.in[p] = vrt_graph_input(graph, sample_dtype(format), plane_shape(format, p));
    op.out = vrt_graph_output(graph, VRT_DTYPE_F32, rgb_shape(format));
    vrt_graph_append(graph, &op);
    return vrt_graph_status(graph);
}

int vrt_colour_graph_to_planes(struct vrt_graph *graph, const struct vrt_frame_format *format,
                               const struct vrt_tensor *rgb)
{
    struct vrt_op op = { .kind = VRT_OP_RGB_TO_YUV, .n_in = 1,
                         .out_more = { VRT_TENSOR_NONE, VRT_TENSOR_NONE } };
    int r = vrt_colour_op_of(format, &op.colour);

    if (r < 0)
        return vrt_fold(r);
    op.in[0] = *rgb;
    for (int p = 0; p < vrt_frame_format_n_planes(format); p++) {
        struct vrt_tensor plane = vrt_graph_output(graph, sample_dtype(format),
                                                   plane_shape(format, p));
        if (p == 0)
            op.out = plane;
        else
            op.out_more[p - 1] = plane;
    }
    vrt_graph_append(graph, &op);
    return vrt_graph_status(graph);
}
