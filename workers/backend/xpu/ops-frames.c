/* SPDX-License-Identifier: MIT */

/* Ops that look at whole frames: sums and extremes in two steps, and colours. */

#include <string.h>

#include "backend/op/colour.h"
#include "backend/xpu/ops.h"

#define ITEMS 64

/* Groups that share a frame, or the rows of a clip: enough for any device. */
#define MAX_GROUPS 256

static int n_groups_of_range(const struct vrt_op *op)
{
    const struct vrt_shape in = op->in[0].shape;
    const int64_t n = (int64_t)in.h * in.w * in.c;

    return (int)VRT_MIN((n + 16 * VRT_XPU_RANGE_ITEMS - 1) / (16 * VRT_XPU_RANGE_ITEMS),
                        MAX_GROUPS);
}

size_t vrt_xpu_range_workspace_bytes(const struct vrt_op *op)
{
    return (size_t)op->in[0].shape.d * (size_t)n_groups_of_range(op) * 3 * sizeof(float);
}

/* The two steps of a sum or the like; `groups` of each. */
struct steps {
    enum vrt_xpu_kernel kernels[2];
    uint32_t groups[2][3];
    uint32_t items[2];
};

static ze_result_t launch_steps(const struct vrt_xpu_call *call, const struct steps *steps,
                                int n_groups)
{
    const struct vrt_tensor *in = vrt_op_in(call->op, 0);
    const struct vrt_xpu_range args = {
        .out = vrt_xpu_view_of(&call->op->out),
        .in = vrt_xpu_view_of(in),
        .n_groups = n_groups,
    };
    const char *first[2] = { vrt_xpu_data_of(call, in), call->workspace };
    const char *second[2] = { vrt_xpu_data_of(call, &call->op->out), call->workspace };
    ze_result_t r = ZE_RESULT_SUCCESS;

    for (int i = 0; !r && i < 2; i++) {
        struct vrt_xpu_launch launch = {
            .kernel = steps->kernels[i],
            .args = &args,
            .args_bytes = sizeof(args),
            .n_data = 2,
            .local = { steps->items[i], 1, 1 },
        };
        memcpy(launch.data, i == 0 ? first : second, sizeof(first));
        memcpy(launch.groups, steps->groups[i], sizeof(launch.groups));
        r = vrt_xpu_launch(call, &launch);
    }
    return r;
}

ze_result_t vrt_xpu_range(const struct vrt_xpu_call *call)
{
    const uint32_t d = (uint32_t)call->op->in[0].shape.d;
    const int n_groups = n_groups_of_range(call->op);
    const struct steps steps = {
        .kernels = { VRT_XPU_KERNEL_range, VRT_XPU_KERNEL_range_total },
        .groups = { { (uint32_t)n_groups, d, 1 }, { d, 1, 1 } },
        .items = { VRT_XPU_RANGE_ITEMS, 1 },
    };

    return launch_steps(call, &steps, n_groups);
}

static int n_groups_of_mean(const struct vrt_op *op)
{
    const struct vrt_shape in = op->in[0].shape;

    return (int)VRT_MIN((int64_t)in.d * in.h, MAX_GROUPS);
}

size_t vrt_xpu_mean_workspace_bytes(const struct vrt_op *op)
{
    return (size_t)op->in[0].shape.c * (size_t)n_groups_of_mean(op) * sizeof(float);
}

ze_result_t vrt_xpu_mean(const struct vrt_xpu_call *call)
{
    const uint32_t across = ((uint32_t)call->op->in[0].shape.c + ITEMS - 1) / ITEMS;
    const int n_groups = n_groups_of_mean(call->op);
    const struct steps steps = {
        .kernels = { VRT_XPU_KERNEL_mean, VRT_XPU_KERNEL_mean_total },
        .groups = { { across, (uint32_t)n_groups, 1 }, { across, 1, 1 } },
        .items = { ITEMS, ITEMS },
    };

    return launch_steps(call, &steps, n_groups);
}

ze_result_t vrt_xpu_yuv_to_rgb(const struct vrt_xpu_call *call)
{
    const struct vrt_op_colour *op = &call->op->colour;
    const struct vrt_colour_matrix m = vrt_colour_matrix_of(op);
    const struct vrt_colour colour = vrt_colour_of(op);
    const struct vrt_shape shape = call->op->out.shape;
    struct vrt_xpu_colour args = {
        .rgb = vrt_xpu_view_of(&call->op->out),
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
    struct vrt_xpu_launch launch = {
        .kernel = VRT_XPU_KERNEL_yuv_to_rgb,
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { vrt_xpu_data_of(call, &call->op->out) },
        .n_data = 4,
        .groups = { ((uint32_t)shape.w + ITEMS - 1) / ITEMS, (uint32_t)shape.h,
                    (uint32_t)shape.d },
        .local = { ITEMS, 1, 1 },
    };

    for (int i = 0; i < call->op->n_in; i++) {
        args.planes[i] = vrt_xpu_view_of(vrt_op_in(call->op, i));
        launch.data[1 + i] = vrt_xpu_data_of(call, vrt_op_in(call->op, i));
    }
    return vrt_xpu_launch(call, &launch);
}

static struct vrt_xpu_filter filter_of(int shift, bool is_chroma, bool cosited)
{
    const int log2_r = is_chroma ? shift : 0;
    const struct vrt_colour_filter from = vrt_colour_filter_of(1 << log2_r, cosited);
    struct vrt_xpu_filter filter = { .log2_r = log2_r, .first = from.first, .n = from.n };

    memcpy(filter.weights, from.weights, sizeof(filter.weights));
    return filter;
}

ze_result_t vrt_xpu_rgb_to_yuv(const struct vrt_xpu_call *call)
{
    const struct vrt_op_colour *op = &call->op->colour;
    const struct vrt_colour colour = vrt_colour_of(op);
    const struct vrt_tensor *rgb = vrt_op_in(call->op, 0);
    ze_result_t r = ZE_RESULT_SUCCESS;

    for (int i = 0; !r && i < vrt_op_n_out(call->op); i++) {
        const struct vrt_tensor *plane = vrt_op_out(call->op, i);
        const struct vrt_colour_line line = vrt_colour_line_of(op, i);
        const bool is_chroma = op->layout == VRT_PLANES_YUV && i > 0;
        const struct vrt_xpu_plane args = {
            .rgb = vrt_xpu_view_of(rgb),
            .plane = vrt_xpu_view_of(plane),
            .down = filter_of(op->shift_y, is_chroma, colour.cosited_y),
            .across = filter_of(op->shift_x, is_chroma, colour.cosited_x),
            .line = { line.r, line.g, line.b, line.offset },
            .max = (float)colour.max,
        };
        const struct vrt_xpu_launch launch = {
            .kernel = VRT_XPU_KERNEL_rgb_to_yuv,
            .args = &args,
            .args_bytes = sizeof(args),
            .data = { vrt_xpu_data_of(call, plane), vrt_xpu_data_of(call, rgb) },
            .n_data = 2,
            .groups = { ((uint32_t)plane->shape.w + ITEMS - 1) / ITEMS,
                        (uint32_t)plane->shape.h, (uint32_t)plane->shape.d },
            .local = { ITEMS, 1, 1 },
        };
        r = vrt_xpu_launch(call, &launch);
    }
    return r;
}
