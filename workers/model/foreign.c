/* SPDX-License-Identifier: MIT */
/*
 * Networks that people have files of and that aren't run here, by names that only they use: so
 * that the refusal can say what the file is.
 */

#include "engine/checkpoint.h"
#include "model/architecture.h"

#define N_NAMES 2

static const struct {
    const char *network;
    const char *names[N_NAMES];     /* tensors that it has, all of them */
} foreign[] = {
    { "RVRT", { "deform_align.backward_1.conv_offset.0.weight" } },
    { "HAT", { "layers.0.residual_group.blocks.0.conv_block.cab.0.weight" } },
    { "Swin2SR", { "layers.0.residual_group.blocks.0.attn.logit_scale" } },
    { "DAT", { "layers.0.blocks.0.attn.attns.0.rpe_biases" } },
    { "DRCT", { "layers.0.swin1.norm1.weight" } },
    { "PLKSR", { "feats.1.lk.conv.weight" } },
    { "SAFMN", { "feats.0.safm.mfr.0.weight" } },
    { "Real-CUGAN", { "unet1.conv1.conv.0.weight", "unet2.conv1.conv.0.weight" } },
    { "NAFNet", { "intro.weight", "middle_blks.0.conv1.weight" } },
    { "SCUNet", { "m_head.0.weight", "m_body.0.conv1_1.weight" } },
    { "Restormer", { "patch_embed.proj.weight", "encoder_level1.0.attn.temperature" } },
    { "EDSR", { "head.0.weight", "body.0.body.0.weight" } },
    { "EDSR or SRResNet", { "conv_first.weight", "body.0.conv1.weight" } },
    { "RIFE before 4.15", { "block0.conv0.0.0.weight" } },
    { "GFPGAN", { "stylegan_decoder.constant_input.weight" } },
    { "CodeFormer", { "position_emb", "ft_layers.0.linear1.weight" } },
    { "I3D (for vrtctl compare --fvd)", { "Conv3d_1a_7x7.conv3d.weight" } },
    { "the discriminator of a training run", { "conv0.weight", "conv9.weight" } },
};

const char *vrt_foreign_name(const struct vrt_checkpoint *checkpoint)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(foreign); i++) {
        bool has_all = true;

        for (int k = 0; k < N_NAMES && has_all; k++)
            has_all = !foreign[i].names[k] || vrt_checkpoint_find(checkpoint, foreign[i].names[k]);
        if (has_all)
            return foreign[i].network;
    }
    return NULL;
}
