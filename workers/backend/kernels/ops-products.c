/* SPDX-License-Identifier: MIT */

/* Ops that multiply by weights, and norms. */

#include "backend/kernels/ops-products.h"

/* Where param i is; NULL where there is none such. */
static struct vrt_kernel_place param_place(const struct vrt_kernel_call *call, int i)
{
    return i < 0 ? (struct vrt_kernel_place){ NULL, 0 } : call->params[i].place;
}

static struct vrt_kernel_weights weights_of(const struct vrt_kernel_param *param)
{
    int taps = 1;

    for (int i = 2; i < param->n_dims; i++)
        taps *= param->dims[i];
    return (struct vrt_kernel_weights){
        .taps = taps,
        .inner = param->dims[1],
        .row_elements = param->row_elements,
    };
}

/* How many groups, their subgroups `wide` side by side, make an output, of `n_out` channels in each
 * of n_parts. */
static void set_groups(const struct vrt_kernel_call *call, struct vrt_kernel_launch *launch,
                       const struct vrt_kernel_view *out, uint32_t wide, int n_out, int n_parts)
{
    const uint32_t n_rows = (uint32_t)out->d * (uint32_t)out->h * (uint32_t)out->w;
    const uint32_t rows = VRT_KERNEL_PRODUCT_ROWS(wide), columns = VRT_KERNEL_PRODUCT_COLUMNS(wide);

    launch->groups[0] = ((uint32_t)n_out + columns - 1) / columns;
    launch->groups[1] = (n_rows + rows - 1) / rows;
    launch->groups[2] = (uint32_t)n_parts;
    launch->local[0] = call->target->product_items;
    launch->local[1] = launch->local[2] = 1;
}

int vrt_kernel_conv2d(const struct vrt_kernel_call *call)
{
    const struct vrt_op_conv2d *conv = &call->op->conv2d;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0), *residual = vrt_op_in(call->op, 1);
    const int slopes = conv->activation == VRT_ACTIVATION_PRELU ? conv->slopes : -1;
    const struct vrt_kernel_conv2d args = {
        .out = vrt_kernel_view_of(call, &call->op->out),
        .x = vrt_kernel_view_of(call, x),
        .residual = vrt_kernel_view_of(call, residual),
        .weights = weights_of(&call->params[conv->weight]),
        .taps = conv->kernel,
        .has_bias = conv->bias >= 0,
        .activation = (int32_t)conv->activation,
        .slope = conv->slope,
        .scale = conv->scale,
    };
    struct vrt_kernel_launch launch = {
        .kernel = VRT_KERNEL_conv2d,
        .factors = call->params[conv->weight].dtype,
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { vrt_kernel_place_of(call, &call->op->out), vrt_kernel_place_of(call, x),
                  vrt_kernel_place_of(call, residual), param_place(call, conv->weight),
                  param_place(call, conv->bias), param_place(call, slopes) },
        .n_data = 6,
    };

    const size_t weight_bytes = vrt_dtype_size(call->params[conv->weight].dtype);
    set_groups(call, &launch, &args.out, VRT_KERNEL_CONV2D_WIDE(weight_bytes), args.out.c, 1);
    return call->target->launch(call, &launch);
}

int vrt_kernel_deform_conv2d(const struct vrt_kernel_call *call)
{
    const struct vrt_op_deform_conv2d *deform = &call->op->deform_conv2d;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0), *offsets = vrt_op_in(call->op, 1);
    const struct vrt_kernel_deform_conv2d args = {
        .out = vrt_kernel_view_of(call, &call->op->out),
        .x = vrt_kernel_view_of(call, x),
        .offsets = vrt_kernel_view_of(call, offsets),
        .weights = weights_of(&call->params[deform->weight]),
        .groups = deform->groups,
        .offset_groups = deform->offset_groups,
        .has_bias = deform->bias >= 0,
    };
    struct vrt_kernel_launch launch = {
        .kernel = VRT_KERNEL_deform_conv2d,
        .factors = call->params[deform->weight].dtype,
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { vrt_kernel_place_of(call, &call->op->out), vrt_kernel_place_of(call, x),
                  vrt_kernel_place_of(call, offsets), param_place(call, deform->weight),
                  param_place(call, deform->bias) },
        .n_data = 5,
    };

    set_groups(call, &launch, &args.out, VRT_KERNEL_DEFORM_CONV2D_WIDE, args.out.c / deform->groups,
               deform->groups);
    return call->target->launch(call, &launch);
}

int vrt_kernel_layer(const struct vrt_kernel_call *call, const struct vrt_kernel_layer *layer)
{
    const struct vrt_op_norm *norm = layer->norm;
    const struct vrt_kernel_linear args = {
        .out = layer->out,
        .x = layer->x,
        .residual = vrt_kernel_view_of(call, layer->residual),
        .gate = layer->gate,
        .weights = weights_of(&call->params[layer->weight]),
        .has_norm = norm != NULL,
        .has_bias = layer->bias >= 0,
        .activation = (int32_t)layer->activation,
        .window_h = layer->window[0],
        .window_w = layer->window[1],
        .shift_h = layer->shift[0],
        .shift_w = layer->shift[1],
    };
    struct vrt_kernel_launch launch = {
        .kernel = VRT_KERNEL_linear,
        .factors = call->params[layer->weight].dtype,
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { layer->out_data, layer->x_data, vrt_kernel_place_of(call, layer->residual),
                  layer->gate_data, param_place(call, layer->weight),
                  param_place(call, layer->bias), layer->stats,
                  param_place(call, norm ? norm->weight : -1),
                  param_place(call, norm ? norm->bias : -1),
                  param_place(call, layer->window[1] ? layer->position : -1) },
        .n_data = 10,
    };

    set_groups(call, &launch, &args.out, VRT_KERNEL_LINEAR_WIDE, args.out.c, 1);
    return call->target->launch(call, &launch);
}

/* Norms x into `out` or, where `out` is NULL, writes what norms it to `data`. */
static int launch_norm(const struct vrt_kernel_call *call, const struct vrt_op_norm *norm,
                       const struct vrt_tensor *out, struct vrt_kernel_place data)
{
    const struct vrt_tensor *x = vrt_op_in(call->op, 0);
    const struct vrt_kernel_norm args = {
        .out = vrt_kernel_view_of(call, out),
        .x = vrt_kernel_view_of(call, x),
        .only_stats = !out,
    };
    const uint32_t n_rows = (uint32_t)args.x.d * (uint32_t)args.x.h * (uint32_t)args.x.w;
    const struct vrt_kernel_launch launch = {
        .kernel = VRT_KERNEL_layernorm,
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { data, vrt_kernel_place_of(call, x), param_place(call, norm->weight),
                  param_place(call, norm->bias) },
        .n_data = 4,
        .groups = { (n_rows + VRT_KERNEL_NORM_PLACES - 1) / VRT_KERNEL_NORM_PLACES, 1, 1 },
        .local = { VRT_KERNEL_NORM_LANES * VRT_KERNEL_NORM_PLACES, 1, 1 },
    };

    return call->target->launch(call, &launch);
}

int vrt_kernel_norm_stats(const struct vrt_kernel_call *call, const struct vrt_op_norm *norm,
                          struct vrt_kernel_place stats)
{
    return norm->weight < 0 ? 0 : launch_norm(call, norm, NULL, stats);
}

int vrt_kernel_layernorm(const struct vrt_kernel_call *call)
{
    return launch_norm(call, &call->op->layernorm.norm, &call->op->out,
                       vrt_kernel_place_of(call, &call->op->out));
}

size_t vrt_kernel_stats_bytes(const struct vrt_op *op, const struct vrt_op_norm *norm)
{
    const struct vrt_shape x = op->in[0].shape;
    const size_t bytes = (size_t)x.d * (size_t)x.h * (size_t)x.w * 2 * sizeof(float);

    return norm->weight < 0 ? 0 : vrt_kernel_aligned(bytes);
}

size_t vrt_kernel_linear_workspace_bytes(const struct vrt_op *op)
{
    return vrt_kernel_stats_bytes(op, &op->linear.norm);
}

int vrt_kernel_linear(const struct vrt_kernel_call *call)
{
    const struct vrt_op_linear *linear = &call->op->linear;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0);
    const struct vrt_kernel_place stats = vrt_kernel_workspace(call, 0);
    const struct vrt_kernel_layer layer = {
        .out = vrt_kernel_view_of(call, &call->op->out),
        .x = vrt_kernel_view_of(call, x),
        .out_data = vrt_kernel_place_of(call, &call->op->out),
        .x_data = vrt_kernel_place_of(call, x),
        .residual = vrt_op_in(call->op, 1),
        .norm = linear->norm.weight >= 0 ? &linear->norm : NULL,
        .stats = stats,
        .weight = linear->weight,
        .bias = linear->bias,
        .activation = linear->activation,
    };
    int r = vrt_kernel_norm_stats(call, &linear->norm, stats);

    return r != 0 ? r : vrt_kernel_layer(call, &layer);
}

/* Where in a geglu's workspace what is, behind the norm's numbers: the gate, which is f32, and what
 * it is applied to, of the type that the third layer multiplies. */
struct geglu_parts {
    struct vrt_shape shape;         /* of both */
    size_t gate, hidden, end;
};

static struct geglu_parts geglu_parts_of(const struct vrt_op *op)
{
    struct geglu_parts parts = { .shape = op->in[0].shape };

    parts.shape.c = op->geglu.hidden;
    const size_t n = (size_t)vrt_shape_count(parts.shape);
    parts.gate = vrt_kernel_stats_bytes(op, &op->geglu.norm);
    parts.hidden = vrt_kernel_aligned(parts.gate + n * sizeof(float));
    parts.end = parts.hidden + n * vrt_dtype_size(op->weight_dtype);
    return parts;
}

size_t vrt_kernel_geglu_workspace_bytes(const struct vrt_op *op)
{
    return geglu_parts_of(op).end;
}

int vrt_kernel_geglu(const struct vrt_kernel_call *call)
{
    const struct vrt_op_geglu *geglu = &call->op->geglu;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0);
    const struct geglu_parts parts = geglu_parts_of(call->op);
    const struct vrt_kernel_place gate = vrt_kernel_workspace(call, parts.gate);
    const struct vrt_kernel_place hidden = vrt_kernel_workspace(call, parts.hidden);
    const struct vrt_kernel_layer first = {
        .out = vrt_kernel_dense_view(VRT_DTYPE_F32, parts.shape),
        .x = vrt_kernel_view_of(call, x),
        .out_data = gate,
        .x_data = vrt_kernel_place_of(call, x),
        .norm = geglu->norm.weight >= 0 ? &geglu->norm : NULL,
        .stats = vrt_kernel_workspace(call, 0),
        .weight = geglu->fc11,
        .bias = geglu->fc11_bias,
        .activation = VRT_ACTIVATION_GELU,
    };
    struct vrt_kernel_layer second = first;
    second.out = vrt_kernel_dense_view(call->op->weight_dtype, parts.shape);
    second.out_data = hidden;
    second.gate = first.out;
    second.gate_data = gate;
    second.weight = geglu->fc12;
    second.bias = geglu->fc12_bias;
    second.activation = VRT_ACTIVATION_NONE;
    const struct vrt_kernel_layer third = {
        .out = vrt_kernel_view_of(call, &call->op->out),
        .x = second.out,
        .out_data = vrt_kernel_place_of(call, &call->op->out),
        .x_data = hidden,
        .residual = vrt_op_in(call->op, 1),
        .weight = geglu->fc2,
        .bias = geglu->fc2_bias,
    };
    int r = vrt_kernel_norm_stats(call, &geglu->norm, vrt_kernel_workspace(call, 0));

    if (r != 0)
        return r;
    r = vrt_kernel_layer(call, &first);
    if (r != 0)
        return r;
    r = vrt_kernel_layer(call, &second);
    return r != 0 ? r : vrt_kernel_layer(call, &third);
}
