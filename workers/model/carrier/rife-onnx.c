/* SPDX-License-Identifier: MIT */
/*
 * The operations that ONNX files of RIFE have, as planes: a table of kinds
 *
 * Two pictures and the time come in one after the other, or together as channels of one input, and
 * then also each place's own coordinates and how far it is to the next; a file without the time is
 * one for the middle. Where it samples pictures is told by each place's own coordinates, which it
 * stores, computes of the size, or is given, plus a flow.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/carrier/onnx/graph.h"
#include "model/carrier/rife.h"

#define INPUTS_MAX 3
#define RGB 3
#define COORDINATES 7               /* channels: two of them, and two steps */
#define CHANNELS_MAX 11
#define CLOSE 5e-4f                 /* of numbers that lie in a row */
#define KERNEL_MAX 4

/* Sizes that pictures are tried with: those that any RIFE takes, and others where it pads them. */
static const int whole_size[2] = { 128, 256 }, odd_size[2] = { 100, 196 };

struct data {
    struct vrt_plane_list list;
    bool is_last;                   /* the channels are */
    bool is_end;                    /* it is cut off: a result */
};

struct reader {
    struct vrt_carrier_onnx *onnx;
    struct vrt_planes *planes;
    struct vrt_carrier_rife *ends;
    struct data *data;
    int n_data, capacity;
    struct vrt_plane_list base;     /* coordinates and steps */
};

static struct vrt_plane_list none(void)
{
    return (struct vrt_plane_list){ 0 };
}

static int put(struct reader *reader, const struct data *data)
{
    if (reader->n_data == reader->capacity) {
        const int capacity = reader->capacity ? 2 * reader->capacity : 256;
        struct data *all = reallocarray(reader->data, (size_t)capacity, sizeof(*all));

        if (!all) {
            if (reader->planes->r == 0)
                reader->planes->r = vrt_refuse_errno(reader->planes->dag->error,
                                                     vrt_raise(-ENOMEM),
                                                     reader->planes->dag->source);
            return 0;
        }
        reader->data = all;
        reader->capacity = capacity;
    }
    reader->data[reader->n_data] = *data;
    return reader->n_data++;
}

static int put_list(struct reader *reader, struct vrt_plane_list list)
{
    return put(reader, &(struct data){ .list = list });
}

static bool is_data(const struct reader *reader, int i)
{
    const struct vrt_carrier_value *value = vrt_carrier_onnx_in(reader->onnx, i);

    return value && value->kind == VRT_CARRIER_DATA;
}

/* Input i, of pictures, as it is. */
static struct data any(const struct reader *reader, int i)
{
    return is_data(reader, i) ? reader->data[vrt_carrier_onnx_in(reader->onnx, i)->data] :
           (struct data){ 0 };
}

/* One number everywhere. */
static struct vrt_plane_list number(struct reader *reader, float value)
{
    return vrt_planes_affine(reader->planes, vrt_planes_cut(reader->base, 0, 1), 0, value);
}

/* Numbers [h,w] that are one, or lie in a row along one of the axes. */
static struct vrt_plane_list row(struct reader *reader, const float *v, int64_t h, int64_t w)
{
    const float right = v[w - 1] - v[0], down = v[(h - 1) * w] - v[0];
    const int axis = fabsf(right) > fabsf(down) ? 0 : 1;
    const float range = axis == 0 ? right : down;
    const float close = CLOSE * fabsf(range);

    for (int64_t i = 0; i < h * w; i++) {
        const float part = axis == 0 ? (float)(i % w) / (float)VRT_MAX(w - 1, 1) :
                           (float)(i / w) / (float)VRT_MAX(h - 1, 1);
        if (!(fabsf(v[i] - v[0] - part * range) <= close)) {
            vrt_planes_refuse(reader->planes, "has numbers that differ from place to place, and "
                              "not as coordinates do");
            return none();
        }
    }
    if (range == 0)
        return number(reader, v[0]);
    return vrt_planes_affine(reader->planes, vrt_planes_cut(reader->base, axis, 1), range / 2,
                             v[0] + range / 2);
}

/* One number a channel, as what the network multiplies with. */
static struct vrt_plane_list channels(struct reader *reader, int i, int n)
{
    float *values = NULL;
    int r = vrt_carrier_onnx_take(reader->onnx, i, &values);

    for (int k = 0; r == 0 && k < n; k++)
        if (!isfinite(values[k])) {
            free(values);
            vrt_planes_refuse(reader->planes, "has numbers that are not finite");
            return none();
        }
    if (r < 0 && reader->planes->r == 0)
        reader->planes->r = r;
    return r < 0 ? none() : vrt_planes_constant(reader->planes, values, n);
}

/* Input i, numbers, as planes that are combined with pictures. */
static struct vrt_plane_list numbers(struct reader *reader, int i)
{
    const float *v = vrt_carrier_onnx_numbers(reader->onnx, i);
    const struct vrt_carrier_value *value = vrt_carrier_onnx_in(reader->onnx, i);
    struct vrt_plane_list lists[RGB];

    if (!v || value->shape.n_dims > 4 || (value->shape.n_dims == 4 && value->shape.dims[0] != 1)) {
        vrt_planes_refuse(reader->planes, "reads numbers that vrtd can't follow");
        return none();
    }
    const struct vrt_carrier_shape *s = &value->shape;
    const int64_t w = s->n_dims > 0 ? s->dims[s->n_dims - 1] : 1;
    const int64_t h = s->n_dims > 1 ? s->dims[s->n_dims - 2] : 1;
    const int64_t n = s->n_dims > 2 ? s->dims[s->n_dims - 3] : 1;
    if (w < 1 || h < 1 || n < 1 || n > 4096 || (n > RGB && h * w > 1)) {
        vrt_planes_refuse(reader->planes, "has numbers for each place of more than three channels");
        return none();
    }
    if (n > RGB)
        return channels(reader, i, (int)n);
    for (int k = 0; k < n; k++)
        lists[k] = row(reader, v + k * h * w, h, w);
    return vrt_planes_join(reader->planes, lists, (int)n);
}

/* Input i, as operations read it. */
static struct vrt_plane_list in(struct reader *reader, int i)
{
    if (!is_data(reader, i))
        return numbers(reader, i);
    const struct data data = any(reader, i);
    if (data.is_last || data.is_end) {
        vrt_planes_refuse(reader->planes, data.is_end ? "reads what was cut off" :
                          "reads channels that come last");
        return none();
    }
    return data.list;
}

static int op_arith(void *network)
{
    struct reader *reader = network;
    const char *type = reader->onnx->node->op_type;
    const struct vrt_plane_list a = in(reader, 0);
    struct vrt_plane_list b;

    if (strcmp(type, "Neg") == 0)
        return put_list(reader, vrt_planes_affine(reader->planes, a, -1, 0));
    b = in(reader, 1);
    if (strcmp(type, "Mul") == 0)
        return put_list(reader, vrt_planes_mul(reader->planes, a, b));
    if (strcmp(type, "Sub") == 0)
        b = vrt_planes_affine(reader->planes, b, -1, 0);
    return put_list(reader, vrt_planes_add(reader->planes, a, b));
}

static int op_div(void *network)
{
    struct reader *reader = network;
    float by = 0;

    if (!vrt_carrier_onnx_number(reader->onnx, 1, &by) || by == 0)
        vrt_planes_refuse(reader->planes, "divides by more than a number");
    return put_list(reader, vrt_planes_affine(reader->planes, in(reader, 0), 1 / by, 0));
}

static int op_active(void *network)
{
    struct reader *reader = network;
    const float slope = vrt_onnx_float(reader->onnx->node, "alpha", 0.01f);
    const struct vrt_plane_list x = in(reader, 0);

    return put_list(reader, strcmp(reader->onnx->node->op_type, "Sigmoid") == 0 ?
                    vrt_planes_sigmoid(reader->planes, x) :
                    vrt_planes_leaky(reader->planes, x, slope));
}

/* Whether edge and stride are those of a convolution that keeps the size, halves or doubles it. */
static bool fits(struct reader *reader, const struct vrt_carrier_shape *w, bool is_transposed,
                 int64_t stride)
{
    const int64_t kernel = is_transposed ? 4 : 3;

    return w->dims[2] == kernel && w->dims[3] == kernel &&
           vrt_carrier_onnx_is_conv(reader->onnx, stride, 1) &&
           (is_transposed ? stride == 2 : stride == 1 || stride == 2);
}

/* Outputs first, as those that aren't transposed have them. */
static float *turned(const float *from, int64_t n_in, int64_t n_out)
{
    const int64_t n = KERNEL_MAX * KERNEL_MAX;
    float *to = malloc((size_t)(n_in * n_out * n) * sizeof(*to));

    for (int64_t i = 0; to && i < n_in; i++)
        for (int64_t o = 0; o < n_out; o++)
            memcpy(to + (o * n_in + i) * n, from + (i * n_out + o) * n, (size_t)n * sizeof(*to));
    return to;
}

static int op_conv(void *network)
{
    struct reader *reader = network;
    const bool is_transposed = strcmp(reader->onnx->node->op_type, "ConvTranspose") == 0;
    const struct vrt_carrier_value *w = vrt_carrier_onnx_in(reader->onnx, 1);
    const struct vrt_carrier_value *b = vrt_carrier_onnx_in(reader->onnx, 2);
    const VrtPb__Attribute *strides = vrt_onnx_attribute(reader->onnx->node, "strides");
    const int64_t stride = strides && strides->n_ints ? strides->ints[0] : 1;
    const struct vrt_plane_list x = in(reader, 0);

    if (!fits(reader, &w->shape, is_transposed, stride) || !b ||
        x.n != w->shape.dims[is_transposed ? 0 : 1] ||
        vrt_carrier_shape_n(&b->shape) != w->shape.dims[is_transposed ? 1 : 0]) {
        vrt_planes_refuse(reader->planes, "isn't a convolution as RIFE has them: 3 by 3, or 4 by 4 "
                          "transposed, with a bias");
        return 0;
    }
    const int64_t n_in = w->shape.dims[is_transposed ? 0 : 1];
    const int64_t n_out = w->shape.dims[is_transposed ? 1 : 0];
    struct vrt_plane_conv conv = { .in = x, .kernel = (int)w->shape.dims[2], .stride = (int)stride,
                                   .is_transposed = is_transposed };
    int r = reader->planes->r;
    r = r < 0 ? r : vrt_carrier_onnx_take(reader->onnx, 1, &conv.weight);
    r = r < 0 ? r : vrt_carrier_onnx_take(reader->onnx, 2, &conv.bias);
    if (r == 0 && is_transposed) {
        float *weight = turned(conv.weight, n_in, n_out);

        free(conv.weight);
        conv.weight = weight;
        r = weight ? 0 : vrt_refuse_errno(reader->planes->dag->error, vrt_raise(-ENOMEM),
                                          reader->planes->dag->source);
    }
    if (r < 0) {
        free(conv.weight);
        free(conv.bias);
        reader->planes->r = r;
        return 0;
    }
    return put_list(reader, vrt_planes_conv(reader->planes, &conv, (int)n_out));
}

/* Whether it goes along the channels. */
static bool is_of_channels(const struct reader *reader)
{
    return reader->onnx->shape.n_dims == 4 && vrt_carrier_onnx_axis(reader->onnx, 4) == 1;
}

static int op_concat(void *network)
{
    struct reader *reader = network;
    struct vrt_plane_list lists[VRT_CARRIER_INPUTS_MAX];

    if (!is_of_channels(reader))
        vrt_planes_refuse(reader->planes, "joins something else than channels");
    for (int i = 0; i < reader->onnx->n_in; i++)
        lists[i] = in(reader, i);
    return put_list(reader, vrt_planes_join(reader->planes, lists, reader->onnx->n_in));
}

/* Channels, or rows and columns at the end, which the result has more of than the input. What goes
 * backwards ends before it starts. */
static int op_slice(void *network)
{
    struct reader *reader = network;
    int64_t starts[VRT_ONNX_DIMS_MAX], ends[VRT_ONNX_DIMS_MAX], axes[VRT_ONNX_DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(reader->onnx, NULL, 1, starts);
    const int n_axes = vrt_carrier_onnx_integers(reader->onnx, NULL, 3, axes);
    struct data x = any(reader, 0);
    bool fits = !x.is_last && vrt_carrier_onnx_integers(reader->onnx, NULL, 2, ends) == n;

    for (int k = 0; fits && k < n; k++) {
        const struct vrt_carrier_shape *shape = &vrt_carrier_onnx_in(reader->onnx, 0)->shape;
        const int axis = vrt_carrier_axis(n_axes ? axes[k] : k, shape->n_dims);
        const int64_t size = shape->dims[axis], start = vrt_carrier_limit(starts[k], size);
        const int64_t end = vrt_carrier_limit(ends[k], size);

        fits = shape->n_dims == 4 && (axis == 1 || start == 0) && end > start;
        if (axis == 1)
            x.list = vrt_planes_cut(x.list, (int)start, (int)(end - start));
        else
            x.is_end |= end < size;
    }
    if (!fits)
        vrt_planes_refuse(reader->planes, "cuts something else than channels");
    return put(reader, &x);
}

static int op_split(void *network)
{
    struct reader *reader = network;
    int64_t sizes[VRT_ONNX_DIMS_MAX];
    const int64_t n = reader->onnx->shape.dims[1];
    const int n_sizes = vrt_carrier_onnx_integers(reader->onnx, "split", 1, sizes);
    int64_t first = n_sizes > 0 ? 0 : (int64_t)reader->onnx->output * n;

    for (int i = 0; i < n_sizes && i < (int)reader->onnx->output; i++)
        first += sizes[i];
    if (!is_of_channels(reader))
        vrt_planes_refuse(reader->planes, "cuts something else than channels");
    return put_list(reader, vrt_planes_cut(in(reader, 0), (int)first, (int)n));
}

static int op_shuffle(void *network)
{
    struct reader *reader = network;

    if (vrt_onnx_int(reader->onnx->node, "blocksize", 0) != 2 ||
        !vrt_onnx_is(reader->onnx->node, "mode", "DCR", "CRD"))
        vrt_planes_refuse(reader->planes, "moves pixels otherwise than by 2, or in another order");
    return put_list(reader, vrt_planes_shuffle(reader->planes, in(reader, 0)));
}

static int op_resize(void *network)
{
    struct reader *reader = network;
    const struct vrt_plane_list x = in(reader, 0);
    const VrtPb__Node *node = reader->onnx->node;
    const struct vrt_carrier_shape *from = &vrt_carrier_onnx_in(reader->onnx, 0)->shape;
    const struct vrt_carrier_shape *to = &reader->onnx->shape;
    const char *mode = "coordinate_transformation_mode";

    if (!vrt_onnx_is(node, "mode", "nearest", "linear") ||
        (!vrt_onnx_is(node, mode, "half_pixel", "half_pixel") &&
         !vrt_onnx_is(node, mode, "half_pixel", "pytorch_half_pixel")) ||
        vrt_onnx_int(node, "antialias", 0) || to->dims[0] != from->dims[0] ||
        to->dims[1] != from->dims[1] || to->dims[2] * from->dims[3] != to->dims[3] * from->dims[2])
        vrt_planes_refuse(reader->planes, "resizes otherwise than by one factor, bilinear, corners "
                          "not aligned");
    const float factor = (float)to->dims[3] / (float)VRT_MAX(from->dims[3], 1);
    return put_list(reader, vrt_planes_resize(reader->planes, x, factor));
}

static int op_transpose(void *network)
{
    struct reader *reader = network;
    int64_t perm[VRT_ONNX_DIMS_MAX];
    const int n = vrt_carrier_onnx_integers(reader->onnx, "perm", -1, perm);
    struct data x = any(reader, 0);

    if (n != 4 || x.is_last || x.is_end || perm[0] != 0 || perm[1] != 2 || perm[2] != 3)
        vrt_planes_refuse(reader->planes, "turns axes as RIFE doesn't");
    x.is_last = true;
    return put(reader, &x);
}

static int op_sample(void *network)
{
    struct reader *reader = network;
    const VrtPb__Node *node = reader->onnx->node;
    const struct vrt_plane_list x = in(reader, 0);
    const struct data grid = any(reader, 1);
    const int64_t *size = vrt_carrier_onnx_in(reader->onnx, 0)->shape.dims + 2;
    const int64_t *to = reader->onnx->shape.dims + 2;
    struct vrt_plane_list base[3] = { reader->base };
    int n = 1;

    if ((!vrt_onnx_is(node, "mode", "bilinear", "bilinear") &&
         !vrt_onnx_is(node, "mode", "bilinear", "linear")) || !grid.is_last ||
        size[0] != to[0] || size[1] != to[1] ||
        !vrt_onnx_is(node, "padding_mode", "zeros", "border") ||
        vrt_onnx_int(node, "align_corners", 0) != 1)
        vrt_planes_refuse(reader->planes, "samples a picture otherwise than RIFE: bilinear, with "
                          "its border beyond it, corners aligned");
    for (int k = 0; reader->base.n == 2 && k < 2; k++)
        base[n++] = number(reader, 2 / (float)VRT_MAX(size[1 - k] - 1, 1));
    return put_list(reader, vrt_planes_sample(reader->planes, x, grid.list,
                                              vrt_planes_join(reader->planes, base, n)));
}

/* Whether all of its planes are of the frames, or the time. */
static bool is_frames(const struct reader *reader, struct vrt_plane_list x, bool or_time)
{
    for (int i = 0; i < x.n; i++) {
        bool is_one = or_time && reader->ends->time.n > 0 && x.at[i] == reader->ends->time.at[0];

        for (int k = 0; k < 2 * RGB; k++)
            is_one |= x.at[i] == reader->ends->frames[k / RGB].at[k % RGB];
        if (!is_one)
            return false;
    }
    return true;
}

/* What is cut off to 0 and 1 is so already, or is shown so. */
static int op_clip(void *network)
{
    struct reader *reader = network;
    struct data x = any(reader, 0);

    if (!vrt_carrier_onnx_is_clip(reader->onnx))
        vrt_planes_refuse(reader->planes, "cuts off within 0 and 1");
    x.is_end |= !is_frames(reader, x.list, true);
    return put(reader, &x);
}

/* Zeros behind the last rows and columns of the frames. */
static int op_pad(void *network)
{
    struct reader *reader = network;
    int64_t pads[VRT_ONNX_DIMS_MAX];
    float filled = 0;
    const int n = vrt_carrier_onnx_integers(reader->onnx, NULL, 1, pads);
    const struct vrt_plane_list x = in(reader, 0);
    bool fits = n == 8 && vrt_onnx_is(reader->onnx->node, "mode", "constant", "constant") &&
                (!vrt_carrier_onnx_in(reader->onnx, 2) ||
                 (vrt_carrier_onnx_number(reader->onnx, 2, &filled) && filled == 0));

    for (int d = 0; fits && d < 6; d++)
        fits = pads[d] == 0;
    if (!fits || !is_frames(reader, x, false))
        vrt_planes_refuse(reader->planes, "pads otherwise than the frames, at the right and the "
                          "bottom, by zeros");
    for (int k = 0; k < 2; k++)
        reader->ends->padded[k] = reader->onnx->shape.dims[2 + k];
    return put_list(reader, x);
}

static int op_same(void *network)
{
    const struct reader *reader = network;

    return vrt_carrier_onnx_in(reader->onnx, 0)->data;
}

/* The time, for each place; whatever else keeps its shape. */
static int op_spread(void *network)
{
    struct reader *reader = network;
    const struct vrt_plane_list x = in(reader, 0);
    const struct vrt_carrier_shape *to = &reader->onnx->shape;
    const bool is_same = memcmp(to, &vrt_carrier_onnx_in(reader->onnx, 0)->shape, sizeof(*to)) == 0;

    if (!is_same && (!vrt_planes_same(x, reader->ends->time) ||
                     (to->n_dims == 4 && (to->dims[0] != 1 || to->dims[1] != 1))))
        vrt_planes_refuse(reader->planes, "moves samples as RIFE doesn't");
    return put_list(reader, x);
}

static const struct vrt_carrier_op ops[] = {
    { "Add", op_arith }, { "Cast", op_same }, { "Clip", op_clip }, { "Concat", op_concat },
    { "Conv", op_conv }, { "ConvTranspose", op_conv }, { "DepthToSpace", op_shuffle },
    { "Div", op_div }, { "Dropout", op_same }, { "Expand", op_spread }, { "Flatten", op_spread },
    { "GridSample", op_sample }, { "Identity", op_same }, { "LeakyRelu", op_active },
    { "Mul", op_arith }, { "Neg", op_arith }, { "Pad", op_pad }, { "Reshape", op_spread },
    { "Resize", op_resize }, { "Sigmoid", op_active }, { "Slice", op_slice },
    { "Split", op_split }, { "Squeeze", op_spread }, { "Sub", op_arith }, { "Tile", op_spread },
    { "Transpose", op_transpose }, { "Unsqueeze", op_spread }, { NULL, NULL },
};

/* What comes in, by how many channels each has: of pictures 3, 6, 7, 8 or 11, then the time. */
static int read_inputs(struct reader *reader, const struct vrt_carrier_shape *shapes, int n_inputs)
{
    struct vrt_plane_list all[INPUTS_MAX], joined;
    int n = 0;

    for (int i = 0; i < n_inputs; i++) {
        const bool is_picture = shapes[i].n_dims == 4 && shapes[i].dims[1] != 1;
        const int64_t said = is_picture ? shapes[i].dims[1] : vrt_carrier_shape_n(&shapes[i]);
        const int channels = !is_picture ? 1 : said == 0 && n_inputs > 1 ? RGB :
                             said > CHANNELS_MAX ? CHANNELS_MAX + 1 : (int)said;

        all[i] = vrt_planes_input(reader->planes, i, channels);
        n += channels;
    }
    if ((n != 2 * RGB && (n < COORDINATES || n > COORDINATES + 1) && n != CHANNELS_MAX) ||
        (n_inputs > 1 && n > COORDINATES) ||
        (n_inputs == 3 && (all[0].n != RGB || all[1].n != RGB)))
        return vrt_planes_refuse(reader->planes, "has %d inputs of %d channels in all; those of "
                                 "RIFE that vrtd reads have two pictures and the time, in 6, 7, 8 "
                                 "or 11 channels of one input, or one by one", n_inputs, n);
    joined = vrt_planes_join(reader->planes, all, n_inputs);
    reader->base = n == CHANNELS_MAX ? vrt_planes_cut(joined, COORDINATES, 4) :
                   vrt_planes_input(reader->planes, INPUTS_MAX, 2);
    for (int k = 0; k < 2; k++)
        reader->ends->frames[k] = vrt_planes_cut(joined, k * RGB, RGB);
    reader->ends->time = n > 2 * RGB ? vrt_planes_cut(joined, 2 * RGB, 1) : number(reader, 0.5f);
    for (int i = 0; i < n_inputs && reader->planes->r == 0; i++) {
        struct vrt_carrier_shape shape = shapes[i];

        if (shape.n_dims == 4)
            shape.dims[1] = all[i].n;
        int r = vrt_carrier_onnx_put_input(reader->onnx, vrt_carrier_onnx_input(reader->onnx, i),
                                           put_list(reader, all[i]), &shape);
        if (r < 0)
            return r;
    }
    return reader->planes->r;
}

static int read_beginning(struct reader *reader)
{
    const int *size = vrt_carrier_onnx_has(reader->onnx, "Pad") ? odd_size : whole_size;
    struct vrt_carrier_shape shapes[INPUTS_MAX];
    const VrtPb__ValueInfo *input;
    int n = 0, r;

    reader->onnx->network = "RIFE";
    reader->onnx->height = size[0];
    reader->onnx->width = size[1];
    while ((input = vrt_carrier_onnx_input(reader->onnx, n))) {
        vrt_dag_set_where(reader->planes->dag, "input", vrt_onnx_text(input->name));
        if (n == INPUTS_MAX || !vrt_carrier_onnx_shape_of(reader->onnx, input, &shapes[n]))
            return vrt_planes_refuse(reader->planes, "isn't one of RIFE's, which are two pictures "
                                     "and the time, or one of all of them");
        n++;
    }
    r = vrt_carrier_onnx_read_constants(reader->onnx);
    if (r < 0)
        return r;
    vrt_dag_set_where(reader->planes->dag, "file", "");
    if (n == 0 || shapes[0].n_dims != 4)
        return vrt_planes_refuse(reader->planes, "has no pictures as its first input");
    for (int k = 0; k < 2; k++)
        reader->ends->size[k] = reader->ends->padded[k] = shapes[0].dims[2 + k];
    return read_inputs(reader, shapes, n);
}

static int read_graph(struct reader *reader)
{
    int r = read_beginning(reader);

    if (r < 0)
        return r;
    r = vrt_carrier_onnx_read(reader->onnx, ops, reader, &reader->planes->r);
    if (r < 0)
        return r;
    const struct vrt_carrier_value *result = vrt_carrier_onnx_result(reader->onnx);
    if (!result)
        return vrt_planes_refuse(reader->planes, "has %zu outputs, or one that isn't made of "
                                 "pictures; export the new frame alone",
                                 reader->onnx->graph->n_output);
    for (int k = 0; k < 2; k++)
        if (result->shape.n_dims != 4 || result->shape.dims[2 + k] != reader->ends->size[k])
            return vrt_planes_refuse(reader->planes, "gives pictures of another size than come in");
    reader->ends->result = reader->data[result->data].list;
    return 0;
}

int vrt_carrier_rife_read_onnx(void *source, struct vrt_planes *planes,
                               struct vrt_carrier_rife *ret_ends)
{
    struct reader reader = { .onnx = source, .planes = planes, .ends = ret_ends };
    int r = read_graph(&reader);

    free(reader.data);
    return vrt_fold(r);
}
