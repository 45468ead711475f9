/* SPDX-License-Identifier: MIT */
/* BasicVSR++: recognition, sizes and params; basicvsr-build.c has the graph. */

#include "model/basicvsr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/checkpoint.h"
#include "model/architecture.h"
#include "model/parts/spynet.h"

#define FEATURES_MAX 1024
#define BLOCKS_MAX 128              /* well above the published 25 */
#define RGB 3
#define TAPS 9
#define ORDERS 2                    /* frames that one is aligned with: the last one and the next */

/* Pixels of the flows' pictures that tiles share: features come from further away, ever fainter. */
#define TILE_OVERLAP 32

/* Its authors let it see whole videos; it was trained on clips of 30 frames. What a frame at a
 * clip's end lacks is what came after it. */
#define CLIP_FRAMES 30
#define CLIP_OVERLAP 6

/* Two frames before and two after are what a frame is aligned with. */
#define WINDOW_FRAMES 5

static const char *const branch_names[VRT_BASICVSR_BRANCHES] = { "backward_1", "forward_1",
                                                                 "backward_2", "forward_2" };

static bool recognise(const struct vrt_checkpoint *checkpoint)
{
    return vrt_checkpoint_find(checkpoint, "deform_align.backward_1.conv_offset.0.weight") &&
           vrt_params_last_index(checkpoint, "backbone.backward_1.main.") >= 0;
}

/* Sizes that others follow from. Return: 0; -EINVAL. */
static int find_sizes(struct vrt_params *params, struct vrt_basicvsr *net)
{
    const struct vrt_checkpoint *checkpoint = params->checkpoint;
    static const char offsets[] = "deform_align.backward_1.conv_offset.6.weight";
    const int n_out = vrt_params_extent(checkpoint, offsets, 4, 0);

    net->features = vrt_params_extent(checkpoint, "deform_align.backward_1.weight", 4, 0);
    net->end_features = vrt_params_extent(checkpoint, "conv_hr.weight", 4, 0);
    net->n_blocks = vrt_params_last_index(checkpoint, "backbone.backward_1.main.2.") + 1;
    net->keeps_size = vrt_params_last_index(checkpoint, "feat_extract.") >= 0;
    if (net->features < 1 || net->features > FEATURES_MAX || net->end_features < 1 ||
        net->end_features > FEATURES_MAX)
        return vrt_params_refuse(params, "network of %d features (deform_align.backward_1.weight) "
                                 "and %d at its end (conv_hr.weight), not 1 to %d", net->features,
                                 net->end_features, FEATURES_MAX);
    if (net->n_blocks > BLOCKS_MAX)
        return vrt_params_refuse(params, "network of %d blocks (backbone.backward_1.main.2); %d "
                                 "are the most that are known", net->n_blocks, BLOCKS_MAX);
    net->offset_groups = n_out / 27;
    if (n_out % 27 || net->offset_groups < 1 || net->offset_groups % ORDERS ||
        ORDERS * net->features % net->offset_groups)
        return vrt_params_refuse(params, "network whose %s has %d outputs, not 27 for each of an "
                                 "even number of groups that %d channels can be split into",
                                 offsets, n_out, ORDERS * net->features);
    return 0;
}

struct taker {
    struct vrt_params *params;
    int r;                          /* the first failure: nothing is taken after it */
};

/* A 3x3 convolution. Return: where its params are. */
static int take_conv(struct taker *t, const char *name, int n_out, int n_in,
                     enum vrt_param_use use)
{
    const struct vrt_params_want want = { .n_dims = 4, .dims = { n_out, n_in, 3, 3 }, .use = use };
    const int first = (int)t->params->n_items;

    if (t->r == 0)
        t->r = vrt_params_take_layer(t->params, &want, "%s", name);
    return first;
}

/* A convolution of stride 2, as one of what is folded into channels. Return: as above. */
static int take_halving(struct taker *t, const char *name, int n_out, int n_in)
{
    const struct vrt_params_want want = { .n_dims = 4, .dims = { n_out, n_in, 3, 3 } };
    const struct vrt_params_want folded = { .n_dims = 4, .dims = { n_out, 4 * n_in, 3, 3 } };
    const int first = (int)t->params->n_items;
    VRT_CLEANUP(vrt_freep) float *strided = NULL;
    char full[64];

    if (t->r == 0)
        t->r = vrt_params_read(t->params, &want, &strided, "%s.weight", name);
    if (t->r < 0)
        return first;
    VRT_CLEANUP(vrt_freep) float *weight = calloc((size_t)n_out * 4 * (size_t)n_in * TAPS,
                                                  sizeof(*weight));
    if (!weight) {
        t->r = vrt_refuse_errno(t->params->error, vrt_raise(-ENOMEM), t->params->source);
        return first;
    }
    vrt_params_fold_stride(strided, n_out, n_in, weight);
    snprintf(full, sizeof(full), "%s.weight", name);
    t->r = vrt_params_add(t->params, &folded, weight, full);
    t->params->n_values += (int64_t)TAPS * n_out * n_in;
    if (t->r == 0)
        t->r = vrt_params_take(t->params, want.dims, 1, "%s.bias", name);
    return first;
}

/* A convolution and residual blocks of two. Return: where their params are. */
static int take_blocks(struct taker *t, const char *prefix, int n_blocks, int n_out, int n_in)
{
    char name[96];

    snprintf(name, sizeof(name), "%s.main.0", prefix);
    const int first = take_conv(t, name, n_out, n_in, VRT_PARAM_WEIGHT);
    for (int i = 0; i < 2 * n_blocks; i++) {
        snprintf(name, sizeof(name), "%s.main.2.%d.conv%d", prefix, i / 2, i % 2 + 1);
        take_conv(t, name, n_out, n_out, VRT_PARAM_WEIGHT);
    }
    return first;
}

/*
 * The weights that make one pixel of each square of 4 by 4, as PyTorch's bicubic resize to a
 * quarter does (Keys 1981, a = -3/4): it lies in the middle, and takes nothing from beyond.
 * [3,48,1,1], of what is folded into channels.
 */
static int add_reduction(struct vrt_params *params)
{
    static const float taps[VRT_BASICVSR_REDUCTION] = { -0.09375f, 0.59375f, 0.59375f, -0.09375f };
    enum { SQUARE = VRT_BASICVSR_REDUCTION * VRT_BASICVSR_REDUCTION };
    const struct vrt_params_want want = { .n_dims = 4, .dims = { RGB, RGB * SQUARE, 1, 1 },
                                          .use = VRT_PARAM_WEIGHT_F32 };
    float weight[RGB * RGB * SQUARE] = { 0 };

    for (int c = 0; c < RGB; c++)
        for (int i = 0; i < SQUARE; i++)
            weight[(c * RGB + c) * SQUARE + i] = taps[i / VRT_BASICVSR_REDUCTION] *
                                                 taps[i % VRT_BASICVSR_REDUCTION];
    return vrt_fold(vrt_params_add(params, &want, weight, "bicubic"));
}

static void take_extraction(struct taker *t, struct vrt_basicvsr *net)
{
    const int c = net->features;

    if (!net->keeps_size) {
        net->extract = take_blocks(t, "feat_extract", VRT_BASICVSR_END_BLOCKS, c, RGB);
        return;
    }
    net->reduce = (int)t->params->n_items;
    if (t->r == 0)
        t->r = add_reduction(t->params);
    net->halve = take_halving(t, "feat_extract.0", c, RGB);
    take_halving(t, "feat_extract.2", c, c);
    net->extract = take_blocks(t, "feat_extract.4", VRT_BASICVSR_END_BLOCKS, c, c);
}

/* Branch k sees a frame's features, those of the branches before it, and its own. */
static void take_branch(struct taker *t, struct vrt_basicvsr *net, int k)
{
    const int c = net->features;
    char name[64];

    for (int i = 0; i < VRT_BASICVSR_OFFSET_CONVS; i++) {
        const bool is_last = i + 1 == VRT_BASICVSR_OFFSET_CONVS;

        snprintf(name, sizeof(name), "deform_align.%s.conv_offset.%d", branch_names[k], 2 * i);
        const int at = take_conv(t, name, is_last ? 27 * net->offset_groups : c,
                                 i ? c : (1 + ORDERS) * c + 2 * ORDERS, VRT_PARAM_WEIGHT_F32);
        if (!i)
            net->branches[k].offsets = at;
    }
    snprintf(name, sizeof(name), "deform_align.%s", branch_names[k]);
    net->branches[k].deform = take_conv(t, name, c, ORDERS * c, VRT_PARAM_WEIGHT_DEFORM);
    snprintf(name, sizeof(name), "backbone.%s", branch_names[k]);
    net->branches[k].backbone = take_blocks(t, name, net->n_blocks, c, (2 + k) * c);
}

static int take_params(struct vrt_params *params, struct vrt_basicvsr *net)
{
    const bool has_buffers = vrt_checkpoint_find(params->checkpoint, "spynet.mean") ||
                             vrt_checkpoint_find(params->checkpoint, "spynet.std");
    const struct vrt_spynet_names names = { ".conv", 1, has_buffers };
    const int c = net->features, end = net->end_features;
    struct taker t = { .params = params };

    t.r = vrt_spynet_take(params, &names, &net->flow);
    take_extraction(&t, net);
    for (int k = 0; k < VRT_BASICVSR_BRANCHES; k++)
        take_branch(&t, net, k);
    net->reconstruct = take_blocks(&t, "reconstruction", VRT_BASICVSR_END_BLOCKS, c,
                                   (1 + VRT_BASICVSR_BRANCHES) * c);
    net->up = take_conv(&t, "upsample1.upsample_conv", 4 * c, c, VRT_PARAM_WEIGHT);
    take_conv(&t, "upsample2.upsample_conv", 4 * end, c, VRT_PARAM_WEIGHT);
    net->conv_hr = take_conv(&t, "conv_hr", end, end, VRT_PARAM_WEIGHT);
    net->conv_last = take_conv(&t, "conv_last", RGB, end, VRT_PARAM_WEIGHT);
    return vrt_fold(t.r);
}

static int load(struct vrt_network *network, struct vrt_params *params)
{
    struct vrt_basicvsr *net = &network->basicvsr;
    struct vrt_network_info *info = &network->info;
    int r = find_sizes(params, net);

    if (r < 0)
        return vrt_fold(r);
    const int reduction = net->keeps_size ? VRT_BASICVSR_REDUCTION : 1;
    info->scale = net->keeps_size ? 1 : 4;
    info->in_channels = info->out_channels = RGB;
    info->multiple = info->min_size = reduction;
    info->tile_overlap = reduction * TILE_OVERLAP;
    info->radius = info->tile_overlap / 2;
    info->window_frames = WINDOW_FRAMES;
    info->any_length = true;
    info->clip_frames = CLIP_FRAMES;
    info->clip_overlap = CLIP_OVERLAP;
    snprintf(info->description, sizeof(info->description), "BasicVSR++, %d features, %d blocks, "
             "x%d", net->features, net->n_blocks, info->scale);
    return vrt_fold(take_params(params, net));
}

const struct vrt_architecture vrt_architecture_basicvsr = {
    .name = "basicvsr",
    .network = "BasicVSR++",
    .recognise = recognise,
    .pad_mode = VRT_PAD_MIRROR,
    .load = load,
    .build = vrt_basicvsr_build,
};
