/* SPDX-License-Identifier: MIT */

#include "backend/op-params.h"

#include "base/error.h"

struct list {
    struct vrt_op_param *items;
    int n;
};

static struct vrt_op_param *add(struct list *list, const char *name, int index)
{
    struct vrt_op_param *param = &list->items[list->n++];

    vrt_assert(list->n <= VRT_OP_MAX_PARAMS);
    *param = (struct vrt_op_param){ .name = name, .index = index };
    return param;
}

/* A vector that the op may do without. */
static void add_optional(struct list *list, const char *name, int index, int length)
{
    if (index < 0)
        return;
    struct vrt_op_param *param = add(list, name, index);
    param->n_dims = 1;
    param->dims[0] = length;
}

static void add_matrix(struct list *list, const char *name, int index, int rows, int columns)
{
    struct vrt_op_param *param = add(list, name, index);

    param->n_dims = 2;
    param->dims[0] = rows;
    param->dims[1] = columns;
}

static void add_table(struct list *list, const char *name, int index, int rows, int columns)
{
    add_matrix(list, name, index, rows, columns);
    list->items[list->n - 1].use = VRT_PARAM_TABLE;
}

static void add_kernel(struct list *list, int index, const int dims[3], enum vrt_param_use use)
{
    struct vrt_op_param *param = add(list, "weight", index);

    param->n_dims = 4;
    param->use = use;
    param->dims[0] = dims[0];
    param->dims[1] = dims[1];
    param->dims[2] = dims[2];
    param->dims[3] = dims[2];
}

static void add_norm(struct list *list, const struct vrt_op_norm *norm, int channels)
{
    if (norm->weight < 0)
        return;
    add_optional(list, "norm's weight", norm->weight, channels);
    add(list, "norm's bias", norm->bias)->n_dims = 1;
    list->items[list->n - 1].dims[0] = channels;
}

static void add_conv2d(const struct vrt_op *op, struct list *list)
{
    const struct vrt_op_conv2d *conv = &op->conv2d;
    const int o = op->out.shape.c;

    add_kernel(list, conv->weight, (int[3]){ o, op->in[0].shape.c, conv->kernel },
               VRT_PARAM_WEIGHT);
    add_optional(list, "bias", conv->bias, o);
    if (conv->activation == VRT_ACTIVATION_PRELU)
        add_optional(list, "slopes", conv->slopes, o);
}

static void add_linear(const struct vrt_op *op, struct list *list)
{
    const int i = op->in[0].shape.c, o = op->out.shape.c;

    add_norm(list, &op->linear.norm, i);
    add_matrix(list, "weight", op->linear.weight, o, i);
    add_optional(list, "bias", op->linear.bias, o);
}

static void add_layernorm(const struct vrt_op *op, struct list *list)
{
    add_norm(list, &op->layernorm.norm, op->in[0].shape.c);
}

static void add_window_attention(const struct vrt_op *op, struct list *list)
{
    const struct vrt_op_window_attention *a = &op->window_attention;
    const int c = op->in[0].shape.c;
    const bool mutual = a->mutual >= 0;

    add_norm(list, &a->norm, c);
    add_matrix(list, "qkv", a->qkv, 3 * c, c);
    add_optional(list, "qkv bias", a->qkv_bias, 3 * c);
    add_table(list, "bias table", a->bias_table,
              (2 * a->window[0] - 1) * (2 * a->window[1] - 1) * (2 * a->window[2] - 1), a->heads);
    if (mutual) {
        add_matrix(list, "mutual qkv", a->mutual, 3 * c, c);
        add_optional(list, "mutual qkv bias", a->mutual_bias, 3 * c);
        add_table(list, "position", a->position, a->window[1] * a->window[2], c);
    }
    add_matrix(list, "proj", a->proj, c, mutual ? 2 * c : c);
    add_optional(list, "proj bias", a->proj_bias, c);
}

static void add_geglu(const struct vrt_op *op, struct list *list)
{
    const struct vrt_op_geglu *geglu = &op->geglu;
    const int i = op->in[0].shape.c, o = op->out.shape.c;

    add_norm(list, &geglu->norm, i);
    add_matrix(list, "fc11", geglu->fc11, geglu->hidden, i);
    add_optional(list, "fc11 bias", geglu->fc11_bias, geglu->hidden);
    add_matrix(list, "fc12", geglu->fc12, geglu->hidden, i);
    add_optional(list, "fc12 bias", geglu->fc12_bias, geglu->hidden);
    add_matrix(list, "fc2", geglu->fc2, o, geglu->hidden);
    add_optional(list, "fc2 bias", geglu->fc2_bias, o);
}

static void add_deform_conv2d(const struct vrt_op *op, struct list *list)
{
    const struct vrt_op_deform_conv2d *deform = &op->deform_conv2d;
    const int o = op->out.shape.c;

    add_kernel(list, deform->weight, (int[3]){ o, op->in[0].shape.c / deform->groups, 3 },
               VRT_PARAM_WEIGHT_DEFORM);
    add_optional(list, "bias", deform->bias, o);
}

static void (*const adders[VRT_OP_KIND_COUNT])(const struct vrt_op *op, struct list *list) = {
    [VRT_OP_CONV2D] = add_conv2d,
    [VRT_OP_LINEAR] = add_linear,
    [VRT_OP_LAYERNORM] = add_layernorm,
    [VRT_OP_WINDOW_ATTENTION] = add_window_attention,
    [VRT_OP_GEGLU] = add_geglu,
    [VRT_OP_DEFORM_CONV2D] = add_deform_conv2d,
};

int vrt_op_weights(const struct vrt_op *op, int indices[VRT_OP_MAX_WEIGHTS])
{
    int n = 0;

    switch (op->kind) {
    case VRT_OP_CONV2D:
        indices[n++] = op->conv2d.weight;
        break;
    case VRT_OP_LINEAR:
        indices[n++] = op->linear.weight;
        break;
    case VRT_OP_WINDOW_ATTENTION:
        indices[n++] = op->window_attention.qkv;
        indices[n++] = op->window_attention.proj;
        if (op->window_attention.mutual >= 0)
            indices[n++] = op->window_attention.mutual;
        break;
    case VRT_OP_GEGLU:
        indices[n++] = op->geglu.fc11;
        indices[n++] = op->geglu.fc12;
        indices[n++] = op->geglu.fc2;
        break;
    case VRT_OP_DEFORM_CONV2D:
        indices[n++] = op->deform_conv2d.weight;
        break;
    default:
        break;
    }
    return n;
}

const char *vrt_op_find_weights(struct vrt_op *op, const struct vrt_param *params, size_t n,
                                enum vrt_dtype dtype)
{
    int indices[VRT_OP_MAX_WEIGHTS];
    const int n_weights = vrt_op_weights(op, indices);
    enum vrt_dtype first = VRT_DTYPE_F32;

    for (int i = 0; i < n_weights; i++) {
        if (indices[i] < 0 || (size_t)indices[i] >= n)
            return "a weight is none of the params";
        const enum vrt_dtype found = vrt_param_dtype(&params[indices[i]], dtype);
        if (i > 0 && found != first)
            return "its weights are of several types";
        first = found;
    }
    op->weight_dtype = first;
    op->is_exact = n_weights > 0 && first == VRT_DTYPE_F32 && dtype != VRT_DTYPE_F32;
    return NULL;
}

int vrt_op_params(const struct vrt_op *op, struct vrt_op_param params[VRT_OP_MAX_PARAMS])
{
    struct list list = { params, 0 };

    if (adders[op->kind])
        adders[op->kind](op, &list);
    return list.n;
}
