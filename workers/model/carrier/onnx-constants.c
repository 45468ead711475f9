/* SPDX-License-Identifier: MIT */
/* ONNX's constants, in other shapes where the file has them so. */

#include <stdlib.h>
#include <string.h>

#include "model/carrier/swinir-onnx.h"

int vrt_carrier_onnx_constant(struct vrt_carrier_onnx *reader, struct vrt_carrier_value *ret_value)
{
    const VrtPb__Attribute *a = reader->node->n_attribute ? reader->node->attribute[0] : NULL;
    struct vrt_onnx_constant *constant = &ret_value->source;

    ret_value->kind = VRT_CARRIER_CONSTANT;
    if (a && a->t)
        return vrt_onnx_constant_of(&reader->onnx, a->t, constant);
    const bool is_list = a && (a->n_floats || a->n_ints);
    if (!a || (!is_list && !a->has_f && !a->has_i) || (a->n_floats && a->n_ints)) {
        ret_value->kind = VRT_CARRIER_OTHER;
        return 0;
    }
    constant->attribute = a;
    constant->n = is_list ? (int64_t)VRT_MAX(a->n_floats, a->n_ints) : 1;
    constant->n_dims = is_list;
    constant->dims[0] = constant->n;
    return 0;
}

int vrt_carrier_onnx_number(struct vrt_carrier_onnx *reader, int i)
{
    struct vrt_carrier_value *value = &reader->values[reader->places[i]];
    float *values;

    if (value->number || reader->sketch->r < 0)
        return value->number;
    int r = vrt_onnx_numbers(&reader->onnx, &value->source, &values);
    if (r < 0)
        reader->sketch->r = r;
    else
        value->number = vrt_sketch_constant_new(reader->sketch, value->source.dims,
                                                value->source.n_dims, values);
    return value->number;
}

/* Dimensions that follow from a constant's own and what Reshape says. Return: how many. */
static int reshaped(struct vrt_carrier_onnx *reader, const struct vrt_sketch_constant *of,
                    int64_t *dims)
{
    const struct vrt_onnx_constant *said = &reader->in[1].source;
    int64_t rest = of->n;
    int open = -1;

    if (reader->in[1].kind != VRT_CARRIER_CONSTANT || reader->values[reader->places[1]].is_made ||
        said->n < 1 || said->n > VRT_SKETCH_DIMS_MAX)
        return 0;
    for (int d = 0; d < (int)said->n; d++) {
        dims[d] = vrt_onnx_integer(said, d);
        if (dims[d] == 0 && d < of->n_dims)
            dims[d] = of->dims[d];
        if (dims[d] == -1)
            open = d;
        else if (dims[d] < 1 || rest % dims[d] != 0)
            return 0;
        else
            rest /= dims[d];
    }
    if (open >= 0)
        dims[open] = rest;
    return (int)said->n;
}

int vrt_carrier_onnx_constants(struct vrt_carrier_onnx *reader, const char *type,
                               struct vrt_carrier_value *ret_value)
{
    const VrtPb__Attribute *perm = vrt_onnx_attribute(reader->node, "perm");
    int64_t dims[VRT_SKETCH_DIMS_MAX];
    int made = 0, n_dims;

    if (reader->places[0] < 0 || reader->in[0].kind != VRT_CARRIER_CONSTANT)
        return 0;
    if (strcmp(type, "Identity") == 0 || strcmp(type, "Cast") == 0) {
        *ret_value = (struct vrt_carrier_value){
            .kind = VRT_CARRIER_CONSTANT, .number = vrt_carrier_onnx_number(reader, 0),
            .is_made = true,
        };
        return reader->sketch->r;
    }
    if (strcmp(type, "Reshape") != 0 && strcmp(type, "Transpose") != 0 &&
        strcmp(type, "Unsqueeze") != 0 && strcmp(type, "Gather") != 0)
        return 0;
    const int number = vrt_carrier_onnx_number(reader, 0);
    if (!number)
        return reader->sketch->r;
    const struct vrt_sketch_constant of = *vrt_sketch_constant(reader->sketch, number);
    if (strcmp(type, "Transpose") == 0 && perm && (int)perm->n_ints == of.n_dims) {
        made = vrt_sketch_constant_turned(reader->sketch, number, perm->ints);
    } else if (strcmp(type, "Gather") == 0 && of.n_dims == 2 &&
               reader->in[1].kind == VRT_CARRIER_CONSTANT) {
        const int rows = vrt_carrier_onnx_number(reader, 1);
        made = rows ? vrt_sketch_constant_rows(reader->sketch, number, rows) : 0;
    } else if (strcmp(type, "Unsqueeze") == 0 && of.n_dims < VRT_SKETCH_DIMS_MAX) {
        dims[0] = 1;
        memcpy(&dims[1], of.dims, (size_t)of.n_dims * sizeof(dims[0]));
        made = vrt_sketch_constant_shaped(reader->sketch, number, dims, of.n_dims + 1);
    } else if (strcmp(type, "Reshape") == 0 && (n_dims = reshaped(reader, &of, dims)) > 0) {
        made = vrt_sketch_constant_shaped(reader->sketch, number, dims, n_dims);
    }
    if (made)
        *ret_value = (struct vrt_carrier_value){ .kind = VRT_CARRIER_CONSTANT, .number = made,
                                                 .is_made = true };
    return reader->sketch->r;
}
