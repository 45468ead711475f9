/* SPDX-License-Identifier: MIT */
/* An ONNX tensor's numbers: raw bytes, or in a field for their type. */

#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/checkpoint.h"
#include "engine/dag/onnx.h"

enum { TYPE_FLOAT = 1, TYPE_INT32 = 6, TYPE_INT64 = 7, TYPE_FLOAT16 = 10, TYPE_DOUBLE = 11,
       TYPE_BFLOAT16 = 16 };

/* Types of weights that were quantised, which need their scales. */
static const char *name_of_type(int type)
{
    static const char *const names[] = {
        [2] = "8 bit integers", [3] = "8 bit integers", [4] = "16 bit integers",
        [5] = "16 bit integers", [9] = "truth values", [17] = "8 bit floats",
        [18] = "8 bit floats", [19] = "8 bit floats", [20] = "8 bit floats",
        [21] = "4 bit integers", [22] = "4 bit integers",
    };

    return type >= 0 && type < (int)VRT_ARRAY_SIZE(names) && names[type] ? names[type] :
           "numbers of another type";
}

/* Where the numbers are, and of which type they are there. */
struct place {
    enum vrt_checkpoint_dtype dtype;
    const void *data;
    size_t n_bytes;
    int step;                       /* from one to the next, in numbers of that type */
};

static bool find_place(const VrtPb__Tensor *tensor, struct place *ret_place)
{
    static const struct {
        int type;
        enum vrt_checkpoint_dtype dtype;
    } types[] = {
        { TYPE_FLOAT, VRT_CHECKPOINT_F32 }, { TYPE_INT32, VRT_CHECKPOINT_I32 },
        { TYPE_INT64, VRT_CHECKPOINT_I64 }, { TYPE_FLOAT16, VRT_CHECKPOINT_F16 },
        { TYPE_DOUBLE, VRT_CHECKPOINT_F64 }, { TYPE_BFLOAT16, VRT_CHECKPOINT_BF16 },
    };
    struct place *place = ret_place;
    size_t i = 0;

    while (i < VRT_ARRAY_SIZE(types) && types[i].type != tensor->data_type)
        i++;
    if (i == VRT_ARRAY_SIZE(types))
        return false;
    *place = (struct place){ types[i].dtype, tensor->raw_data.data, tensor->raw_data.len, 1 };
    if (tensor->raw_data.len > 0)
        return true;
    switch (tensor->data_type) {
    case TYPE_FLOAT:
        place->data = tensor->float_data;
        place->n_bytes = tensor->n_float_data * sizeof(float);
        break;
    case TYPE_INT64:
        place->data = tensor->int64_data;
        place->n_bytes = tensor->n_int64_data * sizeof(int64_t);
        break;
    case TYPE_DOUBLE:
        place->data = tensor->double_data;
        place->n_bytes = tensor->n_double_data * sizeof(double);
        break;
    default:
        /* Shorter types have their bits in the lower half of each. */
        place->step = tensor->data_type == TYPE_INT32 ? 1 : 2;
        place->data = tensor->int32_data;
        place->n_bytes = tensor->n_int32_data * sizeof(int32_t);
    }
    return true;
}

int vrt_onnx_constant_of(struct vrt_onnx_reader *reader, const VrtPb__Tensor *tensor,
                         struct vrt_onnx_constant *ret_constant)
{
    struct vrt_onnx_constant constant = { .tensor = tensor, .n = 1 };
    struct place place;

    if (tensor->n_external_data > 0 || tensor->data_location != 0)
        return vrt_dag_refuse(reader->dag, "has its numbers in another file (external data), which "
                              "vrtd doesn't open: save the model as one file");
    if (tensor->n_dims > VRT_ONNX_DIMS_MAX)
        return vrt_dag_refuse(reader->dag, "has %zu dimensions", tensor->n_dims);
    if (!find_place(tensor, &place))
        return vrt_dag_refuse(reader->dag, "holds %s, which vrtd doesn't read: take the network's "
                              "fp32 or fp16 file", name_of_type(tensor->data_type));
    constant.n_dims = (int)tensor->n_dims;
    for (size_t i = 0; i < tensor->n_dims; i++) {
        constant.dims[i] = tensor->dims[i];
        if (tensor->dims[i] < 0 ||
            __builtin_mul_overflow(constant.n, tensor->dims[i], &constant.n))
            return vrt_dag_refuse(reader->dag, "has a dimension of %lld",
                                  (long long)tensor->dims[i]);
    }
    const uint64_t n = place.n_bytes / vrt_checkpoint_dtype_bytes(place.dtype) /
                       (uint64_t)place.step;
    if ((uint64_t)constant.n != n)
        return vrt_dag_refuse(reader->dag, "says that it has %lld numbers, and has %llu",
                              (long long)constant.n, (unsigned long long)n);
    *ret_constant = constant;
    return 0;
}

/* The numbers of an attribute: one, or a list. */
static float attribute_number(const VrtPb__Attribute *a, int64_t i)
{
    return a->n_floats ? a->floats[i] : a->n_ints ? (float)a->ints[i] :
           a->has_f ? a->f : (float)a->i;
}

int vrt_onnx_numbers(struct vrt_onnx_reader *reader, const struct vrt_onnx_constant *constant,
                     float **ret_values)
{
    struct place place;
    int r = vrt_dag_alloc(reader->dag, constant->n, ret_values);

    if (r < 0)
        return r;
    for (int64_t i = 0; constant->attribute && i < constant->n; i++)
        (*ret_values)[i] = attribute_number(constant->attribute, i);
    if (constant->attribute || !find_place(constant->tensor, &place))
        return 0;
    vrt_checkpoint_read_f32(&(struct vrt_checkpoint_tensor){
        .dtype = place.dtype,
        .n_dims = 1,
        .dims = { constant->n },
        .strides = { place.step },
        .n_elements = constant->n,
        .data = place.data,
    }, *ret_values);
    return 0;
}

int64_t vrt_onnx_integer(const struct vrt_onnx_constant *constant, int64_t i)
{
    struct place place;
    int64_t value = 0;
    float number;

    if (i < 0 || i >= constant->n)
        return 0;
    if (constant->attribute)
        return constant->attribute->n_ints ? constant->attribute->ints[i] :
               constant->attribute->has_i ? constant->attribute->i : 0;
    if (!find_place(constant->tensor, &place))
        return 0;
    if (place.dtype == VRT_CHECKPOINT_I64) {
        memcpy(&value, (const char *)place.data + (size_t)i * sizeof(value), sizeof(value));
        return value;
    }
    vrt_checkpoint_read_f32(&(struct vrt_checkpoint_tensor){
        .dtype = place.dtype, .n_dims = 1, .dims = { 1 }, .strides = { 1 }, .n_elements = 1,
        .data = (const char *)place.data +
                (size_t)i * (size_t)place.step * vrt_checkpoint_dtype_bytes(place.dtype),
    }, &number);
    return number > -1e9f && number < 1e9f ? (int64_t)number : 0;
}
