/* SPDX-License-Identifier: MIT */
/*
 * The names that a pickle may call: what each makes of its arguments.
 *
 * To be let in here, a name must stand for plain data in Python too. Whoever adds one adds a row.
 * A row's function looks at every argument's type before it uses it: a pickle passes what it likes.
 */

#include <errno.h>
#include <string.h>

#include "engine/checkpoint/pickle.h"

/* Keys are small numbers or addresses, in decimal. */
#define KEY_BYTES_MAX 64

enum kind {
    KIND_CALL,          /* may be called */
    KIND_STORAGE,       /* names the element type of a storage */
    KIND_DTYPE,         /* names the element type of a tensor */
};

struct vrt_pickle_known {
    const char *module, *name;
    enum kind kind;
    enum vrt_checkpoint_dtype dtype;
    int (*call)(struct vrt_pickle *pickle, const struct vrt_pickle_items *args,
                struct vrt_pickle_value *ret_value);
};

/* The n integers of a tuple, none or all; -1 where it is anything else. */
static int read_integers(const struct vrt_pickle_value *tuple, int64_t *integers)
{
    if (tuple->type != VRT_PICKLE_TUPLE && tuple->type != VRT_PICKLE_LIST)
        return -1;
    if (tuple->items->n > VRT_CHECKPOINT_DIMS_MAX)
        return -1;
    for (size_t i = 0; i < tuple->items->n; i++) {
        if (tuple->items->values[i].type != VRT_PICKLE_INT)
            return -1;
        integers[i] = tuple->items->values[i].integer;
    }
    return (int)tuple->items->n;
}

/* storage, offset, sizes, strides, ... */
static int call_tensor(struct vrt_pickle *pickle, const struct vrt_pickle_items *args,
                       struct vrt_pickle_value *ret_value)
{
    const struct vrt_pickle_value *v = args->values;
    struct vrt_pickle_tensor *tensor;

    if (args->n < 4 || v[0].type != VRT_PICKLE_STORAGE || v[1].type != VRT_PICKLE_INT)
        return vrt_pickle_refuse_damaged(pickle);
    tensor = vrt_cp_arena_alloc(&pickle->arena, 1, sizeof(*tensor));
    if (!tensor)
        return vrt_checkpoint_refuse_memory(pickle->source, &pickle->arena);
    *tensor = (struct vrt_pickle_tensor){
        .storage = v[0].storage, .dtype = v[0].storage->dtype, .offset = v[1].integer,
    };
    tensor->n_dims = read_integers(&v[2], tensor->dims);
    if (tensor->n_dims < 0 || read_integers(&v[3], tensor->strides) != tensor->n_dims)
        return vrt_pickle_refuse_damaged(pickle);
    *ret_value = (struct vrt_pickle_value){ VRT_PICKLE_TENSOR, .tensor = tensor };
    return 0;
}

/* ... requires_grad, hooks, dtype: over a storage that is plain bytes. */
static int call_tensor_v3(struct vrt_pickle *pickle, const struct vrt_pickle_items *args,
                          struct vrt_pickle_value *ret_value)
{
    const struct vrt_pickle_value *dtype = args->n >= 7 ? &args->values[6] : NULL;
    int r = call_tensor(pickle, args, ret_value);

    if (r < 0)
        return r;
    if (!dtype || dtype->type != VRT_PICKLE_GLOBAL)
        return vrt_pickle_refuse_damaged(pickle);
    if (!dtype->global->known || dtype->global->known->kind != KIND_DTYPE) {
        struct vrt_text_shown shown;

        return vrt_checkpoint_refuse(pickle->source, "holds a tensor of type %s, which cannot be "
                                     "used: save it as float32 or float16",
                                     vrt_text_show(dtype->global->name, &shown));
    }
    ((struct vrt_pickle_tensor *)(uintptr_t)ret_value->tensor)->dtype =
        dtype->global->known->dtype;
    return 0;
}

/* A parameter is its tensor. */
static int call_parameter(struct vrt_pickle *pickle, const struct vrt_pickle_items *args,
                          struct vrt_pickle_value *ret_value)
{
    if (!args->n || args->values[0].type != VRT_PICKLE_TENSOR)
        return vrt_pickle_refuse_damaged(pickle);
    *ret_value = args->values[0];
    return 0;
}

/* A tensor with attributes: function, class, the function's arguments, state. */
static int call_from_type(struct vrt_pickle *pickle, const struct vrt_pickle_items *args,
                          struct vrt_pickle_value *ret_value)
{
    const struct vrt_pickle_value *v = args->values;

    if (args->n < 3 || v[0].type != VRT_PICKLE_GLOBAL || v[2].type != VRT_PICKLE_TUPLE)
        return vrt_pickle_refuse_damaged(pickle);
    /* Of itself it would be called without end. */
    if (v[0].global->known && v[0].global->known->call == call_from_type)
        return vrt_pickle_refuse_damaged(pickle);
    return vrt_pickle_call(pickle, &v[0], &v[2], ret_value);
}

/* A dictionary: empty, or of a list of pairs, as Python 2 wrote it. */
static int call_dict(struct vrt_pickle *pickle, const struct vrt_pickle_items *args,
                     struct vrt_pickle_value *ret_value)
{
    const struct vrt_pickle_value *list = args->n ? &args->values[0] : NULL;
    struct vrt_pickle_value value = { .type = VRT_PICKLE_DICT };
    int r;

    value.items = vrt_cp_arena_alloc(&pickle->arena, 1, sizeof(*value.items));
    if (!value.items)
        return vrt_checkpoint_refuse_memory(pickle->source, &pickle->arena);
    *value.items = (struct vrt_pickle_items){ 0 };
    for (size_t i = 0; list && list->type == VRT_PICKLE_LIST && i < list->items->n; i++) {
        const struct vrt_pickle_value *pair = &list->items->values[i];

        if ((pair->type != VRT_PICKLE_LIST && pair->type != VRT_PICKLE_TUPLE) ||
            pair->items->n != 2)
            return vrt_pickle_refuse_damaged(pickle);
        for (int k = 0; k < 2; k++) {
            r = vrt_pickle_append(pickle, value.items, &pair->items->values[k]);
            if (r < 0)
                return r;
        }
    }
    *ret_value = value;
    return 0;
}

/* torch.Size(tuple) is the tuple. */
static int call_size(struct vrt_pickle *pickle, const struct vrt_pickle_items *args,
                     struct vrt_pickle_value *ret_value)
{
    if (args->n != 1 || args->values[0].type != VRT_PICKLE_TUPLE)
        return vrt_pickle_refuse_damaged(pickle);
    *ret_value = args->values[0];
    return 0;
}

/* Data that is of no use here: a number of numpy's, a set, a date. */
static int call_opaque(struct vrt_pickle *pickle, const struct vrt_pickle_items *args,
                       struct vrt_pickle_value *ret_value)
{
    (void)pickle;
    (void)args;
    *ret_value = (struct vrt_pickle_value){ .type = VRT_PICKLE_OPAQUE };
    return 0;
}

#define STORAGE(name, type) { "torch", name "Storage", KIND_STORAGE, VRT_CHECKPOINT_##type, NULL }
#define DTYPE(name, type) { "torch", name, KIND_DTYPE, VRT_CHECKPOINT_##type, NULL }
#define CALL(module, name, function) { module, name, KIND_CALL, 0, function }

static const struct vrt_pickle_known known[] = {
    CALL("torch._utils", "_rebuild_tensor_v2", call_tensor),
    CALL("torch._utils", "_rebuild_tensor", call_tensor),
    CALL("torch._utils", "_rebuild_tensor_v3", call_tensor_v3),
    CALL("torch._utils", "_rebuild_parameter", call_parameter),
    CALL("torch._utils", "_rebuild_parameter_with_state", call_parameter),
    CALL("torch._tensor", "_rebuild_from_type_v2", call_from_type),
    CALL("torch._tensor", "_rebuild_from_type", call_from_type),
    CALL("torch.tensor", "_rebuild_from_type", call_from_type),
    CALL("torch", "Size", call_size),
    CALL("collections", "OrderedDict", call_dict),
    CALL("collections", "defaultdict", call_dict),
    CALL("collections", "Counter", call_dict),
    CALL("builtins", "dict", call_dict),
    CALL("__builtin__", "dict", call_dict),

    STORAGE("Float", F32), STORAGE("Half", F16), STORAGE("BFloat16", BF16),
    STORAGE("Double", F64), STORAGE("Long", I64), STORAGE("Int", I32), STORAGE("Short", I16),
    STORAGE("Char", I8), STORAGE("Byte", U8), STORAGE("Bool", BOOL), STORAGE("Untyped", U8),
    STORAGE("Typed", U8),
    DTYPE("float32", F32), DTYPE("float", F32), DTYPE("float16", F16), DTYPE("half", F16),
    DTYPE("bfloat16", BF16), DTYPE("float64", F64), DTYPE("double", F64), DTYPE("int64", I64),
    DTYPE("long", I64), DTYPE("int32", I32), DTYPE("int", I32), DTYPE("int16", I16),
    DTYPE("short", I16), DTYPE("int8", I8), DTYPE("uint8", U8), DTYPE("bool", BOOL),

    CALL("torch", "device", call_opaque),
    CALL("torch.serialization", "_get_layout", call_opaque),
    CALL("builtins", "set", call_opaque),
    CALL("builtins", "frozenset", call_opaque),
    CALL("builtins", "bytearray", call_opaque),
    CALL("builtins", "complex", call_opaque),
    CALL("builtins", "slice", call_opaque),
    CALL("builtins", "range", call_opaque),
    CALL("__builtin__", "set", call_opaque),
    CALL("__builtin__", "frozenset", call_opaque),
    CALL("__builtin__", "bytearray", call_opaque),
    CALL("__builtin__", "complex", call_opaque),
    CALL("__builtin__", "xrange", call_opaque),
    CALL("_codecs", "encode", call_opaque),
    CALL("numpy", "dtype", call_opaque),
    CALL("numpy.core.multiarray", "scalar", call_opaque),
    CALL("numpy.core.multiarray", "_reconstruct", call_opaque),
    CALL("numpy._core.multiarray", "scalar", call_opaque),
    CALL("numpy._core.multiarray", "_reconstruct", call_opaque),
    CALL("argparse", "Namespace", call_opaque),
    CALL("types", "SimpleNamespace", call_opaque),
    CALL("datetime", "datetime", call_opaque),
    CALL("datetime", "timedelta", call_opaque),
    CALL("decimal", "Decimal", call_opaque),
    CALL("fractions", "Fraction", call_opaque),
    CALL("uuid", "UUID", call_opaque),
    CALL("pathlib", "PosixPath", call_opaque),
    CALL("pathlib", "WindowsPath", call_opaque),
    CALL("pathlib", "PurePosixPath", call_opaque),
    CALL("pathlib", "PureWindowsPath", call_opaque),
};

const struct vrt_pickle_known *vrt_pickle_find_known(struct vrt_text module, struct vrt_text name)
{
    /* Where a storage was when it was saved does not matter. */
    bool is_torch = vrt_text_is(module, "torch.cuda") || vrt_text_is(module, "torch.storage");

    for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++)
        if (vrt_text_is(name, known[i].name) &&
            (vrt_text_is(module, known[i].module) ||
             (is_torch && known[i].kind == KIND_STORAGE)))
            return &known[i];
    return NULL;
}

int vrt_pickle_call(struct vrt_pickle *pickle, const struct vrt_pickle_value *callee,
                    const struct vrt_pickle_value *args, struct vrt_pickle_value *ret_value)
{
    struct vrt_text_shown module, name;

    if (callee->type != VRT_PICKLE_GLOBAL || args->type != VRT_PICKLE_TUPLE)
        return vrt_pickle_refuse_damaged(pickle);
    if (callee->global->known && callee->global->known->call)
        return callee->global->known->call(pickle, args->items, ret_value);
    return vrt_checkpoint_refuse(pickle->source, "contains a call of %s.%s, which is not data: "
                                 "nothing was run and the file is refused; if you trust it, save "
                                 "only its weights with PyTorch (the state_dict)",
                                 vrt_text_show(callee->global->module, &module),
                                 vrt_text_show(callee->global->name, &name));
}

/* How many elements into its storage a view begins: (key, offset, size), or None. */
static int64_t view_offset(const struct vrt_pickle_value *view)
{
    if (view->type == VRT_PICKLE_NONE)
        return 0;
    if (view->type != VRT_PICKLE_TUPLE || view->items->n != 3 ||
        view->items->values[1].type != VRT_PICKLE_INT)
        return -1;
    return view->items->values[1].integer;
}

/* Whether these are ("storage", type, key, device, n_elements), and perhaps more. */
static bool is_storage_id(const struct vrt_pickle_items *id)
{
    const struct vrt_pickle_value *v = id->values;

    return id->n >= 5 && v[0].type == VRT_PICKLE_TEXT && vrt_text_is(v[0].text, "storage") &&
           v[1].type == VRT_PICKLE_GLOBAL && v[2].type == VRT_PICKLE_TEXT &&
           v[2].text.size_bytes <= KEY_BYTES_MAX && v[4].type == VRT_PICKLE_INT;
}

/* Refuses what is no storage of numbers, by the name it has in the file. */
static int refuse_storage(struct vrt_pickle *pickle, const struct vrt_pickle_items *id)
{
    struct vrt_text_shown module, name;

    if (id->n && id->values[0].type == VRT_PICKLE_TEXT &&
        vrt_text_is(id->values[0].text, "module"))
        return vrt_checkpoint_refuse(pickle->source, "holds a whole Python program, not only "
                                     "weights: save only its state_dict with PyTorch");
    if (!is_storage_id(id))
        return vrt_pickle_refuse_damaged(pickle);
    return vrt_checkpoint_refuse(pickle->source, "holds a tensor stored as %s.%s, which cannot be "
                                 "used: save it as float32 or float16",
                                 vrt_text_show(id->values[1].global->module, &module),
                                 vrt_text_show(id->values[1].global->name, &name));
}

int vrt_pickle_make_storage(struct vrt_pickle *pickle, const struct vrt_pickle_value *id,
                            struct vrt_pickle_value *ret_value)
{
    const struct vrt_pickle_value *v;
    struct vrt_pickle_storage *storage;
    int64_t n_bytes, element_bytes, offset = 0;

    if (id->type != VRT_PICKLE_TUPLE)
        return vrt_pickle_refuse_damaged(pickle);
    v = id->items->values;
    if (!is_storage_id(id->items) || !v[1].global->known ||
        v[1].global->known->kind != KIND_STORAGE)
        return refuse_storage(pickle, id->items);
    element_bytes = (int64_t)vrt_checkpoint_dtype_bytes(v[1].global->known->dtype);
    if (id->items->n > 5)
        offset = view_offset(&v[5]);
    if (offset < 0 || offset > v[4].integer ||
        __builtin_mul_overflow(v[4].integer, element_bytes, &n_bytes))
        return vrt_pickle_refuse_damaged(pickle);

    storage = vrt_cp_arena_alloc(&pickle->arena, 1, sizeof(*storage));
    if (!storage)
        return vrt_checkpoint_refuse_memory(pickle->source, &pickle->arena);
    *storage = (struct vrt_pickle_storage){
        .key = v[2].text, .dtype = v[1].global->known->dtype, .n_bytes = (uint64_t)n_bytes,
        .view_bytes = (uint64_t)(offset * element_bytes),
        .element_bytes = (size_t)element_bytes,
    };
    storage->first = storage;
    *ret_value = (struct vrt_pickle_value){ VRT_PICKLE_STORAGE, .storage = storage };
    return vrt_pickle_append(pickle, &pickle->storages, ret_value);
}
