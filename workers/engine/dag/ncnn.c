/* SPDX-License-Identifier: MIT */
/*
 * ncnn: a text that names the layers and what goes from one to the other, and their weights in that
 * order. Each kind of layer that vrtd runs is an entry of a table; parameters are numbered as in
 * ncnn's operators (docs/developer-guide/operators.md of its repository).
 */

#include "engine/dag/ncnn.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/dag/arith.h"
#include "engine/dag/names.h"

#define DEN_MAX 16

#define PAD_SAME_UPPER (-233)
#define PAD_SAME_LOWER (-234)

/* Blobs of this number and above are constants; below, nodes. */
#define CONSTANTS (1 << 20)

struct constant {
    float *values;
    int n;
};

struct reader {
    const struct vrt_dag_file *file;
    struct vrt_dag *dag;
    struct vrt_ncnn_weights weights;
    struct vrt_dag_names blobs;     /* nodes, or CONSTANTS + number of a constant */
    struct constant *constants;
    int n_constants;
    int clipped;                    /* node that was clipped to what can be shown; -1: none */
    struct vrt_ncnn_layer layer;
};

/* A layer's inputs, as nodes unless it takes constants. */
struct inputs {
    int n;
    struct vrt_dag_operand at[VRT_NCNN_BLOBS_MAX];
};

static int text_int(const struct reader *reader, int key, int otherwise)
{
    return vrt_ncnn_int(&reader->layer, key, otherwise);
}

/* Weights that the layer has: out of what its parameters say. */
static int read_conv(struct reader *reader, const struct inputs *in)
{
    const int kernel = text_int(reader, 1, 0), pad = text_int(reader, 4, 0);
    const int n_out = text_int(reader, 0, 0), n_weights = text_int(reader, 6, 0);
    const int n_in = reader->dag->nodes[in->at[0].node].channels;
    struct vrt_dag_node conv = { .channels = n_out, .kernel = kernel };
    struct vrt_dag *dag = reader->dag;
    const bool is_same = pad == PAD_SAME_UPPER || pad == PAD_SAME_LOWER;

    if (text_int(reader, 11, kernel) != kernel || text_int(reader, 2, 1) != 1 ||
        text_int(reader, 12, 1) != 1 || text_int(reader, 3, 1) != 1 || text_int(reader, 13, 1) != 1)
        return vrt_dag_refuse(dag, "has strides, dilation or a kernel that is no square: vrtd has "
                              "no op for that");
    if (!is_same && (pad != kernel / 2 || text_int(reader, 14, pad) != pad ||
                     text_int(reader, 15, pad) != pad ||
                     text_int(reader, 16, text_int(reader, 14, pad)) != pad ||
                     vrt_ncnn_float(&reader->layer, 18, 0) != 0))
        return vrt_dag_refuse(dag, "isn't padded by %d zeros, half of its kernel: vrtd has no op "
                              "for that", kernel / 2);
    if (text_int(reader, 8, 0))
        return vrt_dag_refuse(dag, "has weights of 8 bit integers, which vrtd doesn't read: take "
                              "the network's fp16 or fp32 files");
    if (n_out < 1 || kernel < 1 || kernel > 7 || n_out > 8192 ||
        n_weights != (int64_t)n_out * n_in * kernel * kernel)
        return vrt_dag_refuse(dag, "has %d weights, not %d outputs times %d inputs times %d by %d",
                              n_weights, n_out, n_in, kernel, kernel);
    int r = vrt_ncnn_weights_take(&reader->weights, n_weights, true, &conv.weight);
    if (r == 0 && text_int(reader, 5, 0))
        r = vrt_ncnn_weights_take(&reader->weights, n_out, false, &conv.bias);
    if (r < 0) {
        free(conv.weight);
        return r;
    }
    return vrt_dag_conv(dag, in->at[0].node, &conv);
}

static int squash(struct reader *reader, int x, float slope, float scale, float shift)
{
    return vrt_dag_squash(reader->dag, x, slope, scale, shift);
}

static int swish(struct reader *reader, int x)
{
    int factor = squash(reader, x, 1, 1, 0);

    return factor < 0 ? factor : vrt_dag_mul(reader->dag, x, factor);
}

static int rectify(struct reader *reader, int x, float slope)
{
    return vrt_dag_activate(reader->dag, x, &(struct vrt_dag_node){
        .activation = slope == 0 ? VRT_ACTIVATION_RELU : VRT_ACTIVATION_LEAKY_RELU,
        .slope = slope,
    });
}

/* Those have their activation with them. */
static int read_convolution(struct reader *reader, const struct inputs *in)
{
    const int conv = read_conv(reader, in), activation = text_int(reader, 9, 0);

    if (conv < 0 || activation == 0)
        return conv;
    switch (activation) {
    case 1: return rectify(reader, conv, 0);
    case 2: return rectify(reader, conv, vrt_ncnn_element(&reader->layer, 10, 0, 0));
    case 4: return squash(reader, conv, 1, 1, 0);
    default: return vrt_dag_refuse(reader->dag, "has an activation of kind %d: vrtd has no op for "
                                   "that", activation);
    }
}

static int read_prelu(struct reader *reader, const struct inputs *in)
{
    const int n = text_int(reader, 0, 0), x = in->at[0].node;
    struct vrt_dag_node node = { .activation = VRT_ACTIVATION_PRELU };

    if (n != reader->dag->nodes[x].channels && n != 1)
        return vrt_dag_refuse(reader->dag, "has %d slopes for %d channels", n,
                              reader->dag->nodes[x].channels);
    int r = vrt_ncnn_weights_take(&reader->weights, n, false, &node.slopes);
    if (r < 0)
        return r;
    if (n == reader->dag->nodes[x].channels)
        return vrt_dag_activate(reader->dag, x, &node);
    const float slope = node.slopes[0];
    free(node.slopes);
    return rectify(reader, x, slope);
}

static int read_relu(struct reader *reader, const struct inputs *in)
{
    return rectify(reader, in->at[0].node, vrt_ncnn_float(&reader->layer, 0, 0));
}

static int read_sigmoid(struct reader *reader, const struct inputs *in)
{
    return squash(reader, in->at[0].node, 1, 1, 0);
}

static int read_swish(struct reader *reader, const struct inputs *in)
{
    return swish(reader, in->at[0].node);
}

/* tanh(z) = 2 sigmoid(2 z) - 1 */
static int read_tanh(struct reader *reader, const struct inputs *in)
{
    return squash(reader, in->at[0].node, 2, 2, -1);
}

static int read_binary(struct reader *reader, const struct inputs *in)
{
    static const struct {
        enum vrt_dag_arith arith;
        bool is_reversed, is_known;
    } kinds[] = {
        { VRT_DAG_PLUS, false, true }, { VRT_DAG_MINUS, false, true },
        { VRT_DAG_TIMES, false, true }, { VRT_DAG_OVER, false, true },
        { 0, false, false }, { 0, false, false }, { 0, false, false },
        { VRT_DAG_MINUS, true, true }, { VRT_DAG_OVER, true, true },
    };
    const unsigned kind = (unsigned)text_int(reader, 0, 0);
    const bool has_number = text_int(reader, 1, 0) != 0;
    const float number = vrt_ncnn_float(&reader->layer, 2, 0);
    const struct vrt_dag_operand constant = { -1, &number, 1 };

    if (kind >= VRT_ARRAY_SIZE(kinds) || !kinds[kind].is_known)
        return vrt_dag_refuse(reader->dag, "is of kind %u: vrtd adds, subtracts, multiplies and "
                              "divides", kind);
    if (in->n != (has_number ? 1 : 2))
        return vrt_dag_refuse(reader->dag, "has %d inputs", in->n);
    const struct vrt_dag_operand *b = has_number ? &constant : &in->at[1];
    return kinds[kind].is_reversed ? vrt_dag_arith(reader->dag, kinds[kind].arith, b, &in->at[0]) :
                                     vrt_dag_arith(reader->dag, kinds[kind].arith, &in->at[0], b);
}

static int read_eltwise(struct reader *reader, const struct inputs *in)
{
    const int kind = text_int(reader, 0, 0);
    int sum = in->at[0].node;

    if (in->n < 2 || kind < 0 || kind > 1)
        return vrt_dag_refuse(reader->dag, "is of kind %d with %d inputs: vrtd adds and multiplies "
                              "two or more", kind, in->n);
    for (int i = 1; i < in->n && sum >= 0; i++)
        sum = kind == 0 ? vrt_dag_mul(reader->dag, sum, in->at[i].node) :
              vrt_dag_add(reader->dag, sum,
                          i == 1 ? vrt_ncnn_element(&reader->layer, 1, 0, 1) : 1, in->at[i].node,
                          vrt_ncnn_element(&reader->layer, 1, i, 1));
    return sum;
}

static int read_concat(struct reader *reader, const struct inputs *in)
{
    int nodes[VRT_NCNN_BLOBS_MAX];

    if (text_int(reader, 0, 0) != 0)
        return vrt_dag_refuse(reader->dag, "joins along axis %d; vrtd joins channels",
                              text_int(reader, 0, 0));
    for (int i = 0; i < in->n; i++)
        nodes[i] = in->at[i].node;
    return vrt_dag_concat(reader->dag, nodes, in->n);
}

static int read_shuffle(struct reader *reader, const struct inputs *in)
{
    return vrt_dag_shuffle(reader->dag, VRT_DAG_SHUFFLE, in->at[0].node, text_int(reader, 0, 1),
                           text_int(reader, 1, 0) != 0);
}

static int read_reorg(struct reader *reader, const struct inputs *in)
{
    return vrt_dag_shuffle(reader->dag, VRT_DAG_UNSHUFFLE, in->at[0].node, text_int(reader, 0, 1),
                           text_int(reader, 1, 0) != 0);
}

static int read_interp(struct reader *reader, const struct inputs *in)
{
    const float factor = vrt_ncnn_float(&reader->layer, 2, 1);
    const int kind = text_int(reader, 0, 0), x = in->at[0].node;

    if (in->n != 1 || text_int(reader, 3, 0) || text_int(reader, 4, 0) ||
        vrt_ncnn_float(&reader->layer, 1, 1) != factor)
        return vrt_dag_refuse(reader->dag, "makes pictures of a given size, or of unlike factors: "
                              "vrtd has no op for that");
    if (kind < 1 || kind > 3 || text_int(reader, 6, 0))
        return vrt_dag_refuse(reader->dag, "resizes by kind %d%s; vrtd knows 1 (nearest), 2 "
                              "(bilinear) and 3 (bicubic), corners not aligned", kind,
                              text_int(reader, 6, 0) ? " with corners aligned" : "");
    for (int den = 1; den <= DEN_MAX; den++) {
        const float num = roundf(factor * (float)den);

        if (fabsf(num / (float)den - factor) > 1e-6f || num < 1 || num > 1024)
            continue;
        return kind == 3 ? vrt_dag_bicubic(reader->dag, x, (int)num, den) :
               vrt_dag_resize(reader->dag, x, kind == 1 ? VRT_RESIZE_NEAREST : VRT_RESIZE_BILINEAR,
                              (int)num, den);
    }
    return vrt_dag_refuse(reader->dag, "changes the size by %g, which is no plain ratio",
                          (double)factor);
}

/* What is shown is cut to 0 and 1 in any case. */
static int read_clip(struct reader *reader, const struct inputs *in)
{
    if (vrt_ncnn_float(&reader->layer, 0, -INFINITY) > 0 ||
        vrt_ncnn_float(&reader->layer, 1, INFINITY) < 1)
        return vrt_dag_refuse(reader->dag, "cuts off within 0 and 1: vrtd has no op for that");
    reader->clipped = in->at[0].node;
    return in->at[0].node;
}

static int read_same(struct reader *reader, const struct inputs *in)
{
    (void)reader;
    return in->at[0].node;
}

/* Numbers by rows, columns, channels, or one each. Return: the blob's number. */
static int read_memory(struct reader *reader, const struct inputs *in)
{
    const int w = text_int(reader, 0, 0), h = text_int(reader, 1, 0), c = text_int(reader, 2, 0);
    const int n = c ? c : w;
    struct constant constant = { .n = n };

    (void)in;
    if (n < 1 || n > 8192 || (c && (w != 1 || h != 1)) || (!c && h > 1) || text_int(reader, 11, 0))
        return vrt_dag_refuse(reader->dag, "holds %d by %d by %d numbers; vrtd takes one a channel",
                              w, h, c);
    struct constant *constants = reallocarray(reader->constants, (size_t)reader->n_constants + 1,
                                              sizeof(*constants));
    if (!constants)
        return vrt_refuse_errno(reader->file->error, vrt_raise(-ENOMEM), reader->file->name);
    reader->constants = constants;
    int r = vrt_ncnn_weights_take(&reader->weights, n, text_int(reader, 21, 1) == 0,
                                  &constant.values);
    if (r < 0)
        return r;
    reader->constants[reader->n_constants] = constant;
    return CONSTANTS + reader->n_constants++;
}

static const struct kind {
    const char *type;
    int (*read)(struct reader *reader, const struct inputs *in);
    bool takes_constants;
} kinds[] = {
    { "BinaryOp", read_binary, true },
    { "Clip", read_clip, false },
    { "Concat", read_concat, false },
    { "Convolution", read_convolution, false },
    { "Dropout", read_same, false },
    { "Eltwise", read_eltwise, false },
    { "Interp", read_interp, false },
    { "Noop", read_same, false },
    { "PReLU", read_prelu, false },
    { "PixelShuffle", read_shuffle, false },
    { "ReLU", read_relu, false },
    { "Reorg", read_reorg, false },
    { "Sigmoid", read_sigmoid, false },
    { "Split", read_same, false },
    { "Swish", read_swish, false },
    { "TanH", read_tanh, false },
};

static int find_inputs(struct reader *reader, bool takes_constants, struct inputs *ret_in)
{
    char name[64];

    ret_in->n = reader->layer.n_in;
    if (ret_in->n == 0)
        return vrt_dag_refuse(reader->dag, "has no input");
    for (int i = 0; i < ret_in->n; i++) {
        const struct vrt_dag_name *found = vrt_dag_names_find(&reader->blobs, reader->layer.in[i]);

        if (!found)
            return vrt_dag_refuse(reader->dag, "reads \"%s\", which no layer before it makes",
                                  vrt_ncnn_copied(reader->layer.in[i], name, sizeof(name)));
        const bool is_constant = found->value >= CONSTANTS;
        if (is_constant && !takes_constants)
            return vrt_dag_refuse(reader->dag, "has a constant where vrtd takes a picture");
        ret_in->at[i] = (struct vrt_dag_operand){ .node = is_constant ? -1 : found->value };
        if (is_constant) {
            const struct constant *constant = &reader->constants[found->value - CONSTANTS];

            ret_in->at[i].values = constant->values;
            ret_in->at[i].n = constant->n;
        }
        if (found->value == reader->clipped)
            return vrt_dag_refuse(reader->dag, "reads what was cut off to 0 and 1: vrtd has no op "
                                  "for that but at the end");
    }
    return 0;
}

static int put_outputs(struct reader *reader, int value)
{
    for (int i = 0; i < reader->layer.n_out; i++) {
        int r = vrt_dag_names_put(&reader->blobs, reader->layer.out[i], value);
        if (r == -EEXIST)
            return vrt_dag_refuse(reader->dag, "makes a blob that another layer has made");
        if (r < 0)
            return vrt_refuse_errno(reader->file->error, r, reader->file->name);
    }
    return 0;
}

/* The layer's node, or a constant's number. */
static int read_layer(struct reader *reader, int in_channels)
{
    const struct vrt_text type = reader->layer.type;
    struct inputs in = { 0 };

    if (reader->layer.n_out != 1 && !vrt_text_is(type, "Split"))
        return vrt_dag_refuse(reader->dag, "makes %d blobs", reader->layer.n_out);
    if (vrt_text_is(type, "Input"))
        return vrt_dag_input(reader->dag, vrt_ncnn_int(&reader->layer, 2, in_channels));
    if (vrt_text_is(type, "MemoryData"))
        return read_memory(reader, &in);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(kinds); i++) {
        if (!vrt_text_is(type, kinds[i].type))
            continue;
        int r = find_inputs(reader, kinds[i].takes_constants, &in);
        return r < 0 ? r : kinds[i].read(reader, &in);
    }
    return vrt_dag_refuse(reader->dag, "is a layer that vrtd has no op for");
}

static int read_layers(struct reader *reader, struct vrt_ncnn_text *text)
{
    const int channels = text->conv_inputs % 3 == 0 ? 3 : 1;
    int r = 0, value = 0;

    reader->weights.at = text->end;
    for (int i = 0; i < text->n_layers && r == 0; i++) {
        r = vrt_ncnn_layer_take(text, &reader->layer);
        if (r < 0)
            break;
        value = read_layer(reader, channels);
        r = value < 0 ? value : put_outputs(reader, value);
    }
    if (r < 0)
        return r;
    vrt_dag_set_where(reader->dag, ".bin", "");
    if (reader->weights.at != reader->file->size_bytes)
        return vrt_dag_refuse(reader->dag, "has %zu bytes more than its layers need: it is that of "
                              "another network", reader->file->size_bytes - reader->weights.at);
    if (value >= CONSTANTS)
        return vrt_dag_refuse(reader->dag, "belongs to layers that end with a constant");
    return vrt_dag_finish(reader->dag, value);
}

int vrt_ncnn_read(const struct vrt_dag_file *file, struct vrt_dag **ret_dag)
{
    VRT_CLEANUP(vrt_dag_freep) struct vrt_dag *dag = NULL;
    VRT_CLEANUP(vrt_freep) struct reader *reader = calloc(1, sizeof(*reader));

    if (!reader)
        return vrt_refuse_errno(file->error, vrt_raise(-ENOMEM), file->name);
    int r = vrt_dag_new(file->name, "ncnn", vrt_dag_file_values_max(file), file->error, &dag);
    if (r < 0)
        return vrt_fold(r);
    struct vrt_ncnn_text text = { .file = file, .dag = dag };
    r = vrt_ncnn_text_open(&text);
    if (r < 0)
        return vrt_fold(r);
    if (dag->is_carrier)
        return VRT_DAG_E_CARRIER;
    reader->file = file;
    reader->dag = dag;
    reader->weights = (struct vrt_ncnn_weights){ .file = file, .dag = dag };
    reader->clipped = -1;
    r = read_layers(reader, &text);
    for (int i = 0; i < reader->n_constants; i++)
        free(reader->constants[i].values);
    free(reader->constants);
    vrt_dag_names_done(&reader->blobs);
    if (r < 0)
        return vrt_fold(r);
    *ret_dag = VRT_STEAL(dag);
    return 0;
}
