/* SPDX-License-Identifier: MIT */
/*
 * SRVGGNetCompact: 3x3 convolutions one after the other at the input's size, a pixel shuffle, and
 * the input enlarged by repeating samples, to which the network only adds
 *
 * The list "body" of its tensors counts convolutions and activations: body.0, .2, .4, ... are
 * convolutions, and body.1, .3, ... the PReLU slopes between, if that is the activation.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "engine/checkpoint.h"
#include "model/architecture.h"
#include "model/parts/layers.h"

#define VRT_LOG_TOPIC "model"

#define SCALE_MAX 8
#define LEAKY_SLOPE 0.1f            /* as of srvgg_arch.py where it is leaky */

static bool recognise(const struct vrt_checkpoint *checkpoint)
{
    if (!vrt_params_extent(checkpoint, "body.0.weight", 4, 0))
        return false;
    return vrt_params_extent(checkpoint, "body.1.weight", 1, 0) ||
           (!vrt_checkpoint_find(checkpoint, "body.1.weight") &&
            vrt_params_extent(checkpoint, "body.2.weight", 4, 0));
}

/*
 * Activations without params leave no trace in the names. Every public network without slopes has
 * the leaky ReLU; one with the plain one can say so in its file's metadata.
 */
static enum vrt_activation find_activation(const struct vrt_params *params)
{
    const char *named = vrt_checkpoint_metadata(params->checkpoint, "activation");

    if (vrt_checkpoint_find(params->checkpoint, "body.1.weight"))
        return VRT_ACTIVATION_PRELU;
    if (named && strcmp(named, "relu") == 0)
        return VRT_ACTIVATION_RELU;
    if (!named || strcmp(named, "leakyrelu") != 0)
        vrt_log_warning("%s has no slopes and doesn't name its activation, taking it for leaky "
                        "ReLU", params->source);
    return VRT_ACTIVATION_LEAKY_RELU;
}

/* The scale of a network whose last convolution has `last` channels, or 0. */
static int find_scale(int last, int channels)
{
    for (int scale = 1; scale <= SCALE_MAX; scale++)
        if (last == channels * scale * scale)
            return scale;
    return 0;
}

static int take_convs(struct vrt_params *params, const struct vrt_compact *compact, int channels,
                      int last)
{
    int r = 0;

    for (int i = 0; i < compact->n_convs && r == 0; i++) {
        int n_out = i + 1 == compact->n_convs ? last : compact->features;
        int n_in = i == 0 ? channels : compact->features;

        r = vrt_params_take(params, (int[]){ n_out, n_in, 3, 3 }, 4, "body.%d.weight", 2 * i);
        if (r == 0)
            r = vrt_params_take(params, &n_out, 1, "body.%d.bias", 2 * i);
        if (r == 0 && i + 1 < compact->n_convs && compact->activation == VRT_ACTIVATION_PRELU)
            r = vrt_params_take(params, &n_out, 1, "body.%d.weight", 2 * i + 1);
    }
    return r;
}

static int load(struct vrt_network *network, struct vrt_params *params)
{
    struct vrt_compact *compact = &network->compact;
    struct vrt_network_info *info = &network->info;
    int last_index = vrt_params_last_index(params->checkpoint, "body.");
    char name[32];

    compact->activation = find_activation(params);
    compact->features = vrt_params_extent(params->checkpoint, "body.0.weight", 4, 0);
    info->in_channels = vrt_params_extent(params->checkpoint, "body.0.weight", 4, 1);
    if (last_index < 2 || last_index % 2 != 0)
        return vrt_params_refuse(params, "network whose layers end with body.%d, which isn't the "
                                 "place of a convolution", last_index);
    if (info->in_channels != 3 && info->in_channels != 1)
        return vrt_params_refuse(params, "network for pictures of %d channels; vrtd runs those for "
                                 "3 (colour) and 1 (gray)", info->in_channels);

    snprintf(name, sizeof(name), "body.%d.weight", last_index);
    int last = vrt_params_extent(params->checkpoint, name, 4, 0);
    info->scale = find_scale(last, info->in_channels);
    if (!info->scale)
        return vrt_params_refuse(params, "network whose last convolution %s has %d outputs, not "
                                 "%d times the square of a scale from 1 to %d", name, last,
                                 info->in_channels, SCALE_MAX);

    compact->n_convs = last_index / 2 + 1;
    info->out_channels = info->in_channels;
    info->radius = compact->n_convs;
    snprintf(info->description, sizeof(info->description),
             "SRVGGNetCompact, %d features, %d convolutions, %s%sx%d", compact->features,
             compact->n_convs - 2,
             compact->activation == VRT_ACTIVATION_RELU ? "ReLU, " :
             compact->activation == VRT_ACTIVATION_LEAKY_RELU ? "leaky ReLU, " : "",
             info->in_channels == 1 ? "gray, " : "", info->scale);
    return take_convs(params, compact, info->in_channels, last);
}

static void build(const struct vrt_network *network, struct vrt_graph *graph,
                  const struct vrt_tensor *in, const struct vrt_tensor *out,
                  const struct vrt_network_use *use)
{
    const struct vrt_compact *compact = &network->compact;
    const enum vrt_dtype dtype = use->dtype;
    bool has_slopes = compact->activation == VRT_ACTIVATION_PRELU;
    int n_params = has_slopes ? 3 : 2, r = network->info.scale;
    struct vrt_shape shape = in->shape;
    struct vrt_tensor x = vrt_layer_convert(graph, in, dtype);

    for (int i = 0; i < compact->n_convs; i++) {
        bool is_last = i + 1 == compact->n_convs;
        struct vrt_op_conv2d conv = {
            .kernel = 3,
            .weight = i * n_params,
            .bias = i * n_params + 1,
            .activation = is_last ? VRT_ACTIVATION_NONE : compact->activation,
            .slope = LEAKY_SLOPE,
            .slopes = has_slopes && !is_last ? i * n_params + 2 : -1,
            .scale = 1,
        };

        shape.c = is_last ? network->info.out_channels * r * r : compact->features;
        struct vrt_tensor y = vrt_graph_tensor(graph, is_last ? VRT_DTYPE_F32 : dtype, shape);
        vrt_layer_conv(graph, &x, &conv, NULL, &y);
        x = y;
    }
    vrt_layer_shuffle(graph, &x, r, in, out);
}

const struct vrt_architecture vrt_architecture_compact = {
    .name = "compact",
    .network = "SRVGGNetCompact",
    .recognise = recognise,
    .pad_mode = VRT_PAD_REFLECT,
    .load = load,
    .build = build,
};
