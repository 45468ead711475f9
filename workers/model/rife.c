/* SPDX-License-Identifier: MIT */
/* RIFE: recognition, sizes and params; rife-build.c has the graph. */

#include "model/rife.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/checkpoint.h"
#include "model/architecture.h"

#define FEATURES_MAX 1024
#define FLOWS 4
#define N_MADE_MAX 64
#define HALVINGS 4                  /* of a block's pictures, by its first two convolutions */
#define LITE_FEATURES 24            /* of the last of five blocks: 4.25.lite's */
#define TAPS 9
#define SCALE_MAX 32                /* of a block's pictures */
#define CENTER 4                    /* of them */
#define REACH 128                   /* pixels beyond a tile's edge: beyond most motion */

int vrt_rife_in_channels(const struct vrt_rife *rife, int i)
{
    return 3 + 3 + 2 * rife->features + 1 + (i > 0 ? 1 + rife->n_hints + FLOWS : 0);
}

static bool recognise(const struct vrt_checkpoint *checkpoint)
{
    return vrt_checkpoint_find(checkpoint, "block0.conv0.0.0.weight") &&
           vrt_checkpoint_find(checkpoint, "encode.cnn0.weight");
}

/* "16,8,4,2,1", each one of them. Return: 0; -EINVAL. */
static int read_scales(struct vrt_params *params, struct vrt_rife *rife, const char *text)
{
    for (int i = 0; i < rife->n_blocks; i++) {
        char *end;
        const long scale = strtol(text, &end, 10);

        if (scale < 1 || scale > SCALE_MAX || (scale & (scale - 1)) != 0 ||
            (i > 0 && scale > rife->blocks[i - 1].scale) ||
            *end != (i + 1 < rife->n_blocks ? ',' : '\0'))
            return vrt_params_refuse(params, "network whose metadata \"scales\" isn't, for each of "
                                     "%d blocks, a power of two up to %d and that of the block "
                                     "before", rife->n_blocks, SCALE_MAX);
        rife->blocks[i].scale = (int)scale;
        text = end + 1;
    }
    return 0;
}

/* By which each block's pictures are smaller: nothing in names or shapes tells, but how many there
 * are and, of 4.25.lite, how narrow the last one is. */
static void set_scales(struct vrt_rife *rife)
{
    static const int four[] = { 8, 4, 2, 1 }, five[] = { 16, 8, 4, 2, 1 },
                     lite[] = { 32, 16, 8, 4, 1 };
    const bool is_lite = rife->n_blocks == 5 && rife->blocks[4].features == LITE_FEATURES;
    const int *scales = rife->n_blocks == 4 ? four : is_lite ? lite : five;

    for (int i = 0; i < rife->n_blocks; i++)
        rife->blocks[i].scale = scales[i];
}

/* Sizes that others follow from. Return: 0; -EINVAL. */
static int find_sizes(struct vrt_params *params, struct vrt_rife *rife)
{
    const struct vrt_checkpoint *checkpoint = params->checkpoint;
    char name[48];

    rife->n_blocks = vrt_params_last_index(checkpoint, "block") + 1;
    if (rife->n_blocks != 4 && rife->n_blocks != 5)
        return vrt_params_refuse(params, "network of %d blocks, where vrtd knows those of 4 "
                                 "(4.15 to 4.24) and 5 (4.25, 4.26)", rife->n_blocks);
    rife->encode_features = vrt_params_extent(checkpoint, "encode.cnn0.weight", 4, 0);
    rife->features = vrt_params_extent(checkpoint, "encode.cnn3.weight", 4, 1);
    for (int i = 0; i < rife->n_blocks; i++) {
        snprintf(name, sizeof(name), "block%d.conv0.1.0.weight", i);
        rife->blocks[i].features = vrt_params_extent(checkpoint, name, 4, 0);
        if (rife->blocks[i].features < 2 || rife->blocks[i].features > FEATURES_MAX ||
            rife->blocks[i].features % 2)
            return vrt_params_refuse(params, "network whose tensor \"%s\" has %d outputs, not an "
                                     "even number of 2 to %d", name, rife->blocks[i].features,
                                     FEATURES_MAX);
    }
    rife->n_made = vrt_params_extent(checkpoint, "block0.lastconv.0.weight", 4, 1) / 4;
    rife->n_hints = 0;
    rife->n_hints = vrt_params_extent(checkpoint, "block1.conv0.0.0.weight", 4, 1) -
                    vrt_rife_in_channels(rife, 1);
    if (rife->encode_features < 1 || rife->encode_features > FEATURES_MAX || rife->features < 1 ||
        rife->features > FEATURES_MAX)
        return vrt_params_refuse(params, "network whose encode makes %d channels of %d, not 1 to "
                                 "%d", rife->features, rife->encode_features, FEATURES_MAX);
    if (rife->n_made <= FLOWS || rife->n_made > N_MADE_MAX ||
        (rife->n_hints != 0 && rife->n_hints != rife->n_made - FLOWS - 1))
        return vrt_params_refuse(params, "network whose blocks make %d channels, of which the next "
                                 "takes %d besides flows and mask", rife->n_made, rife->n_hints);
    const char *scales = vrt_checkpoint_metadata(checkpoint, "scales");
    if (scales)
        return vrt_fold(read_scales(params, rife, scales));
    set_scales(rife);
    return 0;
}

/*
 * RIFE's params, as conv2d takes them: 3x3, stride 1, and nothing but an activation behind it
 *
 * - A convolution of stride 2 is one of what has its squares of 2x2 samples folded into channels.
 * - A transposed convolution, 4x4 with stride 2, makes each of a square's 4 samples of 2x2 places:
 *   that is a 3x3 convolution with 4 times the channels, unfolded afterwards.
 * - conv(x) * beta + x is one convolution: beta goes into the weights, and x is the tap in the
 *   middle.
 *
 * Sums and products are the same, but for zeros and for how beta is rounded: in 16 bits with the 1
 * that is x.
 */

/* Which of four taps makes half i of a square, seen from the square at -1, 0 or 1; -1: none. */
static const int tap_of_doubling[2][3] = { { 3, 1, -1 }, { -1, 2, 0 } };

/* What one convolution is in the file. */
struct source {
    const char *name;
    int c_out, c_in;
    float *weight, *bias, *beta;    /* beta [O], NULL: none */
};

/* Adds the convolution `weight`, [o,i,3,3], with `bias`, [o]. */
static int add(struct vrt_params *params, const char *name, int c_out, int c_in,
               const float *const values[2])
{
    const struct vrt_params_want want = { .n_dims = 4, .dims = { c_out, c_in, 3, 3 },
                                          .use = VRT_PARAM_WEIGHT };
    const struct vrt_params_want want_bias = { .n_dims = 1, .dims = { c_out } };
    char tensor[64];

    snprintf(tensor, sizeof(tensor), "%s.weight", name);
    int r = vrt_params_add(params, &want, values[0], tensor);
    if (r < 0)
        return vrt_fold(r);
    snprintf(tensor, sizeof(tensor), "%s.bias", name);
    return vrt_fold(vrt_params_add(params, &want_bias, values[1], tensor));
}

/* Where output o of a transposed convolution has its sample (i,j) of a square. `last` is the one
 * whose result is unfolded once more: both are one by 4. */
static int unfolded_channel(int o, int i, int j, bool last)
{
    if (!last)
        return (o * 2 + i) * 2 + j;
    return (o / 4 * 4 + 2 * i + o / 2 % 2) * 4 + 2 * j + o % 2;
}

/* [I,O,4,4], transposed, of stride 2 -> [4O,I,3,3], and its bias. */
static void doubling(const struct source *s, bool last, float *weight, float *bias)
{
    for (int o = 0; o < s->c_out; o++)
    for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
        const int channel = unfolded_channel(o, i, j, last);

        bias[channel] = s->bias[o];
        for (int c = 0; c < s->c_in; c++)
        for (int tap = 0; tap < TAPS; tap++) {
            const int y = tap_of_doubling[i][tap / 3], x = tap_of_doubling[j][tap % 3];

            if (y >= 0 && x >= 0)
                weight[((size_t)channel * (size_t)s->c_in + (size_t)c) * TAPS + (size_t)tap] =
                    s->weight[((c * s->c_out + o) * 4 + y) * 4 + x];
        }
    }
}

/* conv(x) * beta + x, in place. */
static void fuse_residual(const struct source *s)
{
    for (int o = 0; o < s->c_out; o++) {
        const double beta = (double)s->beta[o];

        for (int i = 0; i < s->c_in * TAPS; i++) {
            const double past = i == o * TAPS + CENTER ? 1 : 0;
            float *w = &s->weight[(size_t)o * (size_t)s->c_in * TAPS + (size_t)i];
            *w = (float)((double)*w * beta + past);
        }
        s->bias[o] = (float)((double)s->bias[o] * beta);
    }
}

static void source_done(struct source *s)
{
    free(s->weight);
    free(s->bias);
    free(s->beta);
}

enum form { PLAIN, HALVING, DOUBLING, DOUBLING_LAST, RESIDUAL };

/* Reads what the file has of it. Return: as vrt_params_read(). */
static int read_source(struct vrt_params *params, enum form form, struct source *s)
{
    const bool is_transposed = form == DOUBLING || form == DOUBLING_LAST;
    const char *part = form == RESIDUAL ? ".conv" : "";
    const struct vrt_params_want want = {
        .n_dims = 4,
        .dims = { is_transposed ? s->c_in : s->c_out, is_transposed ? s->c_out : s->c_in,
                  is_transposed ? 4 : 3, is_transposed ? 4 : 3 },
    };
    const struct vrt_params_want want_bias = { .n_dims = 1, .dims = { s->c_out } };
    const struct vrt_params_want want_beta = { .n_dims = 4, .dims = { 1, s->c_out, 1, 1 } };
    int r = vrt_params_read(params, &want, &s->weight, "%s%s.weight", s->name, part);

    if (r < 0)
        return vrt_fold(r);
    r = vrt_params_read(params, &want_bias, &s->bias, "%s%s.bias", s->name, part);
    if (r < 0 || form != RESIDUAL)
        return vrt_fold(r);
    return vrt_fold(vrt_params_read(params, &want_beta, &s->beta, "%s.beta", s->name));
}

/* Adds it in conv2d's form. Return: as vrt_params_add(). */
static int add_source(struct vrt_params *params, enum form form, const struct source *s)
{
    const bool is_doubling = form == DOUBLING || form == DOUBLING_LAST;
    const int c_out = is_doubling ? 4 * s->c_out : s->c_out;
    const int c_in = form == HALVING ? 4 * s->c_in : s->c_in;
    const size_t n = (size_t)c_out * (size_t)c_in * TAPS;
    VRT_CLEANUP(vrt_freep) float *weight = calloc(n, sizeof(*weight));
    VRT_CLEANUP(vrt_freep) float *bias = calloc((size_t)c_out, sizeof(*bias));
    const float *const made[2] = { weight, bias }, *const read[2] = { s->weight, s->bias };

    if (!weight || !bias)
        return vrt_refuse_errno(params->error, vrt_raise(-ENOMEM), params->source);
    if (is_doubling) {
        doubling(s, form == DOUBLING_LAST, weight, bias);
        return vrt_fold(add(params, s->name, c_out, c_in, made));
    }
    if (form == HALVING) {
        const float *const halved[2] = { weight, s->bias };
        vrt_params_fold_stride(s->weight, s->c_out, s->c_in, weight);
        return vrt_fold(add(params, s->name, c_out, c_in, halved));
    }
    if (form == RESIDUAL)
        fuse_residual(s);
    return vrt_fold(add(params, s->name, c_out, c_in, read));
}

static int take(struct vrt_params *params, const char *name, enum form form, int c_out, int c_in)
{
    struct source source = { .name = name, .c_out = c_out, .c_in = c_in };
    const int taps = form == DOUBLING || form == DOUBLING_LAST ? 16 : TAPS;
    int r = read_source(params, form, &source);

    if (r == 0)
        r = add_source(params, form, &source);
    source_done(&source);
    if (r < 0)
        return vrt_fold(r);
    params->n_values += (int64_t)taps * c_out * c_in + c_out + (form == RESIDUAL ? c_out : 0);
    return 0;
}

static int take_encode(struct vrt_params *params, const struct vrt_rife *rife)
{
    const int f = rife->encode_features;
    int r = take(params, "encode.cnn0", HALVING, f, 3);

    if (r < 0)
        return vrt_fold(r);
    r = take(params, "encode.cnn1", PLAIN, f, f);
    if (r < 0)
        return vrt_fold(r);
    r = take(params, "encode.cnn2", PLAIN, f, f);
    return r < 0 ? vrt_fold(r) : vrt_fold(take(params, "encode.cnn3", DOUBLING, rife->features, f));
}

static int take_block(struct vrt_params *params, const struct vrt_rife *rife, int i)
{
    const int f = rife->blocks[i].features;
    char name[32];

    snprintf(name, sizeof(name), "block%d.conv0.0.0", i);
    int r = take(params, name, HALVING, f / 2, vrt_rife_in_channels(rife, i));
    if (r < 0)
        return vrt_fold(r);
    snprintf(name, sizeof(name), "block%d.conv0.1.0", i);
    r = take(params, name, HALVING, f, f / 2);
    for (int k = 0; k < VRT_RIFE_RES_CONVS && r == 0; k++) {
        snprintf(name, sizeof(name), "block%d.convblock.%d", i, k);
        r = take(params, name, RESIDUAL, f, f);
    }
    if (r < 0)
        return vrt_fold(r);
    snprintf(name, sizeof(name), "block%d.lastconv.0", i);
    return vrt_fold(take(params, name, DOUBLING_LAST, 4 * rife->n_made, f));
}

static int take_params(struct vrt_params *params, const struct vrt_rife *rife)
{
    int r = take_encode(params, rife);

    for (int i = 0; i < rife->n_blocks && r == 0; i++)
        r = take_block(params, rife, i);
    return vrt_fold(r);
}

/* What only training has of it. Return: 0; -ENOMEM. */
static int leave_training(struct vrt_params *params)
{
    static const char *const prefixes[] = { "teacher.", "caltime." };

    for (int i = 0; i < vrt_checkpoint_n_tensors(params->checkpoint); i++) {
        const char *name = vrt_checkpoint_tensor(params->checkpoint, i)->name;

        for (size_t k = 0; k < VRT_ARRAY_SIZE(prefixes); k++) {
            if (strncmp(name, prefixes[k], strlen(prefixes[k])) != 0)
                continue;
            int r = vrt_params_leave(params, name);
            if (r < 0)
                return vrt_fold(r);
        }
    }
    return 0;
}

static int load(struct vrt_network *network, struct vrt_params *params)
{
    struct vrt_rife *rife = &network->rife;
    struct vrt_network_info *info = &network->info;
    int r = find_sizes(params, rife);

    if (r < 0)
        return vrt_fold(r);
    info->scale = 1;
    info->in_channels = info->out_channels = 3;
    info->multiple = info->min_size = HALVINGS * rife->blocks[0].scale;
    info->radius = REACH;
    info->tile_overlap = 2 * REACH;
    info->window_frames = info->min_frames = info->max_frames = info->clip_frames = 2;
    info->out_frames = 1;
    info->any_times = true;
    snprintf(info->description, sizeof(info->description),
             "RIFE, %d blocks of %d to %d features, pictures to 1/%d, interpolation, x1",
             rife->n_blocks, rife->blocks[0].features, rife->blocks[rife->n_blocks - 1].features,
             rife->blocks[0].scale);
    r = leave_training(params);
    return r < 0 ? vrt_fold(r) : vrt_fold(take_params(params, rife));
}

const struct vrt_architecture vrt_architecture_rife = {
    .name = "rife",
    .network = "RIFE",
    .revision = 1,                      /* 0: all of it f32, whatever the precision */
    .recognise = recognise,
    .pad_mode = VRT_PAD_ZERO,           /* as its authors have it */
    .load = load,
    .build = vrt_rife_build,
};
