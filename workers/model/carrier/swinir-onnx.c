/* SPDX-License-Identifier: MIT */
/*
 * The operations that ONNX files of SwinIR have, as a sketch: each kind is an entry of a table
 *
 * What only moves samples leaves a value as it is, but for how far pictures are rolled, and which
 * of the three parts of queries, keys and values it is. What is computed of sizes is left aside.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/checkpoint/arena.h"
#include "model/carrier/swinir-onnx.h"
#include "model/carrier/swinir.h"

#define ROWS_AND_COLUMNS 6          /* axes 1 and 2 */

static struct vrt_text text_of(const char *text)
{
    return (struct vrt_text){ vrt_onnx_text(text), strlen(vrt_onnx_text(text)) };
}

/* More than SwinIR has, however it was exported: each may be held for long. */
#define VALUES_MAX 65536

static int put(struct vrt_carrier_onnx *reader, const char *name,
               const struct vrt_carrier_value *value)
{
    if (reader->n_values == VALUES_MAX)
        return vrt_sketch_refuse(reader->sketch, "is one of more than SwinIR has");
    int r = vrt_dag_names_put(&reader->names, text_of(name), reader->n_values);

    if (r == -EEXIST)
        return vrt_sketch_refuse(reader->sketch, "makes what another has made before");
    if (r == 0 && reader->n_values == reader->capacity) {
        const int capacity = reader->capacity ? 2 * reader->capacity : 256;
        struct vrt_carrier_value *values = reallocarray(reader->values, (size_t)capacity,
                                                        sizeof(*values));
        if (values) {
            reader->values = values;
            reader->capacity = capacity;
        } else {
            r = vrt_raise(-ENOMEM);
        }
    }
    if (r < 0)
        return vrt_refuse_errno(reader->onnx.file->error, r, reader->onnx.file->name);
    reader->values[reader->n_values++] = *value;
    return 0;
}

static struct vrt_carrier_value data(int node)
{
    return (struct vrt_carrier_value){ .kind = VRT_CARRIER_DATA, .node = node };
}

static int constant(struct vrt_carrier_onnx *reader, int i)
{
    return vrt_carrier_onnx_number(reader, i);
}

static bool is_constant(const struct vrt_carrier_onnx *reader, int i)
{
    return reader->places[i] >= 0 && reader->in[i].kind == VRT_CARRIER_CONSTANT;
}

/* Whether input i is a constant of one number. */
static bool is_number(struct vrt_carrier_onnx *reader, int i, float *ret_number)
{
    if (!is_constant(reader, i))
        return false;
    const int number = constant(reader, i);
    if (!number || vrt_sketch_constant(reader->sketch, number)->n != 1)
        return false;
    *ret_number = vrt_sketch_constant(reader->sketch, number)->values[0];
    return true;
}

/* The first integer of input i, a constant; `otherwise` where it is something else. */
static int64_t integer(struct vrt_carrier_onnx *reader, int i, int64_t otherwise)
{
    const struct vrt_carrier_value *value = &reader->in[i];

    if (!is_constant(reader, i) || value->is_made || value->source.n != 1)
        return otherwise;
    return vrt_onnx_integer(&value->source, 0);
}

/* The node of input i, as operations read it. */
static int in(struct vrt_carrier_onnx *reader, int i)
{
    const struct vrt_carrier_value *value = &reader->in[i];

    if (reader->places[i] < 0 || value->kind != VRT_CARRIER_DATA) {
        vrt_sketch_refuse(reader->sketch, "has no picture as its input %d", i + 1);
        return 0;
    }
    if (value->is_cut || value->is_clipped || (value->axes && value->axes != ROWS_AND_COLUMNS)) {
        vrt_sketch_refuse(reader->sketch, "reads a part of a picture, which SwinIR doesn't");
        return 0;
    }
    return value->axes == 0 ? value->node : vrt_sketch_node(reader->sketch,
        &(struct vrt_sketch_node){ .kind = VRT_SKETCH_ROLL, .at = { value->node },
                                   .by = { (float)value->roll } });
}

static int made(struct vrt_carrier_onnx *reader, enum vrt_sketch_kind kind, float by)
{
    return vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = kind, .at = { in(reader, 0) }, .by = { by } });
}

static bool are(const struct vrt_carrier_onnx *reader, const char *name, int64_t wanted)
{
    const VrtPb__Attribute *a = vrt_onnx_attribute(reader->node, name);

    for (size_t i = 0; a && i < a->n_ints; i++)
        if (a->ints[i] != wanted)
            return false;
    return true;
}

static struct vrt_carrier_value op_conv(struct vrt_carrier_onnx *reader)
{
    const int x = in(reader, 0);

    if (!is_constant(reader, 1) || !is_constant(reader, 2) || !constant(reader, 1) ||
        !constant(reader, 2)) {
        vrt_sketch_refuse(reader->sketch, "has no constant weights and bias");
        return data(0);
    }
    const struct vrt_sketch_constant *w = vrt_sketch_constant(reader->sketch, constant(reader, 1));
    const int64_t pad = w->n_dims == 4 ? w->dims[3] / 2 : 0;
    if (w->n_dims != 4 || !are(reader, "strides", 1) || !are(reader, "dilations", 1) ||
        !are(reader, "pads", pad) || vrt_onnx_int(reader->node, "group", 1) != 1 ||
        (pad > 0 && !vrt_onnx_attribute(reader->node, "pads")))
        vrt_sketch_refuse(reader->sketch, "is no convolution that keeps the size");
    else if (!reader->channels)
        reader->channels = (int)w->dims[1];
    return data(vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_CONV, .at = { x }, .weight = constant(reader, 1),
        .bias = constant(reader, 2) }));
}

static int linear(struct vrt_carrier_onnx *reader, bool is_turned)
{
    return vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_LINEAR, .at = { in(reader, 0) }, .weight = constant(reader, 1),
        .is_turned = is_turned });
}

static struct vrt_carrier_value op_matmul(struct vrt_carrier_onnx *reader)
{
    if (is_constant(reader, 1))
        return data(linear(reader, false));
    const int a = in(reader, 0), b = in(reader, 1);
    return data(vrt_sketch_matmul(reader->sketch, a, b));
}

static struct vrt_carrier_value op_gemm(struct vrt_carrier_onnx *reader)
{
    if (!is_constant(reader, 1) || !is_constant(reader, 2) ||
        vrt_onnx_int(reader->node, "transA", 0) ||
        vrt_onnx_float(reader->node, "alpha", 1) != 1 ||
        vrt_onnx_float(reader->node, "beta", 1) != 1) {
        vrt_sketch_refuse(reader->sketch, "is no product with constant weights and a bias");
        return data(0);
    }
    const int x = linear(reader, vrt_onnx_int(reader->node, "transB", 0));
    return data(vrt_sketch_with(reader->sketch, VRT_SKETCH_SHIFT, x, constant(reader, 2)));
}

/* What is added to attention for where places are, as it is computed of the size or stored. */
static int mask(struct vrt_carrier_onnx *reader, int x, int number)
{
    return vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_MASK, .at = { x }, .weight = number });
}

static struct vrt_carrier_value op_add(struct vrt_carrier_onnx *reader)
{
    const int k = reader->in[0].kind == VRT_CARRIER_DATA ? 0 : 1, other = 1 - k;
    const int x = in(reader, k);

    if (reader->in[other].kind == VRT_CARRIER_DATA)
        return data(vrt_sketch_add(reader->sketch, x, in(reader, other)));
    if (reader->in[other].kind == VRT_CARRIER_OTHER)
        return data(mask(reader, x, 0));
    const int number = constant(reader, other);
    if (number && vrt_sketch_constant(reader->sketch, number)->n_dims == 5)
        return data(mask(reader, x, number));
    return data(vrt_sketch_with(reader->sketch, VRT_SKETCH_SHIFT, x, number));
}

/* The negative of constant `number`. */
static int negative(struct vrt_carrier_onnx *reader, int number)
{
    if (!number)
        return 0;
    const struct vrt_sketch_constant of = *vrt_sketch_constant(reader->sketch, number);
    const int made = vrt_sketch_constant_new(reader->sketch, of.dims, of.n_dims, NULL);
    for (int64_t i = 0; made && i < of.n; i++)
        vrt_sketch_constant(reader->sketch, made)->values[i] = -of.values[i];
    return made;
}

static struct vrt_carrier_value op_sub(struct vrt_carrier_onnx *reader)
{
    const int x = in(reader, 0);

    if (!is_constant(reader, 1))
        return data(vrt_sketch_sub(reader->sketch, x, in(reader, 1)));
    return data(vrt_sketch_with(reader->sketch, VRT_SKETCH_SHIFT, x,
                                negative(reader, constant(reader, 1))));
}

static struct vrt_carrier_value op_mul(struct vrt_carrier_onnx *reader)
{
    const int k = reader->in[0].kind == VRT_CARRIER_DATA ? 0 : 1, other = 1 - k;
    const int x = in(reader, k);

    if (is_constant(reader, other))
        return data(vrt_sketch_with(reader->sketch, VRT_SKETCH_SCALE, x, constant(reader, other)));
    return data(vrt_sketch_mul(reader->sketch, x, in(reader, other)));
}

static struct vrt_carrier_value op_div(struct vrt_carrier_onnx *reader)
{
    const int x = in(reader, 0);
    float number;

    if (is_number(reader, 1, &number))
        return data(vrt_sketch_affine(reader->sketch, x, 1 / number, 0));
    return data(vrt_sketch_div(reader->sketch, x, in(reader, 1)));
}

static struct vrt_carrier_value op_pow(struct vrt_carrier_onnx *reader)
{
    const int x = in(reader, 0);
    float number = 0;

    if (!is_number(reader, 1, &number) || number != 2)
        vrt_sketch_refuse(reader->sketch, "is no square");
    return data(vrt_sketch_mul(reader->sketch, x, x));
}

/* Whether the attribute `name`, or else integer input i, is an axis that may be the last. */
static void check_last(struct vrt_carrier_onnx *reader, const char *name, int i, int64_t otherwise)
{
    const VrtPb__Attribute *a = vrt_onnx_attribute(reader->node, name);
    const int64_t axis = a ? (a->n_ints ? a->ints[0] : a->i) : i < 0 ? otherwise :
                         integer(reader, i, 0);

    if ((axis != -1 && axis < 2) || (a && a->n_ints > 1))
        vrt_sketch_refuse(reader->sketch, "goes along axis %lld, not the last", (long long)axis);
}

static struct vrt_carrier_value op_mean(struct vrt_carrier_onnx *reader)
{
    check_last(reader, "axes", 1, 0);
    return data(made(reader, VRT_SKETCH_MEAN, 0));
}

static struct vrt_carrier_value op_root(struct vrt_carrier_onnx *reader)
{
    return data(made(reader, VRT_SKETCH_ROOT, 0));
}

static struct vrt_carrier_value op_softmax(struct vrt_carrier_onnx *reader)
{
    check_last(reader, "axis", -1, reader->onnx.opset >= 13 ? -1 : 1);
    return data(made(reader, VRT_SKETCH_SOFTMAX, 0));
}

static struct vrt_carrier_value op_erf(struct vrt_carrier_onnx *reader)
{
    return data(made(reader, VRT_SKETCH_ERF, 0));
}

static struct vrt_carrier_value op_leaky(struct vrt_carrier_onnx *reader)
{
    return data(made(reader, VRT_SKETCH_LEAKY, vrt_onnx_float(reader->node, "alpha", 0.01f)));
}

static struct vrt_carrier_value op_gelu(struct vrt_carrier_onnx *reader)
{
    const int x = in(reader, 0);
    const int inner = vrt_sketch_affine(reader->sketch, x, sqrtf(0.5f), 0);
    const int erf = vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_ERF, .at = { inner } });
    const int gate = vrt_sketch_affine(reader->sketch, erf, 1, 1);

    if (!vrt_onnx_is(reader->node, "approximate", "none", "none"))
        vrt_sketch_refuse(reader->sketch, "is approximate, which SwinIR's isn't");
    return data(vrt_sketch_affine(reader->sketch, vrt_sketch_mul(reader->sketch, x, gate), 0.5f,
                                  0));
}

static struct vrt_carrier_value op_norm(struct vrt_carrier_onnx *reader)
{
    int x = made(reader, VRT_SKETCH_NORM, vrt_onnx_float(reader->node, "epsilon", 1e-5f));

    check_last(reader, "axis", -1, -1);
    if (!is_constant(reader, 1) || !is_constant(reader, 2)) {
        vrt_sketch_refuse(reader->sketch, "has no constant weights and bias");
        return data(0);
    }
    x = vrt_sketch_with(reader->sketch, VRT_SKETCH_SCALE, x, constant(reader, 1));
    return data(vrt_sketch_with(reader->sketch, VRT_SKETCH_SHIFT, x, constant(reader, 2)));
}

/* Only each sample repeated twice in both directions. */
static struct vrt_carrier_value op_resize(struct vrt_carrier_onnx *reader)
{
    const int number = is_constant(reader, 2) ?
                       constant(reader, 2) : 0;
    const struct vrt_sketch_constant *scales = number ?
        vrt_sketch_constant(reader->sketch, number) : NULL;

    if (!scales || scales->n != 4 || scales->values[0] != 1 || scales->values[1] != 1 ||
        scales->values[2] != 2 || scales->values[3] != 2 ||
        !vrt_onnx_is(reader->node, "mode", "nearest", "nearest") ||
        !vrt_onnx_is(reader->node, "coordinate_transformation_mode", "half_pixel", "asymmetric") ||
        !vrt_onnx_is(reader->node, "nearest_mode", "round_prefer_floor", "floor"))
        vrt_sketch_refuse(reader->sketch, "resizes otherwise than by repeating samples twice");
    return data(made(reader, VRT_SKETCH_NEAREST, 2));
}

/* Queries, keys or values: one of three. */
static struct vrt_carrier_value op_gather(struct vrt_carrier_onnx *reader)
{
    const int64_t number = integer(reader, 1, -1);

    if (number < 0 || number > 2 || vrt_onnx_int(reader->node, "axis", 0) != 0)
        vrt_sketch_refuse(reader->sketch, "takes something else than one of three parts");
    return data(made(reader, VRT_SKETCH_PART, (float)number));
}

static struct vrt_carrier_value op_slice(struct vrt_carrier_onnx *reader)
{
    struct vrt_carrier_value x = reader->in[0];
    const int64_t start = integer(reader, 1, INT64_MIN), end = integer(reader, 2, INT64_MIN);
    const int64_t axis = integer(reader, 3, INT64_MIN);

    if (start == INT64_MIN || axis < -4 || axis > 3 ||
        (reader->places[4] >= 0 && integer(reader, 4, 0) != 1) ||
        (x.is_cut && (x.start != 0 || start != 0))) {
        vrt_sketch_refuse(reader->sketch, "cuts pictures as SwinIR doesn't");
        return x;
    }
    if (start == 0 && end >= INT32_MAX)
        return x;
    x.is_cut = true;
    x.axis = (int)axis;
    x.start = start;
    x.end = end;
    return x;
}

/* The end of a picture before its beginning. Where the end is told as the size, it is rolled the
 * shorter way. */
static struct vrt_carrier_value op_concat(struct vrt_carrier_onnx *reader)
{
    const struct vrt_carrier_value *a = &reader->in[0], *b = &reader->in[1];
    const bool is_shorter = a->end >= INT32_MAX || a->start < a->end / 2;
    const int64_t by = is_shorter ? a->start : a->end < 0 ? 0 : a->start - a->end;
    struct vrt_carrier_value x = *a;

    if (reader->node->n_input != 2 || b->kind != VRT_CARRIER_DATA ||
        a->kind != VRT_CARRIER_DATA || a->node != b->node || !a->is_cut || !b->is_cut ||
        a->axis != b->axis || b->start != 0 || b->end != a->start ||
        a->axes != b->axes || a->roll != b->roll || a->axis < 1 || a->axis > 2 || by == 0 ||
        by < -64 || by > 64 || (a->axes && a->roll != by) || (a->axes & 1 << a->axis)) {
        vrt_sketch_refuse(reader->sketch, "joins pictures as SwinIR doesn't");
        return x;
    }
    x.is_cut = false;
    x.axes |= 1 << a->axis;
    x.roll = (int)by;
    return x;
}

static struct vrt_carrier_value op_pad(struct vrt_carrier_onnx *reader)
{
    if (reader->in[0].node != 0 || !vrt_onnx_is(reader->node, "mode", "constant", "reflect"))
        vrt_sketch_refuse(reader->sketch, "pads otherwise than SwinIR's input, by what is mirrored "
                          "there");
    return reader->in[0];
}

/* What is shown is cut to 0 and 1 in any case. */
static struct vrt_carrier_value op_clip(struct vrt_carrier_onnx *reader)
{
    struct vrt_carrier_value x = reader->in[0];
    float low = 0, high = 1;

    if ((reader->places[1] >= 0 && !is_number(reader, 1, &low)) ||
        (reader->places[2] >= 0 && !is_number(reader, 2, &high)) || low > 0 || high < 1)
        vrt_sketch_refuse(reader->sketch, "cuts off within 0 and 1");
    x.is_clipped = true;
    return x;
}

static struct vrt_carrier_value op_same(struct vrt_carrier_onnx *reader)
{
    return reader->in[0];
}

/* Those that windows, heads and enlarged pixels are made by; others would be other networks. */
static struct vrt_carrier_value op_transpose(struct vrt_carrier_onnx *reader)
{
    static const char *const known[] = {
        "021", "201", "0213", "0132", "0312", "0231", "20314", "013245", "014253", "0142536",
    };
    const VrtPb__Attribute *a = vrt_onnx_attribute(reader->node, "perm");
    char perm[VRT_ONNX_DIMS_MAX + 1] = "";

    for (size_t i = 0; a && i < a->n_ints && i < VRT_ONNX_DIMS_MAX; i++)
        perm[i] = a->ints[i] >= 0 && a->ints[i] <= 9 ? (char)('0' + a->ints[i]) : 'x';
    for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++)
        if (strcmp(perm, known[i]) == 0)
            return reader->in[0];
    vrt_sketch_refuse(reader->sketch, "turns axes as SwinIR doesn't (%s)", perm);
    return reader->in[0];
}

static struct vrt_carrier_value op_to_pixels(struct vrt_carrier_onnx *reader)
{
    if (!vrt_onnx_is(reader->node, "mode", "DCR", "CRD"))
        vrt_sketch_refuse(reader->sketch, "makes pixels of channels in another order than SwinIR");
    return reader->in[0];
}

static const struct {
    const char *type;
    struct vrt_carrier_value (*read)(struct vrt_carrier_onnx *reader);
} kinds[] = {
    { "Add", op_add }, { "Cast", op_same }, { "Clip", op_clip }, { "Concat", op_concat },
    { "Conv", op_conv }, { "DepthToSpace", op_to_pixels }, { "Div", op_div },
    { "Dropout", op_same }, { "Erf", op_erf }, { "Flatten", op_same },
    { "Gather", op_gather }, { "Gelu", op_gelu },
    { "Gemm", op_gemm }, { "Identity", op_same }, { "LayerNormalization", op_norm },
    { "LeakyRelu", op_leaky }, { "MatMul", op_matmul }, { "Mul", op_mul }, { "Pad", op_pad },
    { "Pow", op_pow }, { "ReduceMean", op_mean }, { "Reshape", op_same }, { "Resize", op_resize },
    { "Slice", op_slice }, { "Softmax", op_softmax }, { "Sqrt", op_root },
    { "Squeeze", op_same }, { "Sub", op_sub }, { "Transpose", op_transpose },
    { "Unsqueeze", op_same },
};

static int find_inputs(struct vrt_carrier_onnx *reader)
{
    char shown[64];

    for (int i = 0; i < VRT_CARRIER_INPUTS_MAX; i++) {
        reader->places[i] = -1;
        reader->in[i] = (struct vrt_carrier_value){ 0 };
        if ((size_t)i >= reader->node->n_input || !vrt_onnx_text(reader->node->input[i])[0])
            continue;
        const struct vrt_dag_name *name = vrt_dag_names_find(&reader->names,
                                                             text_of(reader->node->input[i]));
        if (!name)
            return vrt_sketch_refuse(reader->sketch, "reads \"%s\", which no operation before it "
                                     "makes", vrt_printable(reader->node->input[i], shown,
                                                            sizeof(shown)));
        reader->places[i] = name->value;
        reader->in[i] = reader->values[name->value];
    }
    return 0;
}

/* Whether it is one of a picture's samples, rather than of sizes. */
static bool is_of_data(const struct vrt_carrier_onnx *reader)
{
    const char *type = vrt_onnx_text(reader->node->op_type);
    bool is_data = false;

    for (int i = 0; i < VRT_CARRIER_INPUTS_MAX; i++)
        is_data |= reader->places[i] >= 0 && reader->in[i].kind == VRT_CARRIER_DATA;
    return is_data && strcmp(type, "Shape") != 0;
}

static int read_node(struct vrt_carrier_onnx *reader)
{
    const char *type = vrt_onnx_text(reader->node->op_type);
    const char *name = vrt_onnx_text(reader->node->name);
    struct vrt_carrier_value value = { .kind = VRT_CARRIER_OTHER };

    if (reader->node->n_output < 1)
        return vrt_sketch_refuse(reader->sketch, "has no output");
    vrt_dag_set_where(reader->sketch->dag, type, name[0] ? name : reader->node->output[0]);
    int r = find_inputs(reader);
    if (r < 0)
        return r;
    if (strcmp(type, "Constant") == 0)
        r = vrt_carrier_onnx_constant(reader, &value);
    if (r < 0)
        return r;
    if (is_of_data(reader)) {
        size_t i = 0;
        while (i < VRT_ARRAY_SIZE(kinds) && strcmp(kinds[i].type, type) != 0)
            i++;
        if (i == VRT_ARRAY_SIZE(kinds))
            return vrt_sketch_refuse(reader->sketch, "is an operation that SwinIR hasn't got");
        value = kinds[i].read(reader);
    } else if (value.kind == VRT_CARRIER_OTHER) {
        r = vrt_carrier_onnx_constants(reader, type, &value);
        if (r < 0)
            return r;
    }
    for (size_t i = 0; i < reader->node->n_output && reader->sketch->r == 0; i++)
        r = r < 0 ? r : put(reader, reader->node->output[i],
                            i == 0 ? &value : &(struct vrt_carrier_value){ 0 });
    return reader->sketch->r < 0 ? reader->sketch->r : r;
}

static int read_beginning(struct vrt_carrier_onnx *reader, const VrtPb__Graph *graph)
{
    int r = 0, n_inputs = 0;

    for (size_t i = 0; i < graph->n_initializer && r == 0; i++) {
        struct vrt_carrier_value value = { .kind = VRT_CARRIER_CONSTANT };

        vrt_dag_set_where(reader->sketch->dag, "tensor",
                          vrt_onnx_text(graph->initializer[i]->name));
        r = vrt_onnx_constant_of(&reader->onnx, graph->initializer[i], &value.source);
        if (r == 0)
            r = put(reader, graph->initializer[i]->name, &value);
    }
    if (r < 0)
        return r;
    const int input = vrt_sketch_node(reader->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_INPUT });
    for (size_t i = 0; i < graph->n_input && r == 0; i++)
        if (!vrt_dag_names_find(&reader->names, text_of(graph->input[i]->name))) {
            const struct vrt_carrier_value picture = data(input);
            r = put(reader, graph->input[i]->name, &picture);
            n_inputs++;
        }
    if (r < 0)
        return r;
    vrt_dag_set_where(reader->sketch->dag, "file", "");
    if (n_inputs != 1 || graph->n_output != 1)
        return vrt_sketch_refuse(reader->sketch, "has %d inputs and %zu outputs; SwinIR has one of "
                                 "both", n_inputs, graph->n_output);
    return 0;
}

static int read_graph(struct vrt_carrier_onnx *reader, const VrtPb__Graph *graph, int *ret_result)
{
    int r = read_beginning(reader, graph);

    for (size_t i = 0; i < graph->n_node && r == 0; i++) {
        reader->node = graph->node[i];
        r = read_node(reader);
    }
    if (r < 0)
        return r;
    vrt_dag_set_where(reader->sketch->dag, "file", "");
    const struct vrt_dag_name *name = vrt_dag_names_find(&reader->names,
                                                         text_of(graph->output[0]->name));
    const struct vrt_carrier_value *result = name ? &reader->values[name->value] : NULL;
    if (!result || result->kind != VRT_CARRIER_DATA || result->axes ||
        (result->is_cut && result->start != 0))
        return vrt_sketch_refuse(reader->sketch, "has an output that isn't SwinIR's");
    *ret_result = result->node;
    return 0;
}

int vrt_carrier_swinir_read_onnx(const struct vrt_dag_file *file, struct vrt_sketch *sketch,
                                 int *ret_channels, int *ret_result)
{
    struct vrt_cp_arena arena = { 0 };
    struct vrt_carrier_onnx reader = {
        .onnx = { .file = file, .dag = sketch->dag, .arena = &arena }, .sketch = sketch,
    };
    const VrtPb__Graph *graph;

    int r = vrt_onnx_unpack(&reader.onnx, &graph);

    if (r >= 0)
        r = read_graph(&reader, graph, ret_result);
    *ret_channels = reader.channels;
    free(reader.values);
    vrt_dag_names_done(&reader.names);
    vrt_cp_arena_done(&arena);
    return vrt_fold(r);
}
