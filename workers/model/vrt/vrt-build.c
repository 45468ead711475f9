/* SPDX-License-Identifier: MIT */
/* VRT from one end to the other: pictures to features, the hourglass, features to pictures. */

#include <stdarg.h>
#include <stdio.h>

#include "base/macro.h"
#include "model/architecture.h"
#include "model/parts/layers.h"
#include "model/vrt.h"

#define RGB_CHANNELS 3
#define WARPED_CHANNELS (4 * RGB_CHANNELS)
#define FUSE_SLOPE 0.2f             /* as in network_vrt.py */
#define FUSE_BORDER 3               /* of a convolution of 7 x 7 */

void vrt_vrt_tap(const struct vrt_vrt_builder *b, const struct vrt_tensor *tensor,
                 const char *format, ...)
{
    const struct vrt_network_taps *taps = b->use->taps;
    char name[64];
    va_list args;

    if (!taps)
        return;
    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    taps->tap(taps, b->graph, name, tensor);
}

/* 3x3 unless said otherwise; a slope of 1 is none. */
static struct vrt_op_conv2d conv_op(int weight, float slope)
{
    return (struct vrt_op_conv2d){
        .kernel = 3,
        .weight = weight,
        .bias = weight + 1,
        .activation = slope < 1 ? VRT_ACTIVATION_LEAKY_RELU : VRT_ACTIVATION_NONE,
        .slope = slope,
        .scale = 1,
    };
}

/* Four samples of each neighbour's picture around where the flow leads, beside the frame itself. */
static void warp_pictures(const struct vrt_vrt_builder *b, const struct vrt_tensor *rgb,
                          const struct vrt_tensor *out)
{
    const int n_pairs = rgb->shape.d - 1;

    for (int i = 0; i < VRT_VRT_DIRECTIONS; i++) {
        const bool forward = i == VRT_VRT_FORWARD;
        struct vrt_tensor warped = vrt_tensor_channels(out, RGB_CHANNELS + i * WARPED_CHANNELS,
                                                       WARPED_CHANNELS);
        struct vrt_tensor flow = vrt_tensor_channels(&b->flows[i][0], 0, 2);
        struct vrt_tensor other = vrt_tensor_frames(rgb, forward ? 0 : 1, n_pairs);
        struct vrt_tensor alone = vrt_tensor_frames(&warped, forward ? 0 : n_pairs, 1);

        warped = vrt_tensor_frames(&warped, forward ? 1 : 0, n_pairs);
        vrt_layer_warp(b->graph, &other, &flow, VRT_WARP_NEAREST4, &warped);
        vrt_layer_fill(b->graph, 0, &alone);
    }
}

/* The first features, f32 [D,H,W,C]. */
static struct vrt_tensor begin(struct vrt_vrt_builder *b, const struct vrt_tensor *rgb,
                               bool takes_noise)
{
    const struct vrt_op_conv2d conv = conv_op(b->vrt->conv_first, 1);
    struct vrt_shape shape = rgb->shape;
    struct vrt_tensor x;

    if (b->vrt->distances) {
        vrt_vrt_flows(b, rgb);
        shape.c = RGB_CHANNELS * VRT_VRT_WARPED_TIMES + (takes_noise ? 1 : 0);
        x = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
        struct vrt_tensor picture = vrt_tensor_channels(&x, 0, RGB_CHANNELS);
        vrt_layer_copy(b->graph, rgb, &picture);
        warp_pictures(b, rgb, &x);
        if (takes_noise) {
            struct vrt_tensor noise = vrt_tensor_channels(&x, shape.c - 1, 1);
            vrt_layer_fill(b->graph, b->use->noise, &noise);
        }
    } else {
        x = vrt_layer_convert(b->graph, rgb, b->use->dtype);
    }
    shape.c = b->vrt->features;
    struct vrt_tensor y = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
    vrt_layer_conv(b->graph, &x, &conv, NULL, &y);
    vrt_vrt_tap(b, &y, "conv_first");
    return y;
}

/* The stages down and up again, and the tail; then what they add to `x`, in the weights' type. */
static struct vrt_tensor append_body(const struct vrt_vrt_builder *b, const struct vrt_tensor *x)
{
    const struct vrt_vrt *vrt = b->vrt;
    const struct vrt_op_linear linear = {
        .norm = { vrt->norm, vrt->norm + 1 },
        .weight = vrt->conv_after_body,
        .bias = vrt->conv_after_body + 1,
    };
    struct vrt_tensor made[VRT_VRT_STAGES], y = *x;

    for (int i = 0; i < VRT_VRT_STAGES; i++) {
        made[i] = vrt_vrt_stage(b, i, &y,
                                i > VRT_VRT_STAGES / 2 ? &made[VRT_VRT_STAGES - 1 - i] : NULL);
        y = made[i];
    }
    y = vrt_vrt_tail(b, &y);
    if (b->use->taps) {
        struct vrt_tensor normed = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, y.shape);
        vrt_layer_norm(b->graph, &y, &linear.norm, &normed);
        vrt_vrt_tap(b, &normed, "norm");
    }
    struct vrt_tensor out = vrt_graph_tensor(b->graph, b->use->dtype, x->shape);
    vrt_layer_linear(b->graph, &y, &linear, x, &out);
    vrt_vrt_tap(b, &out, "conv_after_body+conv_first");
    return out;
}

/* Some frames of an enlarging network, from features to pixels. */
static void enlarge(const struct vrt_vrt_builder *b, const struct vrt_tensor *features,
                    const struct vrt_tensor *rgb, const struct vrt_tensor *out)
{
    const struct vrt_vrt *vrt = b->vrt;
    struct vrt_op_conv2d conv = conv_op(vrt->conv_before_upsample, 0.01f);
    struct vrt_shape shape = features->shape;

    shape.c = VRT_VRT_END_FEATURES;
    struct vrt_tensor x = vrt_graph_tensor(b->graph, b->use->dtype, shape);
    vrt_layer_conv(b->graph, features, &conv, NULL, &x);
    for (int i = 0; i < vrt->n_up; i++) {
        /* The activation comes after the shuffle, which only moves values. */
        conv = conv_op(vrt->up + 2 * i, 0.1f);
        shape.c = 4 * VRT_VRT_END_FEATURES;
        struct vrt_tensor wide = vrt_graph_tensor(b->graph, b->use->dtype, shape);
        vrt_layer_conv(b->graph, &x, &conv, NULL, &wide);
        shape = (struct vrt_shape){ shape.d, shape.h * 2, shape.w * 2, VRT_VRT_END_FEATURES };
        x = vrt_graph_tensor(b->graph, b->use->dtype, shape);
        vrt_layer_shuffle(b->graph, &wide, 2, NULL, &x);
    }
    conv = conv_op(vrt->up + 2 * vrt->n_up, 1);
    struct vrt_tensor y = vrt_graph_tensor(b->graph, b->use->dtype, shape);
    vrt_layer_conv(b->graph, &x, &conv, NULL, &y);

    struct vrt_tensor base = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, out->shape);
    vrt_layer_resize(b->graph, rgb, VRT_RESIZE_BILINEAR, &base);
    conv = conv_op(vrt->conv_last, 1);
    vrt_layer_conv(b->graph, &y, &conv, &base, out);
}

/* All frames beside one another become one, to which the clip's mean colour is added. */
static void fuse_frames(const struct vrt_vrt_builder *b, const struct vrt_tensor *features,
                        const struct vrt_tensor *mean, const struct vrt_tensor *out)
{
    const struct vrt_vrt *vrt = b->vrt;
    const int d = features->shape.d, h = features->shape.h, w = features->shape.w;
    const int c = features->shape.c, wide_h = h + 2 * FUSE_BORDER, wide_w = w + 2 * FUSE_BORDER;
    const struct vrt_op_pad pad = {
        .mode = VRT_PAD_REFLECT, .top = FUSE_BORDER, .left = FUSE_BORDER,
    };
    struct vrt_op_conv2d conv = conv_op(vrt->linear_fuse, FUSE_SLOPE);
    struct vrt_tensor all = vrt_graph_tensor(b->graph, b->use->dtype,
                                             (struct vrt_shape){ 1, h, w, d * c });

    for (int i = 0; i < d; i++) {
        struct vrt_tensor frame = vrt_tensor_frames(features, i, 1);
        struct vrt_tensor to = vrt_tensor_channels(&all, i * c, c);
        vrt_layer_copy(b->graph, &frame, &to);
    }
    conv.kernel = 1;
    struct vrt_tensor fused = vrt_graph_tensor(
        b->graph, b->use->dtype, (struct vrt_shape){ 1, h, w, VRT_VRT_END_FEATURES });
    vrt_layer_conv(b->graph, &all, &conv, NULL, &fused);

    /* The convolution pads with zeros, but beyond what is kept. */
    struct vrt_tensor padded = vrt_graph_tensor(
        b->graph, b->use->dtype, (struct vrt_shape){ 1, wide_h, wide_w, VRT_VRT_END_FEATURES });
    struct vrt_tensor wide = vrt_graph_tensor(
        b->graph, VRT_DTYPE_F32, (struct vrt_shape){ 1, wide_h, wide_w, out->shape.c });
    vrt_layer_pad(b->graph, &fused, &pad, &padded);
    conv = conv_op(vrt->conv_last, 1);
    conv.kernel = 1 + 2 * FUSE_BORDER;
    vrt_layer_conv(b->graph, &padded, &conv, NULL, &wide);
    wide = vrt_tensor_crop(&wide, FUSE_BORDER, FUSE_BORDER, h, w);
    vrt_layer_add(b->graph, mean, 1, &wide, out);
}

void vrt_vrt_build(const struct vrt_network *network, struct vrt_graph *graph,
                   const struct vrt_tensor *in, const struct vrt_tensor *out,
                   const struct vrt_network_use *use)
{
    struct vrt_vrt_builder b = { .vrt = &network->vrt, .graph = graph, .use = use };
    const struct vrt_vrt *vrt = b.vrt;
    struct vrt_tensor rgb = *in, mean = VRT_TENSOR_NONE;

    if (vrt->frames) {
        const struct vrt_shape one = { 1, 1, 1, in->shape.c };

        mean = vrt_graph_tensor(graph, VRT_DTYPE_F32, one);
        rgb = vrt_graph_tensor(graph, VRT_DTYPE_F32, in->shape);
        vrt_layer_mean(graph, in, &mean);
        vrt_layer_add(graph, &mean, -1, in, &rgb);
    }

    struct vrt_tensor x = begin(&b, &rgb, network->info.takes_noise);
    x = append_body(&b, &x);
    if (vrt->frames) {
        fuse_frames(&b, &x, &mean, out);
        return;
    }
    if (!vrt->n_up) {
        const struct vrt_op_conv2d conv = conv_op(vrt->conv_last, 1);
        vrt_layer_conv(graph, &x, &conv, in, out);
        return;
    }
    const int chunk = vrt_layer_chunk(x.shape.h, x.shape.w);
    for (int i = 0, n; i < x.shape.d; i += n) {
        n = VRT_MIN(chunk, x.shape.d - i);
        struct vrt_tensor some_x = vrt_tensor_frames(&x, i, n);
        struct vrt_tensor some_in = vrt_tensor_frames(in, i, n);
        struct vrt_tensor some_out = vrt_tensor_frames(out, i, n);
        enlarge(&b, &some_x, &some_in, &some_out);
    }
}
