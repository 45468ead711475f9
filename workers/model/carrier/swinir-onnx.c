/* SPDX-License-Identifier: MIT */
/*
 * The operations that ONNX files of SwinIR have, as a sketch: each kind is an entry of a table
 *
 * What only moves samples leaves a value as it is, but for its layout, how far pictures are rolled,
 * and which of the three parts of queries, keys and values it is; each operation on samples wants
 * them in the layout that the network has them in.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "model/carrier/swinir-onnx.h"
#include "model/carrier/swinir.h"

/* Sizes that pictures of any size are tried with: several windows of 7 or 8, as SwinIR has. */
#define ROWS 56
#define COLUMNS 112

int vrt_swinir_put(struct vrt_swinir_reader *reader, const struct vrt_swinir_data *data)
{
    if (reader->n_data == reader->capacity) {
        const int capacity = reader->capacity ? 2 * reader->capacity : 256;
        struct vrt_swinir_data *all = reallocarray(reader->data, (size_t)capacity, sizeof(*all));

        if (!all) {
            if (reader->sketch->r == 0)
                reader->sketch->r = vrt_refuse_errno(reader->sketch->dag->error,
                                                     vrt_raise(-ENOMEM),
                                                     reader->sketch->dag->source);
            return 0;
        }
        reader->data = all;
        reader->capacity = capacity;
    }
    reader->data[reader->n_data] = *data;
    return reader->n_data++;
}

static bool is_numbers(const struct vrt_swinir_reader *reader, int i)
{
    const struct vrt_carrier_value *value = vrt_carrier_onnx_in(reader->onnx, i);

    return value && value->kind == VRT_CARRIER_NUMBERS;
}

struct vrt_swinir_data vrt_swinir_any(const struct vrt_swinir_reader *reader, int i)
{
    return vrt_swinir_is_data(reader, i) ?
           reader->data[vrt_carrier_onnx_in(reader->onnx, i)->data] :
           (struct vrt_swinir_data){ 0 };
}

struct vrt_swinir_data vrt_swinir_in(struct vrt_swinir_reader *reader, int i)
{
    struct vrt_swinir_data x = vrt_swinir_any(reader, i);

    if (!vrt_swinir_is_data(reader, i))
        vrt_sketch_refuse(reader->sketch, "has no picture as its input %d", i + 1);
    else if (x.is_cut || x.is_end || (x.rolled && x.rolled != VRT_SWINIR_BOTH))
        vrt_sketch_refuse(reader->sketch, "reads a part of a picture, which SwinIR doesn't");
    if (x.rolled)
        x.node = vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
            .kind = VRT_SKETCH_ROLL, .at = { x.node }, .by = { (float)x.by } });
    return (struct vrt_swinir_data){ .node = x.node, .layout = x.layout };
}

int vrt_swinir_constant(struct vrt_swinir_reader *reader, int i)
{
    float *values = NULL;

    if (reader->sketch->r < 0)
        return 0;
    int r = vrt_carrier_onnx_take(reader->onnx, i, &values);
    if (r < 0) {
        reader->sketch->r = r;
        return 0;
    }
    return vrt_sketch_constant_new(reader->sketch, vrt_swinir_shape(reader, i)->dims,
                                   vrt_swinir_shape(reader, i)->n_dims, values);
}

struct vrt_layout vrt_swinir_picture(int64_t channels, int64_t rows, int64_t columns)
{
    struct vrt_layout layout = { 0 };

    vrt_layout_add(&layout, VRT_AXIS_CHANNELS, channels, 1);
    vrt_layout_add(&layout, VRT_AXIS_ROWS, rows, 1);
    vrt_layout_add(&layout, VRT_AXIS_COLUMNS, columns, 1);
    return layout;
}

void vrt_swinir_want_picture(struct vrt_swinir_reader *reader, const struct vrt_swinir_data *x)
{
    const struct vrt_carrier_shape *shape = vrt_swinir_shape(reader, 0);
    const int64_t *dims = shape->dims;
    const struct vrt_layout wanted = vrt_swinir_picture(dims[1], dims[2], dims[3]);

    if (shape->n_dims != 4 || dims[0] != 1 || !vrt_layout_same(&x->layout, &wanted))
        vrt_sketch_refuse(reader->sketch, "reads pictures whose axes SwinIR has in another order");
}

/* Whether the last dimension is all channels. Return: how many. */
static int64_t want_channels(struct vrt_swinir_reader *reader, const struct vrt_swinir_data *x)
{
    const struct vrt_carrier_shape *shape = vrt_swinir_shape(reader, 0);
    const int64_t n = shape->n_dims > 0 ? shape->dims[shape->n_dims - 1] : 0;
    int n_axes = 0;

    for (int i = 0; i < x->layout.n; i++)
        n_axes += x->layout.axes[i].kind >= VRT_AXIS_CHANNELS;
    const struct vrt_axis *last = &x->layout.axes[VRT_MAX(x->layout.n - 1, 0)];
    if (n_axes != 1 || last->kind != VRT_AXIS_CHANNELS || last->size != n || last->step != 1)
        vrt_sketch_refuse(reader->sketch, "goes along another axis than SwinIR's features");
    return n;
}

int vrt_swinir_put_node(struct vrt_swinir_reader *reader, int node,
                        const struct vrt_swinir_data *like)
{
    return vrt_swinir_put(reader, &(struct vrt_swinir_data){
        .node = node, .layout = like->layout });
}

int vrt_swinir_put_made(struct vrt_swinir_reader *reader, enum vrt_sketch_kind kind,
                        const struct vrt_swinir_data *x, float by)
{
    const int node = vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = kind, .at = { x->node }, .by = { by } });

    return vrt_swinir_put_node(reader, node, x);
}

static int op_conv(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_swinir_data x = vrt_swinir_in(reader, 0);
    const int64_t *w = vrt_swinir_shape(reader, 1)->dims, pad = w[3] / 2;
    const int weight = vrt_swinir_constant(reader, 1), bias = vrt_swinir_constant(reader, 2);

    vrt_swinir_want_picture(reader, &x);
    if (!vrt_carrier_onnx_is_conv(reader->onnx, 1, pad))
        vrt_sketch_refuse(reader->sketch, "is no convolution that keeps the size");
    else if (!reader->channels)
        reader->channels = (int)w[1];
    const int64_t *dims = reader->onnx->shape.dims;
    return vrt_swinir_put(reader, &(struct vrt_swinir_data){
        .layout = vrt_swinir_picture(dims[1], dims[2], dims[3]),
        .node = vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
            .kind = VRT_SKETCH_CONV, .at = { x.node }, .weight = weight, .bias = bias }),
    });
}

/* x times a constant matrix, plus a bias if there is one. */
static int linear(struct vrt_swinir_reader *reader, bool is_turned, bool has_bias)
{
    struct vrt_swinir_data x = vrt_swinir_in(reader, 0);

    want_channels(reader, &x);
    if (vrt_swinir_shape(reader, 1)->n_dims != 2)
        vrt_sketch_refuse(reader->sketch, "is a product with something else than a matrix");
    const int weight = vrt_swinir_constant(reader, 1);
    x.node = vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_LINEAR, .at = { x.node }, .weight = weight, .is_turned = is_turned });
    if (has_bias && reader->sketch->r == 0)
        x.node = vrt_sketch_with(reader->sketch, VRT_SKETCH_SHIFT, x.node,
                                 vrt_swinir_constant(reader, 2));
    if (reader->sketch->r == 0)
        x.layout.axes[x.layout.n - 1].size =
            reader->onnx->shape.dims[reader->onnx->shape.n_dims - 1];
    return vrt_swinir_put(reader, &x);
}

static int op_matmul(void *network)
{
    struct vrt_swinir_reader *reader = network;

    return is_numbers(reader, 1) ? linear(reader, false, false) : vrt_swinir_attend(reader);
}

static int op_gemm(void *network)
{
    struct vrt_swinir_reader *reader = network;

    if (vrt_onnx_int(reader->onnx->node, "transA", 0) ||
        vrt_onnx_float(reader->onnx->node, "alpha", 1) != 1 ||
        vrt_onnx_float(reader->onnx->node, "beta", 1) != 1 || !is_numbers(reader, 2))
        vrt_sketch_refuse(reader->sketch, "is no product with constant weights and a bias");
    return linear(reader, vrt_onnx_int(reader->onnx->node, "transB", 0), true);
}

/* Whether an axis of numbers that input i has more than one of is one of x's features. */
static bool is_of_channels(const struct vrt_swinir_reader *reader,
                           const struct vrt_swinir_data *x, int i)
{
    const struct vrt_carrier_shape *of = vrt_swinir_shape(reader, i);
    const struct vrt_carrier_shape *shape = vrt_swinir_shape(reader, 1 - i);
    struct vrt_layout layout = x->layout;
    int found = -1;

    for (int d = 0; d < of->n_dims; d++) {
        if (of->dims[d] == 1)
            continue;
        if (found >= 0)
            return false;
        found = d + shape->n_dims - of->n_dims;
    }
    if (found < 0 || !vrt_layout_fit(&layout, shape->dims, shape->n_dims))
        return false;
    const struct vrt_layout axis = vrt_layout_of(&layout, shape->dims, found);
    return axis.n == 1 && axis.axes[0].kind == VRT_AXIS_CHANNELS && axis.axes[0].step == 1;
}

/* x plus `sign` times input i, or times it. */
static int with_numbers(struct vrt_swinir_reader *reader, const struct vrt_swinir_data *x, int i,
                        enum vrt_sketch_kind kind, float sign)
{
    float number;

    if (!is_numbers(reader, i))
        vrt_sketch_refuse(reader->sketch, "reads what vrtd can't follow from the picture's size");
    else if (vrt_carrier_onnx_number(reader->onnx, i, &number))
        return vrt_swinir_put_node(reader, kind == VRT_SKETCH_SHIFT ?
                                   vrt_sketch_affine(reader->sketch, x->node, 1, sign * number) :
                                   vrt_sketch_affine(reader->sketch, x->node, number, 0), x);
    else if (kind == VRT_SKETCH_SHIFT && sign == 1 && !is_of_channels(reader, x, i))
        return vrt_swinir_bias(reader, x, i);
    else if (!is_of_channels(reader, x, i))
        vrt_sketch_refuse(reader->sketch, "has numbers along another axis than SwinIR");
    const int numbers = vrt_swinir_constant(reader, i);
    for (int64_t k = 0; numbers && k < vrt_sketch_constant(reader->sketch, numbers)->n; k++)
        vrt_sketch_constant(reader->sketch, numbers)->values[k] *= sign;
    return vrt_swinir_put_node(reader, vrt_sketch_with(reader->sketch, kind, x->node, numbers), x);
}

/* The layout of what is made of a and b, one of which may have one number for all features. */
static struct vrt_swinir_data joined(struct vrt_swinir_reader *reader,
                                     const struct vrt_swinir_data *a,
                                     const struct vrt_swinir_data *b)
{
    const struct vrt_swinir_data *longer = a->layout.n >= b->layout.n ? a : b;
    const struct vrt_swinir_data *other = longer == a ? b : a;
    struct vrt_layout layout = longer->layout;

    if (!vrt_layout_same(&layout, &other->layout)) {
        if (layout.n > 0 && layout.axes[layout.n - 1].kind == VRT_AXIS_CHANNELS)
            layout.n--;
        if (!vrt_layout_same(&layout, &other->layout))
            vrt_sketch_refuse(reader->sketch, "combines samples that are in another order");
    }
    return *longer;
}

static int op_binary(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const char *type = reader->onnx->node->op_type;
    const bool is_sum = strcmp(type, "Add") == 0, is_product = strcmp(type, "Mul") == 0;
    const int k = (is_sum || is_product) && !vrt_swinir_is_data(reader, 0) ? 1 : 0;
    const struct vrt_swinir_data x = vrt_swinir_in(reader, k);
    float number;

    if (strcmp(type, "Div") == 0 && vrt_carrier_onnx_number(reader->onnx, 1, &number))
        return vrt_swinir_put_node(reader, vrt_sketch_affine(reader->sketch, x.node, 1 / number, 0),
                                   &x);
    if (!vrt_swinir_is_data(reader, 1 - k) && strcmp(type, "Div") != 0)
        return with_numbers(reader, &x, 1 - k, is_product ? VRT_SKETCH_SCALE : VRT_SKETCH_SHIFT,
                            is_sum || is_product ? 1 : -1);
    const struct vrt_swinir_data y = vrt_swinir_in(reader, 1 - k), like = joined(reader, &x, &y);
    if (reader->sketch->r < 0)
        return 0;
    const int node = is_sum ? vrt_sketch_add(reader->sketch, x.node, y.node) :
                     is_product ? vrt_sketch_mul(reader->sketch, x.node, y.node) :
                     strcmp(type, "Sub") == 0 ? vrt_sketch_sub(reader->sketch, x.node, y.node) :
                     vrt_sketch_div(reader->sketch, x.node, y.node);
    return vrt_swinir_put_node(reader, node, &like);
}

static int op_pow(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_swinir_data x = vrt_swinir_in(reader, 0);
    float number = 0;

    if (!vrt_carrier_onnx_number(reader->onnx, 1, &number) || number != 2)
        vrt_sketch_refuse(reader->sketch, "is no square");
    return vrt_swinir_put_node(reader, vrt_sketch_mul(reader->sketch, x.node, x.node), &x);
}

/* Whether it goes along the last axis. */
static void want_last(struct vrt_swinir_reader *reader, int64_t axis)
{
    if (axis != -1 && axis != vrt_swinir_shape(reader, 0)->n_dims - 1)
        vrt_sketch_refuse(reader->sketch, "goes along axis %lld, not the last", (long long)axis);
}

static int op_mean(void *network)
{
    struct vrt_swinir_reader *reader = network;
    struct vrt_swinir_data x = vrt_swinir_in(reader, 0);
    int64_t axes[VRT_ONNX_DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(reader->onnx, "axes", 1, axes);

    want_last(reader, n == 1 ? axes[0] : 0);
    want_channels(reader, &x);
    x.layout.n -= reader->sketch->r == 0;
    return vrt_swinir_put_made(reader, VRT_SKETCH_MEAN, &x, 0);
}

static int op_root(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_swinir_data x = vrt_swinir_in(reader, 0);

    return vrt_swinir_put_made(reader, VRT_SKETCH_ROOT, &x, 0);
}

static int op_softmax(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_swinir_data x = vrt_swinir_in(reader, 0);

    want_last(reader, vrt_onnx_int(reader->onnx->node, "axis",
                                   reader->onnx->onnx.opset >= 13 ? -1 : 1));
    if (x.layout.n == 0 || x.layout.axes[x.layout.n - 1].kind != VRT_AXIS_KEYS)
        vrt_sketch_refuse(reader->sketch, "is of something else than pairs of places");
    return vrt_swinir_put_made(reader, VRT_SKETCH_SOFTMAX, &x, 0);
}

static int op_erf(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_swinir_data x = vrt_swinir_in(reader, 0);

    return vrt_swinir_put_made(reader, VRT_SKETCH_ERF, &x, 0);
}

static int op_leaky(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_swinir_data x = vrt_swinir_in(reader, 0);

    return vrt_swinir_put_made(reader, VRT_SKETCH_LEAKY, &x,
                    vrt_onnx_float(reader->onnx->node, "alpha", 0.01f));
}

static int op_gelu(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_swinir_data x = vrt_swinir_in(reader, 0);
    const int inner = vrt_sketch_affine(reader->sketch, x.node, sqrtf(0.5f), 0);
    const int erf = vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_ERF, .at = { inner } });
    const int gate = vrt_sketch_affine(reader->sketch, erf, 1, 1);

    if (!vrt_onnx_is(reader->onnx->node, "approximate", "none", "none"))
        vrt_sketch_refuse(reader->sketch, "is approximate, which SwinIR's isn't");
    const int node = vrt_sketch_mul(reader->sketch, x.node, gate);
    return vrt_swinir_put_node(reader, vrt_sketch_affine(reader->sketch, node, 0.5f, 0), &x);
}

static int op_norm(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_swinir_data x = vrt_swinir_in(reader, 0);
    int y = vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_NORM, .at = { x.node },
        .by = { vrt_onnx_float(reader->onnx->node, "epsilon", 1e-5f) } });
    const int64_t n = want_channels(reader, &x);

    want_last(reader, vrt_onnx_int(reader->onnx->node, "axis", -1));
    for (int i = 1; i <= 2; i++)
        if (!is_numbers(reader, i) || vrt_carrier_shape_n(vrt_swinir_shape(reader, i)) != n) {
            vrt_sketch_refuse(reader->sketch, "has no constant weights and bias");
            return 0;
        }
    y = vrt_sketch_with(reader->sketch, VRT_SKETCH_SCALE, y, vrt_swinir_constant(reader, 1));
    y = vrt_sketch_with(reader->sketch, VRT_SKETCH_SHIFT, y, vrt_swinir_constant(reader, 2));
    return vrt_swinir_put_node(reader, y, &x);
}

/* Only each sample repeated twice in both directions. */
static int op_resize(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const VrtPb__Node *node = reader->onnx->node;
    const int64_t *from = vrt_swinir_shape(reader, 0)->dims, *to = reader->onnx->shape.dims;
    struct vrt_swinir_data x = vrt_swinir_in(reader, 0);

    vrt_swinir_want_picture(reader, &x);
    if (to[0] != from[0] || to[1] != from[1] || to[2] != 2 * from[2] || to[3] != 2 * from[3] ||
        !vrt_onnx_is(node, "mode", "nearest", "nearest") ||
        !vrt_onnx_is(node, "coordinate_transformation_mode", "half_pixel", "asymmetric") ||
        !vrt_onnx_is(node, "nearest_mode", "round_prefer_floor", "floor"))
        vrt_sketch_refuse(reader->sketch, "resizes otherwise than by repeating samples twice");
    x.layout = vrt_swinir_picture(to[1], to[2], to[3]);
    return vrt_swinir_put_made(reader, VRT_SKETCH_NEAREST, &x, 2);
}

/* What is shown is cut to 0 and 1 in any case. */
static int op_clip(void *network)
{
    struct vrt_swinir_reader *reader = network;
    struct vrt_swinir_data x = vrt_swinir_any(reader, 0);

    if (!vrt_carrier_onnx_is_clip(reader->onnx))
        vrt_sketch_refuse(reader->sketch, "cuts off within 0 and 1");
    x.is_end = true;
    return vrt_swinir_put(reader, &x);
}

static int op_same(void *network)
{
    const struct vrt_swinir_reader *reader = network;

    return vrt_carrier_onnx_in(reader->onnx, 0)->data;
}

static const struct vrt_carrier_op ops[] = {
    { "Add", op_binary }, { "Cast", op_same }, { "Clip", op_clip }, { "Concat", vrt_swinir_concat },
    { "Conv", op_conv }, { "DepthToSpace", vrt_swinir_to_pixels }, { "Div", op_binary },
    { "Dropout", op_same }, { "Erf", op_erf }, { "Flatten", vrt_swinir_reshape },
    { "Gather", vrt_swinir_gather }, { "Gelu", op_gelu }, { "Gemm", op_gemm },
    { "Identity", op_same }, { "LayerNormalization", op_norm }, { "LeakyRelu", op_leaky },
    { "MatMul", op_matmul }, { "Mul", op_binary }, { "Pad", vrt_swinir_pad }, { "Pow", op_pow },
    { "ReduceMean", op_mean }, { "Reshape", vrt_swinir_reshape }, { "Resize", op_resize },
    { "Slice", vrt_swinir_slice }, { "Softmax", op_softmax }, { "Sqrt", op_root },
    { "Squeeze", vrt_swinir_reshape }, { "Sub", op_binary }, { "Transpose", vrt_swinir_transpose },
    { "Unsqueeze", vrt_swinir_reshape }, { NULL, NULL },
};

/* How many channels come in, where the file leaves it open: by the first convolution. */
static int64_t guess_channels(const struct vrt_carrier_onnx *onnx)
{
    for (size_t i = 0; i < onnx->graph->n_node; i++) {
        const VrtPb__Node *node = onnx->graph->node[i];
        if (strcmp(vrt_onnx_text(node->op_type), "Conv") != 0 || node->n_input < 2)
            continue;
        for (size_t k = 0; k < onnx->graph->n_initializer; k++) {
            const VrtPb__Tensor *tensor = onnx->graph->initializer[k];
            if (strcmp(vrt_onnx_text(tensor->name), vrt_onnx_text(node->input[1])) == 0)
                return tensor->n_dims == 4 && tensor->dims[1] == 1 ? 1 : 3;
        }
    }
    return 3;
}

static int read_beginning(struct vrt_swinir_reader *reader)
{
    const VrtPb__ValueInfo *input = vrt_carrier_onnx_input(reader->onnx, 0);
    struct vrt_carrier_shape shape;

    reader->onnx->network = "SwinIR";
    reader->onnx->height = ROWS;
    reader->onnx->width = COLUMNS;
    vrt_dag_set_where(reader->sketch->dag, "file", "");
    if (!input || vrt_carrier_onnx_input(reader->onnx, 1) || reader->onnx->graph->n_output != 1)
        return vrt_sketch_refuse(reader->sketch, "has several inputs or outputs; SwinIR has one of "
                                 "both");
    if (!vrt_carrier_onnx_shape_of(reader->onnx, input, &shape) || shape.n_dims != 4)
        return vrt_sketch_refuse(reader->sketch, "has an input that isn't a picture");
    if (!shape.dims[1])
        shape.dims[1] = guess_channels(reader->onnx);
    for (int k = 0; k < 2; k++)
        reader->size[k] = reader->padded[k] = shape.dims[2 + k];
    int r = vrt_carrier_onnx_read_constants(reader->onnx);
    if (r < 0)
        return r;
    const int node = vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_INPUT });
    const int data = vrt_swinir_put(reader, &(struct vrt_swinir_data){
        .node = node, .layout = vrt_swinir_picture(shape.dims[1], shape.dims[2], shape.dims[3]) });
    return reader->sketch->r < 0 ? reader->sketch->r :
           vrt_carrier_onnx_put_input(reader->onnx, input, data, &shape);
}

static int read_graph(struct vrt_swinir_reader *reader, int *ret_result)
{
    int r = read_beginning(reader);

    if (r < 0)
        return r;
    r = vrt_carrier_onnx_read(reader->onnx, ops, reader, &reader->sketch->r);
    if (r < 0)
        return r;
    const struct vrt_carrier_value *result = vrt_carrier_onnx_result(reader->onnx);
    const struct vrt_swinir_data *data = result ? &reader->data[result->data] : NULL;
    const int64_t *dims = result ? result->shape.dims : NULL;
    if (!data || data->rolled || (data->is_cut && data->start != 0) || result->shape.n_dims != 4 ||
        dims[2] % reader->size[0] != 0 || dims[2] / reader->size[0] * reader->size[1] != dims[3])
        return vrt_sketch_refuse(reader->sketch, "has an output that isn't SwinIR's");
    *ret_result = data->node;
    return 0;
}

int vrt_carrier_swinir_read_onnx(struct vrt_carrier_onnx *onnx, struct vrt_sketch *sketch,
                                 int *ret_channels, int *ret_result)
{
    struct vrt_swinir_reader reader = { .onnx = onnx, .sketch = sketch };
    int r = read_graph(&reader, ret_result);

    *ret_channels = reader.channels;
    free(reader.data);
    return vrt_fold(r);
}
