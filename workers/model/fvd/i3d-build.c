/* SPDX-License-Identifier: MIT */

/*
 * I3D as a graph
 *
 * What no op does is made of those that are there. A filter over time: the frames that it sees side
 * by side as channels, zeros where there is none, and one convolution. The larger of two: a +
 * relu(b - a), relu being a convolution with the identity, of all samples as 16 channels, whatever
 * their own are. A pool is that along each axis in turn. Zeros around a pool are as good as
 * nothing, since what is pooled went through a ReLU. After a failure, which the graph remembers,
 * all of it goes on without effect.
 */

#include <errno.h>

#include "model/fvd/i3d-impl.h"
#include "model/parts/layers.h"

enum axis { AXIS_D, AXIS_H, AXIS_W, N_AXES };

struct builder {
    struct vrt_graph *graph;
    int param;                      /* the next */
    int identity;
};

/* Kernel and stride along each axis. */
struct pool {
    int kernel[N_AXES], stride[N_AXES];
};

static struct vrt_tensor new_tensor(const struct builder *b, int d, int h, int w, int c)
{
    return vrt_graph_tensor(b->graph, VRT_DTYPE_F32, (struct vrt_shape){ d, h, w, c });
}

/* `n` places of x along an axis, from `first` on, each `step`-th; all of the others. */
static struct vrt_tensor every(const struct vrt_tensor *x, enum axis axis, int first, int n,
                               int step)
{
    const int length = (n - 1) * step + 1;
    struct vrt_tensor view;

    switch (axis) {
    case AXIS_D:
        view = vrt_tensor_frames(x, first, length);
        view.shape.d = n;
        view.stride_d *= step;
        break;
    case AXIS_H:
        view = vrt_tensor_crop(x, first, 0, length, x->shape.w);
        view.shape.h = n;
        view.stride_h *= step;
        break;
    default:
        view = vrt_tensor_crop(x, 0, first, x->shape.h, length);
        view.shape.w = n;
        view.stride_w *= step;
    }
    return view;
}

/* Zeros in frames [first, first + n). */
static void clear_frames(const struct builder *b, const struct vrt_tensor *x, int first, int n)
{
    if (n < 1)
        return;
    const struct vrt_tensor frames = vrt_tensor_frames(x, first, n);
    vrt_layer_fill(b->graph, 0, &frames);
}

/* For each `stride`-th frame the `n` ones that a filter over time sees there, as channels. */
static struct vrt_tensor side_by_side(const struct builder *b, const struct vrt_tensor *x, int n,
                                      int stride)
{
    const struct vrt_shape s = x->shape;
    const int n_out = s.d / stride, before = (n - stride) / 2;
    const struct vrt_tensor all = new_tensor(b, n_out, s.h, s.w, n * s.c);

    for (int k = 0; k < n; k++) {
        /* Result t takes frame t * stride + k - before. */
        const int first = VRT_MAX((before - k + stride - 1) / stride, 0);
        const int end = VRT_MIN((s.d - 1 + before - k) / stride + 1, n_out);
        const struct vrt_tensor tap = vrt_tensor_channels(&all, k * s.c, s.c);

        if (end <= first) {
            clear_frames(b, &tap, 0, n_out);
            continue;
        }
        const struct vrt_tensor to = vrt_tensor_frames(&tap, first, end - first);
        const struct vrt_tensor from = every(x, AXIS_D, first * stride + k - before, end - first,
                                             stride);
        clear_frames(b, &tap, 0, first);
        vrt_layer_copy(b->graph, &from, &to);
        clear_frames(b, &tap, end, n_out - end);
    }
    return all;
}

/* The next convolution, of K x K taps, with a ReLU. */
static void conv(struct builder *b, const struct vrt_tensor *x, int kernel,
                 const struct vrt_tensor *out)
{
    const int weight = b->param;

    b->param += 2;
    vrt_layer_conv(b->graph, x, &(struct vrt_op_conv2d){
        .kernel = kernel, .weight = weight, .bias = weight + 1,
        .activation = VRT_ACTIVATION_RELU, .slopes = -1, .scale = 1,
    }, NULL, out);
}

/* The same to a new tensor of so many channels. */
static struct vrt_tensor conv_new(struct builder *b, const struct vrt_tensor *x, int kernel,
                                  int channels)
{
    const struct vrt_tensor out = new_tensor(b, x->shape.d, x->shape.h, x->shape.w, channels);

    conv(b, x, kernel, &out);
    return out;
}

/* The larger of a and c. */
static struct vrt_tensor larger(const struct builder *b, const struct vrt_tensor *a,
                                const struct vrt_tensor *c)
{
    const struct vrt_shape s = a->shape;
    const struct vrt_tensor difference = new_tensor(b, s.d, s.h, s.w, s.c);
    const struct vrt_tensor positive = new_tensor(b, s.d, s.h, s.w, s.c);
    const struct vrt_tensor sum = new_tensor(b, s.d, s.h, s.w, s.c);
    struct vrt_tensor from = vrt_tensor_dense(VRT_DTYPE_F32, (struct vrt_shape){
        s.d, s.h, s.w * (s.c / VRT_I3D_IDENTITY), VRT_I3D_IDENTITY });
    struct vrt_tensor to = from;

    from.storage = difference.storage;
    to.storage = positive.storage;
    vrt_layer_add(b->graph, a, -1, c, &difference);
    vrt_layer_conv(b->graph, &from, &(struct vrt_op_conv2d){
        .kernel = 1, .weight = b->identity, .bias = -1, .activation = VRT_ACTIVATION_RELU,
        .slopes = -1, .scale = 1,
    }, NULL, &to);
    vrt_layer_add(b->graph, &positive, 1, a, &sum);
    return sum;
}

/* x with as many zeros around it as "SAME" has: the odd one behind. */
static struct vrt_tensor surround(const struct builder *b, const struct vrt_tensor *x,
                                  const struct pool *pool)
{
    const struct vrt_shape s = x->shape;
    int before[N_AXES], more[N_AXES];

    for (int i = 0; i < N_AXES; i++) {
        more[i] = VRT_MAX(pool->kernel[i] - pool->stride[i], 0);
        before[i] = more[i] / 2;
    }
    if (more[AXIS_D] + more[AXIS_H] + more[AXIS_W] == 0)
        return *x;
    const struct vrt_tensor out = new_tensor(b, s.d + more[AXIS_D], s.h + more[AXIS_H],
                                             s.w + more[AXIS_W], s.c);
    const struct vrt_tensor inner = vrt_tensor_frames(&out, before[AXIS_D], s.d);
    clear_frames(b, &out, 0, before[AXIS_D]);
    vrt_layer_pad(b->graph, x, &(struct vrt_op_pad){
        VRT_PAD_ZERO, before[AXIS_H], before[AXIS_W] }, &inner);
    clear_frames(b, &out, before[AXIS_D] + s.d, more[AXIS_D] - before[AXIS_D]);
    return out;
}

/* The largest of each place's neighbours. Across first, which leaves the least to do. */
static struct vrt_tensor pool(const struct builder *b, const struct vrt_tensor *x,
                              const struct pool *pool)
{
    struct vrt_tensor y = surround(b, x, pool);

    for (int axis = AXIS_W; axis >= AXIS_D; axis--) {
        const int sizes[N_AXES] = { y.shape.d, y.shape.h, y.shape.w };
        const int kernel = pool->kernel[axis], stride = pool->stride[axis];
        const int n = (sizes[axis] - kernel) / stride + 1;
        struct vrt_tensor largest = every(&y, (enum axis)axis, 0, n, stride);

        for (int i = 1; i < kernel; i++) {
            const struct vrt_tensor next = every(&y, (enum axis)axis, i, n, stride);
            largest = larger(b, &largest, &next);
        }
        y = largest;
    }
    return y;
}

/* Four branches side by side: 1; 1, 3; 1, 3; a pool, 1. */
static struct vrt_tensor mix(struct builder *b, const struct vrt_tensor *x,
                             const struct vrt_i3d_mixed *mixed)
{
    static const struct pool same = { { 3, 3, 3 }, { 1, 1, 1 } };
    const int *c = mixed->channels;
    const struct vrt_shape s = x->shape;
    const struct vrt_tensor out = new_tensor(b, s.d, s.h, s.w, c[0] + c[2] + c[4] + c[5]);

    struct vrt_tensor part = vrt_tensor_channels(&out, 0, c[0]);
    conv(b, x, 1, &part);
    for (int i = 1; i <= 3; i += 2) {
        const struct vrt_tensor narrow = conv_new(b, x, 1, c[i]);
        const struct vrt_tensor taps = side_by_side(b, &narrow, 3, 1);

        part = vrt_tensor_channels(&out, c[0] + (i > 1 ? c[2] : 0), c[i + 1]);
        conv(b, &taps, 3, &part);
    }
    const struct vrt_tensor largest = pool(b, x, &same);
    part = vrt_tensor_channels(&out, c[0] + c[2] + c[4], c[5]);
    conv(b, &largest, 1, &part);
    return out;
}

/* From the clip to what the first mixed layer takes. */
static struct vrt_tensor begin(struct builder *b, const struct vrt_tensor *in)
{
    static const struct pool across = { { 1, 3, 3 }, { 1, 2, 2 } };
    const struct vrt_shape s = in->shape;
    const struct vrt_tensor squares = new_tensor(b, s.d, s.h / 2, s.w / 2, 4 * s.c);

    vrt_layer_unshuffle(b->graph, in, 2, &squares);
    struct vrt_tensor x = side_by_side(b, &squares, 7, 2);
    x = conv_new(b, &x, 5, 64);
    x = pool(b, &x, &across);
    x = conv_new(b, &x, 1, 64);
    x = side_by_side(b, &x, 3, 1);
    x = conv_new(b, &x, 3, 192);
    return pool(b, &x, &across);
}

static void append(struct builder *b, const struct vrt_tensor *in, const struct vrt_tensor *out)
{
    static const struct pool halving[] = { { { 3, 3, 3 }, { 2, 2, 2 } },
                                           { { 2, 2, 2 }, { 2, 2, 2 } } };
    struct vrt_tensor x = begin(b, in);

    for (int i = 0; i < VRT_I3D_MIXED; i++) {
        /* Before 4b and 5b. */
        if (i == 2 || i == 7)
            x = pool(b, &x, &halving[i == 7]);
        x = mix(b, &x, &vrt_i3d_mixed[i]);
    }
    const struct vrt_tensor mean = new_tensor(b, 1, 1, 1, VRT_I3D_FEATURES);
    vrt_layer_mean(b->graph, &x, &mean);
    vrt_layer_linear(b->graph, &mean, &(struct vrt_op_linear){
        .norm = { -1, -1 }, .weight = b->param, .bias = b->param + 1,
    }, NULL, out);
}

int vrt_i3d_build(const struct vrt_i3d *i3d, struct vrt_graph *graph, const struct vrt_tensor *in,
                  const struct vrt_tensor *out)
{
    const struct vrt_shape s = in->shape, logits = { 1, 1, 1, VRT_I3D_LOGITS };
    struct builder b = { .graph = graph, .identity = (int)i3d->params.n_items - 1 };

    if (vrt_graph_status(graph) < 0)
        return vrt_fold(vrt_graph_status(graph));
    if (in->dtype != VRT_DTYPE_F32 || out->dtype != VRT_DTYPE_F32 || s.c != 3 ||
        s.d % VRT_I3D_FRAMES_STEP || s.h % VRT_I3D_SIDE_STEP || s.w % VRT_I3D_SIDE_STEP ||
        !vrt_shape_equal(out->shape, logits))
        return vrt_raise(-EINVAL);
    vrt_graph_set_params(graph, i3d->params.items, i3d->params.n_items, VRT_DTYPE_F32);
    append(&b, in, out);
    vrt_graph_set_params(graph, NULL, 0, VRT_DTYPE_F32);
    return vrt_fold(vrt_graph_status(graph));
}
