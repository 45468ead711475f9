/* SPDX-License-Identifier: MIT */

/* Ops of which each element of the output is made by itself, from few of the inputs'. */

#include <string.h>

#include "backend/kernels/ops.h"

#define ITEMS 64

/* Appends `kernel`, of which an item makes an element of e->out. */
static int launch(const struct vrt_kernel_call *call, enum vrt_kernel kernel, int n_in,
                  struct vrt_kernel_elements *e)
{
    const struct vrt_tensor *out = vrt_op_out(call->op, 0);
    struct vrt_kernel_launch launch = {
        .kernel = kernel,
        .args = e,
        .args_bytes = sizeof(*e),
        .data = { vrt_kernel_place_of(call, out) },
        .n_data = 1 + n_in,
        .groups = { ((uint32_t)out->shape.w * (uint32_t)out->shape.c + ITEMS - 1) / ITEMS,
                    (uint32_t)out->shape.h, (uint32_t)out->shape.d },
        .local = { ITEMS, 1, 1 },
    };

    e->out = vrt_kernel_view_of(call, out);
    for (int i = 0; i < n_in; i++) {
        const struct vrt_tensor *in = i < call->op->n_in ? vrt_op_in(call->op, i) : NULL;
        e->in[i] = vrt_kernel_view_of(call, in);
        launch.data[1 + i] = vrt_kernel_place_of(call, in);
    }
    return call->target->launch(call, &launch);
}

int vrt_kernel_add(const struct vrt_kernel_call *call)
{
    const struct vrt_op *op = call->op;
    struct vrt_kernel_elements e = {
        .mode = !vrt_shape_equal(op->in[0].shape, op->out.shape),
        .f = { op->add.scale },
    };

    return launch(call, VRT_KERNEL_add, 2, &e);
}

int vrt_kernel_affine(const struct vrt_kernel_call *call)
{
    struct vrt_kernel_elements e = { 0 };

    memcpy(e.f, call->op->affine.scale, sizeof(call->op->affine.scale));
    memcpy(e.f + VRT_AFFINE_MAX_CHANNELS, call->op->affine.shift,
           sizeof(call->op->affine.shift));
    return launch(call, VRT_KERNEL_affine, 1, &e);
}

int vrt_kernel_avgpool2(const struct vrt_kernel_call *call)
{
    struct vrt_kernel_elements e = { 0 };

    return launch(call, VRT_KERNEL_avgpool2, 1, &e);
}

int vrt_kernel_blend(const struct vrt_kernel_call *call)
{
    struct vrt_kernel_elements e = { .mode = call->op->blend.divides };

    return launch(call, VRT_KERNEL_blend, 4, &e);
}

int vrt_kernel_gate(const struct vrt_kernel_call *call)
{
    const struct vrt_op_gate *gate = &call->op->gate;
    struct vrt_kernel_elements e = { .f = { gate->scale, gate->shift } };

    return launch(call, VRT_KERNEL_gate, 3, &e);
}

int vrt_kernel_copy(const struct vrt_kernel_call *call)
{
    struct vrt_kernel_elements e = { 0 };

    return launch(call, VRT_KERNEL_copy, 1, &e);
}

/* Each input is copied to its channels of the output. */
int vrt_kernel_concat(const struct vrt_kernel_call *call)
{
    const struct vrt_op *op = call->op;
    int r = 0;
    int first = 0;

    for (int i = 0; r == 0 && i < op->n_in; i++) {
        const struct vrt_tensor *in = vrt_op_in(op, i);
        struct vrt_op copy = { .kind = VRT_OP_COPY, .n_in = 1, .in = { *in } };
        struct vrt_kernel_call part = *call;
        copy.out = vrt_tensor_channels(&op->out, first, in->shape.c);
        part.op = &copy;
        first += in->shape.c;
        r = vrt_kernel_copy(&part);
    }
    return r;
}

int vrt_kernel_depth_to_space(const struct vrt_kernel_call *call)
{
    struct vrt_kernel_elements e = {
        .mode = (int32_t)call->op->depth_to_space.order,
        .i = { call->op->depth_to_space.r },
    };

    return launch(call, VRT_KERNEL_depth_to_space, 2, &e);
}

int vrt_kernel_fill(const struct vrt_kernel_call *call)
{
    struct vrt_kernel_elements e = { .f = { call->op->fill.value } };

    return launch(call, VRT_KERNEL_fill, 0, &e);
}

int vrt_kernel_pad(const struct vrt_kernel_call *call)
{
    const struct vrt_op_pad *pad = &call->op->pad;
    struct vrt_kernel_elements e = { .mode = (int32_t)pad->mode, .i = { pad->top, pad->left } };

    return launch(call, VRT_KERNEL_pad, 1, &e);
}

int vrt_kernel_resize(const struct vrt_kernel_call *call)
{
    struct vrt_kernel_elements e = { .mode = (int32_t)call->op->resize.mode };

    return launch(call, VRT_KERNEL_resize, 1, &e);
}

int vrt_kernel_space_to_depth(const struct vrt_kernel_call *call)
{
    struct vrt_kernel_elements e = {
        .mode = (int32_t)call->op->space_to_depth.order,
        .i = { call->op->space_to_depth.r },
    };

    return launch(call, VRT_KERNEL_space_to_depth, 1, &e);
}

int vrt_kernel_warp(const struct vrt_kernel_call *call)
{
    struct vrt_kernel_elements e = { .mode = (int32_t)call->op->warp.mode };

    return launch(call, VRT_KERNEL_warp, 2, &e);
}

int vrt_kernel_flow_offsets(const struct vrt_kernel_call *call)
{
    const struct vrt_op *op = call->op;
    const int n_flows = op->n_in - 1;
    struct vrt_kernel_flow_offsets e = {
        .out = vrt_kernel_view_of(call, &op->out),
        .in = vrt_kernel_view_of(call, vrt_op_in(op, 0)),
        .groups = op->flow_offsets.offset_groups,
        .channels_each = 18 * op->flow_offsets.offset_groups / n_flows,
        .max_residue = op->flow_offsets.max_residue,
    };
    struct vrt_kernel_launch launch = {
        .kernel = VRT_KERNEL_flow_offsets,
        .args = &e,
        .args_bytes = sizeof(e),
        .data = { vrt_kernel_place_of(call, &op->out),
                  vrt_kernel_place_of(call, vrt_op_in(op, 0)) },
        .n_data = 1 + VRT_OP_MAX_IN,
        .groups = { ((uint32_t)e.out.w * (uint32_t)e.out.c + ITEMS - 1) / ITEMS,
                    (uint32_t)e.out.h, (uint32_t)e.out.d },
        .local = { ITEMS, 1, 1 },
    };

    for (int i = 0; i < n_flows; i++) {
        e.flows[i] = vrt_kernel_view_of(call, vrt_op_in(op, 1 + i));
        launch.data[2 + i] = vrt_kernel_place_of(call, vrt_op_in(op, 1 + i));
    }
    return call->target->launch(call, &launch);
}
