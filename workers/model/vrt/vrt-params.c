/* SPDX-License-Identifier: MIT */
/*
 * Takes VRT's params, every one of them held to the sizes that vrt.c found
 *
 * A checkpoint may also hold buffers: tables that follow from the sizes, which PyTorch stores with
 * the weights. Those are held to what they must be and not kept. Checkpoints stripped of all of
 * them are as good.
 */

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/checkpoint.h"
#include "model/parts/spynet.h"
#include "model/vrt.h"

/* Numbers stored as bf16 have an error of 2^-9. */
#define BUFFER_TOLERANCE 4e-3f

#define PLACES (VRT_VRT_WINDOW * VRT_VRT_WINDOW)

struct taker {
    struct vrt_params *params;
    int r;                          /* the first failure: nothing is taken after it */
    bool has_buffers;
    bool is_exact;                  /* weights are kept in f32 */
};

/* Whether the checkpoint has any buffer: then it shall have them all. */
static bool find_buffers(const struct vrt_checkpoint *checkpoint)
{
    static const char *const ends[] = { ".attn.relative_position_index", ".attn.position_bias",
                                        "spynet.mean", "spynet.std" };
    int n = vrt_checkpoint_n_tensors(checkpoint);

    for (int i = 0; i < n; i++) {
        const char *name = vrt_checkpoint_tensor(checkpoint, i)->name;
        size_t length = strlen(name);

        for (size_t k = 0; k < VRT_ARRAY_SIZE(ends); k++)
            if (length >= strlen(ends[k]) && strcmp(name + length - strlen(ends[k]), ends[k]) == 0)
                return true;
    }
    return false;
}

/* Takes "<name>.weight" and its bias. Return: where they are. */
static int take_layer(struct taker *t, const struct vrt_params_want *weight, const char *format,
                      ...) VRT_PRINTF(3, 4);

static int take_layer(struct taker *t, const struct vrt_params_want *weight, const char *format,
                      ...)
{
    int first = (int)t->params->n_items;
    char name[160];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    struct vrt_params_want want = *weight;
    if (t->is_exact && want.n_dims > 1)
        want.use = want.use == VRT_PARAM_WEIGHT_DEFORM ? VRT_PARAM_WEIGHT_DEFORM_F32
                                                       : VRT_PARAM_WEIGHT_F32;
    if (t->r == 0)
        t->r = vrt_params_take_layer(t->params, &want, "%s", name);
    return first;
}

static struct vrt_params_want vector(int n)
{
    return (struct vrt_params_want){ .n_dims = 1, .dims = { n } };
}

static struct vrt_params_want matrix(int n_out, int n_in)
{
    return (struct vrt_params_want){ .n_dims = 2, .dims = { n_out, n_in } };
}

static struct vrt_params_want kernel(int n_out, int n_in, int side)
{
    return (struct vrt_params_want){ .n_dims = 4, .dims = { n_out, n_in, side, side } };
}

/* Convolutions over frames one by one are stored as being one frame deep. */
static struct vrt_params_want flat_kernel(int n_out, int n_in)
{
    return (struct vrt_params_want){
        .n_dims = 5, .dims = { n_out, n_in, 1, 3, 3 }, .left_out = 3,
    };
}

static void check_index(struct taker *t, const char *attn, int frames)
{
    const int window[3] = { frames, VRT_VRT_WINDOW, VRT_VRT_WINDOW };
    char name[160];

    if (!t->has_buffers || t->r < 0)
        return;
    snprintf(name, sizeof(name), "%srelative_position_index", attn);
    t->r = vrt_params_check_window(t->params, window, name);
}

/* Sines of a window's rows and columns, from 1 to 8 of 8: half of the channels each. */
static void fill_position(float *values, int channels)
{
    const double turn = 2 * 3.14159265358979323846;
    const int half = (channels + 1) / 2;

    for (int i = 0; i < PLACES; i++) {
        for (int c = 0; c < channels; c++) {
            int at = c < half ? i / VRT_VRT_WINDOW : i % VRT_VRT_WINDOW, j = c % half;
            double angle = (at + 1) / (VRT_VRT_WINDOW + 1e-6) * turn;

            angle /= pow(10000, 2.0 * (j / 2) / half);
            values[i * channels + c] = (float)(j % 2 ? cos(angle) : sin(angle));
        }
    }
}

/* The sines become a param whether the checkpoint holds them or not. */
static void take_position(struct taker *t, const char *attn, int channels)
{
    const struct vrt_params_want want = {
        .n_dims = 3, .dims = { 1, PLACES, channels }, .left_out = 1, .use = VRT_PARAM_TABLE,
    };
    char name[160];

    if (t->r < 0)
        return;
    VRT_CLEANUP(vrt_freep) float *values = malloc((size_t)(PLACES * channels) * sizeof(*values));
    if (!values) {
        t->r = vrt_refuse_errno(t->params->error, vrt_raise(-ENOMEM), t->params->source);
        return;
    }
    fill_position(values, channels);
    snprintf(name, sizeof(name), "%sposition_bias", attn);
    if (t->has_buffers)
        t->r = vrt_params_check(t->params, &want, values, BUFFER_TOLERANCE, "%s", name);
    if (t->r == 0)
        t->r = vrt_params_add(t->params, &want, values, name);
}

/* In the order of enum vrt_vrt_block_param. */
static void take_block(struct taker *t, const struct vrt_vrt_group *group, int channels,
                       const char *block)
{
    const int c = channels, hidden = 2 * channels, side = 2 * VRT_VRT_WINDOW - 1;
    const struct vrt_params_want norm = vector(c), qkv = matrix(3 * c, c), fc1 = matrix(hidden, c);
    const struct vrt_params_want proj = matrix(c, group->mutual ? 2 * c : c);
    const struct vrt_params_want fc2 = matrix(c, hidden);
    struct vrt_params_want table = matrix((2 * group->window_frames - 1) * side * side,
                                          group->heads);
    char attn[128];

    table.use = VRT_PARAM_TABLE;
    snprintf(attn, sizeof(attn), "%s.attn.", block);
    take_layer(t, &norm, "%s.norm1", block);
    if (t->r == 0)
        t->r = vrt_params_take_as(t->params, &table, "%srelative_position_bias_table", attn);
    check_index(t, attn, group->window_frames);
    take_layer(t, &qkv, "%sqkv_self", attn);
    take_layer(t, &proj, "%sproj", attn);
    take_layer(t, &norm, "%s.norm2", block);
    take_layer(t, &fc1, "%s.mlp.fc11", block);
    take_layer(t, &fc1, "%s.mlp.fc12", block);
    take_layer(t, &fc2, "%s.mlp.fc2", block);
    if (!group->mutual)
        return;
    take_layer(t, &qkv, "%sqkv_mut", attn);
    take_position(t, attn, c);
}

static void take_group(struct taker *t, struct vrt_vrt_group *group, int channels,
                       const char *prefix)
{
    char block[112];

    group->first = (int)t->params->n_items;
    for (int i = 0; i < group->n_blocks && t->r == 0; i++) {
        snprintf(block, sizeof(block), "%s.blocks.%d", prefix, i);
        take_block(t, group, channels, block);
    }
}

static void take_flow(struct taker *t, struct vrt_vrt *vrt)
{
    const struct vrt_spynet_names names = { "", 2, t->has_buffers };

    if (t->r == 0)
        t->r = vrt_spynet_take(t->params, &names, &vrt->flow);
}

static void take_alignment(struct taker *t, const struct vrt_vrt *vrt, struct vrt_vrt_stage *stage,
                           int n)
{
    const int c = vrt->features;
    struct vrt_params_want weight = kernel(c, c, 3);

    weight.use = VRT_PARAM_WEIGHT_DEFORM;
    stage->deform = take_layer(t, &weight, "stage%d.pa_deform", n);
    for (int i = 0; i < 4; i++) {
        int n_in = i == 0 ? c + vrt->distances * (c + 2) : c;

        weight = kernel(i == 3 ? 27 * vrt->offset_groups : c, n_in, 3);
        stage->offset_convs[i] = take_layer(t, &weight, "stage%d.pa_deform.conv_offset.%d", n,
                                            2 * i);
    }
    weight = matrix(3 * c, 3 * c);
    stage->fuse[0] = take_layer(t, &weight, "stage%d.pa_fuse.fc11", n);
    stage->fuse[1] = take_layer(t, &weight, "stage%d.pa_fuse.fc12", n);
    weight = matrix(c, 3 * c);
    stage->fuse[2] = take_layer(t, &weight, "stage%d.pa_fuse.fc2", n);
}

static void take_stage(struct taker *t, struct vrt_vrt *vrt, int i)
{
    struct vrt_vrt_stage *stage = &vrt->stages[i];
    const int c = vrt->features, step = i ? vrt_vrt_stage_scale(i) - vrt_vrt_stage_scale(i - 1) : 0;
    const int n_in = step > 0 ? 4 * c : step < 0 ? c / 4 : c;
    struct vrt_params_want weight = vector(n_in);
    char prefix[64];

    stage->reshape_norm = take_layer(t, &weight, "stage%d.reshape.1", i + 1);
    stage->reshape_linear = -1;
    if (step) {
        weight = matrix(c, n_in);
        stage->reshape_linear = take_layer(t, &weight, "stage%d.reshape.2", i + 1);
    }
    weight = matrix(c, c);
    for (int g = 0; g < 2; g++) {
        snprintf(prefix, sizeof(prefix), "stage%d.residual_group%d", i + 1, g + 1);
        take_group(t, &stage->groups[g], c, prefix);
        stage->linears[g] = take_layer(t, &weight, "stage%d.linear%d", i + 1, g + 1);
    }
    if (vrt->distances)
        take_alignment(t, vrt, stage, i + 1);
}

static void take_tail(struct taker *t, struct vrt_vrt *vrt)
{
    const int c = vrt->tail_features;
    struct vrt_params_want norm = vector(vrt->features), weight = matrix(c, vrt->features);
    char prefix[64];

    vrt->tail_norm = take_layer(t, &norm, "stage8.0.1");
    vrt->tail_linear = take_layer(t, &weight, "stage8.0.2");
    weight = matrix(c, c);
    for (int i = 0; i < vrt->n_tail; i++) {
        snprintf(prefix, sizeof(prefix), "stage8.%d.residual_group", i + 1);
        take_group(t, &vrt->tail[i].group, c, prefix);
        vrt->tail[i].linear = take_layer(t, &weight, "stage8.%d.linear", i + 1);
    }
    norm = vector(c);
    weight = matrix(vrt->features, c);
    vrt->norm = take_layer(t, &norm, "norm");
    vrt->conv_after_body = take_layer(t, &weight, "conv_after_body");
}

/* From features to pixels. */
static void take_end(struct taker *t, struct vrt_vrt *vrt, int out_channels)
{
    const int c = vrt->features, wide = VRT_VRT_END_FEATURES;
    struct vrt_params_want weight = flat_kernel(wide, c);

    if (vrt->frames) {
        weight = kernel(wide, vrt->frames * c, 1);
        vrt->linear_fuse = take_layer(t, &weight, "linear_fuse");
        weight = kernel(out_channels, wide, 7);
        vrt->conv_last = take_layer(t, &weight, "conv_last");
        return;
    }
    if (vrt->n_up) {
        vrt->conv_before_upsample = take_layer(t, &weight, "conv_before_upsample.0");
        vrt->up = (int)t->params->n_items;
        for (int i = 0; i <= vrt->n_up; i++) {
            weight = flat_kernel(i < vrt->n_up ? 4 * wide : wide, wide);
            take_layer(t, &weight, "upsample.%d", 5 * i);
        }
    }
    weight = flat_kernel(out_channels, vrt->n_up ? wide : c);
    vrt->conv_last = take_layer(t, &weight, "conv_last");
}

int vrt_vrt_take(struct vrt_vrt *vrt, struct vrt_params *params,
                 const struct vrt_network_info *info)
{
    struct taker t = { .params = params, .has_buffers = find_buffers(params->checkpoint) };
    const int n_in = info->in_channels * (vrt->distances ? VRT_VRT_WARPED_TIMES : 1) +
                     (info->takes_noise ? 1 : 0);
    const struct vrt_params_want first = flat_kernel(vrt->features, n_in);

    t.is_exact = vrt->distances > 0;
    if (vrt->distances)
        take_flow(&t, vrt);
    vrt->conv_first = take_layer(&t, &first, "conv_first");
    for (int i = 0; i < VRT_VRT_STAGES; i++)
        take_stage(&t, vrt, i);
    t.is_exact = false;
    take_tail(&t, vrt);
    take_end(&t, vrt, info->out_channels);
    return vrt_fold(t.r);
}
