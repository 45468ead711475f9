/* SPDX-License-Identifier: MIT */
/* SpyNet as a graph, and its params. */

#include "model/parts/spynet.h"

#include <stdio.h>

#include "base/macro.h"
#include "model/parts/layers.h"

/* Sizes are enlarged to a multiple of it, so that each level has half the next one's size. */
#define MULTIPLE (1 << (VRT_SPYNET_LEVELS - 1))

/* Channels of a level's input: a frame, its neighbour as the flow so far moves it, that flow. */
#define IN_CHANNELS 8
#define RGB_CHANNELS 3

#define N_CONVS 5                   /* of each level */
#define KERNEL 7                    /* of each of them */

/* Numbers stored as bf16 have an error of 2^-9. */
#define BUFFER_TOLERANCE 4e-3f

static const int channels[N_CONVS + 1] = { IN_CHANNELS, 32, 64, 32, 16, 2 };

/* Buffers that PyTorch stores with the weights. Return: as vrt_params_check(). */
static int check_buffers(struct vrt_params *params)
{
    static const float mean[RGB_CHANNELS] = { 0.485f, 0.456f, 0.406f };
    static const float std[RGB_CHANNELS] = { 0.229f, 0.224f, 0.225f };
    const struct vrt_params_want rgb = { .n_dims = 4, .dims = { 1, RGB_CHANNELS, 1, 1 } };
    int r = vrt_params_check(params, &rgb, mean, BUFFER_TOLERANCE, "spynet.mean");

    return r < 0 ? vrt_fold(r) :
                   vrt_fold(vrt_params_check(params, &rgb, std, BUFFER_TOLERANCE, "spynet.std"));
}

int vrt_spynet_take(struct vrt_params *params, const struct vrt_spynet_names *names,
                    int *ret_first)
{
    const int first = (int)params->n_items;
    int r = 0;

    for (int i = 0; i < VRT_SPYNET_LEVELS * N_CONVS && r == 0; i++) {
        const int level = i / N_CONVS, at = i % N_CONVS;
        const struct vrt_params_want weight = {
            .n_dims = 4, .dims = { channels[at + 1], channels[at], KERNEL, KERNEL },
            .use = VRT_PARAM_WEIGHT_F32,
        };

        r = vrt_params_take_layer(params, &weight, "spynet.basic_module.%d.basic_module.%d%s",
                                  level, at * names->step, names->layer);
    }
    if (r == 0 && names->has_buffers)
        r = check_buffers(params);
    *ret_first = first;
    return vrt_fold(r);
}

void vrt_spynet_pictures(struct vrt_graph *graph, const struct vrt_tensor *rgb,
                         struct vrt_tensor pictures[VRT_SPYNET_LEVELS])
{
    /* One after the other: what is near the mean keeps all its digits. */
    static const struct vrt_op_affine center = {
        .scale = { 1, 1, 1 }, .shift = { -0.485f, -0.456f, -0.406f },
    };
    static const struct vrt_op_affine stretch = {
        .scale = { 1 / 0.229f, 1 / 0.224f, 1 / 0.225f },
    };
    struct vrt_shape shape = rgb->shape;
    struct vrt_tensor x = *rgb;

    shape.h = (shape.h + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    shape.w = (shape.w + MULTIPLE - 1) / MULTIPLE * MULTIPLE;
    if (!vrt_shape_equal(shape, x.shape)) {
        x = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
        vrt_layer_resize(graph, rgb, VRT_RESIZE_BILINEAR, &x);
    }
    struct vrt_tensor centered = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
    vrt_layer_affine(graph, &x, &center, &centered);
    for (int l = VRT_SPYNET_LEVELS - 1; l >= 0; l--) {
        pictures[l] = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
        if (l == VRT_SPYNET_LEVELS - 1)
            vrt_layer_affine(graph, &centered, &stretch, &pictures[l]);
        else
            vrt_layer_halve(graph, &pictures[l + 1], &pictures[l]);
        shape.h /= 2;
        shape.w /= 2;
    }
}

/* A level's convolutions, from param `first` on, over some pairs: `in` holds the flow so far, `out`
 * becomes it. */
static void append_convs(struct vrt_graph *graph, int first, const struct vrt_tensor *in,
                         const struct vrt_tensor *out)
{
    const struct vrt_tensor before = vrt_tensor_channels(in, IN_CHANNELS - 2, 2);
    struct vrt_shape shape = in->shape;
    struct vrt_tensor x = *in;

    for (int i = 0; i < N_CONVS; i++) {
        const bool is_last = i + 1 == N_CONVS;
        const int weight = first + 2 * i;
        const struct vrt_op_conv2d conv = {
            .kernel = KERNEL,
            .weight = weight,
            .bias = weight + 1,
            .activation = is_last ? VRT_ACTIVATION_NONE : VRT_ACTIVATION_RELU,
            .scale = 1,
        };

        shape.c = channels[i + 1];
        struct vrt_tensor y = is_last ? *out : vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
        vrt_layer_conv(graph, &x, &conv, is_last ? &before : NULL, &y);
        x = y;
    }
}

struct vrt_tensor vrt_spynet_estimate(struct vrt_graph *graph, int first, int level,
                                      const struct vrt_tensor *picture,
                                      const struct vrt_tensor *coarser)
{
    const int n_pairs = picture->shape.d - 1, h = picture->shape.h, w = picture->shape.w;
    const struct vrt_shape shape = { 2 * n_pairs, h, w, 2 };
    struct vrt_tensor in = vrt_graph_tensor(graph, VRT_DTYPE_F32, (struct vrt_shape){
        2 * n_pairs, h, w, IN_CHANNELS });
    struct vrt_tensor flow = vrt_tensor_channels(&in, IN_CHANNELS - 2, 2);

    if (coarser) {
        struct vrt_tensor large = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);

        vrt_layer_resize(graph, coarser, VRT_RESIZE_BILINEAR_CORNERS, &large);
        vrt_layer_affine(graph, &large, &(struct vrt_op_affine){ .scale = { 2, 2 } }, &flow);
    } else {
        vrt_layer_fill(graph, 0, &flow);
    }
    for (int i = 0; i < 2; i++) {
        const bool forward = i == 1;
        struct vrt_tensor pairs = vrt_tensor_frames(&in, i * n_pairs, n_pairs);
        struct vrt_tensor frame = vrt_tensor_frames(picture, forward ? 1 : 0, n_pairs);
        struct vrt_tensor other = vrt_tensor_frames(picture, forward ? 0 : 1, n_pairs);
        struct vrt_tensor to_frame = vrt_tensor_channels(&pairs, 0, RGB_CHANNELS);
        struct vrt_tensor to_other = vrt_tensor_channels(&pairs, RGB_CHANNELS, RGB_CHANNELS);

        flow = vrt_tensor_channels(&pairs, IN_CHANNELS - 2, 2);
        vrt_layer_copy(graph, &frame, &to_frame);
        vrt_layer_warp(graph, &other, &flow, VRT_WARP_BILINEAR_BORDER, &to_other);
    }

    struct vrt_tensor out = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
    for (int i = 0, n; i < 2 * n_pairs; i += n) {
        n = VRT_MIN(vrt_layer_chunk(h, w), 2 * n_pairs - i);
        struct vrt_tensor some_in = vrt_tensor_frames(&in, i, n);
        struct vrt_tensor some_out = vrt_tensor_frames(&out, i, n);
        append_convs(graph, first + 2 * N_CONVS * level, &some_in, &some_out);
    }
    return out;
}

void vrt_spynet_resize(struct vrt_graph *graph, const struct vrt_tensor *flows,
                       const struct vrt_tensor *out)
{
    const struct vrt_op_affine stretch = {
        .scale = { (float)out->shape.w / (float)flows->shape.w,
                   (float)out->shape.h / (float)flows->shape.h },
    };
    const struct vrt_tensor resized = vrt_graph_tensor(graph, VRT_DTYPE_F32, out->shape);

    vrt_layer_resize(graph, flows, VRT_RESIZE_BILINEAR, &resized);
    vrt_layer_affine(graph, &resized, &stretch, out);
}
