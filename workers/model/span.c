/* SPDX-License-Identifier: MIT */
/*
 * SPAN: blocks of convolutions whose result is multiplied with a function of itself (Wan et al.
 * 2023, arXiv:2311.12770), and SPANF3, its kin that learns that function
 *
 * Each convolution of a file is five, which training needs: 1x1, 3x3 and 1x1 one after the other,
 * past them another 1x1, and "eval_conv", the one that all of them make. The definitions compute
 * that one anew of the four, and so does load().
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/checkpoint.h"
#include "model/architecture.h"
#include "model/parts/layers.h"

#define FEATURES_MAX 256            /* so that one made of five is made in no time */
#define BLOCKS_MAX 64
#define SCALE_MAX 8
#define GAIN 2                      /* between its 1x1 convolutions one is so much wider */
#define N_CATENATED 4
#define CENTER 4                    /* of nine taps */
#define RANGE 255                   /* of normed samples */

static bool has(const struct vrt_checkpoint *checkpoint, const char *name)
{
    return vrt_checkpoint_find(checkpoint, name) != NULL;
}

static bool recognise(const struct vrt_checkpoint *checkpoint)
{
    return has(checkpoint, "conv_cat.weight") && has(checkpoint, "block_1.c1_r.sk.weight");
}

/* The tensors that one convolution is made of, as they stand in the file. */
struct parts {
    float *w1, *b1, *w2, *b2, *w3, *b3;     /* [2I,I], [2I], [2O,2I,9], [2O], [O,2O], [O] */
    float *skip, *skip_bias;                /* [O,I], [O] */
};

static void parts_done(struct parts *parts)
{
    free(parts->w1);
    free(parts->b1);
    free(parts->w2);
    free(parts->b2);
    free(parts->w3);
    free(parts->b3);
    free(parts->skip);
    free(parts->skip_bias);
}

static int read_parts(struct vrt_params *params, const char *name, int c_out, int c_in,
                      struct parts *parts)
{
    const int mid_in = GAIN * c_in, mid_out = GAIN * c_out;
    const struct {
        const char *name;
        struct vrt_params_want want;
        float **values;
    } all[] = {
        { "sk.weight", { .n_dims = 4, .dims = { c_out, c_in, 1, 1 } }, &parts->skip },
        { "sk.bias", { .n_dims = 1, .dims = { c_out } }, &parts->skip_bias },
        { "conv.0.weight", { .n_dims = 4, .dims = { mid_in, c_in, 1, 1 } }, &parts->w1 },
        { "conv.0.bias", { .n_dims = 1, .dims = { mid_in } }, &parts->b1 },
        { "conv.1.weight", { .n_dims = 4, .dims = { mid_out, mid_in, 3, 3 } }, &parts->w2 },
        { "conv.1.bias", { .n_dims = 1, .dims = { mid_out } }, &parts->b2 },
        { "conv.2.weight", { .n_dims = 4, .dims = { c_out, mid_out, 1, 1 } }, &parts->w3 },
        { "conv.2.bias", { .n_dims = 1, .dims = { c_out } }, &parts->b3 },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(all); i++) {
        int r = vrt_params_read(params, &all[i].want, all[i].values, "%s.%s", name, all[i].name);
        if (r < 0)
            return vrt_fold(r);
    }
    return 0;
}

/* Row [9,I] of the first two of the three, for output m of theirs. Return: its bias. */
static double join_two(const struct parts *parts, int m, int c_in, double *row)
{
    const int mid_in = GAIN * c_in;
    double bias = (double)parts->b2[m];

    for (int i = 0; i < 9 * c_in; i++)
        row[i] = 0;
    for (int n = 0; n < mid_in; n++)
        for (int k = 0; k < 9; k++) {
            const double w = (double)parts->w2[((size_t)m * (size_t)mid_in + (size_t)n) * 9 +
                                               (size_t)k];

            bias += w * (double)parts->b1[n];
            for (int i = 0; i < c_in; i++)
                row[k * c_in + i] += w * (double)parts->w1[n * c_in + i];
        }
    return bias;
}

/*
 * The convolution that the parts make, sums in double: weight [O,I,3,3], bias [O]. At the edges it
 * has zeros around its input, as the definitions evaluate it, where training has the first bias.
 * Return: 0; -ENOMEM.
 */
static int fuse(const struct parts *parts, int c_out, int c_in, float *weight, float *bias)
{
    const size_t n_row = 9 * (size_t)c_in;
    VRT_CLEANUP(vrt_freep) double *sums = calloc((size_t)c_out * n_row, sizeof(*sums));
    VRT_CLEANUP(vrt_freep) double *biases = calloc((size_t)c_out, sizeof(*biases));
    VRT_CLEANUP(vrt_freep) double *row = calloc(n_row, sizeof(*row));

    if (!sums || !biases || !row)
        return vrt_raise(-ENOMEM);
    for (int m = 0; m < GAIN * c_out; m++) {
        const double joined = join_two(parts, m, c_in, row);

        for (int o = 0; o < c_out; o++) {
            const double w = (double)parts->w3[o * GAIN * c_out + m];

            biases[o] += w * joined;
            for (size_t i = 0; i < n_row; i++)
                sums[(size_t)o * n_row + i] += w * row[i];
        }
    }
    for (int o = 0; o < c_out; o++) {
        bias[o] = (float)(biases[o] + (double)parts->b3[o] + (double)parts->skip_bias[o]);
        for (int i = 0; i < c_in; i++)
            for (int k = 0; k < 9; k++) {
                const double past = k == CENTER ? (double)parts->skip[o * c_in + i] : 0;

                weight[(o * c_in + i) * 9 + k] =
                    (float)(sums[(size_t)o * n_row + (size_t)(k * c_in + i)] + past);
            }
    }
    return 0;
}

/* Adds what `fuse()` makes of the parts as the params `name`.eval_conv, and leaves the file's own
 * out. */
static int add_fused(struct vrt_params *params, const struct parts *parts, const char *name,
                     int c_out, int c_in)
{
    const struct vrt_params_want want = { .n_dims = 4, .dims = { c_out, c_in, 3, 3 } };
    const struct vrt_params_want want_bias = { .n_dims = 1, .dims = { c_out } };
    const int n_weights = 9 * c_out * c_in;
    VRT_CLEANUP(vrt_freep) float *weight = malloc((size_t)n_weights * sizeof(*weight));
    VRT_CLEANUP(vrt_freep) float *bias = malloc((size_t)c_out * sizeof(*bias));
    char weight_name[64], bias_name[64];

    snprintf(weight_name, sizeof(weight_name), "%s.eval_conv.weight", name);
    snprintf(bias_name, sizeof(bias_name), "%s.eval_conv.bias", name);
    int r = weight && bias ? fuse(parts, c_out, c_in, weight, bias) : vrt_raise(-ENOMEM);
    if (r < 0)
        return vrt_refuse_errno(params->error, r, params->source);
    r = vrt_params_add(params, &want, weight, weight_name);
    if (r < 0)
        return vrt_fold(r);
    r = vrt_params_add(params, &want_bias, bias, bias_name);
    if (r < 0)
        return vrt_fold(r);
    params->n_values += n_weights + c_out;
    r = vrt_params_leave(params, weight_name);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_params_leave(params, bias_name));
}

static int take_fused(struct vrt_params *params, const char *name, int c_out, int c_in)
{
    struct parts parts = { 0 };
    int r = read_parts(params, name, c_out, c_in, &parts);

    if (r == 0)
        r = add_fused(params, &parts, name, c_out, c_in);
    parts_done(&parts);
    return vrt_fold(r);
}

static int take_conv(struct vrt_params *params, const char *name, int c_out, int c_in, int kernel)
{
    int r = vrt_params_take(params, (int[]){ c_out, c_in, kernel, kernel }, 4, "%s.weight", name);

    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_params_take(params, &c_out, 1, "%s.bias", name));
}

static int take_block(struct vrt_params *params, const struct vrt_span *span, int i)
{
    char name[48];
    int r = 0;

    for (int k = 1; k <= 3 && r == 0; k++) {
        snprintf(name, sizeof(name), "block_%d.c%d_r", i, k);
        r = take_fused(params, name, span->features, span->features);
    }
    if (r < 0 || !span->is_f3)
        return vrt_fold(r);
    snprintf(name, sizeof(name), "block_%d.att_conv", i);
    return vrt_fold(take_conv(params, name, span->features, span->features, 1));
}

static int take_params(struct vrt_params *params, const struct vrt_span *span, const char *first,
                       int channels)
{
    const int f = span->features, squares = span->unshuffle * span->unshuffle;
    const int last = channels * span->up_scale * span->up_scale;
    int r = take_fused(params, first, f, channels * squares);

    for (int i = 1; i <= span->n_blocks && r == 0; i++)
        r = take_block(params, span, i);
    if (r == 0 && !span->is_f3)
        r = take_fused(params, "conv_2", f, f);
    if (r == 0)
        r = take_conv(params, "conv_cat", f, N_CATENATED * f, 1);
    if (r == 0)
        r = span->is_f3 ? take_fused(params, "to_pixel", last, f)
                        : take_conv(params, "upsampler.0", last, f, 3);
    return r == 0 ? vrt_fold(vrt_params_leave(params, "no_norm")) : vrt_fold(r);
}

/*
 * The channels of pictures, the side of what is folded into channels and that of what is unfolded
 * at the end: of `n_first` channels that the first convolution takes, and `n_last` that the last
 * one makes. Folded are only samples for a shuffle by 4, as "unshuffle_mod" has it. Return: whether
 * there are such.
 */
static bool find_scales(struct vrt_span *span, int n_first, int n_last, bool is_folded,
                        int *ret_channels)
{
    for (int channels = 3; channels >= 1; channels -= 2)
        for (int up = 1; up <= SCALE_MAX; up++) {
            const int fold = is_folded ? n_first == 4 * channels ? 2 : 4 : 1;

            if (n_last != channels * up * up || n_first != channels * fold * fold ||
                (is_folded && up != 4))
                continue;
            span->unshuffle = fold;
            span->up_scale = up;
            *ret_channels = channels;
            return true;
        }
    return false;
}

static int load(struct vrt_network *network, struct vrt_params *params)
{
    const struct vrt_checkpoint *checkpoint = params->checkpoint;
    struct vrt_span *span = &network->span;
    struct vrt_network_info *info = &network->info;
    const bool is_f3 = has(checkpoint, "block_1.att_conv.weight");
    const bool is_folded = is_f3 && has(checkpoint, "conv_1.1.sk.weight");
    const char *first = is_folded ? "conv_1.1" : "conv_1";
    const char *first_skip = is_folded ? "conv_1.1.sk.weight" : "conv_1.sk.weight";
    const char *last = is_f3 ? "to_pixel.sk.weight" : "upsampler.0.weight";
    const int n_first = vrt_params_extent(checkpoint, first_skip, 4, 1);
    const int n_last = vrt_params_extent(checkpoint, last, 4, 0);

    span->is_f3 = is_f3;
    span->is_normed = !is_f3 && !has(checkpoint, "no_norm");
    span->features = vrt_params_extent(checkpoint, first_skip, 4, 0);
    span->n_blocks = vrt_params_last_index(checkpoint, "block_");
    if (span->features < 1 || span->features > FEATURES_MAX)
        return vrt_params_refuse(params, "network whose tensor \"%s\" has %d outputs, not 1 to %d",
                                 first_skip, span->features, FEATURES_MAX);
    if (span->n_blocks > BLOCKS_MAX)
        return vrt_params_refuse(params, "network of %d blocks, which is more than %d",
                                 span->n_blocks, BLOCKS_MAX);
    if (!find_scales(span, n_first, n_last, is_folded, &info->in_channels))
        return vrt_params_refuse(params, "network whose tensors \"%s\" and \"%s\" are for %d "
                                 "inputs and %d outputs, which are no pictures of 3 or 1 channels "
                                 "enlarged by 1 to %d", first_skip, last, n_first, n_last,
                                 SCALE_MAX);
    if (span->is_normed && info->in_channels != 3)
        return vrt_params_refuse(params, "network for gray pictures that are to be normed as those "
                                 "with colours, which has no meaning");

    info->out_channels = info->in_channels;
    info->scale = span->up_scale / span->unshuffle;
    info->multiple = span->unshuffle;
    info->radius = (3 * span->n_blocks + (is_f3 ? 2 : 3)) * span->unshuffle;
    snprintf(info->description, sizeof(info->description), "%s, %d features, %d blocks, %s%s%sx%d",
             is_f3 ? "SPANF3" : "SPAN", span->features, span->n_blocks,
             is_f3 || span->is_normed ? "" : "not normed, ",
             is_folded ? "pixel-unshuffle, " : "", info->in_channels == 1 ? "gray, " : "",
             info->scale);
    return vrt_fold(take_params(params, span, first, info->in_channels));
}

/* Of the pictures that SPAN was trained on (DIV2K). */
static const float colour_mean[3] = { 0.4488f, 0.4371f, 0.4040f };

/* What the joining convolution reads, in this order, as channels of one tensor. */
enum slot { FIRST, BODY, FIRST_BLOCK, MIDDLE, N_SLOTS };

struct builder {
    const struct vrt_span *span;
    struct vrt_graph *graph;
    enum vrt_dtype dtype;
    struct vrt_shape shape;         /* of features */
    struct vrt_tensor joined;
    int next;                       /* the next param */
};

static struct vrt_tensor new_tensor(const struct builder *b)
{
    return vrt_graph_tensor(b->graph, b->dtype, b->shape);
}

static struct vrt_tensor slot(const struct builder *b, enum slot i)
{
    return vrt_tensor_channels(&b->joined, (int)i * b->span->features, b->span->features);
}

/* A convolution with the next params. */
static void conv(struct builder *b, const struct vrt_tensor *x, const struct vrt_op_conv2d *like,
                 const struct vrt_tensor *out)
{
    struct vrt_op_conv2d op = *like;

    op.weight = b->next++;
    op.bias = b->next++;
    op.slopes = -1;
    op.scale = op.scale != 0 ? op.scale : 1;
    vrt_layer_conv(b->graph, x, &op, NULL, out);
}

/* A convolution and its activation: ReLU, or SPAN's SiLU. */
static void active(struct builder *b, const struct vrt_tensor *x, const struct vrt_tensor *out)
{
    if (b->span->is_f3) {
        conv(b, x, &(struct vrt_op_conv2d){ .kernel = 3, .activation = VRT_ACTIVATION_RELU }, out);
        return;
    }
    const struct vrt_tensor y = new_tensor(b);
    conv(b, x, &(struct vrt_op_conv2d){ .kernel = 3 }, &y);
    vrt_layer_gate(b->graph, &y, &y, NULL, &(struct vrt_op_gate){ .scale = 1 }, out);
}

/* (x + y) times what y says of it, y being what the three convolutions made. */
static void block(struct builder *b, const struct vrt_tensor *x, const struct vrt_tensor *middle,
                  const struct vrt_tensor *out)
{
    const struct vrt_tensor second = new_tensor(b), y = new_tensor(b);

    active(b, x, middle);
    active(b, middle, &second);
    conv(b, &second, &(struct vrt_op_conv2d){ .kernel = 3 }, &y);
    if (!b->span->is_f3) {
        vrt_layer_gate(b->graph, &y, &y, x, &(struct vrt_op_gate){ 1, -0.5f }, out);
        return;
    }
    /* tanh(z) = 2 sigmoid(2 z) - 1 */
    const struct vrt_tensor attention = new_tensor(b);
    conv(b, &y, &(struct vrt_op_conv2d){ .kernel = 1, .scale = 2 }, &attention);
    vrt_layer_gate(b->graph, &attention, &y, x, &(struct vrt_op_gate){ 2, -1 }, out);
}

static void body(struct builder *b)
{
    struct vrt_tensor x = slot(b, FIRST);

    for (int i = 0; i < b->span->n_blocks && vrt_graph_status(b->graph) == 0; i++) {
        const bool is_last = i + 1 == b->span->n_blocks;
        const struct vrt_tensor middle = is_last ? slot(b, MIDDLE) : new_tensor(b);
        const struct vrt_tensor out = i == 0 ? slot(b, FIRST_BLOCK)
                                      : is_last && b->span->is_f3 ? slot(b, BODY) : new_tensor(b);

        block(b, &x, &middle, &out);
        x = out;
    }
    const struct vrt_tensor last = slot(b, BODY);
    if (!b->span->is_f3)
        conv(b, &x, &(struct vrt_op_conv2d){ .kernel = 3 }, &last);
    else if (b->span->n_blocks == 1)
        vrt_layer_copy(b->graph, &x, &last);
}

/* What the first convolution reads, of its type. */
static struct vrt_tensor enter(const struct builder *b, const struct vrt_tensor *in)
{
    const int f = b->span->unshuffle;
    struct vrt_shape shape = b->shape;
    struct vrt_tensor x = *in;

    if (b->span->is_normed) {
        struct vrt_op_affine affine = { 0 };

        for (int c = 0; c < in->shape.c; c++) {
            affine.scale[c] = RANGE;
            affine.shift[c] = -colour_mean[c] * RANGE;
        }
        x = vrt_graph_tensor(b->graph, b->dtype, in->shape);
        vrt_layer_affine(b->graph, in, &affine, &x);
    }
    if (f > 1) {
        shape.c = in->shape.c * f * f;
        x = vrt_graph_tensor(b->graph, b->dtype, shape);
        vrt_layer_unshuffle(b->graph, in, f, &x);
    }
    return vrt_layer_convert(b->graph, &x, b->dtype);
}

static void build(const struct vrt_network *network, struct vrt_graph *graph,
                  const struct vrt_tensor *in, const struct vrt_tensor *out,
                  const struct vrt_network_use *use)
{
    const struct vrt_span *span = &network->span;
    const int f = span->unshuffle, r = span->up_scale;
    const struct vrt_shape shape = { in->shape.d, in->shape.h / f, in->shape.w / f,
                                     span->features };
    struct vrt_shape wide = shape, last = shape;
    struct builder b = { .span = span, .graph = graph, .dtype = use->dtype, .shape = shape };

    wide.c = N_SLOTS * span->features;
    last.c = out->shape.c * r * r;
    b.joined = vrt_graph_tensor(graph, use->dtype, wide);
    if (vrt_graph_status(graph) < 0)
        return;
    const struct vrt_tensor x = enter(&b, in), first = slot(&b, FIRST);
    conv(&b, &x, &(struct vrt_op_conv2d){ .kernel = 3 }, &first);
    body(&b);
    const struct vrt_tensor y = new_tensor(&b);
    const struct vrt_tensor z = vrt_graph_tensor(graph, VRT_DTYPE_F32, last);
    conv(&b, &b.joined, &(struct vrt_op_conv2d){ .kernel = 1 }, &y);
    conv(&b, &y, &(struct vrt_op_conv2d){ .kernel = 3 }, &z);
    vrt_layer_shuffle(graph, &z, r, NULL, out);
}

const struct vrt_architecture vrt_architecture_span = {
    .name = "span",
    .network = "SPAN",
    .recognise = recognise,
    .pad_mode = VRT_PAD_REFLECT,
    .load = load,
    .build = build,
};
