/* SPDX-License-Identifier: MIT */

/* Ops that multiply by weights, and norms. */

#include "backend/xpu/ops-products.h"

/* Where param i is; NULL where there is none such. */
static const char *param_data(const struct vrt_xpu_call *call, int i)
{
    return i < 0 ? NULL : call->params[i].data;
}

/* A product's kernels, by the type of its factors. */
struct kernels {
    enum vrt_xpu_kernel f32, f16, bf16;
};

#define KERNELS(name) \
    { VRT_XPU_KERNEL_##name, VRT_XPU_KERNEL_##name##_f16, VRT_XPU_KERNEL_##name##_bf16 }

static const struct kernels conv2d_kernels = KERNELS(conv2d);
static const struct kernels deform_conv2d_kernels = KERNELS(deform_conv2d);
static const struct kernels linear_kernels = KERNELS(linear);

/* The kernel for factors of the weights' type. */
static enum vrt_xpu_kernel kernel_of(const struct kernels *kernels,
                                     const struct vrt_xpu_param *weights)
{
    switch (weights->dtype) {
    case VRT_DTYPE_F16: return kernels->f16;
    case VRT_DTYPE_BF16: return kernels->bf16;
    default: return kernels->f32;
    }
}

static struct vrt_xpu_weights weights_of(const struct vrt_xpu_param *param)
{
    int taps = 1;

    for (int i = 2; i < param->n_dims; i++)
        taps *= param->dims[i];
    return (struct vrt_xpu_weights){
        .taps = taps,
        .inner = param->dims[1],
        .row_elements = param->row_elements,
    };
}

/* How many groups, their subgroups `wide` side by side, make an output, of `n_out` channels in each
 * of n_parts. */
static void set_groups(struct vrt_xpu_launch *launch, const struct vrt_xpu_view *out, uint32_t wide,
                       int n_out, int n_parts)
{
    const uint32_t n_rows = (uint32_t)out->d * (uint32_t)out->h * (uint32_t)out->w;
    const uint32_t rows = VRT_XPU_PRODUCT_ROWS(wide), columns = VRT_XPU_PRODUCT_COLUMNS(wide);

    launch->groups[0] = ((uint32_t)n_out + columns - 1) / columns;
    launch->groups[1] = (n_rows + rows - 1) / rows;
    launch->groups[2] = (uint32_t)n_parts;
    launch->local[0] = VRT_XPU_PRODUCT_ITEMS;
    launch->local[1] = launch->local[2] = 1;
}

ze_result_t vrt_xpu_conv2d(const struct vrt_xpu_call *call)
{
    const struct vrt_op_conv2d *conv = &call->op->conv2d;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0), *residual = vrt_op_in(call->op, 1);
    const int slopes = conv->activation == VRT_ACTIVATION_PRELU ? conv->slopes : -1;
    const struct vrt_xpu_conv2d args = {
        .out = vrt_xpu_view_of(&call->op->out),
        .x = vrt_xpu_view_of(x),
        .residual = vrt_xpu_view_of(residual),
        .weights = weights_of(&call->params[conv->weight]),
        .taps = conv->kernel,
        .has_bias = conv->bias >= 0,
        .activation = (int32_t)conv->activation,
        .slope = conv->slope,
        .scale = conv->scale,
    };
    struct vrt_xpu_launch launch = {
        .kernel = kernel_of(&conv2d_kernels, &call->params[conv->weight]),
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { vrt_xpu_data_of(call, &call->op->out), vrt_xpu_data_of(call, x),
                  vrt_xpu_data_of(call, residual), param_data(call, conv->weight),
                  param_data(call, conv->bias), param_data(call, slopes) },
        .n_data = 6,
    };

    const size_t weight_bytes = vrt_dtype_size(call->params[conv->weight].dtype);
    set_groups(&launch, &args.out, VRT_XPU_CONV2D_WIDE(weight_bytes), args.out.c, 1);
    return vrt_xpu_launch(call, &launch);
}

ze_result_t vrt_xpu_deform_conv2d(const struct vrt_xpu_call *call)
{
    const struct vrt_op_deform_conv2d *deform = &call->op->deform_conv2d;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0), *offsets = vrt_op_in(call->op, 1);
    const struct vrt_xpu_deform_conv2d args = {
        .out = vrt_xpu_view_of(&call->op->out),
        .x = vrt_xpu_view_of(x),
        .offsets = vrt_xpu_view_of(offsets),
        .weights = weights_of(&call->params[deform->weight]),
        .groups = deform->groups,
        .offset_groups = deform->offset_groups,
        .has_bias = deform->bias >= 0,
    };
    struct vrt_xpu_launch launch = {
        .kernel = kernel_of(&deform_conv2d_kernels, &call->params[deform->weight]),
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { vrt_xpu_data_of(call, &call->op->out), vrt_xpu_data_of(call, x),
                  vrt_xpu_data_of(call, offsets), param_data(call, deform->weight),
                  param_data(call, deform->bias) },
        .n_data = 5,
    };

    set_groups(&launch, &args.out, VRT_XPU_DEFORM_CONV2D_WIDE, args.out.c / deform->groups,
               deform->groups);
    return vrt_xpu_launch(call, &launch);
}

ze_result_t vrt_xpu_layer(const struct vrt_xpu_call *call, const struct vrt_xpu_layer *layer)
{
    const struct vrt_op_norm *norm = layer->norm;
    const struct vrt_xpu_linear args = {
        .out = layer->out,
        .x = layer->x,
        .residual = vrt_xpu_view_of(layer->residual),
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
    struct vrt_xpu_launch launch = {
        .kernel = kernel_of(&linear_kernels, &call->params[layer->weight]),
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { layer->out_data, layer->x_data, vrt_xpu_data_of(call, layer->residual),
                  layer->gate_data, param_data(call, layer->weight),
                  param_data(call, layer->bias), norm ? layer->stats : NULL,
                  norm ? param_data(call, norm->weight) : NULL,
                  norm ? param_data(call, norm->bias) : NULL,
                  layer->window[1] ? param_data(call, layer->position) : NULL },
        .n_data = 10,
    };

    set_groups(&launch, &args.out, VRT_XPU_LINEAR_WIDE, args.out.c, 1);
    return vrt_xpu_launch(call, &launch);
}

/* Norms x into `out` or, where `out` is NULL, writes what norms it to `data`. */
static ze_result_t launch_norm(const struct vrt_xpu_call *call, const struct vrt_op_norm *norm,
                               const struct vrt_tensor *out, char *data)
{
    const struct vrt_tensor *x = vrt_op_in(call->op, 0);
    const struct vrt_xpu_norm args = {
        .out = vrt_xpu_view_of(out),
        .x = vrt_xpu_view_of(x),
        .only_stats = !out,
    };
    const uint32_t n_rows = (uint32_t)args.x.d * (uint32_t)args.x.h * (uint32_t)args.x.w;
    const struct vrt_xpu_launch launch = {
        .kernel = VRT_XPU_KERNEL_layernorm,
        .args = &args,
        .args_bytes = sizeof(args),
        .data = { data, vrt_xpu_data_of(call, x), param_data(call, norm->weight),
                  param_data(call, norm->bias) },
        .n_data = 4,
        .groups = { (n_rows + VRT_XPU_NORM_PLACES - 1) / VRT_XPU_NORM_PLACES, 1, 1 },
        .local = { VRT_XPU_NORM_LANES * VRT_XPU_NORM_PLACES, 1, 1 },
    };

    return vrt_xpu_launch(call, &launch);
}

ze_result_t vrt_xpu_norm_stats(const struct vrt_xpu_call *call, const struct vrt_op_norm *norm,
                               char *stats)
{
    return norm->weight < 0 ? ZE_RESULT_SUCCESS : launch_norm(call, norm, NULL, stats);
}

ze_result_t vrt_xpu_layernorm(const struct vrt_xpu_call *call)
{
    return launch_norm(call, &call->op->layernorm.norm, &call->op->out,
                       vrt_xpu_data_of(call, &call->op->out));
}

size_t vrt_xpu_stats_bytes(const struct vrt_op *op, const struct vrt_op_norm *norm)
{
    const struct vrt_shape x = op->in[0].shape;
    const size_t bytes = (size_t)x.d * (size_t)x.h * (size_t)x.w * 2 * sizeof(float);

    return norm->weight < 0 ? 0 : (bytes + 255) / 256 * 256;
}

size_t vrt_xpu_linear_workspace_bytes(const struct vrt_op *op)
{
    return vrt_xpu_stats_bytes(op, &op->linear.norm);
}

ze_result_t vrt_xpu_linear(const struct vrt_xpu_call *call)
{
    const struct vrt_op_linear *linear = &call->op->linear;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0);
    const struct vrt_xpu_layer layer = {
        .out = vrt_xpu_view_of(&call->op->out),
        .x = vrt_xpu_view_of(x),
        .out_data = vrt_xpu_data_of(call, &call->op->out),
        .x_data = vrt_xpu_data_of(call, x),
        .residual = vrt_op_in(call->op, 1),
        .norm = linear->norm.weight >= 0 ? &linear->norm : NULL,
        .stats = call->workspace,
        .weight = linear->weight,
        .bias = linear->bias,
        .activation = linear->activation,
    };
    ze_result_t r = vrt_xpu_norm_stats(call, &linear->norm, call->workspace);

    return r != 0 ? r : vrt_xpu_layer(call, &layer);
}

struct vrt_xpu_view vrt_xpu_dense_view(enum vrt_dtype dtype, struct vrt_shape shape)
{
    const struct vrt_tensor dense = vrt_tensor_dense(dtype, shape);

    return vrt_xpu_view_of(&dense);
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
    parts.gate = vrt_xpu_stats_bytes(op, &op->geglu.norm);
    parts.hidden = parts.gate + n * sizeof(float);
    parts.end = parts.hidden + n * vrt_dtype_size(op->weight_dtype);
    return parts;
}

size_t vrt_xpu_geglu_workspace_bytes(const struct vrt_op *op)
{
    return geglu_parts_of(op).end;
}

ze_result_t vrt_xpu_geglu(const struct vrt_xpu_call *call)
{
    const struct vrt_op_geglu *geglu = &call->op->geglu;
    const struct vrt_tensor *x = vrt_op_in(call->op, 0);
    const struct geglu_parts parts = geglu_parts_of(call->op);
    char *gate = call->workspace + parts.gate, *hidden = call->workspace + parts.hidden;
    const struct vrt_xpu_layer first = {
        .out = vrt_xpu_dense_view(VRT_DTYPE_F32, parts.shape),
        .x = vrt_xpu_view_of(x),
        .out_data = gate,
        .x_data = vrt_xpu_data_of(call, x),
        .norm = geglu->norm.weight >= 0 ? &geglu->norm : NULL,
        .stats = call->workspace,
        .weight = geglu->fc11,
        .bias = geglu->fc11_bias,
        .activation = VRT_ACTIVATION_GELU,
    };
    struct vrt_xpu_layer second = first;
    second.out = vrt_xpu_dense_view(call->op->weight_dtype, parts.shape);
    second.out_data = hidden;
    second.gate = first.out;
    second.gate_data = gate;
    second.weight = geglu->fc12;
    second.bias = geglu->fc12_bias;
    second.activation = VRT_ACTIVATION_NONE;
    const struct vrt_xpu_layer third = {
        .out = vrt_xpu_view_of(&call->op->out),
        .x = second.out,
        .out_data = vrt_xpu_data_of(call, &call->op->out),
        .x_data = hidden,
        .residual = vrt_op_in(call->op, 1),
        .weight = geglu->fc2,
        .bias = geglu->fc2_bias,
    };
    ze_result_t r = vrt_xpu_norm_stats(call, &geglu->norm, call->workspace);

    if (r != 0)
        return r;
    r = vrt_xpu_layer(call, &first);
    if (r != 0)
        return r;
    r = vrt_xpu_layer(call, &second);
    return r != 0 ? r : vrt_xpu_layer(call, &third);
}
