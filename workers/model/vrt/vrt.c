/* SPDX-License-Identifier: MIT */
/*
 * VRT, the Video Restoration Transformer: recognised, and its sizes found
 *
 * A clip runs through seven stages at scales 1, 1/2, 1/4, 1/8, 1/4, 1/2 and 1, the later ones
 * taking up what the earlier ones made, and a tail at scale 1. Each is a row of transformer blocks
 * whose windows reach over several frames; each stage then aligns every frame's neighbours with it,
 * by optical flow and deformable convolution, and fuses the three.
 *
 * Here only those sizes are found that others follow from; vrt_vrt_take() holds every tensor to
 * them. What can't be read from shapes is the same in every network that its authors published.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/checkpoint.h"
#include "model/architecture.h"
#include "model/vrt.h"

#define HEADS_MAX 64               /* well above the published, as below */
#define OFFSET_GROUPS_MAX 64
#define WINDOW_FRAMES_MAX 16
#define UP_MAX 3                    /* 8 times as wide */

/* Rows of a table of relative positions that a window of one frame has. */
#define TABLE_ROWS ((2 * VRT_VRT_WINDOW - 1) * (2 * VRT_VRT_WINDOW - 1))

/* How its authors' main_test_vrt.py is called for each of their networks: edges and overlaps of
 * tiles in input pixels, those of clips in frames. */
#define TILE_ENLARGED 128
#define TILE_SAME_SIZE 256
#define TILE_OVERLAP 20
#define CLIP_OVERLAP 2

/* The least that leaves the coarsest stage a whole window. */
#define MIN_SIZE (VRT_VRT_WINDOW << (VRT_VRT_SCALES - 1))

static bool recognise(const struct vrt_checkpoint *checkpoint)
{
    return vrt_params_last_index(checkpoint, "stage1.residual_group1.blocks.") >= 0;
}

/* The extent of a tensor whose name `prefix` and `name` make. */
static int extent(const struct vrt_params *params, const char *prefix, const char *name, int dim)
{
    const struct vrt_checkpoint_tensor *tensor;
    char full[192];

    snprintf(full, sizeof(full), "%s%s", prefix, name);
    tensor = vrt_checkpoint_find(params->checkpoint, full);
    return tensor ? vrt_params_extent(params->checkpoint, full, tensor->n_dims, dim) : 0;
}

/* Finds a group's blocks, and reads window and heads from the first one's table. Return: 0;
 * -EINVAL. */
static int find_group(struct vrt_params *params, const char *prefix, int channels,
                      struct vrt_vrt_group *group)
{
    char blocks[96];

    snprintf(blocks, sizeof(blocks), "%sblocks.", prefix);
    group->n_blocks = vrt_params_last_index(params->checkpoint, blocks) + 1;
    int rows = extent(params, blocks, "0.attn.relative_position_bias_table", 0);
    group->heads = extent(params, blocks, "0.attn.relative_position_bias_table", 1);
    group->mutual = extent(params, blocks, "0.attn.qkv_mut.weight", 0) > 0 ||
                    extent(params, blocks, "0.attn.proj.weight", 1) == 2 * channels;

    /* Without a table there is nothing to be found out; taking it says what is missing. */
    group->n_blocks = VRT_MAX(group->n_blocks, 1);
    if (!rows) {
        group->heads = 1;
        group->window_frames = 1;
        return 0;
    }
    group->window_frames = (rows / TABLE_ROWS + 1) / 2;
    if (group->heads > HEADS_MAX || channels % group->heads)
        return vrt_params_refuse(params, "network whose %s0 has %d heads, which %d channels "
                                 "can't be split into", blocks, group->heads, channels);
    if (group->window_frames < 1 || group->window_frames > WINDOW_FRAMES_MAX ||
        rows != (2 * group->window_frames - 1) * TABLE_ROWS)
        return vrt_params_refuse(params, "network whose %s0.attn.relative_position_bias_table has "
                                 "%d rows, as no window of 1 to %d frames of %d by %d has", blocks,
                                 rows, WINDOW_FRAMES_MAX, VRT_VRT_WINDOW, VRT_VRT_WINDOW);
    if (group->mutual && group->window_frames != 2)
        return vrt_params_refuse(params, "network whose %s0 has mutual attention in a window of %d "
                                 "frames; it needs 2", blocks, group->window_frames);
    return 0;
}

static int find_groups(struct vrt_vrt *vrt, struct vrt_params *params)
{
    char prefix[64];
    int r = 0;

    for (int i = 0; i < VRT_VRT_STAGES && r == 0; i++) {
        for (int g = 0; g < 2 && r == 0; g++) {
            snprintf(prefix, sizeof(prefix), "stage%d.residual_group%d.", i + 1, g + 1);
            r = find_group(params, prefix, vrt->features, &vrt->stages[i].groups[g]);
        }
    }
    for (int i = 0; i < vrt->n_tail && r == 0; i++) {
        snprintf(prefix, sizeof(prefix), "stage8.%d.residual_group.", i + 1);
        r = find_group(params, prefix, vrt->tail_features, &vrt->tail[i].group);
    }
    return r;
}

/* How frames are aligned: conv_offset takes a frame, its neighbours and the flows to them. */
static int find_alignment(struct vrt_vrt *vrt, struct vrt_params *params)
{
    int n_in = extent(params, "stage1.pa_deform.", "conv_offset.0.weight", 1);
    int n_out = extent(params, "stage1.pa_deform.", "conv_offset.6.weight", 0);
    int c = vrt->features;

    if (!n_in && !n_out)
        return 0;
    vrt->distances = (n_in - c) / (c + 2);
    if (vrt->distances < 1 || vrt->distances > VRT_VRT_DISTANCES ||
        n_in != c + vrt->distances * (c + 2))
        return vrt_params_refuse(params, "network whose stage1.pa_deform.conv_offset.0.weight has "
                                 "%d inputs, not those of a frame of %d channels and 1 to %d "
                                 "neighbours", n_in, c, VRT_VRT_DISTANCES);
    vrt->offset_groups = n_out / 27;
    if (n_out % 27 || vrt->offset_groups < 1 || vrt->offset_groups > OFFSET_GROUPS_MAX ||
        vrt->offset_groups % vrt->distances || c * vrt->distances % vrt->offset_groups)
        return vrt_params_refuse(params, "network whose stage1.pa_deform.conv_offset.6.weight has "
                                 "%d outputs, not 27 for each of so many groups as %d channels of "
                                 "%d neighbours can be split into", n_out, c, vrt->distances);
    return 0;
}

static int find_ends(struct vrt_vrt *vrt, struct vrt_params *params, struct vrt_network_info *info)
{
    int n_in = extent(params, "conv_first.", "weight", 1);
    int last_up = vrt_params_last_index(params->checkpoint, "upsample.");
    int fused = extent(params, "linear_fuse.", "weight", 1);

    info->in_channels = 3;
    info->takes_noise = vrt->distances && n_in == 3 * VRT_VRT_WARPED_TIMES + 1;
    info->out_channels = 3;
    vrt->n_up = last_up < 0 ? 0 : last_up / 5;
    vrt->frames = fused / vrt->features;
    if (last_up >= 0 && (last_up % 5 || vrt->n_up < 1 || vrt->n_up > UP_MAX))
        return vrt_params_refuse(params, "network whose layers end with upsample.%d, which isn't "
                                 "the end of 1 to %d doublings", last_up, UP_MAX);
    if (fused && (vrt->distances || vrt->n_up))
        return vrt_params_refuse(params, "network that fuses its frames (linear_fuse.weight) and "
                                 "aligns or enlarges them, too");
    if (!vrt->distances && (fused % vrt->features || vrt->frames < 2))
        return vrt_params_refuse(params, "network without pa_deform whose linear_fuse.weight has "
                                 "%d inputs, not %d for each of several frames", fused,
                                 vrt->features);
    return 0;
}

/* The clips that its authors cut videos into, by what they trained each network for. */
static int find_clip_frames(const struct vrt_vrt *vrt)
{
    if (vrt->frames)
        return vrt->frames;
    if (!vrt->n_up)
        return 12;
    return vrt->distances == 2 ? 32 : 40;
}

static void describe(const struct vrt_vrt *vrt, struct vrt_network_info *info)
{
    const char *task = vrt->frames ? "interpolation, " :
                       info->takes_noise ? "noise level, " : "";

    info->scale = 1 << vrt->n_up;
    info->multiple = 1 << (VRT_VRT_SCALES - 1);
    info->min_size = MIN_SIZE;
    info->radius = TILE_OVERLAP / 2;
    info->tile_size = vrt->n_up ? TILE_ENLARGED : TILE_SAME_SIZE;
    info->tile_overlap = TILE_OVERLAP;
    info->window_frames = 1;
    for (int i = 0; i < VRT_VRT_STAGES; i++)
        info->window_frames = VRT_MAX(info->window_frames,
                                      vrt->stages[i].groups[1].window_frames);
    info->min_frames = vrt->frames ? vrt->frames : vrt->distances + 1;
    info->max_frames = vrt->frames;
    info->out_frames = vrt->frames ? 1 : 0;
    info->clip_frames = find_clip_frames(vrt);
    info->clip_overlap = vrt->frames ? 0 : CLIP_OVERLAP;
    snprintf(info->description, sizeof(info->description),
             "VRT, %d and %d features, windows of %d frames, %d neighbours, %sx%d", vrt->features,
             vrt->tail_features, info->window_frames, 2 * vrt->distances, task, info->scale);
}

static int load(struct vrt_network *network, struct vrt_params *params)
{
    struct vrt_vrt *vrt = &network->vrt;
    struct vrt_network_info *info = &network->info;

    vrt->features = extent(params, "stage1.linear1.", "weight", 0);
    vrt->tail_features = extent(params, "stage8.1.linear.", "weight", 0);
    vrt->n_tail = vrt_params_last_index(params->checkpoint, "stage8.");
    if (vrt->features < 4 || vrt->features % 4 || !vrt->tail_features)
        return vrt_params_refuse(params, "network of %d features in its stages (stage1.linear1."
                                 "weight) and %d in its tail (stage8.1.linear.weight), not of a "
                                 "multiple of 4 and at least 1", vrt->features,
                                 vrt->tail_features);
    if (vrt->n_tail > VRT_VRT_TAIL_MAX)
        return vrt_params_refuse(params, "network of %d groups in stage8; %d are the most that "
                                 "are known", vrt->n_tail, VRT_VRT_TAIL_MAX);

    int r = find_groups(vrt, params);
    if (r < 0)
        return vrt_fold(r);
    r = find_alignment(vrt, params);
    if (r < 0)
        return vrt_fold(r);
    r = find_ends(vrt, params, info);
    if (r < 0)
        return vrt_fold(r);
    describe(vrt, info);
    return vrt_fold(vrt_vrt_take(vrt, params, info));
}

const struct vrt_architecture vrt_architecture_vrt = {
    .name = "vrt",
    .network = "VRT",
    .recognise = recognise,
    .pad_mode = VRT_PAD_MIRROR,
    .load = load,
    .build = vrt_vrt_build,
};
