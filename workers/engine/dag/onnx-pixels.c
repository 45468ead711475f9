/* SPDX-License-Identifier: MIT */
/* ONNX's operations that resize pictures, or move pixels between dimensions. */

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/dag/onnx.h"

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

/* Whether it takes the same pixels as our op, which are floor(i * den / num). */
static bool is_floor(const VrtPb__Node *node, int num, int den)
{
    for (int i = 0; i < num; i++)
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

int vrt_onnx_resize(struct vrt_onnx_reader *reader, int x)
{
    const struct vrt_onnx_value *scales = vrt_onnx_in(reader, 2);
    VRT_CLEANUP(vrt_freep) float *s = NULL;

    if (!scales || scales->kind != VRT_ONNX_CONSTANT || scales->constant.n != 4 ||
        vrt_onnx_in(reader, 3) || vrt_onnx_attribute(reader->node, "axes") ||
        vrt_onnx_int(reader->node, "antialias", 0))
        return vrt_dag_refuse(reader->dag, "makes pictures of a given size, smooths them first, or "
                              "along some axes: vrtd resizes by constant scales");
    int r = vrt_onnx_numbers(reader, &scales->constant, &s);
    if (r < 0)
        return r;
    for (int den = 1; den <= DEN_MAX && s[0] == 1 && s[1] == 1 && s[2] == s[3]; den++) {
        const float num = roundf(s[2] * (float)den);

        if (fabsf(num / (float)den - s[2]) <= 1e-6f && num >= 1 && num <= 1024)
            return by_ratio(reader, x, (int)num, den);
    }
    return vrt_dag_refuse(reader->dag, "changes the size by %g and %g, which is no plain ratio of "
                          "both sides", (double)s[2], (double)s[3]);
}

/* A picture in more dimensions: those of the shape, where 0 is that of before. */
static int view(const struct vrt_onnx_value *x, const struct vrt_onnx_constant *shape,
                struct vrt_onnx_value *ret_value)
{
    struct vrt_onnx_value value = { .kind = VRT_ONNX_VIEW, .node = x->node };

    value.n_dims = (int)shape->n;
    for (int i = 0; i < value.n_dims; i++) {
        value.dims[i] = vrt_onnx_integer(shape, i);
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
static bool is_picture(const struct vrt_onnx_constant *shape)
{
    return shape->n == 4 || (shape->n == 6 && vrt_onnx_integer(shape, 2) == 1 &&
                             vrt_onnx_integer(shape, 3) == 1);
}

int vrt_onnx_reshape(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0), *shape = vrt_onnx_in(reader, 1);

    if (!x || x->kind == VRT_ONNX_CONSTANT || !shape || shape->kind != VRT_ONNX_CONSTANT ||
        shape->constant.n > VRT_ONNX_DIMS_MAX)
        return vrt_dag_refuse(reader->dag, "isn't to a constant shape: vrtd has no op for that");
    const bool is_moved = x->kind == VRT_ONNX_VIEW && x->is_moved;
    if (shape->constant.n > 4 && !is_moved)
        return view(x, &shape->constant, ret_value);
    if (!is_moved || !is_picture(&shape->constant))
        return vrt_dag_refuse(reader->dag, "isn't part of moving pixels by squares: vrtd has no op "
                              "for that");
    int made = vrt_dag_shuffle(reader->dag, x->moves, x->node, x->r, false);
    if (made < 0)
        return made;
    const int64_t channels = vrt_onnx_integer(&shape->constant, 1);
    if (channels > 0 && channels != reader->dag->nodes[made].channels)
        return vrt_dag_refuse(reader->dag, "makes %lld channels of what is %d",
                              (long long)channels, reader->dag->nodes[made].channels);
    *ret_value = (struct vrt_onnx_value){
        .kind = VRT_ONNX_NODE, .node = made, .is_padded = shape->constant.n > 4,
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
