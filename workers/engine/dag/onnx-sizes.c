/* SPDX-License-Identifier: MIT */
/*
 * What an ONNX graph computes of the picture's size: where it pads, cuts, reshapes and resizes to
 *
 * Files that take pictures of any size compute with it while they run; here there is none yet. So
 * it is computed for several sizes at once, among which are all remainders of both sides by 16, and
 * what is found to hold for each of them, as "twice the size", or "up to the next multiple of 4",
 * is taken for what the file means. A file that states one size is computed for that one.
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/checkpoint/arena.h"
#include "engine/dag/onnx-sizes.h"

#define DIMS_MAX 2
#define SIDE_MAX (1 << 20)              /* of a picture: larger ones are none */

void vrt_onnx_probe(struct vrt_onnx_reader *reader, int64_t height, int64_t width)
{
    const int64_t given[2] = { height > SIDE_MAX ? 0 : height, width > SIDE_MAX ? 0 : width };
    static const int first[2] = { 97, 180 }, step[2] = { 7, 11 };

    reader->n_probes = given[0] > 0 && given[1] > 0 ? 1 : VRT_ONNX_PROBES;
    for (int axis = 0; axis < 2; axis++)
        for (int k = 0; k < reader->n_probes; k++)
            reader->probes[axis][k] = given[axis] > 0 ? (double)given[axis] :
                                      first[axis] + step[axis] * k;
}

double vrt_onnx_extent(const struct vrt_onnx_reader *reader, const struct vrt_onnx_value *x,
                       int axis, int k)
{
    const struct vrt_dag_node *node = &reader->dag->nodes[x->node];
    const bool has_edge = reader->has_edge && !x->is_raw && !(x->cropped >> axis & 1);
    const double size = reader->probes[axis][k] + (has_edge ? reader->edge[axis][k] : 0);

    return size * node->num / node->den;
}

/* Room for n numbers for each size. */
static int make(struct vrt_onnx_reader *reader, int n, struct vrt_onnx_sizes *ret_sizes)
{
    if (n < 0 || n > VRT_ONNX_SIZES_MAX)
        return vrt_dag_refuse(reader->dag, "computes with more than %d numbers that are no "
                              "pictures: vrtd has no op for that", VRT_ONNX_SIZES_MAX);
    double *v = vrt_cp_arena_alloc(reader->arena, (size_t)n * (size_t)reader->n_probes,
                                   sizeof(*v));
    if (!v)
        return vrt_onnx_refuse_memory(reader);
    *ret_sizes = (struct vrt_onnx_sizes){ .n_dims = 1, .dims = { n, 1 }, .n = n, .is_whole = true,
                                          .v = v };
    return 0;
}

static double *at(const struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *sizes, int i)
{
    return sizes->v + (ptrdiff_t)i * reader->n_probes;
}

static void copy(const struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *to, int i,
                 const struct vrt_onnx_sizes *from, int k)
{
    memcpy(at(reader, to, i), at(reader, from, k), (size_t)reader->n_probes * sizeof(double));
}

static void fill(const struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *to, int i,
                 double value)
{
    for (int k = 0; k < reader->n_probes; k++)
        at(reader, to, i)[k] = value;
}

bool vrt_onnx_same(const struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *sizes, int i,
                   double *ret_number)
{
    for (int k = 1; k < reader->n_probes; k++)
        if (at(reader, sizes, i)[k] != at(reader, sizes, i)[0])
            return false;
    *ret_number = at(reader, sizes, i)[0];
    return true;
}

/* Number i, where it is the same for all sizes and whole; else `otherwise`. */
static int whole(const struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *sizes, int i,
                 int otherwise)
{
    double number;

    if (i >= sizes->n || !vrt_onnx_same(reader, sizes, i, &number) || !(fabs(number) < 1e9) ||
        number != trunc(number))
        return otherwise;
    return (int)number;
}

static bool is_of_integers(const struct vrt_onnx_constant *constant)
{
    return constant->tensor ? constant->tensor->data_type == 6 || constant->tensor->data_type == 7 :
           constant->attribute->n_ints || constant->attribute->has_i;
}

static int from_constant(struct vrt_onnx_reader *reader, const struct vrt_onnx_constant *constant,
                         struct vrt_onnx_sizes *ret_sizes)
{
    VRT_CLEANUP(vrt_freep) float *numbers = NULL;
    int r = make(reader, constant->n > VRT_ONNX_SIZES_MAX ? -1 : (int)constant->n, ret_sizes);

    if (r < 0)
        return r;
    ret_sizes->n_dims = constant->n_dims;
    for (int i = 0; i < constant->n_dims; i++) {
        /* Those of nothing may be large. */
        if (i == DIMS_MAX || constant->dims[i] > VRT_ONNX_SIZES_MAX)
            return vrt_dag_refuse(reader->dag, "computes with constants of %d dimensions",
                                  constant->n_dims);
        ret_sizes->dims[i] = (int)constant->dims[i];
    }
    ret_sizes->is_whole = is_of_integers(constant);
    if (!ret_sizes->is_whole) {
        r = vrt_onnx_numbers(reader, constant, &numbers);
        if (r < 0)
            return r;
    }
    for (int i = 0; i < ret_sizes->n; i++)
        fill(reader, ret_sizes, i, numbers ? (double)numbers[i] :
                                   (double)vrt_onnx_integer(constant, i));
    return 0;
}

static bool is_of_numbers(const struct vrt_onnx_value *value)
{
    return value->kind == VRT_ONNX_CONSTANT || value->kind == VRT_ONNX_SIZES;
}

static int read_input(struct vrt_onnx_reader *reader, size_t i, struct vrt_onnx_sizes *ret_sizes)
{
    const struct vrt_onnx_value *value = vrt_onnx_in(reader, i);

    if (value && value->kind == VRT_ONNX_CONSTANT)
        return from_constant(reader, &value->constant, ret_sizes);
    if (value && value->kind != VRT_ONNX_SIZES)
        return vrt_dag_refuse(reader->dag, "has no constant as its input %zu, and nothing that "
                              "follows from the picture's size", i);
    *ret_sizes = value ? value->sizes : (struct vrt_onnx_sizes){ .n = 0 };
    return 0;
}

int vrt_onnx_sizes_in(struct vrt_onnx_reader *reader, size_t first, size_t n,
                      struct vrt_onnx_sizes *ret_sizes)
{
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = read_input(reader, first + i, &ret_sizes[i]);
    return r;
}

/* The sizes of a picture, or how many numbers there are. */
static int op_shape(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                    struct vrt_onnx_sizes *ret_sizes)
{
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);
    struct vrt_onnx_sizes all;
    int64_t begin = vrt_onnx_int(reader->node, "start", 0);
    int64_t end = vrt_onnx_int(reader->node, "end", 8);

    if (!x || x->kind == VRT_ONNX_VIEW)
        return vrt_dag_refuse(reader->dag, "is asked of what isn't pictures");
    const int n = x->kind == VRT_ONNX_NODE ? 4 : in->n_dims;
    int r = make(reader, n, &all);
    if (r < 0)
        return r;
    for (int i = 0; i < n; i++)
        fill(reader, &all, i, x->kind != VRT_ONNX_NODE ? in->dims[i] :
                              i == 0 ? 1 : reader->dag->nodes[x->node].channels);
    for (int i = 2; i < n && x->kind == VRT_ONNX_NODE; i++)
        for (int k = 0; k < reader->n_probes; k++)
            at(reader, &all, i)[k] = vrt_onnx_extent(reader, x, i - 2, k);
    begin = VRT_MAX(VRT_MIN(begin < 0 ? begin + n : begin, n), 0);
    end = VRT_MAX(VRT_MIN(end < 0 ? end + n : end, n), begin);
    r = make(reader, (int)(end - begin), ret_sizes);
    if (r < 0)
        return r;
    for (int i = 0; i < ret_sizes->n; i++)
        copy(reader, ret_sizes, i, &all, i + (int)begin);
    return 0;
}

static int op_gather(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                     struct vrt_onnx_sizes *ret_sizes)
{
    const struct vrt_onnx_sizes *x = &in[0], *indices = &in[1];
    int r = make(reader, indices->n, ret_sizes);

    if (r < 0)
        return r;
    for (int i = 0; i < indices->n; i++) {
        const int index = whole(reader, indices, i, -VRT_ONNX_SIZES_MAX - 1);
        const int k = index < 0 ? index + x->n : index;

        if (x->n_dims != 1 || k < 0 || k >= x->n)
            return vrt_dag_refuse(reader->dag, "takes what isn't there");
        copy(reader, ret_sizes, i, x, k);
    }
    memcpy(ret_sizes->dims, indices->dims, sizeof(indices->dims));
    ret_sizes->n_dims = indices->n_dims;
    ret_sizes->is_whole = x->is_whole;
    return 0;
}

/* The only number, where it is the same for all sizes, else NAN. */
static double single(const struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *sizes)
{
    double number;

    return sizes->n == 1 && vrt_onnx_same(reader, sizes, 0, &number) ? number : NAN;
}

/* A limit of a slice, within what is there. */
static int limit(double number, int n, int step)
{
    number += number < 0 ? n : 0;
    return (int)fmax(fmin(number, step < 0 ? n - 1 : n), step < 0 ? -1 : 0);
}

/* Rows of numbers, forwards or backwards; inputs are they, starts, ends, axes and steps. */
static int op_slice(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                    struct vrt_onnx_sizes *ret_sizes)
{
    const struct vrt_onnx_sizes *x = &in[0], *axes = &in[3], *steps = &in[4];
    const int step = steps->n ? whole(reader, steps, 0, 0) : 1;
    const int length = x->n_dims == 2 ? x->dims[1] : 1;
    const double first = single(reader, &in[1]), last = single(reader, &in[2]);
    if (x->n_dims < 1 || !step || isnan(first) || isnan(last) ||
        (axes->n && (axes->n != 1 || whole(reader, axes, 0, -1) != 0)))
        return vrt_dag_refuse(reader->dag, "cuts in a way that vrtd has no op for");
    const int begin = limit(first, x->dims[0], step);
    const int end = limit(last, x->dims[0], step);
    const int n = VRT_MAX((end - begin + step - (step > 0 ? 1 : -1)) / step, 0);
    int r = make(reader, n * length, ret_sizes);
    if (r < 0)
        return r;
    for (int i = 0; i < n * length; i++)
        copy(reader, ret_sizes, i, x, (begin + i / length * step) * length + i % length);
    ret_sizes->n_dims = x->n_dims;
    ret_sizes->dims[0] = n;
    ret_sizes->dims[1] = length;
    ret_sizes->is_whole = x->is_whole;
    return 0;
}

static int op_concat(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                     struct vrt_onnx_sizes *ret_sizes)
{
    const size_t n_in = reader->node->n_input;
    int n = 0;

    for (size_t i = 0; i < n_in; i++) {
        n += in[i].n;
        if (in[i].n_dims != 1)
            return vrt_dag_refuse(reader->dag, "joins numbers that are no list");
    }
    int r = make(reader, n, ret_sizes);
    if (r < 0)
        return r;
    n = 0;
    for (size_t i = 0; i < n_in; i++) {
        ret_sizes->is_whole &= in[i].is_whole;
        for (int k = 0; k < in[i].n; k++)
            copy(reader, ret_sizes, n++, &in[i], k);
    }
    return 0;
}

/* The same numbers in another shape. */
static int reshape(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *x, int n_dims,
                   const int *dims, struct vrt_onnx_sizes *ret_sizes)
{
    int64_t n = 1;

    *ret_sizes = *x;
    ret_sizes->n_dims = n_dims;
    for (int i = 0; i < n_dims; i++) {
        ret_sizes->dims[i] = dims[i];
        n *= dims[i];
    }
    return n == x->n ? 0 : vrt_dag_refuse(reader->dag, "is of %d numbers, not %lld", x->n,
                                          (long long)n);
}

static int op_reshape(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                      struct vrt_onnx_sizes *ret_sizes)
{
    const struct vrt_onnx_sizes *x = &in[0], *shape = &in[1];
    int dims[DIMS_MAX], known = 1, left = -1;

    if (shape->n > DIMS_MAX)
        return vrt_dag_refuse(reader->dag, "makes numbers of %d dimensions of what is no picture",
                              shape->n);
    for (int i = 0; i < shape->n; i++) {
        dims[i] = whole(reader, shape, i, -2);
        if (dims[i] == -1 && left < 0)
            left = i;
        else if (dims[i] < 0 || dims[i] > VRT_ONNX_SIZES_MAX)
            return vrt_dag_refuse(reader->dag, "isn't to a constant shape: vrtd has no op for it");
        else
            known *= dims[i];
    }
    if (left >= 0)
        dims[left] = known ? x->n / known : 0;
    return reshape(reader, x, shape->n, dims, ret_sizes);
}

/* One number is a list of one, and the other way round. */
static int op_unsqueeze(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                        struct vrt_onnx_sizes *ret_sizes)
{
    if (in->n_dims != 0)
        return vrt_dag_refuse(reader->dag, "is of no single number: vrtd has no op for that");
    return reshape(reader, in, 1, (const int[]){ 1 }, ret_sizes);
}

static int op_squeeze(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                      struct vrt_onnx_sizes *ret_sizes)
{
    return reshape(reader, in, 0, NULL, ret_sizes);
}

static int op_transpose(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                        struct vrt_onnx_sizes *ret_sizes)
{
    const VrtPb__Attribute *perm = vrt_onnx_attribute(reader->node, "perm");
    const struct vrt_onnx_sizes *x = &in[0];

    if (x->n_dims != 2 || (perm && (perm->n_ints != 2 || perm->ints[0] != 1)))
        return vrt_dag_refuse(reader->dag, "turns what is no table of numbers");
    int r = make(reader, x->n, ret_sizes);
    if (r < 0)
        return r;
    for (int i = 0; i < x->n; i++)
        copy(reader, ret_sizes, i, x, i % x->dims[0] * x->dims[1] + i / x->dims[0]);
    ret_sizes->n_dims = 2;
    ret_sizes->dims[0] = x->dims[1];
    ret_sizes->dims[1] = x->dims[0];
    ret_sizes->is_whole = x->is_whole;
    return 0;
}

static int op_constant_of_shape(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                                struct vrt_onnx_sizes *ret_sizes)
{
    const VrtPb__Attribute *value = vrt_onnx_attribute(reader->node, "value");
    struct vrt_onnx_constant constant = { .n = 0 };
    struct vrt_onnx_sizes one = { 0 };
    int r = value && value->t ? vrt_onnx_constant_of(reader, value->t, &constant) : 0;
    if (r < 0)
        return r;
    r = constant.n == 1 ? from_constant(reader, &constant, &one) : 0;
    if (r < 0)
        return r;
    r = make(reader, in->n == 1 ? whole(reader, in, 0, -1) : -1, ret_sizes);
    if (r < 0)
        return r;
    for (int i = 0; i < ret_sizes->n; i++)
        if (one.n == 1)
            copy(reader, ret_sizes, i, &one, 0);
        else
            fill(reader, ret_sizes, i, 0);
    return 0;
}

static int op_cast(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                   struct vrt_onnx_sizes *ret_sizes)
{
    const int64_t to = vrt_onnx_int(reader->node, "to", 0);
    int r = make(reader, in->n, ret_sizes);

    if (r < 0)
        return r;
    double *v = ret_sizes->v;
    *ret_sizes = *in;
    ret_sizes->v = v;
    ret_sizes->is_whole = to == 6 || to == 7;
    for (int i = 0; i < in->n * reader->n_probes; i++)
        v[i] = ret_sizes->is_whole ? trunc(in->v[i]) : in->v[i];
    return 0;
}

static double combine(char op, double a, double b, bool is_whole)
{
    switch (op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return is_whole ? trunc(a / b) : a / b;
    default: return a - floor(a / b) * b;
    }
}

static int n_rows(const struct vrt_onnx_sizes *sizes)
{
    return sizes->n_dims == 2 ? sizes->dims[0] : 1;
}

/* Two lists of numbers, or one with a single number; of a row and a column, which together are a
 * table, nothing is made. */
static int op_binary(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                     struct vrt_onnx_sizes *ret_sizes)
{
    const char *type = vrt_onnx_text(reader->node->op_type);
    const char op = strcmp(type, "Add") == 0 ? '+' : strcmp(type, "Sub") == 0 ? '-' :
                    strcmp(type, "Mul") == 0 ? '*' : strcmp(type, "Div") == 0 ? '/' : '%';
    const struct vrt_onnx_sizes *a = &in[0], *b = &in[1];

    if (!a->n || !b->n || (a->n != b->n && a->n != 1 && b->n != 1))
        return vrt_dag_refuse(reader->dag, "combines %d numbers with %d", a->n, b->n);
    if (a->n == b->n && n_rows(a) != n_rows(b) && a->n > 1)
        return vrt_dag_refuse(reader->dag, "combines numbers in %d rows with such in %d", n_rows(a),
                              n_rows(b));
    const bool is_a = a->n > b->n || (a->n == b->n && a->n_dims > b->n_dims);
    const struct vrt_onnx_sizes *longer = is_a ? a : b;
    int r = make(reader, longer->n, ret_sizes);
    if (r < 0)
        return r;
    ret_sizes->n_dims = longer->n_dims;
    memcpy(ret_sizes->dims, longer->dims, sizeof(longer->dims));
    ret_sizes->is_whole = a->is_whole && b->is_whole;
    for (int i = 0; i < longer->n; i++)
        for (int k = 0; k < reader->n_probes; k++)
            at(reader, ret_sizes, i)[k] = combine(op, at(reader, a, a->n == 1 ? 0 : i)[k],
                                                  at(reader, b, b->n == 1 ? 0 : i)[k],
                                                  ret_sizes->is_whole);
    return 0;
}

static const struct {
    const char *type;
    int (*read)(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *in,
                struct vrt_onnx_sizes *ret_sizes);
} operators[] = {
    { "Add", op_binary },
    { "Cast", op_cast },
    { "Concat", op_concat },
    { "ConstantOfShape", op_constant_of_shape },
    { "Div", op_binary },
    { "Gather", op_gather },
    { "Mod", op_binary },
    { "Mul", op_binary },
    { "Reshape", op_reshape },
    { "Shape", op_shape },
    { "Slice", op_slice },
    { "Squeeze", op_squeeze },
    { "Sub", op_binary },
    { "Transpose", op_transpose },
    { "Unsqueeze", op_unsqueeze },
};

/* Inputs of numbers; those that are left out, and pictures, have none. */
static int read_inputs(struct vrt_onnx_reader *reader, struct vrt_onnx_sizes *ret_in)
{
    const size_t n = reader->node->n_input;

    if (n > VRT_ONNX_SIZES_MAX)
        return vrt_dag_refuse(reader->dag, "has %zu inputs", n);
    for (size_t i = 0; i < n; i++) {
        const struct vrt_onnx_value *value = vrt_onnx_in(reader, i);
        int r = value && is_of_numbers(value) ? read_input(reader, i, &ret_in[i]) : 0;
        if (r < 0)
            return r;
    }
    return 0;
}

bool vrt_onnx_sizes_operate(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value,
                            int *ret_r)
{
    struct vrt_onnx_sizes in[VRT_ONNX_SIZES_MAX] = { 0 };
    const char *type = vrt_onnx_text(reader->node->op_type);
    const bool is_shape = strcmp(type, "Shape") == 0;

    for (size_t i = 0; i < reader->node->n_input && !is_shape; i++) {
        const struct vrt_onnx_value *value = vrt_onnx_in(reader, i);
        if (value && !is_of_numbers(value))
            return false;
    }
    for (size_t i = 0; i < VRT_ARRAY_SIZE(operators); i++) {
        if (strcmp(type, operators[i].type) != 0)
            continue;
        *ret_value = (struct vrt_onnx_value){ .kind = VRT_ONNX_SIZES };
        *ret_r = read_inputs(reader, in);
        if (*ret_r == 0)
            *ret_r = operators[i].read(reader, in, &ret_value->sizes);
        return true;
    }
    return false;
}
