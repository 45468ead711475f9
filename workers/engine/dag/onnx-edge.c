/* SPDX-License-Identifier: MIT */
/*
 * ONNX's Pad and Slice of pictures, where they do what vrtd does itself: a picture is mirrored to
 * the next multiple of some size, and what comes of that is cut off again
 */

#include <string.h>

#include "base/macro.h"
#include "engine/dag/onnx-sizes.h"

#define MULTIPLE_MAX 64

static const double *row(const struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *sizes,
                         int i)
{
    return sizes->v + (ptrdiff_t)i * reader->n_probes;
}

/* Whether so many numbers from `first` on are 0. */
static bool are_zero(const struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *sizes,
                     int first, int n)
{
    double number;

    for (int i = first; i < first + n; i++)
        if (!vrt_onnx_same(reader, sizes, i, &number) || number != 0)
            return false;
    return true;
}

int vrt_onnx_pad(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);
    struct vrt_onnx_sizes pads;
    int r = vrt_onnx_sizes_in(reader, 1, 1, &pads);

    if (r < 0)
        return r;
    if (!x || x->kind != VRT_ONNX_NODE || pads.n != 8 || vrt_onnx_in(reader, 3))
        return vrt_dag_refuse(reader->dag, "pads what is no picture, or along some axes: vrtd has "
                              "no op for that");
    *ret_value = *x;
    if (are_zero(reader, &pads, 0, 8))
        return 0;
    /* Whatever isn't the input any more has read it. */
    if (!vrt_onnx_is(reader->node, "mode", "constant", "reflect") ||
        !are_zero(reader, &pads, 0, 6) || reader->has_edge || reader->is_raw_read)
        return vrt_dag_refuse(reader->dag, "pads otherwise than the network's input, on the right "
                              "and at the bottom, by what is mirrored there: vrtd has no op for "
                              "that");
    reader->has_edge = true;
    for (int axis = 0; axis < 2; axis++)
        memcpy(reader->edge[axis], row(reader, &pads, 6 + axis),
               (size_t)reader->n_probes * sizeof(double));
    ret_value->is_raw = false;
    return 0;
}

/* Whether `end` is where the picture ends along an axis, or where it would without its edge. */
static bool is_whole(const struct vrt_onnx_reader *reader, const struct vrt_onnx_value *x, int axis,
                     const double *end, bool *ret_crops)
{
    struct vrt_onnx_value cropped = *x;
    bool all = true, all_cropped = reader->has_edge;

    cropped.cropped = 3;
    for (int k = 0; k < reader->n_probes; k++) {
        const double size = axis == 0 ? 1 : axis == 1 ? reader->dag->nodes[x->node].channels :
                            vrt_onnx_extent(reader, x, axis - 2, k);

        all &= end[k] >= size;
        all_cropped &= axis >= 2 && end[k] == vrt_onnx_extent(reader, &cropped, axis - 2, k);
    }
    *ret_crops = !all && all_cropped;
    return all || all_cropped;
}

int vrt_onnx_slice(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value)
{
    const struct vrt_onnx_value *x = vrt_onnx_in(reader, 0);
    struct vrt_onnx_sizes in[4];
    const struct vrt_onnx_sizes *starts = &in[0], *ends = &in[1], *axes = &in[2], *steps = &in[3];
    bool crops = false;
    int r = vrt_onnx_sizes_in(reader, 1, VRT_ARRAY_SIZE(in), in);

    if (r < 0)
        return r;
    bool fits = x && x->kind == VRT_ONNX_NODE && ends->n > 0 && starts->n == ends->n &&
                axes->n == ends->n && (!steps->n || steps->n == ends->n);
    if (fits)
        *ret_value = *x;
    for (int i = 0; fits && i < ends->n; i++) {
        double axis, step = 1;
        fits = are_zero(reader, starts, i, 1) && vrt_onnx_same(reader, axes, i, &axis) &&
               (!steps->n || vrt_onnx_same(reader, steps, i, &step)) && step == 1 && axis >= -4 &&
               axis < 4;
        if (!fits)
            break;
        const int of = (int)(axis < 0 ? axis + 4 : axis);
        fits = is_whole(reader, x, of, row(reader, ends, i), &crops);
        ret_value->cropped |= crops ? 1 << (of - 2) : 0;
    }
    return fits ? 0 : vrt_dag_refuse(reader->dag, "cuts pictures: vrtd has no op for that but at "
                                     "the end, where an edge that was added is cut off again");
}

/* Whether the edge is what is missing to the next multiple of m. */
static bool is_multiple(const struct vrt_onnx_reader *reader, int m)
{
    for (int axis = 0; axis < 2; axis++)
        for (int k = 0; k < reader->n_probes; k++) {
            const int64_t size = (int64_t)reader->probes[axis][k];

            if (reader->edge[axis][k] != (double)((m - size % m) % m))
                return false;
        }
    return true;
}

int vrt_onnx_check_edge(struct vrt_onnx_reader *reader, const struct vrt_onnx_value *result)
{
    const int least = vrt_dag_multiple(reader->dag);

    if (!reader->has_edge)
        return 0;
    vrt_dag_set_where(reader->dag, "Pad", "");
    if (result->cropped != 3)
        return vrt_dag_refuse(reader->dag, "gives the picture an edge that stays: vrtd's results "
                              "are as large as the picture, or so many times");
    for (int m = least; m <= MULTIPLE_MAX; m += least)
        if (is_multiple(reader, m)) {
            reader->dag->edge = m;
            return 0;
        }
    return vrt_dag_refuse(reader->dag, "gives the picture an edge that isn't what is missing to "
                          "the next multiple of a size");
}
