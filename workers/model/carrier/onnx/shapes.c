/* SPDX-License-Identifier: MIT */
/* The shapes that ONNX's operations make of those that they read: a table of rules. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "model/carrier/onnx/graph.h"

#define DIMS_MAX VRT_ONNX_DIMS_MAX
#define SIDE_MAX (INT64_C(1) << 31)

static const struct vrt_carrier_shape *shape_in(const struct vrt_carrier_onnx *onnx, int i)
{
    const struct vrt_carrier_value *value = vrt_carrier_onnx_in(onnx, i);

    return value && value->kind != VRT_CARRIER_OTHER ? &value->shape : NULL;
}

/* Axes of attribute or input, as bits. */
static bool read_axes(struct vrt_carrier_onnx *onnx, int i, int n_dims, int *ret_bits)
{
    int64_t axes[DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(onnx, "axes", i, axes);

    *ret_bits = 0;
    for (int k = 0; k < n; k++) {
        const int axis = vrt_carrier_axis(axes[k], n_dims);
        if (axis < 0)
            return false;
        *ret_bits |= 1 << axis;
    }
    return n >= 0;
}

static bool same(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *x = shape_in(onnx, 0);

    if (x)
        *ret_shape = *x;
    return x;
}

/* Both shapes from the last axis on, where 1 is as many as the other has. */
static bool join(const struct vrt_carrier_shape *a, const struct vrt_carrier_shape *b,
                 struct vrt_carrier_shape *ret_shape)
{
    const int n = VRT_MAX(a->n_dims, b->n_dims);
    struct vrt_carrier_shape joined = { .n_dims = n };

    for (int d = 0; d < n; d++) {
        const int64_t of_a = d < n - a->n_dims ? 1 : a->dims[d - (n - a->n_dims)];
        const int64_t of_b = d < n - b->n_dims ? 1 : b->dims[d - (n - b->n_dims)];

        if (of_a != of_b && of_a != 1 && of_b != 1)
            return false;
        joined.dims[d] = of_a == 1 ? of_b : of_a;
    }
    *ret_shape = joined;
    return true;
}

static bool broadcast(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    bool is_known = same(onnx, ret_shape);

    for (int i = 1; is_known && i < onnx->n_in; i++)
        is_known = shape_in(onnx, i) && join(ret_shape, shape_in(onnx, i), ret_shape);
    return is_known;
}

static bool conv(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *w = shape_in(onnx, 1);
    const bool is_transposed = strcmp(onnx->node->op_type, "ConvTranspose") == 0;
    int64_t pads[DIMS_MAX] = { 0 }, strides[DIMS_MAX] = { 1, 1 };
    const int n_pads = vrt_carrier_onnx_integers(onnx, "pads", -1, pads);
    const int n_strides = vrt_carrier_onnx_integers(onnx, "strides", -1, strides);

    if (!same(onnx, ret_shape) || !w || w->n_dims != 4 || ret_shape->n_dims != 4 ||
        (n_pads != 0 && n_pads != 4) || (n_strides != 0 && n_strides != 2) ||
        ret_shape->dims[1] != w->dims[is_transposed ? 0 : 1])
        return false;
    ret_shape->dims[1] = w->dims[is_transposed ? 1 : 0];
    for (int k = 0; k < 2; k++) {
        const int64_t size = ret_shape->dims[2 + k], edge = w->dims[2 + k];

        if (strides[k] < 1 || strides[k] > 64 || edge > 64 || pads[k] < 0 || pads[k] > 64 ||
            pads[2 + k] < 0 || pads[2 + k] > 64)
            return false;
        ret_shape->dims[2 + k] = is_transposed ?
            (size - 1) * strides[k] - pads[k] - pads[2 + k] + edge :
            (size + pads[k] + pads[2 + k] - edge) / strides[k] + 1;
    }
    return true;
}

static bool matmul(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *a = shape_in(onnx, 0), *b = shape_in(onnx, 1);

    if (!a || !b || a->n_dims < 2 || b->n_dims < 2 ||
        a->dims[a->n_dims - 1] != b->dims[b->n_dims - 2])
        return false;
    struct vrt_carrier_shape rows = *a, columns = *b;
    rows.n_dims -= 2;
    columns.n_dims -= 2;
    if (!join(&rows, &columns, ret_shape))
        return false;
    ret_shape->dims[ret_shape->n_dims++] = a->dims[a->n_dims - 2];
    ret_shape->dims[ret_shape->n_dims++] = b->dims[b->n_dims - 1];
    return true;
}

static bool gemm(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *b = shape_in(onnx, 1);
    const bool is_turned = vrt_onnx_int(onnx->node, "transB", 0);

    if (!same(onnx, ret_shape) || !b || b->n_dims != 2 || ret_shape->n_dims != 2 ||
        ret_shape->dims[1] != b->dims[is_turned])
        return false;
    ret_shape->dims[1] = b->dims[!is_turned];
    return true;
}

static bool mean(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    int bits;

    if (!same(onnx, ret_shape) || !vrt_onnx_int(onnx->node, "keepdims", 1) ||
        !read_axes(onnx, 1, ret_shape->n_dims, &bits))
        return false;
    for (int d = 0; d < ret_shape->n_dims; d++)
        if (bits >> d & 1)
            ret_shape->dims[d] = 1;
    return true;
}

int64_t vrt_carrier_limit(int64_t limit, int64_t n)
{
    return limit < -n ? 0 : limit < 0 ? limit + n : VRT_MIN(limit, n);
}

/* Forwards by one, or a whole axis backwards. */
static bool slice(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    int64_t starts[DIMS_MAX], ends[DIMS_MAX], axes[DIMS_MAX], steps[DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(onnx, NULL, 1, starts);
    const int n_axes = vrt_carrier_onnx_integers(onnx, NULL, 3, axes);
    const int n_steps = vrt_carrier_onnx_integers(onnx, NULL, 4, steps);

    if (!same(onnx, ret_shape) || n < 1 || vrt_carrier_onnx_integers(onnx, NULL, 2, ends) != n ||
        (n_axes != 0 && n_axes != n) || (n_steps != 0 && n_steps != n))
        return false;
    for (int k = 0; k < n; k++) {
        const int axis = vrt_carrier_axis(n_axes ? axes[k] : k, ret_shape->n_dims);
        const int64_t step = n_steps ? steps[k] : 1;

        if (axis < 0 || (step != 1 && step != -1))
            return false;
        const int64_t size = ret_shape->dims[axis];
        if (step < 0 && (vrt_carrier_limit(starts[k], size) < size - 1 || ends[k] > -size))
            return false;
        if (step > 0)
            ret_shape->dims[axis] = VRT_MAX(vrt_carrier_limit(ends[k], size) -
                                            vrt_carrier_limit(starts[k], size), 0);
    }
    return true;
}

static bool concat(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    if (!same(onnx, ret_shape))
        return false;
    const int axis = vrt_carrier_onnx_axis(onnx, ret_shape->n_dims);
    for (int i = 1; axis >= 0 && i < onnx->n_in; i++) {
        const struct vrt_carrier_shape *x = shape_in(onnx, i);

        if (!x || x->n_dims != ret_shape->n_dims)
            return false;
        for (int d = 0; d < x->n_dims; d++)
            if (d != axis && x->dims[d] != ret_shape->dims[d])
                return false;
        ret_shape->dims[axis] += x->dims[axis];
    }
    return axis >= 0;
}

static bool split(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    int64_t sizes[DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(onnx, "split", 1, sizes);
    const int64_t n_out = (int64_t)onnx->node->n_output;

    if (!same(onnx, ret_shape) || n < 0)
        return false;
    const int axis = vrt_carrier_onnx_axis(onnx, ret_shape->n_dims);
    if (axis < 0 || (n ? n != n_out : ret_shape->dims[axis] % n_out != 0))
        return false;
    ret_shape->dims[axis] = n ? sizes[onnx->output] : ret_shape->dims[axis] / n_out;
    return true;
}

static bool gather(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *x = shape_in(onnx, 0), *at = shape_in(onnx, 1);

    if (!x || !at || x->n_dims + at->n_dims > DIMS_MAX)
        return false;
    const int axis = vrt_carrier_onnx_axis(onnx, x->n_dims);
    ret_shape->n_dims = 0;
    for (int d = 0; axis >= 0 && d < x->n_dims; d++) {
        if (d != axis)
            ret_shape->dims[ret_shape->n_dims++] = x->dims[d];
        for (int k = 0; d == axis && k < at->n_dims; k++)
            ret_shape->dims[ret_shape->n_dims++] = at->dims[k];
    }
    return axis >= 0;
}

static bool transpose(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *x = shape_in(onnx, 0);
    int64_t perm[DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(onnx, "perm", -1, perm);
    int seen = 0;

    if (!x || (n != 0 && n != x->n_dims))
        return false;
    ret_shape->n_dims = x->n_dims;
    for (int d = 0; d < x->n_dims; d++) {
        const int64_t from = n ? perm[d] : x->n_dims - 1 - d;

        if (from < 0 || from >= x->n_dims || seen >> from & 1)
            return false;
        seen |= 1 << from;
        ret_shape->dims[d] = x->dims[from];
    }
    return true;
}

static bool reshape(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *x = shape_in(onnx, 0);
    int64_t dims[DIMS_MAX] = { 0 }, known = 1;
    const int n = vrt_carrier_onnx_integers(onnx, NULL, 1, dims);
    int open = -1;

    if (!x || n < 0)
        return false;
    for (int d = 0; d < n; d++) {
        if (dims[d] == 0 && d < x->n_dims && !vrt_onnx_int(onnx->node, "allowzero", 0))
            dims[d] = x->dims[d];
        if (dims[d] == -1 && open < 0)
            open = d;
        else if (dims[d] < 0 || __builtin_mul_overflow(known, dims[d], &known))
            return false;
    }
    const int64_t n_all = vrt_carrier_shape_n(x);
    if (open < 0 ? n_all != known : known == 0 || n_all % known != 0)
        return false;
    if (open >= 0)
        dims[open] = n_all / known;
    ret_shape->n_dims = n;
    memcpy(ret_shape->dims, dims, sizeof(dims));
    return true;
}

static bool flatten(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *x = shape_in(onnx, 0);
    const int64_t axis = vrt_onnx_int(onnx->node, "axis", 1);
    struct vrt_carrier_shape head = { 0 };

    if (!x || axis < 0 || axis > x->n_dims)
        return false;
    head = *x;
    head.n_dims = (int)axis;
    ret_shape->n_dims = 2;
    ret_shape->dims[0] = vrt_carrier_shape_n(&head);
    ret_shape->dims[1] = vrt_carrier_shape_n(x) / VRT_MAX(ret_shape->dims[0], 1);
    return true;
}

static bool squeeze(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *x = shape_in(onnx, 0);
    int bits;

    if (!x || !read_axes(onnx, 1, x->n_dims, &bits))
        return false;
    ret_shape->n_dims = 0;
    for (int d = 0; d < x->n_dims; d++) {
        const bool goes = bits ? bits >> d & 1 : x->dims[d] == 1;

        if (goes && x->dims[d] != 1)
            return false;
        if (!goes)
            ret_shape->dims[ret_shape->n_dims++] = x->dims[d];
    }
    return true;
}

static bool unsqueeze(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *x = shape_in(onnx, 0);
    int64_t axes[DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(onnx, "axes", 1, axes);
    int bits, from = 0;

    if (!x || n < 1 || x->n_dims + n > DIMS_MAX || !read_axes(onnx, 1, x->n_dims + n, &bits) ||
        __builtin_popcount((unsigned)bits) != n)
        return false;
    ret_shape->n_dims = x->n_dims + n;
    for (int d = 0; d < ret_shape->n_dims; d++)
        ret_shape->dims[d] = bits >> d & 1 ? 1 : x->dims[from++];
    return true;
}

static bool expand(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *x = shape_in(onnx, 0);
    struct vrt_carrier_shape to = { 0 };

    to.n_dims = vrt_carrier_onnx_integers(onnx, NULL, 1, to.dims);
    return x && to.n_dims >= 0 && join(x, &to, ret_shape);
}

static bool tile(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    int64_t times[DIMS_MAX];

    if (!same(onnx, ret_shape) ||
        vrt_carrier_onnx_integers(onnx, NULL, 1, times) != ret_shape->n_dims)
        return false;
    for (int d = 0; d < ret_shape->n_dims; d++)
        if (times[d] < 1 || __builtin_mul_overflow(ret_shape->dims[d], times[d],
                                                   &ret_shape->dims[d]))
            return false;
    return true;
}

static bool resize(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    int64_t sizes[DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(onnx, NULL, 3, sizes);
    const float *scales = n == 0 ? vrt_carrier_onnx_numbers(onnx, 2) : NULL;

    if (!same(onnx, ret_shape) || ret_shape->n_dims != 4 ||
        (n != 4 && (!scales || vrt_carrier_shape_n(shape_in(onnx, 2)) != 4)))
        return false;
    for (int d = 0; d < 4; d++)
        ret_shape->dims[d] = n == 4 ? sizes[d] : scales[d] > 0 && scales[d] <= 64 ?
                             (int64_t)floorf((float)ret_shape->dims[d] * scales[d]) : 0;
    return true;
}

static bool depth_to_space(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const int64_t r = vrt_onnx_int(onnx->node, "blocksize", 0);

    if (!same(onnx, ret_shape) || ret_shape->n_dims != 4 || r < 1 || r > 64 ||
        ret_shape->dims[1] % (r * r) != 0)
        return false;
    ret_shape->dims[1] /= r * r;
    ret_shape->dims[2] *= r;
    ret_shape->dims[3] *= r;
    return true;
}

static bool pad(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    int64_t pads[DIMS_MAX];

    if (!same(onnx, ret_shape) ||
        vrt_carrier_onnx_integers(onnx, NULL, 1, pads) != 2 * ret_shape->n_dims)
        return false;
    for (int d = 0; d < ret_shape->n_dims; d++)
        if (pads[d] < 0 || pads[d + ret_shape->n_dims] < 0 || pads[d] > SIDE_MAX ||
            pads[d + ret_shape->n_dims] > SIDE_MAX ||
            __builtin_add_overflow(ret_shape->dims[d], pads[d] + pads[d + ret_shape->n_dims],
                                   &ret_shape->dims[d]))
            return false;
    return true;
}

/* Pictures, sampled at places [N,H,W,2]. */
static bool grid_sample(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *grid = shape_in(onnx, 1);

    if (!same(onnx, ret_shape) || !grid || ret_shape->n_dims != 4 || grid->n_dims != 4 ||
        grid->dims[3] != 2)
        return false;
    ret_shape->dims[2] = grid->dims[1];
    ret_shape->dims[3] = grid->dims[2];
    return true;
}

static bool shape_of_shape(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const struct vrt_carrier_shape *x = shape_in(onnx, 0);

    if (!x)
        return false;
    const int64_t start = vrt_carrier_limit(vrt_onnx_int(onnx->node, "start", 0), x->n_dims);
    const int64_t end = vrt_carrier_limit(vrt_onnx_int(onnx->node, "end", DIMS_MAX), x->n_dims);
    *ret_shape = (struct vrt_carrier_shape){ 1, { VRT_MAX(end - start, 0) } };
    return true;
}

static bool constant_of_shape(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    ret_shape->n_dims = shape_in(onnx, 0) ?
                        vrt_carrier_onnx_integers(onnx, NULL, 0, ret_shape->dims) : -1;
    return ret_shape->n_dims >= 0;
}

static bool range(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape)
{
    const float *limits[3];

    for (int i = 0; i < 3; i++) {
        limits[i] = vrt_carrier_onnx_numbers(onnx, i);
        if (!limits[i] || vrt_carrier_shape_n(shape_in(onnx, i)) != 1)
            return false;
    }
    const float n = ceilf((*limits[1] - *limits[0]) / *limits[2]);
    if (!(n <= (float)(1 << 20)))
        return false;
    *ret_shape = (struct vrt_carrier_shape){ 1, { n > 0 ? (int64_t)n : 0 } };
    return true;
}

static const struct {
    const char *type;
    bool (*shape)(struct vrt_carrier_onnx *onnx, struct vrt_carrier_shape *ret_shape);
} rules[] = {
    { "Abs", same }, { "Add", broadcast }, { "And", broadcast }, { "Cast", same }, { "Ceil", same },
    { "Clip", same }, { "Concat", concat }, { "ConstantOfShape", constant_of_shape },
    { "Conv", conv }, { "ConvTranspose", conv }, { "DepthToSpace", depth_to_space },
    { "Div", broadcast }, { "Dropout", same }, { "Equal", broadcast }, { "Erf", same },
    { "Expand", expand }, { "Flatten", flatten }, { "Floor", same }, { "Gather", gather },
    { "Gelu", same }, { "Gemm", gemm }, { "Greater", broadcast }, { "GreaterOrEqual", broadcast },
    { "GridSample", grid_sample }, { "Identity", same }, { "LayerNormalization", same },
    { "LeakyRelu", same }, { "Less", broadcast }, { "LessOrEqual", broadcast },
    { "MatMul", matmul }, { "Max", broadcast }, { "Min", broadcast }, { "Mod", broadcast },
    { "Mul", broadcast }, { "Neg", same }, { "Not", same }, { "Or", broadcast }, { "Pad", pad },
    { "Pow", broadcast }, { "Range", range }, { "Reciprocal", same }, { "ReduceMean", mean },
    { "Reshape", reshape }, { "Resize", resize }, { "Round", same }, { "ScatterND", same },
    { "Shape", shape_of_shape }, { "Sigmoid", same }, { "Slice", slice }, { "Softmax", same },
    { "Split", split }, { "Sqrt", same }, { "Squeeze", squeeze }, { "Sub", broadcast },
    { "Tile", tile }, { "Transpose", transpose }, { "Unsqueeze", unsqueeze },
    { "Where", broadcast },
};

bool vrt_carrier_onnx_shape(struct vrt_carrier_onnx *onnx)
{
    const char *type = vrt_onnx_text(onnx->node->op_type);
    struct vrt_carrier_shape shape = { 0 };
    int64_t n = 1;
    size_t i = 0;

    onnx->shape = shape;
    while (i < VRT_ARRAY_SIZE(rules) && strcmp(rules[i].type, type) != 0)
        i++;
    if (i == VRT_ARRAY_SIZE(rules) || !rules[i].shape(onnx, &shape))
        return false;
    for (int d = 0; d < shape.n_dims; d++)
        if (shape.dims[d] < 0 || shape.dims[d] > SIDE_MAX ||
            __builtin_mul_overflow(n, VRT_MAX(shape.dims[d], 1), &n))
            return false;
    onnx->shape = shape;
    return true;
}
