/* SPDX-License-Identifier: MIT */
/* Operations of SwinIR's ONNX files that move samples: what they become is another layout. */

#include <string.h>

#include "base/macro.h"
#include "model/carrier/swinir-onnx.h"

#define WINDOW_MAX 64

/* Queries, keys or values: one of three. */
int vrt_swinir_gather(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_carrier_shape *shape = vrt_swinir_shape(reader, 0);
    struct vrt_swinir_data x = vrt_swinir_in(reader, 0);
    int64_t number[VRT_ONNX_DIMS_MAX] = { 0 };

    if (vrt_carrier_onnx_integers(reader->onnx, NULL, 1, number) != 1 || number[0] < 0 ||
        number[0] > 2 || vrt_onnx_int(reader->onnx->node, "axis", 0) != 0 ||
        !vrt_layout_fit(&x.layout, shape->dims, shape->n_dims) || shape->dims[0] != 3 ||
        x.layout.axes[0].kind != VRT_AXIS_CHANNELS || x.layout.axes[0].size != 3)
        vrt_sketch_refuse(reader->sketch, "takes something else than one of three parts");
    else
        memmove(x.layout.axes, x.layout.axes + 1,
                (size_t)--x.layout.n * sizeof(x.layout.axes[0]));
    return vrt_swinir_put_made(reader, VRT_SKETCH_PART, &x, (float)number[0]);
}

/* A part of all rows or columns; from the first on where several are cut. What is turned round ends
 * before it starts. */
int vrt_swinir_slice(void *network)
{
    struct vrt_swinir_reader *reader = network;
    int64_t starts[VRT_ONNX_DIMS_MAX], ends[VRT_ONNX_DIMS_MAX], axes[VRT_ONNX_DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(reader->onnx, NULL, 1, starts);
    const int n_axes = vrt_carrier_onnx_integers(reader->onnx, NULL, 3, axes);
    const struct vrt_carrier_shape *shape = vrt_swinir_shape(reader, 0);
    struct vrt_swinir_data x = vrt_swinir_any(reader, 0);
    struct vrt_layout layout = x.layout;
    bool fits = vrt_carrier_onnx_integers(reader->onnx, NULL, 2, ends) == n &&
                (x.is_cut || vrt_layout_fit(&layout, shape->dims, shape->n_dims));

    for (int k = 0; fits && k < n; k++) {
        const int axis = vrt_carrier_axis(n_axes ? axes[k] : k, shape->n_dims);
        const int64_t size = shape->dims[axis], start = vrt_carrier_limit(starts[k], size);
        const int64_t end = vrt_carrier_limit(ends[k], size);
        const struct vrt_layout of = vrt_layout_of(&layout, shape->dims, axis);

        if (start == 0 && end == size)
            continue;
        fits = (!x.is_cut || (x.start == 0 && start == 0)) && end > start &&
               (x.is_cut || (of.n == 1 && of.axes[0].step == 1 &&
                             1 << of.axes[0].kind & VRT_SWINIR_BOTH));
        x.is_cut = true;
        x.axis = of.axes[0].kind;
        x.start = start;
        x.end = end;
    }
    if (!fits)
        vrt_sketch_refuse(reader->sketch, "cuts pictures as SwinIR doesn't");
    return vrt_swinir_put(reader, &x);
}

/* The end of a picture before its beginning: it is rolled the shorter way. */
int vrt_swinir_concat(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_carrier_shape *shape = &reader->onnx->shape;
    const int axis = vrt_carrier_onnx_axis(reader->onnx, shape->n_dims);
    const int64_t size = shape->dims[axis];
    const struct vrt_swinir_data a = vrt_swinir_any(reader, 0), b = vrt_swinir_any(reader, 1);
    const int64_t by = a.start <= size / 2 ? a.start : a.start - size;
    struct vrt_swinir_data x = a;

    if (reader->onnx->n_in != 2 || !vrt_swinir_is_data(reader, 0) ||
        !vrt_swinir_is_data(reader, 1) ||
        a.node != b.node || !a.is_cut || !b.is_cut || a.axis != b.axis || a.end != size ||
        b.start != 0 || b.end != a.start || a.rolled != b.rolled || a.by != b.by ||
        !vrt_layout_same(&a.layout, &b.layout) ||
        !vrt_layout_fit(&x.layout, shape->dims, shape->n_dims) || by == 0 || by < -WINDOW_MAX ||
        by > WINDOW_MAX ||
        vrt_layout_of(&x.layout, shape->dims, axis).axes[0].kind != a.axis ||
        (a.rolled && a.by != by) || (a.rolled & 1 << a.axis)) {
        vrt_sketch_refuse(reader->sketch, "joins pictures as SwinIR doesn't");
        return 0;
    }
    x.is_cut = false;
    x.rolled |= 1 << a.axis;
    x.by = (int)by;
    return vrt_swinir_put(reader, &x);
}

int vrt_swinir_pad(void *network)
{
    struct vrt_swinir_reader *reader = network;
    int64_t pads[VRT_ONNX_DIMS_MAX] = { 0 };
    const int n = vrt_carrier_onnx_integers(reader->onnx, NULL, 1, pads);
    const int64_t *dims = reader->onnx->shape.dims;
    struct vrt_swinir_data x = vrt_swinir_in(reader, 0);
    bool fits = n == 8;

    vrt_swinir_want_picture(reader, &x);
    for (int d = 0; d < 8; d++)
        fits &= pads[d] >= 0 && pads[d] <= (d < 6 ? 0 : WINDOW_MAX);
    if (!fits || x.node != 0 || reader->padded[0] != reader->size[0] ||
        reader->padded[1] != reader->size[1] ||
        (pads[6] + pads[7] > 0 && !vrt_onnx_is(reader->onnx->node, "mode", "constant", "reflect")))
        vrt_sketch_refuse(reader->sketch, "pads otherwise than SwinIR's input, by what is mirrored "
                          "there");
    reader->padded[0] = dims[2];
    reader->padded[1] = dims[3];
    x.layout = vrt_swinir_picture(dims[1], dims[2], dims[3]);
    return vrt_swinir_put(reader, &x);
}

/* Channels that became pixels, r by r of them, by reshaping are a picture again. */
static void join_pixels(struct vrt_swinir_data *x, const struct vrt_carrier_shape *shape)
{
    const int64_t c = shape->dims[1], h = shape->dims[2], w = shape->dims[3];
    const int64_t r = x->layout.n == 5 ? x->layout.axes[2].size : 0;
    struct vrt_layout pixels = { 0 };

    if (shape->n_dims != 4 || r < 2 || h % r != 0 || w % r != 0)
        return;
    vrt_layout_add(&pixels, VRT_AXIS_CHANNELS, c, r * r);
    vrt_layout_add(&pixels, VRT_AXIS_ROWS, h / r, 1);
    vrt_layout_add(&pixels, VRT_AXIS_CHANNELS, r, r);
    vrt_layout_add(&pixels, VRT_AXIS_COLUMNS, w / r, 1);
    vrt_layout_add(&pixels, VRT_AXIS_CHANNELS, r, 1);
    if (vrt_layout_same(&x->layout, &pixels))
        x->layout = vrt_swinir_picture(c, h, w);
}

/* What is cut has fewer samples than its layout. */
int vrt_swinir_reshape(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_carrier_shape *shape = &reader->onnx->shape;
    struct vrt_swinir_data x = vrt_swinir_any(reader, 0);

    if (x.is_end || !vrt_layout_fit(&x.layout, shape->dims, shape->n_dims))
        vrt_sketch_refuse(reader->sketch, "takes pictures apart as SwinIR doesn't");
    join_pixels(&x, shape);
    return vrt_swinir_put(reader, &x);
}

int vrt_swinir_transpose(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const struct vrt_carrier_shape *shape = vrt_swinir_shape(reader, 0);
    struct vrt_swinir_data x = vrt_swinir_any(reader, 0);
    const struct vrt_layout of = x.layout;
    struct vrt_layout fitted = of;
    int64_t perm[VRT_ONNX_DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(reader->onnx, "perm", -1, perm);

    if (x.is_end || n != shape->n_dims || !vrt_layout_fit(&fitted, shape->dims, shape->n_dims)) {
        vrt_sketch_refuse(reader->sketch, "turns axes as SwinIR doesn't");
        return 0;
    }
    x.layout.n = 0;
    for (int d = 0; d < n; d++) {
        const struct vrt_layout axes = vrt_layout_of(&fitted, shape->dims, (int)perm[d]);
        x.layout = vrt_layout_join(&x.layout, &axes);
    }
    return vrt_swinir_put(reader, &x);
}

int vrt_swinir_to_pixels(void *network)
{
    struct vrt_swinir_reader *reader = network;
    const int64_t *dims = reader->onnx->shape.dims;
    struct vrt_swinir_data x = vrt_swinir_in(reader, 0);

    vrt_swinir_want_picture(reader, &x);
    if (!vrt_onnx_is(reader->onnx->node, "mode", "DCR", "CRD"))
        vrt_sketch_refuse(reader->sketch, "makes pixels of channels in another order than SwinIR");
    x.layout = vrt_swinir_picture(dims[1], dims[2], dims[3]);
    return vrt_swinir_put(reader, &x);
}
