/* SPDX-License-Identifier: MIT */
/* ONNX's operations that resize pictures, or move pixels between dimensions. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/dag/onnx-sizes.h"

#define DEN_MAX 16

/* Where pixel i of the larger picture comes from, by the names of the format. */
static double source_of(const VrtPb__Node *node, int i, int num, int den)
{
    static const char where[] = "coordinate_transformation_mode";
    const double ratio = (double)den / num;

    if (vrt_onnx_is(node, where, "half_pixel", "asymmetric"))
        return i * ratio;
    if (vrt_onnx_is(node, where, "half_pixel", "tf_half_pixel_for_nn"))
        return (i + 0.5) * ratio;
    return (i + 0.5) * ratio - 0.5;
}

static double round_by(const VrtPb__Node *node, double x)
{
    if (vrt_onnx_is(node, "nearest_mode", "round_prefer_floor", "floor"))
        return floor(x);
    if (vrt_onnx_is(node, "nearest_mode", "round_prefer_floor", "ceil"))
        return ceil(x);
    return vrt_onnx_is(node, "nearest_mode", "round_prefer_floor", "round_prefer_ceil") ?
           floor(x + 0.5) : ceil(x - 0.5);
}

/* Whether it takes the same pixels as our op, which are floor(i * den / num): up to num they may be
 * so by the edge alone. */
static bool is_floor(const VrtPb__Node *node, int num, int den)
{
    for (int i = 0; i < 2 * num; i++)
        if (fmax(round_by(node, source_of(node, i, num, den)), 0) != i * den / num)
            return false;
    return true;
}

static bool is_half_pixel(const VrtPb__Node *node)
{
    static const char where[] = "coordinate_transformation_mode";

    return vrt_onnx_is(node, where, "half_pixel", "half_pixel") ||
           vrt_onnx_is(node, where, "half_pixel", "pytorch_half_pixel");
}

static int by_ratio(struct vrt_onnx_reader *reader, int x, int num, int den)
{
    const VrtPb__Node *node = reader->node;
    struct vrt_dag *dag = reader->dag;

    if (vrt_onnx_is(node, "mode", "nearest", "nearest") &&
        !vrt_onnx_is(node, "coordinate_transformation_mode", "half_pixel", "align_corners") &&
        is_floor(node, num, den))
        return vrt_dag_resize(dag, x, VRT_RESIZE_NEAREST, num, den);
    if (vrt_onnx_is(node, "mode", "nearest", "linear") && is_half_pixel(node))
        return vrt_dag_resize(dag, x, VRT_RESIZE_BILINEAR, num, den);
    if (vrt_onnx_is(node, "mode", "nearest", "cubic") && is_half_pixel(node) &&
        vrt_onnx_float(node, "cubic_coeff_a", -0.75f) == -0.75f &&
        vrt_onnx_int(node, "exclude_outside", 0) == 0)
        return vrt_dag_bicubic(dag, x, num, den);
    return vrt_dag_refuse(dag, "resizes in a way that vrtd has no op for: it knows nearest (the "
                          "pixel before), linear and cubic (half_pixel)");
}

/* By what the rows and columns of picture x are multiplied: of constant scales, or what sizes that
 * follow from the picture's come to. Return: 0; -EINVAL with the sentence said. */
static int find_scales(struct vrt_onnx_reader *reader, double scales[2])
{
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);
    const bool has_sizes = vrt_onnx_in(reader, 3);
    struct vrt_onnx_sizes given;
    double one;
    int r = vrt_onnx_sizes_in(reader, has_sizes ? 3 : 2, 1, &given);

    if (r < 0)
        return r;
    bool fits = given.n == 4;
    for (int i = 0; i < 2 && fits; i++)
        fits = vrt_onnx_same(reader, &given, i, &one) &&
               one == (has_sizes && i == 1 ? reader->dag->nodes[x->node].channels : 1);
    for (int i = 0; i < 2 && fits; i++) {
        const double *v = given.v + (ptrdiff_t)(2 + i) * reader->n_probes;
        scales[i] = has_sizes ? v[0] / vrt_onnx_extent(reader, x, i, 0) : v[0];
        for (int k = 1; k < reader->n_probes; k++)
            fits &= (has_sizes ? v[k] / vrt_onnx_extent(reader, x, i, k) : v[k]) == scales[i];
    }
    return fits ? 0 : vrt_dag_refuse(reader->dag, "makes pictures of a given size: vrtd resizes by "
                                     "constant scales");
}

int vrt_onnx_resize(struct vrt_onnx_reader *reader, int x)
{
    double s[2];

    if (vrt_onnx_attribute(reader->node, "axes") || vrt_onnx_int(reader->node, "antialias", 0))
        return vrt_dag_refuse(reader->dag, "smooths pictures first, or resizes along some axes: "
                              "vrtd has no op for that");
    int r = find_scales(reader, s);
    if (r < 0)
        return r;
    for (int den = 1; den <= DEN_MAX && s[0] == s[1]; den++) {
        const double num = round(s[0] * den);

        if (fabs(num / den - s[0]) <= 1e-6 && num >= 1 && num <= 1024)
            return by_ratio(reader, x, (int)num, den);
    }
    return vrt_dag_refuse(reader->dag, "changes the size by %g and %g, which is no plain ratio of "
                          "both sides", s[0], s[1]);
}

/* The shape that a reshape is to: -1: what is left over, or what follows from the size. */
struct shape {
    int64_t dims[VRT_ONNX_DIMS_MAX];
    int n;
};

static int find_shape(struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *sizes,
                      struct shape *ret_shape)
{
    double number;

    if (sizes->n > VRT_ONNX_DIMS_MAX)
        return vrt_dag_refuse(reader->dag, "makes pictures of %d dimensions", sizes->n);
    ret_shape->n = sizes->n;
    for (int i = 0; i < sizes->n; i++)
        ret_shape->dims[i] = vrt_onnx_same(reader, sizes, i, &number) && number > -1e9 &&
                             number < 1e9 ? (int64_t)number : -1;
    return 0;
}

/* Whether the shape is that of the picture already. */
static bool is_own_shape(const struct vrt_onnx_reader *reader, const struct vrt_onnx_value *x,
                         const struct vrt_onnx_sizes *sizes)
{
    int n_open = 0;

    for (int i = 0; i < 4; i++)
        for (int k = 0; k < reader->n_probes; k++) {
            const double given = sizes->v[i * reader->n_probes + k];
            const double own = i == 0 ? 1 : i == 1 ? reader->dag->nodes[x->node].channels :
                               vrt_onnx_extent(reader, x, i - 2, k);

            n_open += given == -1 && k == 0;
            if (given != own && given != 0 && given != -1)
                return false;
        }
    return n_open <= 1;
}

/* A picture in more dimensions: those of the shape, where 0 is that of before. */
static int view(const struct vrt_onnx_value *x, const struct shape *shape,
                struct vrt_onnx_value *ret_value)
{
    struct vrt_onnx_value value = { .kind = VRT_ONNX_VIEW, .node = x->node };

    value.n_dims = shape->n;
    for (int i = 0; i < value.n_dims; i++) {
        value.dims[i] = shape->dims[i];
        if (value.dims[i] == 0 && x->kind == VRT_ONNX_VIEW && i < x->n_dims)
            value.dims[i] = x->dims[i];
    }
    *ret_value = value;
    return 0;
}

/* Of a picture, a dimension more, which is reshaped at once. */
int vrt_onnx_unsqueeze(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);

    if (!x || x->kind != VRT_ONNX_NODE)
        return vrt_dag_refuse(reader->dag, "is of no picture: vrtd has no op for that");
    *ret_value = (struct vrt_onnx_value){ .kind = VRT_ONNX_VIEW, .node = x->node, .n_dims = 5 };
    return 0;
}

/* The dimensions that the reshape before it left over go. */
int vrt_onnx_squeeze(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);

    if (!x || x->kind != VRT_ONNX_NODE || !x->is_padded)
        return vrt_dag_refuse(reader->dag, "isn't part of moving pixels by squares: vrtd has no op "
                              "for that");
    *ret_value = (struct vrt_onnx_value){ .kind = VRT_ONNX_NODE, .node = x->node };
    return 0;
}

/* Whether it is of four dimensions, or of six of which two are 1. */
static bool is_picture(const struct shape *shape)
{
    return shape->n == 4 || (shape->n == 6 && shape->dims[2] == 1 && shape->dims[3] == 1);
}

int vrt_onnx_reshape(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);
    struct vrt_onnx_sizes sizes;
    struct shape shape = { .n = 0 };
    int r = vrt_onnx_sizes_in(reader, 1, 1, &sizes);

    if (r < 0)
        return r;
    r = find_shape(reader, &sizes, &shape);
    if (r < 0)
        return r;
    if (x && x->kind == VRT_ONNX_NODE && shape.n == 4 && is_own_shape(reader, x, &sizes)) {
        *ret_value = *x;
        return 0;
    }
    const bool is_moved = x && x->kind == VRT_ONNX_VIEW && x->is_moved;
    if (x && x->kind != VRT_ONNX_CONSTANT && shape.n > 4 && !is_moved)
        return view(x, &shape, ret_value);
    if (!is_moved || !is_picture(&shape))
        return vrt_dag_refuse(reader->dag, "isn't part of moving pixels by squares: vrtd has no op "
                              "for that");
    int made = vrt_dag_shuffle(reader->dag, x->moves, x->node, x->r, false);
    if (made < 0)
        return made;
    const int64_t channels = shape.dims[1];
    if (channels > 0 && channels != reader->dag->nodes[made].channels)
        return vrt_dag_refuse(reader->dag, "makes %lld channels of what is %d",
                              (long long)channels, reader->dag->nodes[made].channels);
    *ret_value = (struct vrt_onnx_value){
        .kind = VRT_ONNX_NODE, .node = made, .is_padded = shape.n > 4,
    };
    return 0;
}

int vrt_onnx_transpose(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    static const struct {
        enum vrt_dag_kind moves;
        int64_t perm[6];
        int first, second;          /* the dimensions that are the squares' sides */
    } known[] = {
        { VRT_DAG_SHUFFLE, { 0, 1, 4, 2, 5, 3 }, 2, 3 },
        { VRT_DAG_UNSHUFFLE, { 0, 1, 3, 5, 2, 4 }, 3, 5 },
    };
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);
    const VrtPb__Attribute *perm = vrt_onnx_attribute(reader->node, "perm");

    for (size_t i = 0; i < VRT_ARRAY_SIZE(known); i++) {
        if (!x || x->kind != VRT_ONNX_VIEW || x->n_dims != 6 || x->is_moved || !perm ||
            perm->n_ints != 6 || memcmp(perm->ints, known[i].perm, sizeof(known[i].perm)) != 0)
            continue;
        const int64_t r = x->dims[known[i].first];
        if (r < 1 || r > 64 || x->dims[known[i].second] != r)
            break;
        *ret_value = *x;
        ret_value->is_moved = true;
        ret_value->moves = known[i].moves;
        ret_value->r = (int)r;
        return 0;
    }
    return vrt_dag_refuse(reader->dag, "isn't part of moving pixels by squares: vrtd has no op for "
                          "that; pictures are to have channels before height and width");
}
