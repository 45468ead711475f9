/* SPDX-License-Identifier: MIT */
/* Which SwinIR a checkpoint holds, by its names and shapes, and its params. */

#include "model/swinir.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "engine/checkpoint.h"
#include "model/architecture.h"

#define VRT_LOG_TOPIC "model"

#define FIRST_BLOCK "layers.0.residual_group.blocks.0."
#define SCALE_MAX 8
#define N_UP_MAX 3
#define WINDOW_MAX 32               /* an attention's windows have up to 1024 places */

/* main_test_swinir.py: neighbouring tiles share 32 pixels. */
#define TILE_OVERLAP 32

/* The networks against JPEG's artefacts have windows of 7, so that these aren't its blocks, and
 * samples to 255. */
#define JPEG_WINDOW 7
#define JPEG_RANGE 255

struct taker {
    struct vrt_params *params;
    const struct vrt_swinir *swinir;
    int r;                          /* the first failure: nothing is taken after it */
};

/* HAT and Swin2SR have those names, too, and others. */
static bool recognise(const struct vrt_checkpoint *checkpoint)
{
    return vrt_checkpoint_find(checkpoint, FIRST_BLOCK "attn.relative_position_bias_table") &&
           vrt_checkpoint_find(checkpoint, FIRST_BLOCK "mlp.fc1.weight") &&
           !vrt_checkpoint_find(checkpoint, FIRST_BLOCK "conv_block.cab.0.weight") &&
           !vrt_checkpoint_find(checkpoint, FIRST_BLOCK "attn.logit_scale");
}

/* The side of the window whose bias table has that many rows, (2 w - 1)^2; 0: of none. */
static int find_window(int rows)
{
    for (int window = 2; window <= WINDOW_MAX; window++)
        if ((2 * window - 1) * (2 * window - 1) == rows)
            return window;
    return 0;
}

static int find_groups(struct vrt_swinir *swinir, struct vrt_params *params)
{
    const int n = vrt_params_last_index(params->checkpoint, "layers.") + 1;
    char name[96];

    if (n > VRT_SWINIR_GROUPS_MAX)
        return vrt_params_refuse(params, "network of %d groups of blocks, where vrtd runs up to %d",
                                 n, VRT_SWINIR_GROUPS_MAX);
    swinir->n_groups = n;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "layers.%d.residual_group.blocks.", i);
        swinir->groups[i].n_blocks = vrt_params_last_index(params->checkpoint, name) + 1;
        snprintf(name, sizeof(name),
                 "layers.%d.residual_group.blocks.0.attn.relative_position_bias_table", i);
        swinir->groups[i].heads = vrt_params_extent(params->checkpoint, name, 2, 1);
        if (!swinir->groups[i].heads || swinir->features % swinir->groups[i].heads != 0)
            return vrt_params_refuse(params, "network whose %d features aren't a multiple of the "
                                     "%d heads that \"%s\" has", swinir->features,
                                     swinir->groups[i].heads, name);
    }
    return 0;
}

/* The enlargements of "pixelshuffle": one by 3, or doublings, upsample.0, .2, ... */
static int find_shuffles(struct vrt_swinir *swinir, struct vrt_params *params)
{
    const int outputs = vrt_params_extent(params->checkpoint, "upsample.0.weight", 4, 0);

    swinir->n_up = vrt_params_last_index(params->checkpoint, "upsample.") / 2 + 1;
    swinir->up_scale = outputs == 9 * swinir->tail_features ? 3 : 2;
    if (outputs != swinir->up_scale * swinir->up_scale * swinir->tail_features ||
        swinir->n_up > (swinir->up_scale == 3 ? 1 : N_UP_MAX))
        return vrt_params_refuse(params, "network whose layers \"upsample\" are neither an "
                                 "enlargement by 3 nor up to %d doublings", N_UP_MAX);
    return 0;
}

/* The one enlargement of "pixelshuffledirect". */
static int find_direct_shuffle(struct vrt_swinir *swinir, struct vrt_params *params, int channels)
{
    const int outputs = vrt_params_extent(params->checkpoint, "upsample.0.weight", 4, 0);

    swinir->n_up = 1;
    for (int scale = 2; scale <= SCALE_MAX; scale++)
        if (outputs == scale * scale * channels)
            swinir->up_scale = scale;
    if (!swinir->up_scale)
        return vrt_params_refuse(params, "network whose \"upsample.0.weight\" has %d outputs, not "
                                 "%d times the square of a scale from 2 to %d", outputs, channels,
                                 SCALE_MAX);
    return 0;
}

static int find_tail(struct vrt_swinir *swinir, struct vrt_params *params, int channels)
{
    const struct vrt_checkpoint *checkpoint = params->checkpoint;

    swinir->up_scale = 0;
    swinir->tail_features = vrt_params_extent(checkpoint, "conv_before_upsample.0.weight", 4, 0);
    if (vrt_checkpoint_find(checkpoint, "conv_up1.weight")) {
        swinir->tail = VRT_SWINIR_NEAREST;
        swinir->up_scale = 2;
        swinir->n_up = vrt_checkpoint_find(checkpoint, "conv_up2.weight") ? 2 : 1;
        return 0;
    }
    if (!vrt_checkpoint_find(checkpoint, "upsample.0.weight")) {
        swinir->tail = VRT_SWINIR_SAME_SIZE;
        swinir->n_up = 0;
        return 0;
    }
    if (!swinir->tail_features) {
        swinir->tail = VRT_SWINIR_SHUFFLE_DIRECT;
        return find_direct_shuffle(swinir, params, channels);
    }
    swinir->tail = VRT_SWINIR_SHUFFLE;
    return find_shuffles(swinir, params);
}

/* Nothing in names or shapes tells; a file's metadata may. */
static float find_range(const struct vrt_swinir *swinir, const struct vrt_params *params)
{
    const char *named = vrt_checkpoint_metadata(params->checkpoint, "img_range");
    const bool is_jpeg = swinir->tail == VRT_SWINIR_SAME_SIZE && swinir->window == JPEG_WINDOW;

    if (named && (strcmp(named, "1") == 0 || strcmp(named, "1.0") == 0))
        return 1;
    if (named && (strcmp(named, "255") == 0 || strcmp(named, "255.0") == 0))
        return JPEG_RANGE;
    return is_jpeg ? JPEG_RANGE : 1;
}

static void take_as(struct taker *t, const struct vrt_params_want *want, const char *name)
{
    if (t->r == 0)
        t->r = vrt_params_take_as(t->params, want, "%s", name);
}

/* Takes "<name>.weight" of this shape, and its bias. */
static void take_layer(struct taker *t, const char *prefix, const char *layer,
                       const struct vrt_params_want *weight)
{
    char name[160];

    snprintf(name, sizeof(name), "%s%s.weight", prefix, layer);
    take_as(t, weight, name);
    snprintf(name, sizeof(name), "%s%s.bias", prefix, layer);
    take_as(t, &(struct vrt_params_want){ .n_dims = 1, .dims = { weight->dims[0] } }, name);
}

static void take_norm(struct taker *t, const char *prefix, const char *layer)
{
    take_layer(t, prefix, layer,
               &(struct vrt_params_want){ .n_dims = 1, .dims = { t->swinir->features } });
}

static void take_linear(struct taker *t, const char *prefix, const char *layer, int n_out, int n_in)
{
    take_layer(t, prefix, layer,
               &(struct vrt_params_want){ .n_dims = 2, .dims = { n_out, n_in } });
}

static void take_conv(struct taker *t, const char *prefix, const char *layer, int n_out, int n_in,
                      int side)
{
    take_layer(t, prefix, layer,
               &(struct vrt_params_want){ .n_dims = 4, .dims = { n_out, n_in, side, side } });
}

/* What PyTorch stores of a block though it was never learned. The mask is of the size that the
 * network was trained at. */
static void take_buffers(struct taker *t, const char *block)
{
    const int window[3] = { 1, t->swinir->window, t->swinir->window };
    char name[160];

    snprintf(name, sizeof(name), "%sattn.relative_position_index", block);
    if (t->r == 0 && vrt_checkpoint_find(t->params->checkpoint, name))
        t->r = vrt_params_check_window(t->params, window, name);
    snprintf(name, sizeof(name), "%sattn_mask", block);
    if (t->r == 0)
        t->r = vrt_params_leave(t->params, name);
}

/* In the order of enum vrt_swinir_block_param. */
static void take_block(struct taker *t, int group, int i)
{
    const int c = t->swinir->features, side = 2 * t->swinir->window - 1;
    char block[96], name[160];

    snprintf(block, sizeof(block), "layers.%d.residual_group.blocks.%d.", group, i);
    take_norm(t, block, "norm1");
    snprintf(name, sizeof(name), "%sattn.relative_position_bias_table", block);
    take_as(t, &(struct vrt_params_want){
        .n_dims = 2, .dims = { side * side, t->swinir->groups[group].heads },
        .use = VRT_PARAM_TABLE,
    }, name);
    take_linear(t, block, "attn.qkv", 3 * c, c);
    take_linear(t, block, "attn.proj", c, c);
    take_norm(t, block, "norm2");
    take_linear(t, block, "mlp.fc1", t->swinir->hidden, c);
    take_linear(t, block, "mlp.fc2", c, t->swinir->hidden);
    take_buffers(t, block);
}

/* One convolution, or three with fewer channels between. */
static void take_convs(struct taker *t, const char *layer)
{
    const int c = t->swinir->features;
    char prefix[64];

    if (t->swinir->n_convs == 1) {
        take_conv(t, "", layer, c, c, 3);
        return;
    }
    snprintf(prefix, sizeof(prefix), "%s.", layer);
    take_conv(t, prefix, "0", c / VRT_SWINIR_BOTTLENECK, c, 3);
    take_conv(t, prefix, "2", c / VRT_SWINIR_BOTTLENECK, c / VRT_SWINIR_BOTTLENECK, 1);
    take_conv(t, prefix, "4", c, c / VRT_SWINIR_BOTTLENECK, 3);
}

static void take_tail(struct taker *t, int channels)
{
    const struct vrt_swinir *swinir = t->swinir;
    const int n = swinir->tail_features, square = swinir->up_scale * swinir->up_scale;
    char name[32];

    if (swinir->tail == VRT_SWINIR_SHUFFLE_DIRECT) {
        take_conv(t, "", "upsample.0", square * channels, swinir->features, 3);
        return;
    }
    if (swinir->tail == VRT_SWINIR_SAME_SIZE) {
        take_conv(t, "", "conv_last", channels, swinir->features, 3);
        return;
    }
    take_conv(t, "", "conv_before_upsample.0", n, swinir->features, 3);
    for (int i = 0; i < swinir->n_up; i++) {
        if (swinir->tail == VRT_SWINIR_NEAREST)
            snprintf(name, sizeof(name), "conv_up%d", i + 1);
        else
            snprintf(name, sizeof(name), "upsample.%d", 2 * i);
        take_conv(t, "", name, swinir->tail == VRT_SWINIR_NEAREST ? n : square * n, n, 3);
    }
    if (swinir->tail == VRT_SWINIR_NEAREST)
        take_conv(t, "", "conv_hr", n, n, 3);
    take_conv(t, "", "conv_last", channels, n, 3);
}

static int take_params(struct vrt_params *params, const struct vrt_swinir *swinir, int channels)
{
    struct taker t = { .params = params, .swinir = swinir };
    char name[32];

    take_conv(&t, "", "conv_first", swinir->features, channels, 3);
    if (swinir->norms_input)
        take_norm(&t, "", "patch_embed.norm");
    for (int i = 0; i < swinir->n_groups && t.r == 0; i++) {
        for (int k = 0; k < swinir->groups[i].n_blocks && t.r == 0; k++)
            take_block(&t, i, k);
        snprintf(name, sizeof(name), "layers.%d.conv", i);
        take_convs(&t, name);
    }
    take_norm(&t, "", "norm");
    take_convs(&t, "conv_after_body");
    take_tail(&t, channels);
    return vrt_fold(t.r);
}

/* What clips and tiles need to know; in_channels and the scale are known. */
static void describe(const struct vrt_swinir *swinir, struct vrt_network_info *info)
{
    int n_blocks = 0;

    for (int i = 0; i < swinir->n_groups; i++)
        n_blocks += swinir->groups[i].n_blocks;
    info->out_channels = info->in_channels;
    info->multiple = swinir->window;
    /* A picture of one window alone would be shifted by its authors, and is not by the op. */
    info->min_size = 2 * swinir->window;
    info->radius = TILE_OVERLAP / 2;
    info->tile_overlap = TILE_OVERLAP;
    snprintf(info->description, sizeof(info->description),
             "SwinIR, %d features, %d groups of %d blocks, windows of %d, %s%sx%d",
             swinir->features, swinir->n_groups, n_blocks / swinir->n_groups, swinir->window,
             info->in_channels == 1 ? "gray, " : "",
             swinir->range == JPEG_RANGE ? "samples to 255, " : "", info->scale);
}

static int load(struct vrt_network *network, struct vrt_params *params)
{
    const struct vrt_checkpoint *checkpoint = params->checkpoint;
    struct vrt_swinir *swinir = &network->swinir;
    struct vrt_network_info *info = &network->info;
    const char *table = FIRST_BLOCK "attn.relative_position_bias_table";

    info->in_channels = vrt_params_extent(checkpoint, "conv_first.weight", 4, 1);
    swinir->features = vrt_params_extent(checkpoint, "conv_first.weight", 4, 0);
    swinir->hidden = vrt_params_extent(checkpoint, FIRST_BLOCK "mlp.fc1.weight", 2, 0);
    swinir->window = find_window(vrt_params_extent(checkpoint, table, 2, 0));
    swinir->norms_input = vrt_checkpoint_find(checkpoint, "patch_embed.norm.weight");
    swinir->n_convs = vrt_checkpoint_find(checkpoint, "layers.0.conv.0.weight") ? 3 : 1;
    if (info->in_channels != 3 && info->in_channels != 1)
        return vrt_params_refuse(params, "network for pictures of %d channels; vrtd runs those for "
                                 "3 (colour) and 1 (gray)", info->in_channels);
    if (!swinir->window)
        return vrt_params_refuse(params, "network whose tensor \"%s\" has %d rows, which is no "
                                 "square window's of up to %d places a side", table,
                                 vrt_params_extent(checkpoint, table, 2, 0), WINDOW_MAX);
    int r = find_groups(swinir, params);
    if (r < 0)
        return vrt_fold(r);
    r = find_tail(swinir, params, info->in_channels);
    if (r < 0)
        return vrt_fold(r);

    swinir->range = find_range(swinir, params);
    info->scale = 1;
    for (int i = 0; i < swinir->n_up; i++)
        info->scale *= swinir->up_scale;
    describe(swinir, info);
    return vrt_fold(take_params(params, swinir, info->in_channels));
}

const struct vrt_architecture vrt_architecture_swinir = {
    .name = "swinir",
    .network = "SwinIR",
    .recognise = recognise,
    .pad_mode = VRT_PAD_REFLECT,
    .load = load,
    .build = vrt_swinir_build,
};
