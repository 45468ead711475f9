/* SPDX-License-Identifier: MIT */
/*
 * ONNX: a message of protocol buffers (onnx.proto), whose operations are in order
 *
 * The library makes a copy of the file's parts, from an arena with a budget: a hostile file can't
 * make it take more, and all is freed at once.
 */

#include "engine/dag/onnx-sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/checkpoint/arena.h"

#define OPSET_MIN 11
#define OPSET_MAX 20
#define FILE_BYTES_MAX ((size_t)1 << 30)

/* Parts of a file may take this many times its size, and so much besides. */
#define ARENA_PER_BYTE 4
#define ARENA_BYTES_MIN (16 << 20)

static struct vrt_text text_of(const char *text)
{
    return (struct vrt_text){ vrt_onnx_text(text), strlen(vrt_onnx_text(text)) };
}

const struct vrt_onnx_value *vrt_onnx_in(const struct vrt_onnx_reader *reader, size_t i)
{
    if (i >= reader->node->n_input || !vrt_onnx_text(reader->node->input[i])[0])
        return NULL;
    const struct vrt_dag_name *name = vrt_dag_names_find(&reader->names,
                                                         text_of(reader->node->input[i]));
    return name ? &reader->values[name->value] : NULL;
}

const VrtPb__Attribute *vrt_onnx_attribute(const VrtPb__Node *node, const char *name)
{
    for (size_t i = 0; i < node->n_attribute; i++)
        if (strcmp(vrt_onnx_text(node->attribute[i]->name), name) == 0)
            return node->attribute[i];
    return NULL;
}

bool vrt_onnx_is(const VrtPb__Node *node, const char *name, const char *otherwise,
                 const char *wanted)
{
    const VrtPb__Attribute *a = vrt_onnx_attribute(node, name);

    if (!a || !a->s.data)
        return strcmp(otherwise, wanted) == 0;
    return a->s.len == strlen(wanted) && memcmp(a->s.data, wanted, a->s.len) == 0;
}

int64_t vrt_onnx_int(const VrtPb__Node *node, const char *name, int64_t otherwise)
{
    const VrtPb__Attribute *a = vrt_onnx_attribute(node, name);

    return a && a->has_i ? a->i : otherwise;
}

float vrt_onnx_float(const VrtPb__Node *node, const char *name, float otherwise)
{
    const VrtPb__Attribute *a = vrt_onnx_attribute(node, name);

    return a && a->has_f ? a->f : otherwise;
}

/* From now on `name` is that value. */
static int put(struct vrt_onnx_reader *reader, const char *name,
               const struct vrt_onnx_value *value)
{
    int r = vrt_dag_names_put(&reader->names, text_of(name), reader->n_values);

    if (r == -EEXIST)
        return vrt_dag_refuse(reader->dag, "makes what another has made before");
    if (r == 0 && reader->n_values == reader->capacity) {
        const int capacity = reader->capacity ? 2 * reader->capacity : 64;
        struct vrt_onnx_value *values = reallocarray(reader->values, (size_t)capacity,
                                                     sizeof(*values));
        if (values) {
            reader->values = values;
            reader->capacity = capacity;
        } else {
            r = vrt_raise(-ENOMEM);
        }
    }
    if (r < 0)
        return vrt_refuse_errno(reader->file->error, r, reader->file->name);
    reader->values[reader->n_values++] = *value;
    return 0;
}

static int read_initializers(struct vrt_onnx_reader *reader, const VrtPb__Graph *graph)
{
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const VrtPb__Tensor *tensor = graph->initializer[i];
        struct vrt_onnx_value value = { .kind = VRT_ONNX_CONSTANT };

        vrt_dag_set_where(reader->dag, "tensor", vrt_onnx_text(tensor->name));
        int r = vrt_onnx_constant_of(reader, tensor, &value.constant);
        if (r < 0)
            return r;
        r = put(reader, tensor->name, &value);
        if (r < 0)
            return r;
    }
    return 0;
}

/* How many channels come in, where the file leaves it open: by the first convolution, which may
 * read squares of them. */
static int guess_channels(const struct vrt_onnx_reader *reader, const VrtPb__Graph *graph)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const VrtPb__Node *node = graph->node[i];
        const struct vrt_dag_name *name;

        if (strcmp(vrt_onnx_text(node->op_type), "Conv") != 0 || node->n_input < 2)
            continue;
        name = vrt_dag_names_find(&reader->names, text_of(node->input[1]));
        return name && reader->values[name->value].constant.n_dims == 4 &&
               reader->values[name->value].constant.dims[1] % 3 != 0 ? 1 : 3;
    }
    return 3;
}

static int read_input(struct vrt_onnx_reader *reader, const VrtPb__Graph *graph,
                      const VrtPb__ValueInfo *input)
{
    const VrtPb__TensorType *type = input->type ? input->type->tensor_type : NULL;
    const VrtPb__Shape *shape = type ? type->shape : NULL;
    struct vrt_onnx_value value = { .kind = VRT_ONNX_NODE, .is_raw = true };
    int64_t channels = 0;

    vrt_dag_set_where(reader->dag, "input", vrt_onnx_text(input->name));
    if (type && type->elem_type != 1 && type->elem_type != 10 && type->elem_type != 16)
        return vrt_dag_refuse(reader->dag, "takes integers (type %d); vrtd gives numbers from 0 to "
                              "1", type->elem_type);
    if (shape && shape->n_dim != 4)
        return vrt_dag_refuse(reader->dag, "has %zu dimensions, not 4: pictures, channels, height "
                              "and width", shape->n_dim);
    if (shape)
        channels = shape->dim[1]->dim_value;
    vrt_onnx_probe(reader, shape ? shape->dim[2]->dim_value : 0,
                   shape ? shape->dim[3]->dim_value : 0);
    if (channels <= 0)
        channels = guess_channels(reader, graph);
    value.node = vrt_dag_input(reader->dag, channels > 8192 ? 8192 : (int)channels);
    if (value.node < 0)
        return value.node;
    return put(reader, input->name, &value);
}

/* In older files initializers are inputs as well. */
static int read_inputs(struct vrt_onnx_reader *reader, const VrtPb__Graph *graph)
{
    for (size_t i = 0; i < graph->n_input; i++) {
        const struct vrt_dag_name *name = vrt_dag_names_find(&reader->names,
                                                             text_of(graph->input[i]->name));
        int r = name && reader->values[name->value].kind == VRT_ONNX_CONSTANT ? 0 :
                read_input(reader, graph, graph->input[i]);
        if (r < 0)
            return r;
    }
    vrt_dag_set_where(reader->dag, "file", "");
    return reader->dag->n_nodes > 0 ? 0 : vrt_dag_refuse(reader->dag, "has no input");
}

static bool is_one_of(const char *type, const char *const *types)
{
    while (*types && strcmp(type, *types) != 0)
        types++;
    return *types;
}

/* Whether a picture that was cut at its end, or comes with an edge and without, may be read. */
static int check_edge(struct vrt_onnx_reader *reader, const struct vrt_onnx_value *value)
{
    static const char *const of_sizes[] = { "Shape", "Pad", "Identity", "Cast", NULL };
    static const char *const of_ends[] = { "Shape", "Slice", "Clip", "Identity", "Cast", NULL };
    const char *type = vrt_onnx_text(reader->node->op_type);
    const bool reads_raw = value->is_raw && !is_one_of(type, of_sizes);

    if ((reads_raw && reader->has_edge) || (value->cropped && !is_one_of(type, of_ends)))
        return vrt_dag_refuse(reader->dag, "reads a picture %s: vrtd has no op for that",
                              value->cropped ? "whose edge was cut off" :
                              "without the edge that others read it with");
    reader->is_raw_read |= reads_raw;
    return 0;
}

/* Whether all that the operation reads is there, and may be read. */
static int check_inputs(struct vrt_onnx_reader *reader)
{
    char shown[64];
    int r = 0;

    for (size_t i = 0; i < reader->node->n_input; i++) {
        const struct vrt_onnx_value *value = vrt_onnx_in(reader, i);

        if (!value && vrt_onnx_text(reader->node->input[i])[0])
            return vrt_dag_refuse(reader->dag, "reads \"%s\", which no operation before it makes",
                                  vrt_printable(reader->node->input[i], shown, sizeof(shown)));
        if (value && value->is_padded && strcmp(vrt_onnx_text(reader->node->op_type),
                                                "Squeeze") != 0)
            return vrt_dag_refuse(reader->dag, "reads pictures of six dimensions");
        if (value && value->is_clipped && strcmp(vrt_onnx_text(reader->node->op_type), "Cast") != 0)
            return vrt_dag_refuse(reader->dag, "reads what was cut off to 0 and 1: vrtd has no op "
                                  "for that but at the end");
        r = value && value->kind != VRT_ONNX_CONSTANT ? check_edge(reader, value) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

static int read_node(struct vrt_onnx_reader *reader, const VrtPb__Node *node)
{
    struct vrt_onnx_value value = { 0 };
    const char *name = vrt_onnx_text(node->name);

    reader->node = node;
    if (!name[0] && node->n_output)
        name = vrt_onnx_text(node->output[0]);
    vrt_dag_set_where(reader->dag, vrt_onnx_text(node->op_type), name);
    int r = check_inputs(reader);
    if (r < 0)
        return r;
    r = vrt_onnx_operate(reader, &value);
    if (r < 0)
        return r;
    if (node->n_output < 1)
        return vrt_dag_refuse(reader->dag, "has no output");
    return put(reader, node->output[0], &value);
}

static int read_graph(struct vrt_onnx_reader *reader, const VrtPb__Graph *graph)
{
    int r = read_initializers(reader, graph);
    if (r < 0)
        return r;
    r = read_inputs(reader, graph);
    for (size_t i = 0; i < graph->n_node && r == 0; i++)
        r = read_node(reader, graph->node[i]);
    if (r < 0)
        return r;
    vrt_dag_set_where(reader->dag, "file", "");
    if (graph->n_output != 1)
        return vrt_dag_refuse(reader->dag, "has %zu outputs; vrtd runs networks with one",
                              graph->n_output);
    const struct vrt_dag_name *name = vrt_dag_names_find(&reader->names,
                                                         text_of(graph->output[0]->name));
    if (!name || reader->values[name->value].kind != VRT_ONNX_NODE)
        return vrt_dag_refuse(reader->dag, "has an output that no operation makes of the input");
    r = vrt_onnx_check_edge(reader, &reader->values[name->value]);
    return r < 0 ? r : vrt_dag_finish(reader->dag, reader->values[name->value].node);
}

/* Of the operations that the format itself has; others are refused where they come. */
static int check_opset(struct vrt_onnx_reader *reader, const VrtPb__Model *model)
{
    int64_t version = 0;

    for (size_t i = 0; i < model->n_opset_import; i++) {
        const char *domain = vrt_onnx_text(model->opset_import[i]->domain);

        if (!domain[0] || strcmp(domain, "ai.onnx") == 0)
            version = model->opset_import[i]->version;
    }
    reader->opset = version;
    if (version >= OPSET_MIN && version <= OPSET_MAX)
        return 0;
    return vrt_dag_refuse(reader->dag, "is of opset %lld; vrtd reads %d to %d: export it again, or "
                          "convert it (onnx.version_converter)", (long long)version, OPSET_MIN,
                          OPSET_MAX);
}

static void *allocate(void *arena, size_t size)
{
    return vrt_cp_arena_alloc(arena, 1, size);
}

static void leave(void *arena, void *pointer)
{
    (void)arena;
    (void)pointer;
}

int vrt_onnx_refuse_memory(const struct vrt_onnx_reader *reader)
{
    if (reader->arena->is_exhausted)
        return vrt_dag_refuse(reader->dag, "unfolds to many times its size");
    return vrt_refuse_errno(reader->dag->error, vrt_raise(-ENOMEM), reader->dag->source);
}

int vrt_onnx_unpack(struct vrt_onnx_reader *reader, const VrtPb__Graph **ret_graph)
{
    struct vrt_cp_arena *arena = reader->arena;
    ProtobufCAllocator allocator = { .alloc = allocate, .free = leave, .allocator_data = arena };
    const struct vrt_dag_file *file = reader->file;

    if (file->size_bytes > FILE_BYTES_MAX)
        return vrt_dag_refuse(reader->dag, "has %zu bytes, more than such a network may have",
                              file->size_bytes);
    vrt_cp_arena_init(arena, file->size_bytes * ARENA_PER_BYTE + ARENA_BYTES_MIN);
    int r = vrt_dag_file_need(file, 0, file->size_bytes);
    if (r < 0)
        return vrt_fold(r);
    const VrtPb__Model *model = vrt_pb__model__unpack(&allocator, file->size_bytes, file->data);
    if (!model && (arena->is_exhausted || arena->lacks_memory))
        return vrt_onnx_refuse_memory(reader);
    if (!model || !model->graph)
        return vrt_dag_refuse(reader->dag, "is cut short or damaged");
    *ret_graph = model->graph;
    return check_opset(reader, model);
}

static int read_file(struct vrt_onnx_reader *reader)
{
    const VrtPb__Graph *graph;
    int r = vrt_onnx_unpack(reader, &graph);

    if (r < 0)
        return vrt_fold(r);
    for (size_t i = 0; i < graph->n_node; i++) {
        const char *type = vrt_onnx_text(graph->node[i]->op_type);

        vrt_dag_note_type(reader->dag, type, strlen(type));
    }
    return reader->dag->is_carrier ? VRT_DAG_E_CARRIER : read_graph(reader, graph);
}

int vrt_onnx_read(const struct vrt_dag_file *file, struct vrt_dag **ret_dag)
{
    VRT_CLEANUP(vrt_dag_freep) struct vrt_dag *dag = NULL;
    struct vrt_cp_arena arena = { 0 };
    struct vrt_onnx_reader reader = { .file = file, .arena = &arena };

    int r = vrt_dag_new(file->name, "ONNX", vrt_dag_file_values_max(file), file->error, &dag);
    if (r < 0)
        return vrt_fold(r);
    reader.dag = dag;
    r = read_file(&reader);
    vrt_dag_names_done(&reader.names);
    free(reader.values);
    vrt_cp_arena_done(&arena);
    if (r != 0)
        return vrt_fold(r);
    *ret_dag = VRT_STEAL(dag);
    return 0;
}
