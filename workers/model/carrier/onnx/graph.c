/* SPDX-License-Identifier: MIT */

#include "model/carrier/onnx/graph.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

/* More than such a network has, however it was exported: each may be held for long. */
#define VALUES_MAX 65536
#define SIDE_MAX (1 << 14)

static struct vrt_text text_of(const char *text)
{
    return (struct vrt_text){ vrt_onnx_text(text), strlen(vrt_onnx_text(text)) };
}

int vrt_carrier_onnx_open(struct vrt_carrier_onnx *onnx, const struct vrt_dag_file *file,
                          struct vrt_dag *dag)
{
    onnx->onnx = (struct vrt_onnx_reader){ .file = file, .dag = dag, .arena = &onnx->arena };
    return vrt_fold(vrt_onnx_unpack(&onnx->onnx, &onnx->graph));
}

void vrt_carrier_onnx_done(struct vrt_carrier_onnx *onnx)
{
    for (int i = 0; i < onnx->n_values; i++)
        free(onnx->values[i].values);
    free(onnx->values);
    vrt_dag_names_done(&onnx->names);
    vrt_dag_names_done(&onnx->uses);
    vrt_cp_arena_done(&onnx->arena);
}

bool vrt_carrier_onnx_has(const struct vrt_carrier_onnx *onnx, const char *type)
{
    for (size_t i = 0; i < onnx->graph->n_node; i++)
        if (strcmp(vrt_onnx_text(onnx->graph->node[i]->op_type), type) == 0)
            return true;
    return false;
}

static int refuse_memory(const struct vrt_carrier_onnx *onnx, int r)
{
    return vrt_refuse_errno(onnx->onnx.file->error, r, onnx->onnx.file->name);
}

static int put(struct vrt_carrier_onnx *onnx, const char *name,
               const struct vrt_carrier_value *value)
{
    if (onnx->n_values == VALUES_MAX)
        return vrt_dag_refuse(onnx->onnx.dag, "is one of more than such a network has");
    if (onnx->n_values == onnx->capacity) {
        const int capacity = onnx->capacity ? 2 * onnx->capacity : 256;
        struct vrt_carrier_value *values = reallocarray(onnx->values, (size_t)capacity,
                                                        sizeof(*values));
        if (!values)
            return refuse_memory(onnx, vrt_raise(-ENOMEM));
        onnx->values = values;
        onnx->capacity = capacity;
    }
    int r = vrt_dag_names_put(&onnx->names, text_of(name), onnx->n_values);
    if (r == -EEXIST)
        return vrt_dag_refuse(onnx->onnx.dag, "makes what another has made before");
    if (r < 0)
        return refuse_memory(onnx, r);
    onnx->values[onnx->n_values++] = *value;
    return 0;
}

const VrtPb__ValueInfo *vrt_carrier_onnx_input(const struct vrt_carrier_onnx *onnx, int i)
{
    for (size_t k = 0; k < onnx->graph->n_input; k++) {
        const char *name = vrt_onnx_text(onnx->graph->input[k]->name);
        bool is_constant = false;

        for (size_t c = 0; c < onnx->graph->n_initializer && !is_constant; c++)
            is_constant = strcmp(vrt_onnx_text(onnx->graph->initializer[c]->name), name) == 0;
        if (!is_constant && i-- == 0)
            return onnx->graph->input[k];
    }
    return NULL;
}

bool vrt_carrier_onnx_shape_of(const struct vrt_carrier_onnx *onnx, const VrtPb__ValueInfo *input,
                               struct vrt_carrier_shape *ret_shape)
{
    const VrtPb__TensorType *type = input->type ? input->type->tensor_type : NULL;
    const VrtPb__Shape *shape = type ? type->shape : NULL;
    const int64_t otherwise[4] = { 1, 0, onnx->height, onnx->width };

    /* Of f32, f16 or bf16. */
    if (!shape || shape->n_dim > 4 ||
        (type->elem_type != 1 && type->elem_type != 10 && type->elem_type != 16))
        return false;
    *ret_shape = (struct vrt_carrier_shape){ .n_dims = (int)shape->n_dim };
    for (size_t d = 0; d < shape->n_dim; d++) {
        const int64_t dim = shape->dim[d]->dim_value;

        if (dim > SIDE_MAX)
            return false;
        ret_shape->dims[d] = dim > 0 ? dim : otherwise[d];
    }
    return true;
}

int vrt_carrier_onnx_put_input(struct vrt_carrier_onnx *onnx, const VrtPb__ValueInfo *input,
                               int data, const struct vrt_carrier_shape *shape)
{
    vrt_dag_set_where(onnx->onnx.dag, "input", vrt_onnx_text(input->name));
    return put(onnx, input->name, &(struct vrt_carrier_value){
        .kind = VRT_CARRIER_DATA, .shape = *shape, .data = data });
}

static int read_constant(struct vrt_carrier_onnx *onnx, const VrtPb__Tensor *tensor,
                         struct vrt_carrier_value *ret_value)
{
    struct vrt_carrier_value *value = ret_value;
    int r = vrt_onnx_constant_of(&onnx->onnx, tensor, &value->source);

    if (r < 0)
        return r;
    value->kind = VRT_CARRIER_NUMBERS;
    value->is_whole = tensor->data_type == 6 || tensor->data_type == 7;
    value->shape.n_dims = value->source.n_dims;
    memcpy(value->shape.dims, value->source.dims, sizeof(value->shape.dims));
    return 0;
}

/* The constant that the operation is. */
static int read_attribute(struct vrt_carrier_onnx *onnx, struct vrt_carrier_value *ret_value)
{
    const VrtPb__Attribute *a = onnx->node->n_attribute ? onnx->node->attribute[0] : NULL;
    const bool is_list = a && (a->n_floats || a->n_ints);

    if (a && a->t)
        return read_constant(onnx, a->t, ret_value);
    if (!a || (!is_list && !a->has_f && !a->has_i) || (a->n_floats && a->n_ints))
        return 0;
    ret_value->kind = VRT_CARRIER_NUMBERS;
    ret_value->source = (struct vrt_onnx_constant){ .attribute = a, .n_dims = is_list, .n = 1 };
    if (is_list)
        ret_value->source.n = (int64_t)VRT_MAX(a->n_floats, a->n_ints);
    ret_value->source.dims[0] = ret_value->source.n;
    ret_value->is_whole = a->n_ints || a->has_i;
    ret_value->shape.n_dims = is_list;
    ret_value->shape.dims[0] = ret_value->source.n;
    return 0;
}

int vrt_carrier_onnx_read_constants(struct vrt_carrier_onnx *onnx)
{
    int r = 0;

    for (size_t i = 0; i < onnx->graph->n_initializer && r == 0; i++) {
        struct vrt_carrier_value value = { .kind = VRT_CARRIER_OTHER };

        const VrtPb__Tensor *tensor = onnx->graph->initializer[i];

        vrt_dag_set_where(onnx->onnx.dag, "tensor", vrt_onnx_text(tensor->name));
        r = read_constant(onnx, tensor, &value);
        if (r == 0)
            r = put(onnx, tensor->name, &value);
    }
    for (size_t i = 0; i < onnx->graph->n_node && r == 0; i++)
        for (size_t k = 0; k < onnx->graph->node[i]->n_input && r == 0; k++) {
            const struct vrt_text name = text_of(onnx->graph->node[i]->input[k]);
            struct vrt_dag_name *known = vrt_dag_names_find(&onnx->uses, name);

            if (known)
                known->value++;
            else
                r = vrt_dag_names_put(&onnx->uses, name, 1);
            if (r < 0)
                return refuse_memory(onnx, r);
        }
    return r;
}

struct vrt_carrier_value *vrt_carrier_onnx_in(const struct vrt_carrier_onnx *onnx, int i)
{
    return i < onnx->n_in && onnx->places[i] >= 0 ? &onnx->values[onnx->places[i]] : NULL;
}

float *vrt_carrier_onnx_alloc(const struct vrt_carrier_onnx *onnx, int64_t n)
{
    float *values = malloc((size_t)VRT_MAX(n, 1) * sizeof(*values));

    if (!values)
        (void)refuse_memory(onnx, vrt_raise(-ENOMEM));
    return values;
}

const float *vrt_carrier_onnx_numbers(struct vrt_carrier_onnx *onnx, int i)
{
    struct vrt_carrier_value *value = vrt_carrier_onnx_in(onnx, i);

    if (!value || value->kind != VRT_CARRIER_NUMBERS || value->values)
        return value ? value->values : NULL;
    const int64_t n = vrt_carrier_shape_n(&value->shape);
    if (n < 1 || n > VRT_CARRIER_NUMBERS_MAX - onnx->n_live || n > onnx->onnx.dag->values_left)
        return NULL;
    if (vrt_onnx_numbers(&onnx->onnx, &value->source, &value->values) == 0)
        onnx->n_live += n;
    return value->values;
}

int vrt_carrier_onnx_take(struct vrt_carrier_onnx *onnx, int i, float **ret_values)
{
    const struct vrt_carrier_value *value = vrt_carrier_onnx_in(onnx, i);

    if (!value || value->kind != VRT_CARRIER_NUMBERS)
        return vrt_dag_refuse(onnx->onnx.dag, "has no constant as its input %d", i + 1);
    if (!value->values)
        return vrt_fold(vrt_onnx_numbers(&onnx->onnx, &value->source, ret_values));
    const int64_t n = vrt_carrier_shape_n(&value->shape);
    int r = vrt_dag_alloc(onnx->onnx.dag, n, ret_values);
    if (r < 0)
        return vrt_fold(r);
    memcpy(*ret_values, value->values, (size_t)n * sizeof(float));
    return 0;
}

int vrt_carrier_onnx_integers(struct vrt_carrier_onnx *onnx, const char *name, int i,
                              int64_t *ret_integers)
{
    const VrtPb__Attribute *a = name ? vrt_onnx_attribute(onnx->node, name) : NULL;
    const struct vrt_carrier_value *value = i < 0 ? NULL : vrt_carrier_onnx_in(onnx, i);
    const int64_t n = a ? (int64_t)a->n_ints : value ? vrt_carrier_shape_n(&value->shape) : 0;

    if (n > VRT_ONNX_DIMS_MAX || (!a && value && value->kind != VRT_CARRIER_NUMBERS))
        return -1;
    for (int k = 0; k < n; k++) {
        const float number = a || !value->values ? 0 : value->values[k];

        ret_integers[k] = a ? a->ints[k] : !value->values ? vrt_onnx_integer(&value->source, k) :
                          fabsf(number) < 9e18f ? (int64_t)number :
                          number > 0 ? INT64_MAX : INT64_MIN;
    }
    return (int)n;
}

/* Whether all integers of the attribute, as many as are there, are `wanted`. */
static bool are(struct vrt_carrier_onnx *onnx, const char *name, int64_t wanted)
{
    int64_t integers[VRT_ONNX_DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(onnx, name, -1, integers);

    for (int i = 0; i < n; i++)
        if (integers[i] != wanted)
            return false;
    return n >= 0;
}

bool vrt_carrier_onnx_is_conv(struct vrt_carrier_onnx *onnx, int64_t stride, int64_t pad)
{
    return are(onnx, "strides", stride) && are(onnx, "dilations", 1) && are(onnx, "pads", pad) &&
           are(onnx, "output_padding", 0) && vrt_onnx_int(onnx->node, "group", 1) == 1 &&
           (stride == 1 || vrt_onnx_attribute(onnx->node, "strides")) &&
           (pad == 0 || vrt_onnx_attribute(onnx->node, "pads")) &&
           vrt_onnx_is(onnx->node, "auto_pad", "NOTSET", "NOTSET");
}

bool vrt_carrier_onnx_number(struct vrt_carrier_onnx *onnx, int i, float *ret_number)
{
    const struct vrt_carrier_value *value = vrt_carrier_onnx_in(onnx, i);
    const bool is_one = value && value->kind == VRT_CARRIER_NUMBERS &&
                        vrt_carrier_shape_n(&value->shape) == 1;
    const float *values = is_one ? vrt_carrier_onnx_numbers(onnx, i) : NULL;

    if (values)
        *ret_number = *values;
    return values;
}

bool vrt_carrier_onnx_is_clip(struct vrt_carrier_onnx *onnx)
{
    float limits[2] = { 0, 1 };

    for (int i = 0; i < 2; i++)
        if (vrt_carrier_onnx_in(onnx, 1 + i) &&
            !vrt_carrier_onnx_number(onnx, 1 + i, &limits[i]))
            return false;
    return limits[0] <= 0 && limits[1] >= 1;
}

static int find_inputs(struct vrt_carrier_onnx *onnx)
{
    char shown[64];

    onnx->n_in = (int)VRT_MIN(onnx->node->n_input, (size_t)VRT_CARRIER_INPUTS_MAX);
    if (onnx->node->n_input > VRT_CARRIER_INPUTS_MAX)
        return vrt_dag_refuse(onnx->onnx.dag, "has more than %d inputs", VRT_CARRIER_INPUTS_MAX);
    for (int i = 0; i < onnx->n_in; i++) {
        const char *input = onnx->node->input[i];
        const struct vrt_dag_name *name = vrt_dag_names_find(&onnx->names, text_of(input));

        onnx->places[i] = name && vrt_onnx_text(input)[0] ? name->value : -1;
        if (!name && vrt_onnx_text(input)[0])
            return vrt_dag_refuse(onnx->onnx.dag, "reads \"%s\", which no operation before it "
                                  "makes", vrt_printable(input, shown, sizeof(shown)));
    }
    return 0;
}

/* Lets numbers go that no operation reads any more. */
static void leave_inputs(struct vrt_carrier_onnx *onnx)
{
    for (int i = 0; i < onnx->n_in; i++) {
        struct vrt_dag_name *uses = vrt_dag_names_find(&onnx->uses, text_of(onnx->node->input[i]));
        struct vrt_carrier_value *value = vrt_carrier_onnx_in(onnx, i);

        if (!uses || --uses->value > 0 || !value || !value->values)
            continue;
        onnx->n_live -= vrt_carrier_shape_n(&value->shape);
        free(value->values);
        value->values = NULL;
        if (!value->source.n)
            value->kind = VRT_CARRIER_OTHER;
    }
}

/* Whether it is one of a picture's samples, rather than of sizes. */
static bool is_of_data(const struct vrt_carrier_onnx *onnx)
{
    bool is_data = false;

    for (int i = 0; i < onnx->n_in; i++)
        is_data |= onnx->places[i] >= 0 &&
                   onnx->values[onnx->places[i]].kind == VRT_CARRIER_DATA;
    return is_data && strcmp(vrt_onnx_text(onnx->node->op_type), "Shape") != 0;
}

static int read_output(struct vrt_carrier_onnx *onnx, const struct vrt_carrier_op *ops,
                       void *network, struct vrt_carrier_value *ret_value)
{
    const char *type = vrt_onnx_text(onnx->node->op_type);
    struct vrt_carrier_value *value = ret_value;

    if (strcmp(type, "Constant") == 0)
        return read_attribute(onnx, value);
    const bool has_shape = vrt_carrier_onnx_shape(onnx);
    value->shape = onnx->shape;
    if (!is_of_data(onnx)) {
        if (has_shape && vrt_carrier_onnx_compute(onnx, value))
            value->kind = VRT_CARRIER_NUMBERS;
        return 0;
    }
    while (ops->type && strcmp(ops->type, type) != 0)
        ops++;
    if (!ops->type)
        return vrt_dag_refuse(onnx->onnx.dag, "is an operation that %s hasn't got",
                              onnx->network);
    if (!has_shape)
        return vrt_dag_refuse(onnx->onnx.dag, "reads pictures of sizes that don't fit, or computes "
                              "them in a way that vrtd doesn't");
    value->kind = VRT_CARRIER_DATA;
    value->data = ops->read(network);
    return 0;
}

static int read_node(struct vrt_carrier_onnx *onnx, const struct vrt_carrier_op *ops,
                     void *network, const int *network_r)
{
    const char *type = vrt_onnx_text(onnx->node->op_type);
    const char *name = vrt_onnx_text(onnx->node->name);
    const char *output = onnx->node->n_output ? onnx->node->output[0] : "";
    const size_t n_read = strcmp(type, "Split") == 0 ? onnx->node->n_output : 1;

    vrt_dag_set_where(onnx->onnx.dag, type, name[0] ? name : output);
    if (onnx->node->n_output < 1)
        return vrt_dag_refuse(onnx->onnx.dag, "has no output");
    int r = find_inputs(onnx);
    if (r < 0)
        return r;
    for (onnx->output = 0; onnx->output < onnx->node->n_output && r == 0; onnx->output++) {
        struct vrt_carrier_value value = { .kind = VRT_CARRIER_OTHER };

        if (!vrt_onnx_text(onnx->node->output[onnx->output])[0])
            continue;
        if (onnx->output < n_read)
            r = read_output(onnx, ops, network, &value);
        if (r == 0 && *network_r == 0)
            r = put(onnx, onnx->node->output[onnx->output], &value);
        if (r < 0 || *network_r < 0)
            free(value.values);
        r = *network_r < 0 ? *network_r : r;
    }
    leave_inputs(onnx);
    return r;
}

const struct vrt_carrier_value *vrt_carrier_onnx_result(const struct vrt_carrier_onnx *onnx)
{
    const VrtPb__Graph *graph = onnx->graph;
    const struct vrt_dag_name *name = graph->n_output != 1 ? NULL :
        vrt_dag_names_find(&onnx->names, text_of(graph->output[0]->name));
    const struct vrt_carrier_value *value = name ? &onnx->values[name->value] : NULL;

    vrt_dag_set_where(onnx->onnx.dag, "file", "");
    return value && value->kind == VRT_CARRIER_DATA ? value : NULL;
}

int vrt_carrier_onnx_read(struct vrt_carrier_onnx *onnx, const struct vrt_carrier_op *ops,
                          void *network, const int *network_r)
{
    int r = 0;

    for (size_t i = 0; i < onnx->graph->n_node && r == 0; i++) {
        onnx->node = onnx->graph->node[i];
        r = read_node(onnx, ops, network, network_r);
        /* What can't be followed without these numbers is not the file's fault. */
        if (vrt_error_is(onnx->onnx.file->error, "out_of_memory"))
            r = -ENOMEM;
    }
    return vrt_fold(r);
}
