/* SPDX-License-Identifier: MIT */
/* Attention in SwinIR's ONNX files: which places are compared, what is added for where they are. */

#include "base/macro.h"
#include "model/carrier/swinir-onnx.h"

#define MASKED (-100)               /* what a mask adds where two places don't belong together */

static void add_places(struct vrt_layout *layout, int64_t window)
{
    vrt_layout_add(layout, VRT_AXIS_ROWS, window, 1);
    vrt_layout_add(layout, VRT_AXIS_COLUMNS, window, 1);
}

static int64_t side_of(int64_t n)
{
    int64_t side = 1;

    while (side * side < n && side < 64)
        side++;
    return side;
}

int vrt_swinir_attend(struct vrt_swinir_reader *reader)
{
    const struct vrt_swinir_data a = vrt_swinir_in(reader, 0), b = vrt_swinir_in(reader, 1);
    const struct vrt_carrier_shape *shape_a = vrt_swinir_shape(reader, 0);
    const struct vrt_carrier_shape *shape_b = vrt_swinir_shape(reader, 1);
    const int64_t *of_a = shape_a->dims, *of_b = shape_b->dims;
    const bool is_value = a.layout.n > 0 &&
                          a.layout.axes[a.layout.n - 1].kind == VRT_AXIS_KEYS;
    const int64_t heads = of_a[1], features = is_value ? of_b[3] : of_a[3], n = of_a[2];
    const int64_t window = side_of(n);
    struct vrt_layout queries = { 0 }, keys, scores;

    vrt_layout_add(&queries, VRT_AXIS_ROWS, reader->padded[0] / window, window);
    vrt_layout_add(&queries, VRT_AXIS_COLUMNS, reader->padded[1] / window, window);
    vrt_layout_add(&queries, VRT_AXIS_CHANNELS, heads, features);
    scores = keys = queries;
    add_places(&queries, window);
    vrt_layout_add(&queries, VRT_AXIS_CHANNELS, features, 1);
    add_places(&scores, window);
    vrt_layout_add(&scores, VRT_AXIS_KEYS, n, 1);
    vrt_layout_add(&keys, VRT_AXIS_CHANNELS, features, 1);
    add_places(&keys, window);
    if (shape_a->n_dims != 4 || shape_b->n_dims != 4 || of_a[0] != of_b[0] ||
        of_a[1] != of_b[1] || window * window != n || window < 2 ||
        !vrt_layout_same(&a.layout, is_value ? &scores : &queries) ||
        !vrt_layout_same(&b.layout, is_value ? &queries : &keys))
        vrt_sketch_refuse(reader->sketch, "compares places otherwise than SwinIR: those of each "
                          "window, head by head");
    for (int k = 0; k < 2; k++)
        if (reader->padded[k] != reader->size[k] &&
            reader->padded[k] != (reader->size[k] + window - 1) / window * window)
            vrt_sketch_refuse(reader->sketch, "is of windows that pictures aren't padded to");
    return vrt_swinir_put(reader, &(struct vrt_swinir_data){
        .node = vrt_sketch_matmul(reader->sketch, a.node, b.node),
        .layout = is_value ? queries : scores });
}

/* Whether places a and b of window `i` of n along an axis don't belong together when windows were
 * shifted by half of one: the picture ends between them. */
static bool is_apart(int64_t i, int64_t n, int64_t window, int64_t a, int64_t b)
{
    const int64_t end = window - window / 2;

    return i == n - 1 && (a < end) != (b < end);
}

/* What is added for where places are [windows,1,N,N]: nothing, or MASKED for those that shifted
 * windows have from both ends of the picture. Return: whether it is that of shifted ones; -1: it is
 * neither. */
static int read_mask(struct vrt_swinir_reader *reader, int i)
{
    const float *v = vrt_carrier_onnx_numbers(reader->onnx, i);
    const struct vrt_carrier_shape *shape = vrt_swinir_shape(reader, i);
    const int64_t n = shape->dims[shape->n_dims - 1], window = side_of(n);
    const int64_t rows = reader->padded[0] / window, columns = reader->padded[1] / window;
    bool is_plain = true, is_shifted = true;

    if (!v || vrt_carrier_shape_n(shape) != rows * columns * n * n)
        return -1;
    for (int64_t k = 0; k < rows * columns * n * n; k++) {
        const int64_t at = k / (n * n), a = k / n % n, b = k % n;
        const bool is_masked = is_apart(at / columns, rows, window, a / window, b / window) ||
                               is_apart(at % columns, columns, window, a % window, b % window);

        is_plain &= v[k] == 0;
        is_shifted &= v[k] == (is_masked ? MASKED : 0);
    }
    return is_plain ? 0 : is_shifted ? 1 : -1;
}

int vrt_swinir_bias(struct vrt_swinir_reader *reader, const struct vrt_swinir_data *x, int i)
{
    const struct vrt_carrier_shape *of = vrt_swinir_shape(reader, i);
    const struct vrt_carrier_shape *shape = vrt_swinir_shape(reader, 1 - i);
    const int n = of->n_dims, m = shape->n_dims;
    bool fits = n >= 3 && m >= 4 && x->layout.n > 0 &&
                x->layout.axes[x->layout.n - 1].kind == VRT_AXIS_KEYS;

    for (int d = 1; fits && d <= 2; d++)
        fits = of->dims[n - d] == shape->dims[m - d];
    const bool is_mask = fits && n > 3 && of->dims[n - 4] > 1 && of->dims[n - 3] == 1;
    const int shifted = is_mask ? read_mask(reader, i) : 0;
    if (!fits || (!is_mask && vrt_carrier_shape_n(of) != of->dims[n - 3] * of->dims[n - 2] *
                                                           of->dims[n - 1]))
        vrt_sketch_refuse(reader->sketch, "adds other numbers than SwinIR for each pair of places");
    else if (shifted < 0)
        vrt_sketch_refuse(reader->sketch, "masks other places than SwinIR does, or otherwise");
    if (is_mask)
        return vrt_swinir_put_made(reader, VRT_SKETCH_MASK, x, (float)shifted);
    const int numbers = vrt_swinir_constant(reader, i);
    return vrt_swinir_put_node(reader, vrt_sketch_with(reader->sketch, VRT_SKETCH_SHIFT, x->node,
                                                       numbers), x);
}
