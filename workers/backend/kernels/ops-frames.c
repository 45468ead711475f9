/* SPDX-License-Identifier: MIT */

/* Ops that look at whole frames: sums and extremes in two steps, and colours. */

#include <string.h>

#include "backend/op/colour.h"
#include "backend/kernels/ops.h"
#include "base/macro.h"

#define ITEMS 64

/* Groups that share a frame, or the rows of a clip: enough for any device. */
#define MAX_GROUPS 256

static int n_groups_of_range(const struct vrt_op *op)
{
    const struct vrt_shape in = op->in[0].shape;
    const int64_t n = (int64_t)in.h * in.w * in.c;

    return (int)VRT_MIN((n + 16 * VRT_KERNEL_RANGE_ITEMS - 1) / (16 * VRT_KERNEL_RANGE_ITEMS),
                        MAX_GROUPS);
}

size_t vrt_kernel_range_workspace_bytes(const struct vrt_op *op)
{
    return (size_t)op->in[0].shape.d * (size_t)n_groups_of_range(op) * 3 * sizeof(float);
}

/* The two steps of a sum or the like; `groups` of each. */
struct steps {
    enum vrt_kernel kernels[2];
    uint32_t groups[2][3];
    uint32_t items[2];
};

static int launch_steps(const struct vrt_kernel_call *call, const struct steps *steps,
                                int n_groups)
{
    const struct vrt_tensor *in = vrt_op_in(call->op, 0);
    const struct vrt_kernel_range args = {
        .out = vrt_kernel_view_of(call, &call->op->out),
        .in = vrt_kernel_view_of(call, in),
        .n_groups = n_groups,
    };
    const struct vrt_kernel_place workspace = vrt_kernel_workspace(call, 0);
    const struct vrt_kernel_place data[2][2] = {
        { vrt_kernel_place_of(call, in), workspace },
        { vrt_kernel_place_of(call, &call->op->out), workspace },
    };
    int r = 0;

    for (int i = 0; r == 0 && i < 2; i++) {
        struct vrt_kernel_launch launch = {
            .kernel = steps->kernels[i],
            .args = &args,
            .args_bytes = sizeof(args),
            .n_data = 2,
            .local = { steps->items[i], 1, 1 },
        };
        memcpy(launch.data, data[i], sizeof(data[i]));
        memcpy(launch.groups, steps->groups[i], sizeof(launch.groups));
        r = call->target->launch(call, &launch);
    }
    return r;
}

int vrt_kernel_range(const struct vrt_kernel_call *call)
{
    const uint32_t d = (uint32_t)call->op->in[0].shape.d;
    const int n_groups = n_groups_of_range(call->op);
    const struct steps steps = {
        .kernels = { VRT_KERNEL_range, VRT_KERNEL_range_total },
        .groups = { { (uint32_t)n_groups, d, 1 }, { d, 1, 1 } },
        .items = { VRT_KERNEL_RANGE_ITEMS, 1 },
    };

    return launch_steps(call, &steps, n_groups);
}

static int n_groups_of_mean(const struct vrt_op *op)
{
    const struct vrt_shape in = op->in[0].shape;

    return (int)VRT_MIN((int64_t)in.d * in.h, MAX_GROUPS);
}

size_t vrt_kernel_mean_workspace_bytes(const struct vrt_op *op)
{
    return (size_t)op->in[0].shape.c * (size_t)n_groups_of_mean(op) * sizeof(float);
}

int vrt_kernel_mean(const struct vrt_kernel_call *call)
{
    const uint32_t across = ((uint32_t)call->op->in[0].shape.c + ITEMS - 1) / ITEMS;
    const int n_groups = n_groups_of_mean(call->op);
    const struct steps steps = {
        .kernels = { VRT_KERNEL_mean, VRT_KERNEL_mean_total },
        .groups = { { across, (uint32_t)n_groups, 1 }, { across, 1, 1 } },
        .items = { ITEMS, ITEMS },
    };

    return launch_steps(call, &steps, n_groups);
}

int vrt_kernel_yuv_to_rgb(const struct vrt_kernel_call *call)
{
    const struct vrt_op_colour *op = &call->op->colour;
    const struct vrt_colour_matrix m = vrt_colour_matrix_of(op);
    const struct vrt_colour colour = vrt_colour_of(op);
    const struct vrt_shape shape = call->op->out.shape;
    struct vrt_kernel_colour args = {
        .rgb = vrt_kernel_view_of(call, &call->op->out),
        .layout = (int32_t)op->layout,
        .shift_x = op->shift_x,
        .shift_y = op->shift_y,
        .cosited_x = colour.cosited_x,
        .cosited_y = colour.cosited_y,
        .y_scale = m.y_scale,
        .y_offset = m.y_offset,
        .c_offset = m.c_offset,
        .matrix = { m.rv, m.gu, m.gv, m.bu },
    };
    struct vrt_kernel_launch launch = {
        .kernel = VRT_KERNEL_yuv_to_rgb,
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { vrt_kernel_place_of(call, &call->op->out) },
        .n_data = 4,
        .groups = { ((uint32_t)shape.w + ITEMS - 1) / ITEMS, (uint32_t)shape.h,
                    (uint32_t)shape.d },
        .local = { ITEMS, 1, 1 },
    };

    for (int i = 0; i < call->op->n_in; i++) {
        args.planes[i] = vrt_kernel_view_of(call, vrt_op_in(call->op, i));
        launch.data[1 + i] = vrt_kernel_place_of(call, vrt_op_in(call->op, i));
    }
    return call->target->launch(call, &launch);
}

static struct vrt_kernel_filter filter_of(int shift, bool is_chroma, bool cosited)
{
    const int log2_r = is_chroma ? shift : 0;
    const struct vrt_colour_filter from = vrt_colour_filter_of(1 << log2_r, cosited);
    struct vrt_kernel_filter filter = { .log2_r = log2_r, .first = from.first, .n = from.n };

    memcpy(filter.weights, from.weights, sizeof(filter.weights));
    return filter;
}

int vrt_kernel_rgb_to_yuv(const struct vrt_kernel_call *call)
{
    const struct vrt_op_colour *op = &call->op->colour;
    const struct vrt_colour colour = vrt_colour_of(op);
    const struct vrt_tensor *rgb = vrt_op_in(call->op, 0);
    int r = 0;

    for (int i = 0; r == 0 && i < vrt_op_n_out(call->op); i++) {
        const struct vrt_tensor *plane = vrt_op_out(call->op, i);
        const struct vrt_colour_line line = vrt_colour_line_of(op, i);
        const bool is_chroma = op->layout == VRT_PLANES_YUV && i > 0;
        const struct vrt_kernel_plane args = {
            .rgb = vrt_kernel_view_of(call, rgb),
            .plane = vrt_kernel_view_of(call, plane),
            .down = filter_of(op->shift_y, is_chroma, colour.cosited_y),
            .across = filter_of(op->shift_x, is_chroma, colour.cosited_x),
            .line = { line.r, line.g, line.b, line.offset },
            .max = (float)colour.max,
        };
        const struct vrt_kernel_launch launch = {
            .kernel = VRT_KERNEL_rgb_to_yuv,
            .args = &args,
            .args_bytes = sizeof(args),
            .data = { vrt_kernel_place_of(call, plane), vrt_kernel_place_of(call, rgb) },
            .n_data = 2,
            .groups = { ((uint32_t)plane->shape.w + ITEMS - 1) / ITEMS,
                        (uint32_t)plane->shape.h, (uint32_t)plane->shape.d },
            .local = { ITEMS, 1, 1 },
        };
        r = call->target->launch(call, &launch);
    }
    return r;
}
