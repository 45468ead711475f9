/* SPDX-License-Identifier: MIT */
/*
 * What ONNX graphs compute of constants and of sizes: in numbers of f32, integers among them, of
 * which those that sizes come to are exact
 */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "model/carrier/onnx/graph.h"

#define DIMS_MAX VRT_ONNX_DIMS_MAX
#define COMPUTED_MAX (INT64_C(1) << 28)     /* numbers in all */

/* What is being made. */
struct job {
    struct vrt_carrier_onnx *onnx;
    const struct vrt_carrier_shape *out;
    const float *from;              /* input 0; NULL where its numbers aren't read */
    int64_t n;
    float *to;                      /* [n] */
    bool is_whole;                  /* at first: as input 0 is */
};

static const struct vrt_carrier_shape *shape_in(const struct job *job, int i)
{
    return &vrt_carrier_onnx_in(job->onnx, i)->shape;
}

/* From one number to the next along each axis. */
static void steps_of(const struct vrt_carrier_shape *shape, int64_t *ret_steps)
{
    int64_t step = 1;

    for (int d = shape->n_dims - 1; d >= 0; d--) {
        ret_steps[d] = step;
        step *= shape->dims[d];
    }
}

/* Numbers of `from` in the order of the shape's places. */
static void move(const struct vrt_carrier_shape *shape, const float *from, const int64_t *steps,
                 float *to)
{
    const int64_t n = vrt_carrier_shape_n(shape);
    int64_t at[DIMS_MAX] = { 0 }, place = 0;

    for (int64_t i = 0; i < n; i++) {
        to[i] = from[place];
        for (int d = shape->n_dims - 1; d >= 0; d--) {
            place += steps[d];
            if (++at[d] < shape->dims[d])
                break;
            place -= steps[d] * shape->dims[d];
            at[d] = 0;
        }
    }
}

/* Input i, repeated along the axes that it has 1 of. */
static void spread(const struct job *job, int i, const float *from, float *to)
{
    int64_t own[DIMS_MAX], steps[DIMS_MAX] = { 0 };
    const struct vrt_carrier_shape *shape = shape_in(job, i);
    const int first = job->out->n_dims - shape->n_dims;
    steps_of(shape, own);
    for (int d = 0; d < shape->n_dims; d++)
        steps[first + d] = shape->dims[d] == 1 ? 0 : own[d];
    move(job->out, from, steps, to);
}

static float combine(char op, float a, float b, bool is_whole)
{
    switch (op) {
    case '+': return a + b;
    case '-': return a - b;
    case '*': return a * b;
    case '/': return is_whole ? truncf(a / b) : a / b;
    case '%': return a - floorf(a / b) * b;
    case '=': return a == b;
    case '<': return a < b;
    case '>': return a > b;
    case 'l': return a <= b;
    case 'g': return a >= b;
    case '&': return a != 0 && b != 0;
    case '|': return a != 0 || b != 0;
    case 'm': return fminf(a, b);
    case 'M': return fmaxf(a, b);
    default: return powf(a, b);
    }
}

static bool binary(struct job *job, char op)
{
    VRT_CLEANUP(vrt_freep) float *other = vrt_carrier_onnx_alloc(job->onnx, job->n);
    const float *second = vrt_carrier_onnx_numbers(job->onnx, 1);

    if (!other || job->onnx->n_in != 2 || !second)
        return false;
    const bool is_whole = job->is_whole && vrt_carrier_onnx_in(job->onnx, 1)->is_whole;
    spread(job, 0, job->from, job->to);
    spread(job, 1, second, other);
    for (int64_t i = 0; i < job->n; i++)
        job->to[i] = combine(op, job->to[i], other[i], is_whole);
    job->is_whole = is_whole || strchr("=<>lg&|", op);
    return true;
}

static bool where(struct job *job, char op)
{
    VRT_CLEANUP(vrt_freep) float *others = vrt_carrier_onnx_alloc(job->onnx, 2 * job->n);
    const float *second = vrt_carrier_onnx_numbers(job->onnx, 1);
    const float *third = vrt_carrier_onnx_numbers(job->onnx, 2);

    (void)op;
    if (!others || !second || !third)
        return false;
    spread(job, 0, job->from, job->to);
    spread(job, 1, second, others);
    spread(job, 2, third, others + job->n);
    for (int64_t i = 0; i < job->n; i++)
        job->to[i] = others[job->to[i] != 0 ? i : job->n + i];
    job->is_whole = vrt_carrier_onnx_in(job->onnx, 1)->is_whole;
    return true;
}

static float compute(char op, float x)
{
    switch (op) {
    case '-': return -x;
    case 'a': return fabsf(x);
    case 'f': return floorf(x);
    case 'c': return ceilf(x);
    case 'r': return rintf(x);
    case '!': return x == 0;
    case '1': return 1 / x;
    case 's': return sqrtf(x);
    default: return x;
    }
}

static bool unary(struct job *job, char op)
{
    spread(job, 0, job->from, job->to);
    for (int64_t i = 0; i < job->n; i++)
        job->to[i] = compute(op, job->to[i]);
    job->is_whole = op == '!' || (job->is_whole && op != '1');
    return true;
}

static bool cast(struct job *job, char op)
{
    const int64_t to = vrt_onnx_int(job->onnx->node, "to", 0);
    const bool is_float = to == 1 || to == 10 || to == 11 || to == 16, is_truth = to == 9;

    (void)op;
    spread(job, 0, job->from, job->to);
    for (int64_t i = 0; i < job->n && !is_float; i++)
        job->to[i] = is_truth ? job->to[i] != 0 : truncf(job->to[i]);
    job->is_whole = !is_float;
    return true;
}

/* The same numbers, in another shape. */
static bool copy(struct job *job, char op)
{
    (void)op;
    if (vrt_carrier_shape_n(shape_in(job, 0)) != job->n)
        return false;
    memcpy(job->to, job->from, (size_t)job->n * sizeof(*job->from));
    return true;
}

static bool range(struct job *job, char op)
{
    /* The shape follows from these numbers: they are there. */
    const float *step = vrt_carrier_onnx_numbers(job->onnx, 2);

    (void)op;
    for (int64_t i = 0; i < job->n; i++)
        job->to[i] = *job->from + (float)i * *step;
    return true;
}

static bool shape(struct job *job, char op)
{
    const struct vrt_carrier_shape *of = shape_in(job, 0);
    const int64_t start = vrt_carrier_limit(vrt_onnx_int(job->onnx->node, "start", 0), of->n_dims);

    (void)op;
    for (int64_t i = 0; i < job->n; i++)
        job->to[i] = (float)of->dims[start + i];
    job->is_whole = true;
    return true;
}

static bool fill(struct job *job, char op)
{
    const VrtPb__Attribute *a = vrt_onnx_attribute(job->onnx->node, "value");
    struct vrt_onnx_constant constant;
    float number = 0;

    (void)op;
    if (a && a->t) {
        VRT_CLEANUP(vrt_freep) float *values = NULL;

        if (vrt_onnx_constant_of(&job->onnx->onnx, a->t, &constant) < 0 || constant.n != 1 ||
            vrt_onnx_numbers(&job->onnx->onnx, &constant, &values) < 0)
            return false;
        number = *values;
    }
    for (int64_t i = 0; i < job->n; i++)
        job->to[i] = number;
    job->is_whole = a && a->t && (a->t->data_type == 6 || a->t->data_type == 7);
    return true;
}

/* The numbers behind one place of an axis, and how many times that axis is gone along. */
static void extents(const struct vrt_carrier_shape *shape, int axis, int64_t *ret_inner,
                    int64_t *ret_outer)
{
    *ret_inner = *ret_outer = 1;
    for (int d = 0; d < shape->n_dims; d++) {
        *ret_outer *= d < axis ? shape->dims[d] : 1;
        *ret_inner *= d > axis ? shape->dims[d] : 1;
    }
}

static bool concat(struct job *job, char op)
{
    const int axis = vrt_carrier_onnx_axis(job->onnx, job->out->n_dims);
    int64_t inner, outer, first = 0;

    (void)op;
    extents(job->out, axis, &inner, &outer);
    const int64_t row = inner * job->out->dims[axis];
    job->is_whole = true;
    for (int i = 0; i < job->onnx->n_in; i++) {
        const int64_t n = inner * shape_in(job, i)->dims[axis];
        const float *from = n ? vrt_carrier_onnx_numbers(job->onnx, i) : NULL;

        if (n && !from)
            return false;
        for (int64_t k = 0; k < outer && n; k++)
            memcpy(job->to + k * row + first, from + k * n, (size_t)n * sizeof(*from));
        first += n;
        job->is_whole &= vrt_carrier_onnx_in(job->onnx, i)->is_whole;
    }
    return true;
}

static bool slice(struct job *job, char op)
{
    const float *from = job->from;
    int64_t starts[DIMS_MAX], axes[DIMS_MAX], by[DIMS_MAX], steps[DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(job->onnx, NULL, 1, starts);
    const int n_axes = vrt_carrier_onnx_integers(job->onnx, NULL, 3, axes);
    const int n_by = vrt_carrier_onnx_integers(job->onnx, NULL, 4, by);
    const struct vrt_carrier_shape *of = shape_in(job, 0);

    (void)op;
    steps_of(of, steps);
    for (int k = 0; k < n; k++) {
        const int axis = vrt_carrier_axis(n_axes ? axes[k] : k, of->n_dims);
        const bool is_back = n_by && by[k] < 0;
        const int64_t first = is_back ? of->dims[axis] - 1 :
                              vrt_carrier_limit(starts[k], of->dims[axis]);

        from += job->n > 0 ? first * steps[axis] : 0;
        steps[axis] *= is_back ? -1 : 1;
    }
    move(job->out, from, steps, job->to);
    return true;
}

static bool gather(struct job *job, char op)
{
    const float *at = vrt_carrier_onnx_numbers(job->onnx, 1);
    int64_t inner, outer;

    (void)op;
    if (!at)
        return false;
    const struct vrt_carrier_shape *of = shape_in(job, 0);
    const int axis = vrt_carrier_onnx_axis(job->onnx, of->n_dims);
    const int64_t n_at = vrt_carrier_shape_n(shape_in(job, 1)), n = of->dims[axis];
    extents(of, axis, &inner, &outer);
    for (int64_t k = 0; k < outer; k++)
        for (int64_t i = 0; i < n_at; i++) {
            if (!(at[i] >= (float)-n && at[i] < (float)n))
                return false;
            const int64_t place = (int64_t)at[i] + (at[i] < 0 ? n : 0);
            memcpy(job->to + (k * n_at + i) * inner, job->from + (k * n + place) * inner,
                   (size_t)inner * sizeof(*job->from));
        }
    return true;
}

static bool transpose(struct job *job, char op)
{
    int64_t perm[DIMS_MAX], own[DIMS_MAX], steps[DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(job->onnx, "perm", -1, perm);
    const int n_dims = job->out->n_dims;

    (void)op;
    steps_of(shape_in(job, 0), own);
    for (int d = 0; d < n_dims; d++)
        steps[d] = own[n ? perm[d] : n_dims - 1 - d];
    move(job->out, job->from, steps, job->to);
    return true;
}

static bool tile(struct job *job, char op)
{
    const struct vrt_carrier_shape *of = shape_in(job, 0);

    (void)op;
    for (int64_t i = 0; i < job->n; i++) {
        int64_t rest = i, place = 0, step = 1;

        for (int d = of->n_dims - 1; d >= 0; d--) {
            place += rest % of->dims[d] * step;
            rest /= job->out->dims[d];
            step *= of->dims[d];
        }
        job->to[i] = job->from[place];
    }
    return true;
}

/* Numbers, with rows of others in the places that are told. */
static bool scatter(struct job *job, char op)
{
    const float *at = vrt_carrier_onnx_numbers(job->onnx, 1);
    const float *rows = vrt_carrier_onnx_numbers(job->onnx, 2);
    int64_t steps[DIMS_MAX];

    if (!copy(job, op) || !at || !rows || shape_in(job, 1)->n_dims < 1 ||
        !vrt_onnx_is(job->onnx->node, "reduction", "none", "none"))
        return false;
    const struct vrt_carrier_shape *of = shape_in(job, 0), *indices = shape_in(job, 1);
    const int64_t depth = indices->dims[indices->n_dims - 1];
    if (depth < 1 || depth > of->n_dims)
        return false;
    steps_of(of, steps);
    const int64_t n_rows = vrt_carrier_shape_n(indices) / depth, n = steps[depth - 1];
    if (vrt_carrier_shape_n(shape_in(job, 2)) != n_rows * n)
        return false;
    for (int64_t i = 0; i < n_rows; i++) {
        int64_t place = 0;

        for (int64_t d = 0; d < depth; d++) {
            const float index = at[i * depth + d], size = (float)of->dims[d];
            if (!(index >= -size && index < size))
                return false;
            place += ((int64_t)index + (index < 0 ? of->dims[d] : 0)) * steps[d];
        }
        memcpy(job->to + place, rows + i * n, (size_t)n * sizeof(*rows));
    }
    return true;
}

static const struct {
    const char *type;
    bool (*compute)(struct job *job, char op);
    char op;
} kinds[] = {
    { "Abs", unary, 'a' }, { "Add", binary, '+' }, { "And", binary, '&' }, { "Cast", cast, 0 },
    { "Ceil", unary, 'c' }, { "Concat", concat, 0 }, { "ConstantOfShape", fill, 0 },
    { "Div", binary, '/' }, { "Equal", binary, '=' }, { "Expand", unary, ' ' },
    { "Flatten", copy, 0 }, { "Floor", unary, 'f' }, { "Gather", gather, 0 },
    { "Greater", binary, '>' }, { "GreaterOrEqual", binary, 'g' }, { "Identity", copy, 0 },
    { "Less", binary, '<' }, { "LessOrEqual", binary, 'l' }, { "Max", binary, 'M' },
    { "Min", binary, 'm' }, { "Mod", binary, '%' }, { "Mul", binary, '*' }, { "Neg", unary, '-' },
    { "Not", unary, '!' }, { "Or", binary, '|' }, { "Pow", binary, '^' }, { "Range", range, 0 },
    { "Reciprocal", unary, '1' }, { "Reshape", copy, 0 }, { "Round", unary, 'r' },
    { "ScatterND", scatter, 0 }, { "Shape", shape, 0 }, { "Slice", slice, 0 },
    { "Sqrt", unary, 's' }, { "Squeeze", copy, 0 }, { "Sub", binary, '-' }, { "Tile", tile, 0 },
    { "Transpose", transpose, 0 }, { "Unsqueeze", copy, 0 }, { "Where", where, 0 },
};

bool vrt_carrier_onnx_compute(struct vrt_carrier_onnx *onnx, struct vrt_carrier_value *ret_value)
{
    struct job job = { .onnx = onnx, .out = &onnx->shape, .n = vrt_carrier_shape_n(&onnx->shape),
                       .is_whole = vrt_carrier_onnx_in(onnx, 0)->is_whole };
    const char *type = vrt_onnx_text(onnx->node->op_type);
    size_t i = 0;

    while (i < VRT_ARRAY_SIZE(kinds) && strcmp(kinds[i].type, type) != 0)
        i++;
    if (i == VRT_ARRAY_SIZE(kinds) || job.n > VRT_CARRIER_NUMBERS_MAX - onnx->n_live ||
        job.n > COMPUTED_MAX - onnx->n_computed)
        return false;
    const bool is_read = kinds[i].compute != concat && kinds[i].compute != fill &&
                         kinds[i].compute != shape;
    job.from = is_read ? vrt_carrier_onnx_numbers(onnx, 0) : NULL;
    job.to = is_read && !job.from ? NULL : vrt_carrier_onnx_alloc(onnx, job.n);
    if (!job.to)
        return false;
    onnx->n_computed += job.n;
    if (!kinds[i].compute(&job, kinds[i].op)) {
        free(job.to);
        return false;
    }
    onnx->n_live += job.n;
    ret_value->values = job.to;
    ret_value->is_whole = job.is_whole;
    return true;
}
