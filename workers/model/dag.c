/* SPDX-License-Identifier: MIT */
/*
 * A network that its file states as a graph (engine/dag/dag.h): each of its nodes is an op
 *
 * Results that stay f32 (the network's, and sums that stand for themselves, as the trunk of an
 * RRDBNet) have a storage of their own; what else is concatenated is written where it belongs.
 */

#include "engine/dag/dag.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/architecture.h"
#include "model/parts/layers.h"

static int add_param(struct vrt_params *params, const struct vrt_params_want *want,
                     const float *values, const char *what, int conv)
{
    char name[32];
    int64_t n = 1;

    if (!values)
        return 0;
    for (int i = 0; i < want->n_dims; i++)
        n *= want->dims[i];
    if (n > VRT_PARAMS_VALUES_MAX - params->n_values)
        return vrt_params_refuse(params, "of more than %lld parameters, which is too large",
                                 (long long)VRT_PARAMS_VALUES_MAX);
    params->n_values += n;
    snprintf(name, sizeof(name), "conv.%d.%s", conv, what);
    return vrt_params_add(params, want, values, name);
}

/* Of an interpolation, which nobody learned, and which isn't rounded to a shorter type. */
static int take_bicubic(struct vrt_params *params, const struct vrt_dag *dag,
                        struct vrt_dag_node *node)
{
    const int n_in = dag->nodes[node->in[0]].channels;
    int r = vrt_params_add(params, &(struct vrt_params_want){
        .n_dims = 4,
        .dims = { node->channels * node->r * node->r, n_in * node->r_in * node->r_in,
                  node->kernel, node->kernel },
        .use = VRT_PARAM_WEIGHT_F32,
    }, node->weight, "bicubic");

    free(node->weight);
    node->weight = NULL;
    return vrt_fold(r);
}

/* Those of a convolution: weight, bias, slopes, the latter if any. */
static int take_conv(struct vrt_params *params, const struct vrt_dag *dag,
                     struct vrt_dag_node *node, int number)
{
    const struct vrt_params_want vector = { .n_dims = 1, .dims = { node->channels } };
    const struct vrt_params_want matrix = {
        .n_dims = 4,
        .dims = { node->channels, dag->nodes[node->in[0]].channels, node->kernel, node->kernel },
    };

    int r = add_param(params, &matrix, node->weight, "weight", number);
    if (r == 0)
        r = add_param(params, &vector, node->bias, "bias", number);
    if (r == 0)
        r = add_param(params, &vector, node->slopes, "slopes", number);
    free(node->weight);
    node->weight = NULL;
    return vrt_fold(r);
}

/* All weights, in the order of the nodes. */
static int take_params(struct vrt_params *params, struct vrt_dag *dag, int *ret_n_convs)
{
    int n_convs = 0, r = 0;

    for (int i = 0; i < dag->n_nodes && r == 0; i++) {
        struct vrt_dag_node *node = &dag->nodes[i];

        if (node->kind == VRT_DAG_CONV)
            r = take_conv(params, dag, node, n_convs++);
        else if (node->kind == VRT_DAG_BICUBIC)
            r = take_bicubic(params, dag, node);
    }
    *ret_n_convs = n_convs;
    return vrt_fold(r);
}

static int load(struct vrt_network *network, struct vrt_params *params)
{
    struct vrt_dag *dag = network->dag;
    const struct vrt_dag_node *result = &dag->nodes[dag->result];
    struct vrt_network_info *info = &network->info;
    int n_convs;

    info->in_channels = info->out_channels = result->channels;
    info->scale = result->num;
    info->multiple = vrt_dag_multiple(dag);
    info->radius = vrt_dag_radius(dag);
    if (info->radius < 0)
        return vrt_refuse_errno(params->error, vrt_raise(-ENOMEM), params->source);
    int r = take_params(params, dag, &n_convs);
    if (r < 0)
        return vrt_fold(r);
    if (n_convs == 0)
        return vrt_params_refuse(params, "without a convolution: nothing that was learned");
    snprintf(info->description, sizeof(info->description), "graph of %d convolutions, %sx%d",
             n_convs, info->in_channels == 1 ? "gray, " : "", info->scale);
    return 0;
}

/* While a graph is built: what the nodes became. */
struct builder {
    const struct vrt_dag *dag;
    struct vrt_graph *graph;
    const struct vrt_tensor *in, *out;
    enum vrt_dtype dtype;
    struct value *values;
    int param;                      /* the next */
};

struct value {
    struct vrt_tensor tensor;
    struct vrt_tensor typed;        /* the same of the activations' type, if it was asked for */
    int n_filled;                   /* of a concat that others are written into: channels */
};

static struct vrt_shape shape_of(const struct builder *b, const struct vrt_dag_node *node)
{
    const struct vrt_shape in = b->in->shape;

    return (struct vrt_shape){ in.d, in.h / node->den * node->num, in.w / node->den * node->num,
                               node->channels };
}

/* The storage of a concat: all of its channels, from the first time on that one is written. */
static struct vrt_tensor room_of(struct builder *b, int concat)
{
    struct value *value = &b->values[concat];
    const struct vrt_dag_node *node = &b->dag->nodes[concat];

    if (!vrt_tensor_exists(&value->tensor))
        value->tensor = concat == b->dag->result ? *b->out :
                        vrt_graph_tensor(b->graph, b->dtype, shape_of(b, node));
    return value->tensor;
}

/* Where the result of node i is written. */
static struct vrt_tensor place_of(struct builder *b, int i)
{
    const struct vrt_dag_node *node = &b->dag->nodes[i];

    if (i == b->dag->result)
        return *b->out;
    if (node->home >= 0) {
        const struct vrt_tensor room = room_of(b, node->home);
        return vrt_graph_status(b->graph) < 0 ? VRT_TENSOR_NONE :
               vrt_tensor_channels(&room, node->home_channel, node->channels);
    }
    return vrt_graph_tensor(b->graph, node->keeps_f32 ? VRT_DTYPE_F32 : b->dtype,
                            shape_of(b, node));
}

/* Node i as convolutions read it. */
static const struct vrt_tensor *typed(struct builder *b, int i)
{
    struct value *value = &b->values[i];

    if (!vrt_tensor_exists(&value->typed))
        value->typed = vrt_layer_convert(b->graph, &value->tensor, b->dtype);
    return &value->typed;
}

/* Copies what isn't there yet of what a concat joins. */
static void build_concat(struct builder *b, int i)
{
    const struct vrt_dag_node *node = &b->dag->nodes[i];
    const int root = node->home >= 0 ? node->home : i;
    const struct vrt_tensor room = room_of(b, root);
    int channel = 0;

    for (int k = 0; k < node->n_in && vrt_graph_status(b->graph) == 0; k++) {
        const struct vrt_dag_node *x = &b->dag->nodes[node->in[k]];
        const struct vrt_tensor part = vrt_tensor_channels(&room, channel, x->channels);
        struct value *value = &b->values[node->in[k]];
        const bool is_home = x->home == root && x->home_channel == channel;

        if (!is_home && channel >= b->values[root].n_filled) {
            vrt_layer_copy(b->graph, &value->tensor, &part);
            if (!vrt_tensor_exists(&value->typed) && part.dtype == b->dtype)
                value->typed = part;
        }
        channel += x->channels;
    }
    if (vrt_graph_status(b->graph) < 0)
        return;
    b->values[root].n_filled = VRT_MAX(b->values[root].n_filled, channel);
    b->values[i].tensor = vrt_tensor_channels(&room, 0, channel);
}

static void build_conv(struct builder *b, const struct vrt_dag_node *node,
                       const struct vrt_tensor *out)
{
    struct vrt_op_conv2d conv = {
        .kernel = node->kernel,
        .weight = b->param++,
        .bias = -1,
        .activation = node->activation,
        .slope = node->slope,
        .slopes = -1,
        .scale = node->scale,
    };

    if (node->bias)
        conv.bias = b->param++;
    if (node->slopes)
        conv.slopes = b->param++;
    vrt_layer_conv(b->graph, typed(b, node->in[0]), &conv,
                   node->n_in > 1 ? &b->values[node->in[1]].tensor : NULL, out);
}

/* Extended by places that are as the edge, convolved as squares of pixels, and cut again. */
static void build_bicubic(struct builder *b, const struct vrt_dag_node *node,
                          const struct vrt_tensor *out)
{
    const struct vrt_tensor *x = &b->values[node->in[0]].tensor;
    const int q = node->r_in, p = node->r, n = node->kernel / 2;
    struct vrt_shape wide = x->shape;
    const struct vrt_op_conv2d conv = {
        .kernel = node->kernel, .weight = b->param++, .bias = -1, .slopes = -1, .scale = 1,
    };

    wide.h += 2 * n * q;
    wide.w += 2 * n * q;
    struct vrt_shape places = { wide.d, wide.h / q, wide.w / q, wide.c * q * q };
    struct vrt_tensor padded = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, wide), squares = padded;
    if (q > 1)
        squares = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, places);
    places.c = wide.c * p * p;
    struct vrt_tensor made = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, places);
    if (vrt_graph_status(b->graph) < 0)
        return;
    vrt_layer_pad(b->graph, x, &(struct vrt_op_pad){ VRT_PAD_REPLICATE, n * q, n * q }, &padded);
    if (q > 1)
        vrt_layer_unshuffle(b->graph, &padded, q, &squares);
    vrt_layer_conv(b->graph, &squares, &conv, NULL, &made);
    const struct vrt_tensor inner = vrt_tensor_crop(&made, n, n, places.h - 2 * n,
                                                    places.w - 2 * n);
    vrt_layer_shuffle(b->graph, &inner, p, NULL, out);
}

static void build_affine(struct builder *b, const struct vrt_dag_node *node,
                         const struct vrt_tensor *out)
{
    struct vrt_op_affine affine = { 0 };

    for (int c = 0; c < node->channels; c++) {
        affine.scale[c] = node->weight[c];
        affine.shift[c] = node->bias[c];
    }
    vrt_layer_affine(b->graph, &b->values[node->in[0]].tensor, &affine, out);
}

static void build_node(struct builder *b, int i)
{
    const struct vrt_dag_node *node = &b->dag->nodes[i];
    const struct vrt_tensor out = place_of(b, i);
    const struct vrt_tensor *x = &b->values[node->in[0]].tensor;
    const struct vrt_tensor *y = node->n_in > 1 ? &b->values[node->in[1]].tensor : NULL;

    switch (node->kind) {
    case VRT_DAG_CONV:
        build_conv(b, node, &out);
        break;
    case VRT_DAG_AFFINE:
        build_affine(b, node, &out);
        break;
    case VRT_DAG_BICUBIC:
        build_bicubic(b, node, &out);
        break;
    case VRT_DAG_ADD:
        vrt_layer_add(b->graph, x, node->scale, y, &out);
        break;
    case VRT_DAG_GATE:
        vrt_layer_gate(b->graph, x, y, node->n_in > 2 ? &b->values[node->in[2]].tensor : NULL,
                       &(struct vrt_op_gate){ node->scale, node->shift }, &out);
        break;
    case VRT_DAG_SHUFFLE:
        vrt_layer_shuffle(b->graph, x, node->r, y, &out);
        break;
    case VRT_DAG_UNSHUFFLE:
        vrt_layer_unshuffle(b->graph, x, node->r, &out);
        break;
    default:
        vrt_assert(node->kind == VRT_DAG_RESIZE);
        vrt_layer_resize(b->graph, x, node->mode, &out);
    }
    b->values[i].tensor = out;
}

static void build(const struct vrt_network *network, struct vrt_graph *graph,
                  const struct vrt_tensor *in, const struct vrt_tensor *out,
                  const struct vrt_network_use *use)
{
    const struct vrt_dag *dag = network->dag;
    struct builder b = { .dag = dag, .graph = graph, .in = in, .out = out, .dtype = use->dtype };

    b.values = calloc((size_t)dag->n_nodes, sizeof(*b.values));
    if (!b.values) {
        vrt_graph_fail(graph, vrt_raise(-ENOMEM));
        return;
    }
    for (int i = 0; i < dag->n_nodes; i++)
        b.values[i] = (struct value){ .tensor = VRT_TENSOR_NONE, .typed = VRT_TENSOR_NONE };
    b.values[0].tensor = *in;
    for (int i = 1; i < dag->n_nodes && vrt_graph_status(graph) == 0; i++) {
        if (dag->nodes[i].kind == VRT_DAG_CONCAT)
            build_concat(&b, i);
        else
            build_node(&b, i);
    }
    free(b.values);
}

const struct vrt_architecture vrt_architecture_dag = {
    .name = "graph",
    .network = "ONNX or ncnn graph",
    .pad_mode = VRT_PAD_REFLECT,
    .load = load,
    .build = build,
};
