/* SPDX-License-Identifier: MIT */
/*
 * VRT's stages: attention in windows over space and time, then what neighbouring frames know
 *
 * What blocks add up stays f32 from one to the next, whatever the type of the weights.
 */

#include "base/macro.h"
#include "model/parts/layers.h"
#include "model/vrt.h"

int vrt_vrt_stage_scale(int i)
{
    return VRT_MIN(i, VRT_VRT_STAGES - 1 - i);
}

static struct vrt_tensor new_trunk(const struct vrt_vrt_builder *b, const struct vrt_tensor *like,
                                   int channels)
{
    struct vrt_shape shape = like->shape;

    shape.c = channels;
    return vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
}

/* Block i of the group: x + attention(norm1(x)), to which mlp(norm2(...)) is added. */
static struct vrt_tensor append_block(const struct vrt_vrt_builder *b,
                                      const struct vrt_vrt_group *group, int i,
                                      const struct vrt_tensor *x)
{
    const int n_params = group->mutual ? VRT_VRT_MUTUAL_BLOCK_PARAMS : VRT_VRT_BLOCK_PARAMS;
    const int p = group->first + i * n_params, c = x->shape.c;
    struct vrt_op attention = {
        .kind = VRT_OP_WINDOW_ATTENTION,
        .n_in = 1,
        .in = { *x },
        .out = new_trunk(b, x, c),
        .window_attention = {
            .heads = group->heads,
            .window = { group->window_frames, VRT_VRT_WINDOW, VRT_VRT_WINDOW },
            .shifted = i % 2 == 1,
            .norm = { p + VRT_VRT_NORM1, p + VRT_VRT_NORM1 + 1 },
            .qkv = p + VRT_VRT_QKV,
            .qkv_bias = p + VRT_VRT_QKV + 1,
            .bias_table = p + VRT_VRT_TABLE,
            .mutual = group->mutual ? p + VRT_VRT_MUTUAL_QKV : -1,
            .mutual_bias = group->mutual ? p + VRT_VRT_MUTUAL_QKV + 1 : -1,
            .position = group->mutual ? p + VRT_VRT_POSITION : -1,
            .proj = p + VRT_VRT_PROJ,
            .proj_bias = p + VRT_VRT_PROJ + 1,
        },
    };
    const struct vrt_op_geglu mlp = {
        .norm = { p + VRT_VRT_NORM2, p + VRT_VRT_NORM2 + 1 },
        .hidden = 2 * c,
        .fc11 = p + VRT_VRT_FC11,
        .fc11_bias = p + VRT_VRT_FC11 + 1,
        .fc12 = p + VRT_VRT_FC12,
        .fc12_bias = p + VRT_VRT_FC12 + 1,
        .fc2 = p + VRT_VRT_FC2,
        .fc2_bias = p + VRT_VRT_FC2 + 1,
    };

    vrt_graph_append(b->graph, &attention);
    struct vrt_tensor out = new_trunk(b, x, c);
    vrt_layer_geglu(b->graph, &attention.out, &mlp, &attention.out, &out);
    return out;
}

/* out = x + linear(group(x)) */
static void append_group(const struct vrt_vrt_builder *b, const struct vrt_vrt_group *group,
                         int linear, const struct vrt_tensor *x, const struct vrt_tensor *out)
{
    const struct vrt_op_linear layer = {
        .norm = { -1, -1 }, .weight = linear, .bias = linear + 1,
    };
    struct vrt_tensor y = *x;

    for (int i = 0; i < group->n_blocks; i++)
        y = append_block(b, group, i, &y);
    vrt_layer_linear(b->graph, &y, &layer, x, out);
}

/* x at the stage's scale: as it is, a square of places folded into one, or spread over a square. */
static struct vrt_tensor reshape(const struct vrt_vrt_builder *b, int i,
                                 const struct vrt_tensor *x)
{
    const struct vrt_vrt_stage *stage = &b->vrt->stages[i];
    const struct vrt_op_linear linear = {
        .norm = { stage->reshape_norm, stage->reshape_norm + 1 },
        .weight = stage->reshape_linear,
        .bias = stage->reshape_linear + 1,
    };
    struct vrt_shape shape = x->shape;

    if (stage->reshape_linear < 0) {
        struct vrt_tensor out = new_trunk(b, x, shape.c);
        vrt_layer_norm(b->graph, x, &linear.norm, &out);
        return out;
    }

    const bool folds = vrt_vrt_stage_scale(i) > vrt_vrt_stage_scale(i - 1);
    shape.h = folds ? shape.h / 2 : shape.h * 2;
    shape.w = folds ? shape.w / 2 : shape.w * 2;
    shape.c = folds ? shape.c * 4 : shape.c / 4;
    struct vrt_tensor moved = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
    if (folds)
        vrt_layer_fold(b->graph, x, &moved);
    else
        vrt_layer_unfold(b->graph, x, &moved);
    struct vrt_tensor out = new_trunk(b, &moved, b->vrt->features);
    vrt_layer_linear(b->graph, &moved, &linear, NULL, &out);
    return out;
}

/*
 * The stage's end: what it made of each frame is fused with what the neighbours know. It is
 * computed into the first of three runs of channels, beside which the neighbours' are put.
 */
static struct vrt_tensor fuse(const struct vrt_vrt_builder *b, int i, const struct vrt_tensor *all,
                              const struct vrt_tensor *skip)
{
    const int c = b->vrt->features, *fc = b->vrt->stages[i].fuse;
    const struct vrt_op_geglu mlp = {
        .norm = { -1, -1 },
        .hidden = 3 * c,
        .fc11 = fc[0],
        .fc11_bias = fc[0] + 1,
        .fc12 = fc[1],
        .fc12_bias = fc[1] + 1,
        .fc2 = fc[2],
        .fc2_bias = fc[2] + 1,
    };
    const struct vrt_tensor x = vrt_tensor_channels(all, 0, c);
    const struct vrt_tensor aligned[VRT_VRT_DIRECTIONS] = {
        vrt_tensor_channels(all, c, c), vrt_tensor_channels(all, 2 * c, c),
    };

    vrt_vrt_align(b, i, &x, aligned);
    struct vrt_tensor out = new_trunk(b, all, c);
    vrt_layer_geglu(b->graph, all, &mlp, skip, &out);
    return out;
}

struct vrt_tensor vrt_vrt_stage(const struct vrt_vrt_builder *b, int i, const struct vrt_tensor *x,
                                const struct vrt_tensor *skip)
{
    const struct vrt_vrt_stage *stage = &b->vrt->stages[i];
    const int c = b->vrt->features;
    struct vrt_tensor y = reshape(b, i, x), z = new_trunk(b, &y, c), out;
    struct vrt_shape shape = y.shape;

    append_group(b, &stage->groups[0], stage->linears[0], &y, &z);
    if (b->vrt->distances) {
        shape.c = 3 * c;
        struct vrt_tensor all = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, shape);
        out = vrt_tensor_channels(&all, 0, c);
        append_group(b, &stage->groups[1], stage->linears[1], &z, &out);
        out = fuse(b, i, &all, skip);
    } else {
        out = new_trunk(b, &y, c);
        append_group(b, &stage->groups[1], stage->linears[1], &z, &out);
        if (skip) {
            struct vrt_tensor sum = new_trunk(b, &y, c);
            vrt_layer_add(b->graph, &out, 1, skip, &sum);
            out = sum;
        }
    }
    if (skip)
        vrt_vrt_tap(b, &out, "stage%d+stage%d", i + 1, VRT_VRT_STAGES - i);
    else
        vrt_vrt_tap(b, &out, "stage%d", i + 1);
    return out;
}

struct vrt_tensor vrt_vrt_tail(const struct vrt_vrt_builder *b, const struct vrt_tensor *x)
{
    const struct vrt_vrt *vrt = b->vrt;
    const struct vrt_op_linear linear = {
        .norm = { vrt->tail_norm, vrt->tail_norm + 1 },
        .weight = vrt->tail_linear,
        .bias = vrt->tail_linear + 1,
    };
    struct vrt_tensor y = new_trunk(b, x, vrt->tail_features);

    vrt_layer_linear(b->graph, x, &linear, NULL, &y);
    vrt_vrt_tap(b, &y, "stage8.0");
    for (int i = 0; i < vrt->n_tail; i++) {
        struct vrt_tensor z = new_trunk(b, x, vrt->tail_features);

        append_group(b, &vrt->tail[i].group, vrt->tail[i].linear, &y, &z);
        vrt_vrt_tap(b, &z, "stage8.%d", i + 1);
        y = z;
    }
    return y;
}
