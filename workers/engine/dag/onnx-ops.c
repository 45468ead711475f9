/* SPDX-License-Identifier: MIT */
/* ONNX's operations, each an entry of a table (onnx.ai/onnx/operators, opsets 11 to 20). */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/dag/onnx-sizes.h"

static int channels_of(const struct vrt_onnx_reader *reader, int x)
{
    return reader->dag->nodes[x].channels;
}

/* All of an attribute's integers are `wanted`; where it is absent they are. */
static bool all_are(const VrtPb__Node *node, const char *name, int64_t wanted)
{
    const VrtPb__Attribute *a = vrt_onnx_attribute(node, name);

    for (size_t i = 0; a && i < a->n_ints; i++)
        if (a->ints[i] != wanted)
            return false;
    return true;
}

/* A constant input of exactly so many numbers, the caller's to free. */
static int take(struct vrt_onnx_reader *reader, size_t i, int64_t n, float **ret_values)
{
    const struct vrt_onnx_value *value = vrt_onnx_in(reader, i);

    if (!value || value->kind != VRT_ONNX_CONSTANT)
        return vrt_dag_refuse(reader->dag, "has no constant as its input %zu", i);
    if (value->constant.n != n)
        return vrt_dag_refuse(reader->dag, "has %lld numbers as its input %zu, not %lld",
                              (long long)value->constant.n, i, (long long)n);
    return vrt_onnx_numbers(reader, &value->constant, ret_values);
}

/* Whether the edge of zeros is such that the size stays. */
static bool keeps_size(const VrtPb__Node *node, int64_t kernel)
{
    const VrtPb__Attribute *pads = vrt_onnx_attribute(node, "pads");

    if (vrt_onnx_is(node, "auto_pad", "NOTSET", "SAME_UPPER") ||
        vrt_onnx_is(node, "auto_pad", "NOTSET", "SAME_LOWER"))
        return true;
    return (!pads && kernel == 1) || (pads && pads->n_ints == 4 && all_are(node, "pads",
                                                                         kernel / 2));
}

static int op_conv(struct vrt_onnx_reader *reader, int x)
{
    const struct vrt_onnx_value *weight = vrt_onnx_in(reader, 1);
    const VrtPb__Node *node = reader->node;
    struct vrt_dag *dag = reader->dag;

    if (!weight || weight->kind != VRT_ONNX_CONSTANT || weight->constant.n_dims != 4)
        return vrt_dag_refuse(dag, "has no constant weights of four dimensions");
    const int64_t *dims = weight->constant.dims, k = dims[2];
    if (vrt_onnx_int(node, "group", 1) != 1 || !all_are(node, "strides", 1) ||
        !all_are(node, "dilations", 1))
        return vrt_dag_refuse(dag, "has groups, strides or dilation: vrtd has no op for that");
    if (dims[3] != k || k < 1 || k > 7 || !keeps_size(node, k))
        return vrt_dag_refuse(dag, "has a kernel of %lld by %lld, which isn't padded by half of "
                              "it: vrtd has no op for that", (long long)k, (long long)dims[3]);
    if (dims[0] < 1 || dims[0] > 8192 || dims[1] != channels_of(reader, x))
        return vrt_dag_refuse(dag, "has weights for %lld inputs and %lld outputs, and %d inputs",
                              (long long)dims[1], (long long)dims[0], channels_of(reader, x));
    struct vrt_dag_node conv = { .channels = (int)dims[0], .kernel = (int)k };
    int r = vrt_onnx_numbers(reader, &weight->constant, &conv.weight);
    if (r < 0)
        return r;
    r = vrt_onnx_in(reader, 2) ? take(reader, 2, conv.channels, &conv.bias) : 0;
    if (r < 0) {
        free(conv.weight);
        return r;
    }
    return vrt_dag_conv(dag, x, &conv);
}

static int op_leaky(struct vrt_onnx_reader *reader, int x)
{
    return vrt_dag_activate(reader->dag, x, &(struct vrt_dag_node){
        .activation = VRT_ACTIVATION_LEAKY_RELU,
        .slope = vrt_onnx_float(reader->node, "alpha", 0.01f),
    });
}

static int op_relu(struct vrt_onnx_reader *reader, int x)
{
    return vrt_dag_activate(reader->dag, x, &(struct vrt_dag_node){
        .activation = VRT_ACTIVATION_RELU,
    });
}

/* Of a constant that is added to or multiplied with pictures: one number, or one a channel. */
static bool is_by_channel(const struct vrt_onnx_constant *constant, int channels)
{
    const int n = constant->n_dims;

    return constant->n == 1 || (constant->n == channels && n >= 3 && n <= 4 &&
                                constant->dims[n - 3] == channels);
}

static int op_prelu(struct vrt_onnx_reader *reader, int x)
{
    const struct vrt_onnx_value *slopes = vrt_onnx_in(reader, 1);
    struct vrt_dag_node node = { .activation = VRT_ACTIVATION_PRELU };

    if (!slopes || slopes->kind != VRT_ONNX_CONSTANT ||
        !is_by_channel(&slopes->constant, channels_of(reader, x)))
        return vrt_dag_refuse(reader->dag, "has no constant slope for each of %d channels",
                              channels_of(reader, x));
    int r = vrt_onnx_numbers(reader, &slopes->constant, &node.slopes);
    if (r < 0)
        return r;
    if (slopes->constant.n == channels_of(reader, x))
        return vrt_dag_activate(reader->dag, x, &node);
    node.activation = VRT_ACTIVATION_LEAKY_RELU;
    node.slope = node.slopes[0];
    free(node.slopes);
    node.slopes = NULL;
    return vrt_dag_activate(reader->dag, x, &node);
}

static int op_sigmoid(struct vrt_onnx_reader *reader, int x)
{
    return vrt_dag_squash(reader->dag, x, 1, 1, 0);
}

/* tanh(z) = 2 sigmoid(2 z) - 1 */
static int op_tanh(struct vrt_onnx_reader *reader, int x)
{
    return vrt_dag_squash(reader->dag, x, 2, 2, -1);
}

static int op_depth_to_space(struct vrt_onnx_reader *reader, int x)
{
    const int64_t r = vrt_onnx_int(reader->node, "blocksize", 0);

    return vrt_dag_shuffle(reader->dag, VRT_DAG_SHUFFLE, x, r > 64 ? 0 : (int)VRT_MAX(r, 0),
                           vrt_onnx_is(reader->node, "mode", "DCR", "DCR"));
}

static int op_space_to_depth(struct vrt_onnx_reader *reader, int x)
{
    const int64_t r = vrt_onnx_int(reader->node, "blocksize", 0);

    return vrt_dag_shuffle(reader->dag, VRT_DAG_UNSHUFFLE, x, r > 64 ? 0 : (int)VRT_MAX(r, 0),
                           true);
}

/* (x - mean) / sqrt(variance + epsilon) * scale + bias, of what was learned. */
static int op_batch_norm(struct vrt_onnx_reader *reader, int x)
{
    const float epsilon = vrt_onnx_float(reader->node, "epsilon", 1e-5f);
    VRT_CLEANUP(vrt_freep) float *scale = NULL, *bias = NULL, *mean = NULL, *variance = NULL;
    float **const inputs[] = { &scale, &bias, &mean, &variance };
    const int n = channels_of(reader, x);

    if (vrt_onnx_int(reader->node, "training_mode", 0))
        return vrt_dag_refuse(reader->dag, "is as in training");
    for (size_t i = 0; i < VRT_ARRAY_SIZE(inputs); i++) {
        int r = take(reader, i + 1, n, inputs[i]);
        if (r < 0)
            return r;
    }
    for (int c = 0; c < n; c++) {
        scale[c] /= sqrtf(variance[c] + epsilon);
        bias[c] -= mean[c] * scale[c];
    }
    return vrt_dag_affine(reader->dag, x, scale, bias, n);
}

static int op_same(struct vrt_onnx_reader *reader, int x)
{
    (void)reader;
    return x;
}

/* Those of one picture, which is the first input, and maybe constants. */
static const struct {
    const char *type;
    int (*read)(struct vrt_onnx_reader *reader, int x);
} unary[] = {
    { "BatchNormalization", op_batch_norm },
    { "Conv", op_conv },
    { "DepthToSpace", op_depth_to_space },
    { "Dropout", op_same },
    { "LeakyRelu", op_leaky },
    { "PRelu", op_prelu },
    { "Relu", op_relu },
    { "Resize", vrt_onnx_resize },
    { "Sigmoid", op_sigmoid },
    { "SpaceToDepth", op_space_to_depth },
    { "Tanh", op_tanh },
};

static const struct {
    const char *type;
    enum vrt_dag_arith arith;
} binary[] = {
    { "Add", VRT_DAG_PLUS }, { "Sub", VRT_DAG_MINUS },
    { "Mul", VRT_DAG_TIMES }, { "Div", VRT_DAG_OVER },
};

static int op_binary(struct vrt_onnx_reader *reader, enum vrt_dag_arith arith)
{
    VRT_CLEANUP(vrt_freep) float *numbers = NULL;
    struct vrt_dag_operand operands[2];

    for (size_t i = 0; i < 2; i++) {
        const struct vrt_onnx_value *value = vrt_onnx_in(reader, i);
        const struct vrt_onnx_value *other = vrt_onnx_in(reader, 1 - i);

        if (!value || !other || value->kind == VRT_ONNX_VIEW || value->kind == VRT_ONNX_SIZES)
            return vrt_dag_refuse(reader->dag, "has no two inputs that vrtd can combine");
        operands[i] = (struct vrt_dag_operand){ .node = value->node };
        if (value->kind != VRT_ONNX_CONSTANT)
            continue;
        if (other->kind != VRT_ONNX_NODE ||
            !is_by_channel(&value->constant, channels_of(reader, other->node)))
            return vrt_dag_refuse(reader->dag, "has a constant that is neither one number nor one "
                                  "a channel");
        int r = vrt_onnx_numbers(reader, &value->constant, &numbers);
        if (r < 0)
            return r;
        operands[i] = (struct vrt_dag_operand){ -1, numbers, (int)value->constant.n };
    }
    return vrt_dag_arith(reader->dag, arith, &operands[0], &operands[1]);
}

static int op_concat(struct vrt_onnx_reader *reader)
{
    const int64_t axis = vrt_onnx_int(reader->node, "axis", 1);
    int nodes[VRT_DAG_IN_MAX];
    const int n = (int)VRT_MIN(reader->node->n_input, (size_t)VRT_DAG_IN_MAX + 1);

    if (axis != 1 && axis != -3)
        return vrt_dag_refuse(reader->dag, "joins along axis %lld; vrtd joins channels (1)",
                              (long long)axis);
    if (n < 1 || n > VRT_DAG_IN_MAX)
        return vrt_dag_refuse(reader->dag, "joins %zu inputs, not 1 to %d", reader->node->n_input,
                              VRT_DAG_IN_MAX);
    for (int i = 0; i < n; i++) {
        const struct vrt_onnx_value *value = vrt_onnx_in(reader, (size_t)i);

        if (!value || value->kind != VRT_ONNX_NODE)
            return vrt_dag_refuse(reader->dag, "joins what isn't pictures");
        nodes[i] = value->node;
    }
    return vrt_dag_concat(reader->dag, nodes, n);
}

/* A limit of Clip, where it is no constant one that is never met. */
static bool limits(struct vrt_onnx_reader *reader, size_t i, bool is_upper)
{
    const struct vrt_onnx_value *value = vrt_onnx_in(reader, i);
    VRT_CLEANUP(vrt_freep) float *limit = NULL;

    if (!value)
        return false;
    if (value->kind != VRT_ONNX_CONSTANT || value->constant.n != 1 ||
        vrt_onnx_numbers(reader, &value->constant, &limit) < 0)
        return true;
    return is_upper ? !(*limit >= 1) : !(*limit <= 0);
}

/* What is shown is cut to 0 and 1 in any case. */
static int op_clip(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);

    if (!x || x->kind != VRT_ONNX_NODE || limits(reader, 1, false) || limits(reader, 2, true))
        return vrt_dag_refuse(reader->dag, "cuts off within 0 and 1: vrtd has no op for that");
    *ret_value = *x;
    ret_value->is_clipped = true;
    return 0;
}

static int op_constant(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    const VrtPb__Attribute *a = reader->node->n_attribute ? reader->node->attribute[0] : NULL;
    struct vrt_onnx_constant constant = { .attribute = a };

    ret_value->kind = VRT_ONNX_CONSTANT;
    if (a && a->t)
        return vrt_onnx_constant_of(reader, a->t, &ret_value->constant);
    if (!a || !(a->n_floats || a->n_ints || a->has_f || a->has_i))
        return vrt_dag_refuse(reader->dag, "has no numbers");
    const bool is_list = a->n_floats || a->n_ints;
    constant.n = is_list ? (int64_t)VRT_MAX(a->n_floats, a->n_ints) : 1;
    if (a->n_floats && a->n_ints)
        return vrt_dag_refuse(reader->dag, "has numbers of two kinds");
    constant.n_dims = is_list;
    constant.dims[0] = constant.n;
    ret_value->constant = constant;
    return 0;
}

/* A picture's new node, or why there is none. */
static int to_node(int made, struct vrt_onnx_value *ret_value)
{
    *ret_value = (struct vrt_onnx_value){ .kind = VRT_ONNX_NODE, .node = VRT_MAX(made, 0) };
    return made < 0 ? made : 0;
}

/* Those whose output is more than a picture. */
static const struct {
    const char *type;
    int (*read)(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value);
} general[] = {
    { "Clip", op_clip },
    { "Constant", op_constant },
    { "Pad", vrt_onnx_pad },
    { "Reshape", vrt_onnx_reshape },
    { "Slice", vrt_onnx_slice },
    { "Squeeze", vrt_onnx_squeeze },
    { "Transpose", vrt_onnx_transpose },
    { "Unsqueeze", vrt_onnx_unsqueeze },
};

/* Those that give on what they get, whatever it is. */
static bool is_passed(const struct vrt_onnx_reader *reader)
{
    const char *type = vrt_onnx_text(reader->node->op_type);
    const int64_t to = vrt_onnx_int(reader->node, "to", 0);

    return strcmp(type, "Identity") == 0 ||
           (strcmp(type, "Cast") == 0 && (to == 1 || to == 10 || to == 11 || to == 16));
}

int vrt_onnx_operate(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    const char *type = vrt_onnx_text(reader->node->op_type);
    const char *domain = vrt_onnx_text(reader->node->domain);
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);
    int r = 0;

    if (domain[0] && strcmp(domain, "ai.onnx") != 0)
        return vrt_dag_refuse(reader->dag, "is an operation that vrtd has no op for");
    if (!(x && x->kind == VRT_ONNX_CONSTANT && is_passed(reader)) &&
        vrt_onnx_sizes_operate(reader, ret_value, &r))
        return r;
    for (size_t i = 0; i < VRT_ARRAY_SIZE(general); i++)
        if (strcmp(type, general[i].type) == 0)
            return general[i].read(reader, ret_value);
    if (strcmp(type, "Concat") == 0)
        return to_node(op_concat(reader), ret_value);
    if (x && is_passed(reader)) {
        *ret_value = *x;
        return 0;
    }
    for (size_t i = 0; i < VRT_ARRAY_SIZE(binary); i++)
        if (strcmp(type, binary[i].type) == 0)
            return to_node(op_binary(reader, binary[i].arith), ret_value);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(unary); i++) {
        if (strcmp(type, unary[i].type) != 0)
            continue;
        if (!x || x->kind != VRT_ONNX_NODE)
            return vrt_dag_refuse(reader->dag, "has no picture as its first input");
        return to_node(unary[i].read(reader, x->node), ret_value);
    }
    return vrt_dag_refuse(reader->dag, "is an operation that vrtd has no op for");
}
