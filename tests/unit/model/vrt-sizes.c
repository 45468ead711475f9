/* SPDX-License-Identifier: MIT */
/* Written from the list of a checkpoint's names, not from the code that takes them. */

#include "tests/unit/model/vrt-sizes.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/macro.h"

struct vrt_sizes vrt_sizes_published(int number)
{
    static const int distances[9] = { 1, 3, 2, 2, 1, 1, 1, 1, 0 };
    static const int groups[9] = { 12, 24, 16, 16, 16, 16, 16, 16, 0 };
    const bool enlarges = number <= 4;
    struct vrt_sizes sizes = {
        .features = enlarges ? 120 : 96,
        .tail_features = enlarges ? 180 : 120,
        .heads = 6,
        .n_tail = enlarges ? 6 : 4,
        .tail_depth = 4,
        .n_single = number == 9 ? 0 : 2,
        .window_frames = number == 9 ? 4 : enlarges && number > 1 ? 8 : 6,
        .distances = distances[number - 1],
        .offset_groups = groups[number - 1],
        .n_up = enlarges ? 2 : 0,
        .noise = number == 8,
        .frames = number == 9 ? 4 : 0,
    };

    for (int i = 0; i < VRT_SIZES_STAGES; i++)
        sizes.depths[i] = 8;
    return sizes;
}

struct vrt_sizes vrt_sizes_small(void)
{
    return (struct vrt_sizes){
        .features = 8,
        .tail_features = 6,
        .heads = 2,
        .depths = { 2, 2, 2, 2, 2, 2, 2 },
        .n_tail = 2,
        .tail_depth = 1,
        .n_single = 1,
        .window_frames = 3,
        .distances = 1,
        .offset_groups = 2,
        .n_up = 1,
    };
}

struct vrt_sizes vrt_sizes_small_between(void)
{
    struct vrt_sizes sizes = vrt_sizes_small();

    sizes.n_up = sizes.distances = sizes.offset_groups = sizes.n_single = 0;
    sizes.frames = 4;
    return sizes;
}

struct tensor {
    enum vrt_sizes_kind kind;
    int n_dims, dims[5];
};

static void show(struct vrt_sizes_visitor *v, const struct tensor *t, const char *format, ...)
    VRT_PRINTF(3, 4);

static void show(struct vrt_sizes_visitor *v, const struct tensor *t, const char *format, ...)
{
    char name[160];
    va_list args;

    va_start(args, format);
    vsnprintf(name, sizeof(name), format, args);
    va_end(args);
    v->visit(v, t->kind, name, t->dims, t->n_dims);
}

/* A weight and its bias. */
static void show_layer(struct vrt_sizes_visitor *v, const char *prefix, const char *name,
                       const struct tensor *weight)
{
    show(v, weight, "%s%s.weight", prefix, name);
    show(v, &(struct tensor){ .n_dims = 1, .dims = { weight->dims[0] } }, "%s%s.bias", prefix,
         name);
}

static void show_norm(struct vrt_sizes_visitor *v, const char *prefix, const char *name, int c)
{
    show_layer(v, prefix, name, &(struct tensor){ .n_dims = 1, .dims = { c } });
}

static void show_linear(struct vrt_sizes_visitor *v, const char *prefix, const char *name,
                        const int o_i[2])
{
    show_layer(v, prefix, name, &(struct tensor){ .n_dims = 2, .dims = { o_i[0], o_i[1] } });
}

/* `o_i_k`: outputs, inputs, side. */
static void show_conv(struct vrt_sizes_visitor *v, const char *prefix, const char *name,
                      const int o_i_k[3])
{
    show_layer(v, prefix, name, &(struct tensor){
        .n_dims = 4, .dims = { o_i_k[0], o_i_k[1], o_i_k[2], o_i_k[2] } });
}

/* The same of a convolution in three dimensions, 1x3x3. */
static void show_flat_conv(struct vrt_sizes_visitor *v, const char *name, int o, int i)
{
    show_layer(v, "", name, &(struct tensor){ .n_dims = 5, .dims = { o, i, 1, 3, 3 } });
}

static void show_block(struct vrt_sizes_visitor *v, const char *prefix, const int c_heads[2],
                       int window_frames, bool mutual)
{
    const int c = c_heads[0], n = window_frames * 64;

    show_norm(v, prefix, "norm1", c);
    show(v, &(struct tensor){ .n_dims = 2, .dims = { (2 * window_frames - 1) * 225, c_heads[1] } },
         "%sattn.relative_position_bias_table", prefix);
    show(v, &(struct tensor){ VRT_SIZES_INDEX, 2, { n, n } }, "%sattn.relative_position_index",
         prefix);
    show_linear(v, prefix, "attn.qkv_self", (int[]){ 3 * c, c });
    show_linear(v, prefix, "attn.proj", (int[]){ c, mutual ? 2 * c : c });
    if (mutual) {
        show(v, &(struct tensor){ VRT_SIZES_POSITION, 3, { 1, 64, c } }, "%sattn.position_bias",
             prefix);
        show_linear(v, prefix, "attn.qkv_mut", (int[]){ 3 * c, c });
    }
    show_norm(v, prefix, "norm2", c);
    show_linear(v, prefix, "mlp.fc11", (int[]){ 2 * c, c });
    show_linear(v, prefix, "mlp.fc12", (int[]){ 2 * c, c });
    show_linear(v, prefix, "mlp.fc2", (int[]){ c, 2 * c });
}

static void show_alignment(const struct vrt_sizes *s, struct vrt_sizes_visitor *v,
                           const char *stage)
{
    const int c = s->features, wide = c + s->distances * c + 2 * s->distances;

    show_conv(v, stage, "pa_deform", (int[]){ c, c, 3 });
    show_conv(v, stage, "pa_deform.conv_offset.0", (int[]){ c, wide, 3 });
    show_conv(v, stage, "pa_deform.conv_offset.2", (int[]){ c, c, 3 });
    show_conv(v, stage, "pa_deform.conv_offset.4", (int[]){ c, c, 3 });
    show_conv(v, stage, "pa_deform.conv_offset.6", (int[]){ 27 * s->offset_groups, c, 3 });
    show_linear(v, stage, "pa_fuse.fc11", (int[]){ 3 * c, 3 * c });
    show_linear(v, stage, "pa_fuse.fc12", (int[]){ 3 * c, 3 * c });
    show_linear(v, stage, "pa_fuse.fc2", (int[]){ c, 3 * c });
}

static void show_stage(const struct vrt_sizes *s, struct vrt_sizes_visitor *v, int i)
{
    const int c = s->features, n_mutual = s->depths[i] * 3 / 4;
    const int reshaped = i == 0 ? c : i < 4 ? 4 * c : c / 4;
    char stage[32], block[96];

    snprintf(stage, sizeof(stage), "stage%d.", i + 1);
    show_norm(v, stage, "reshape.1", reshaped);
    if (i > 0)
        show_linear(v, stage, "reshape.2", (int[]){ c, reshaped });
    for (int k = 0; k < s->depths[i]; k++) {
        const bool mutual = k < n_mutual;

        snprintf(block, sizeof(block), "%sresidual_group%d.blocks.%d.", stage, mutual ? 1 : 2,
                 mutual ? k : k - n_mutual);
        show_block(v, block, (int[]){ c, s->heads }, mutual ? 2 : s->window_frames, mutual);
    }
    show_linear(v, stage, "linear1", (int[]){ c, c });
    show_linear(v, stage, "linear2", (int[]){ c, c });
    if (s->distances)
        show_alignment(s, v, stage);
}

static void show_tail(const struct vrt_sizes *s, struct vrt_sizes_visitor *v)
{
    const int c = s->tail_features;
    char group[32], block[96];

    show_norm(v, "", "stage8.0.1", s->features);
    show_linear(v, "", "stage8.0.2", (int[]){ c, s->features });
    for (int i = 1; i <= s->n_tail; i++) {
        snprintf(group, sizeof(group), "stage8.%d.", i);
        for (int k = 0; k < s->tail_depth; k++) {
            snprintf(block, sizeof(block), "%sresidual_group.blocks.%d.", group, k);
            show_block(v, block, (int[]){ c, s->heads },
                       i > s->n_tail - s->n_single ? 1 : s->window_frames, false);
        }
        show_linear(v, group, "linear", (int[]){ c, c });
    }
    show_norm(v, "", "norm", c);
    show_linear(v, "", "conv_after_body", (int[]){ s->features, c });
}

static void show_flow(struct vrt_sizes_visitor *v)
{
    static const int channels[6] = { 8, 32, 64, 32, 16, 2 };
    char level[64], conv[32];

    for (int l = 0; l < 6; l++) {
        snprintf(level, sizeof(level), "spynet.basic_module.%d.", l);
        for (int i = 0; i < 5; i++) {
            snprintf(conv, sizeof(conv), "basic_module.%d", 2 * i);
            show_conv(v, level, conv, (int[]){ channels[i + 1], channels[i], 7 });
        }
    }
    show(v, &(struct tensor){ VRT_SIZES_MEAN, 4, { 1, 3, 1, 1 } }, "spynet.mean");
    show(v, &(struct tensor){ VRT_SIZES_STD, 4, { 1, 3, 1, 1 } }, "spynet.std");
}

static void show_end(const struct vrt_sizes *s, struct vrt_sizes_visitor *v)
{
    char name[32];

    if (s->frames) {
        show_conv(v, "", "linear_fuse", (int[]){ 64, s->frames * s->features, 1 });
        show_conv(v, "", "conv_last", (int[]){ 3, 64, 7 });
        return;
    }
    if (s->n_up) {
        show_flat_conv(v, "conv_before_upsample.0", 64, s->features);
        for (int i = 0; i <= s->n_up; i++) {
            snprintf(name, sizeof(name), "upsample.%d", 5 * i);
            show_flat_conv(v, name, i < s->n_up ? 256 : 64, 64);
        }
    }
    show_flat_conv(v, "conv_last", 3, s->n_up ? 64 : s->features);
}

void vrt_sizes_visit(const struct vrt_sizes *sizes, struct vrt_sizes_visitor *visitor)
{
    show_flat_conv(visitor, "conv_first", sizes->features,
                   sizes->distances ? 27 + (sizes->noise ? 1 : 0) : 3);
    if (sizes->distances)
        show_flow(visitor);
    for (int i = 0; i < VRT_SIZES_STAGES; i++)
        show_stage(sizes, visitor, i);
    show_tail(sizes, visitor);
    show_end(sizes, visitor);
}
