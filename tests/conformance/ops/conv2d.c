/* SPDX-License-Identifier: MIT */
/* conv2d: out = activation(x * weight + bias) * scale + residual. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/unit/test.h"

enum types {
    ALL_F32,
    ALL_BF16,
    BF16_TO_F32,                /* and residual f32: a network's last convolution */
    F32_TO_BF16,
    ALL_F16,
    F32_IN_BF16,                /* weights that stay f32 in a network of bf16 */
    TYPES_COUNT,
};

static const struct {
    enum vrt_dtype in, residual, out;
    enum vrt_dtype replica;
    enum vrt_param_use use;
} types[] = {
    [ALL_F32] = { VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_PARAM_WEIGHT },
    [ALL_BF16] = { VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_DTYPE_BF16, VRT_DTYPE_BF16,
                   VRT_PARAM_WEIGHT },
    [BF16_TO_F32] = { VRT_DTYPE_BF16, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_BF16,
                      VRT_PARAM_WEIGHT },
    [F32_TO_BF16] = { VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_BF16, VRT_DTYPE_F32,
                      VRT_PARAM_WEIGHT },
    [ALL_F16] = { VRT_DTYPE_F16, VRT_DTYPE_F16, VRT_DTYPE_F16, VRT_DTYPE_F16, VRT_PARAM_WEIGHT },
    [F32_IN_BF16] = { VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_F32, VRT_DTYPE_BF16,
                      VRT_PARAM_WEIGHT_F32 },
};

struct conv {
    enum types types;
    int k, i, o, d, h, w;
    enum vrt_activation activation;
    bool has_bias, has_residual;
    float scale;
    enum conf_view in_view, residual_view, out_view;
};

CONF_CASES(struct conv, 1024)

static const int kernels[] = { 1, 3, 5, 7 };

/* Each kernel with all kinds of channel counts: what vectors and blocks of 4, 8, 16, 32 don't
 * divide, and what networks have. */
static void add_channels(enum types with)
{
    static const int channels[][2] = {
        { 1, 1 },   { 1, 64 },  { 3, 12 },  { 3, 64 },   { 12, 16 },  { 16, 24 }, { 24, 24 },
        { 24, 12 }, { 32, 33 }, { 33, 32 }, { 48, 48 },  { 64, 3 },   { 64, 64 }, { 96, 32 },
        { 64, 48 }, { 128, 1 }, { 33, 128 }, { 192, 64 }, { 64, 192 }, { 160, 96 },
    };

    for (size_t k = 0; k < VRT_ARRAY_SIZE(kernels); k++)
        for (size_t c = 0; c < VRT_ARRAY_SIZE(channels); c++)
            add((struct conv){ .types = with, .k = kernels[k], .i = channels[c][0],
                               .o = channels[c][1], .d = 1, .h = 5, .w = 7, .has_bias = true,
                               .scale = 1 });
}

/* Sizes smaller than the kernel, odd ones, ones that no tile divides, several frames. */
static void add_sizes(enum types with)
{
    static const int sizes[][3] = {
        { 1, 1, 1 }, { 1, 1, 9 }, { 1, 9, 1 },   { 1, 2, 3 },  { 2, 3, 2 },
        { 3, 6, 5 }, { 1, 8, 8 }, { 1, 17, 33 }, { 2, 31, 9 }, { 1, 3, 130 },
    };

    for (size_t k = 0; k < VRT_ARRAY_SIZE(kernels); k++)
        for (size_t s = 0; s < VRT_ARRAY_SIZE(sizes); s++)
            add((struct conv){ .types = with, .k = kernels[k], .i = 16, .o = 24, .d = sizes[s][0],
                               .h = sizes[s][1], .w = sizes[s][2], .has_bias = true, .scale = 1 });
}

/* Narrow pictures at random: on AMX, oneDNN's code depends on each of these numbers, and what it
 * once made of them read memory that wasn't its own ("backend/cpu/conv/dnnl-faults.c"). */
static void add_narrow(enum types with)
{
    unsigned seed = 1;

    for (int n = 0; n < 32; n++) {
        int random[5];

        for (int i = 0; i < 5; i++) {
            seed = seed * 1664525 + 1013904223;
            random[i] = (int)(seed >> 16);
        }
        add((struct conv){ .types = with, .k = random[0] % 4 ? 3 : 5, .i = 1 + random[1] % 48,
                           .o = 1 + random[2] % 48, .d = 1, .h = 1 + random[3] % 8,
                           .w = 1 + random[4] % 90, .has_bias = n % 2, .scale = 1 });
    }
}

/* Outputs that leave little of the last block of 64, and more tiles than are done at a time. */
static void add_blocks(enum types with)
{
    static const int channels[][2] = { { 17, 65 }, { 24, 193 }, { 40, 80 } };

    for (size_t c = 0; c < VRT_ARRAY_SIZE(channels); c++)
        add((struct conv){ .types = with, .k = 3, .i = channels[c][0], .o = channels[c][1],
                           .d = 2, .h = 22, .w = 45, .activation = VRT_ACTIVATION_PRELU,
                           .has_bias = true, .has_residual = true, .scale = 0.5f });
}

static void add_epilogues(enum types with)
{
    for (int a = VRT_ACTIVATION_NONE; a <= VRT_ACTIVATION_PRELU; a++)
        for (int bits = 0; bits < 8; bits++)
            add((struct conv){ .types = with, .k = a % 2 ? 1 : 3, .i = 24, .o = bits & 1 ? 24 : 33,
                               .d = 1, .h = 6, .w = 9, .activation = (enum vrt_activation)a,
                               .has_bias = bits & 1, .has_residual = bits & 2,
                               .scale = bits & 4 ? 0.2f : 1 });
}

static void add_views(enum types with)
{
    for (int v = 1; v < CONF_VIEW_COUNT; v++)
        for (int where = 0; where < 6; where++)
            add((struct conv){ .types = with, .k = where % 2 ? 3 : 1, .i = 32, .o = 16, .d = 2,
                               .h = 5, .w = 6, .activation = VRT_ACTIVATION_LEAKY_RELU,
                               .has_bias = true, .has_residual = true, .scale = 0.5f,
                               .in_view = where != 1 ? (enum conf_view)v : CONF_DENSE,
                               .residual_view = where > 1 ? (enum conf_view)v : CONF_DENSE,
                               .out_view = where != 2 ? (enum conf_view)v : CONF_DENSE });
}

/* x [D,H,W,I], weight [O,I,K,K]: the sum for one output. */
static double sum_at(const struct conv *conv, const float *x, const float *weight, const int at[4])
{
    const int K = conv->k, I = conv->i, H = conv->h, W = conv->w;
    double sum = 0;

    for (int i = 0; i < I; i++)
    for (int ky = 0; ky < K; ky++)
    for (int kx = 0; kx < K; kx++) {
        const int h = at[1] + ky - K / 2, w = at[2] + kx - K / 2;
        if (h >= 0 && h < H && w >= 0 && w < W)
            sum += (double)x[((at[0] * H + h) * W + w) * I + i] *
                   (double)weight[((at[3] * I + i) * K + ky) * K + kx];
    }
    return sum;
}

struct arrays {
    const float *weight, *bias, *slopes;
    float *x, *residual;
};

/* want [D,H,W,O]. */
static void conv2d_reference(double *want, const struct conv *conv, const struct arrays *arrays,
                             float slope)
{
    for (int d = 0; d < conv->d; d++)
    for (int h = 0; h < conv->h; h++)
    for (int w = 0; w < conv->w; w++)
    for (int o = 0; o < conv->o; o++) {
        const int k = ((d * conv->h + h) * conv->w + w) * conv->o + o;
        double sum = sum_at(conv, arrays->x, arrays->weight, (int[4]){ d, h, w, o });
        if (conv->has_bias)
            sum += (double)arrays->bias[o];
        if (sum < 0 && conv->activation == VRT_ACTIVATION_RELU)
            sum = 0;
        if (sum < 0 && conv->activation == VRT_ACTIVATION_LEAKY_RELU)
            sum *= (double)slope;
        if (sum < 0 && conv->activation == VRT_ACTIVATION_PRELU)
            sum *= (double)arrays->slopes[o];
        want[k] = sum * (double)conv->scale;
        if (conv->has_residual)
            want[k] += (double)arrays->residual[k];
    }
}

static void run_conv2d(struct conf *t, int i)
{
    const struct conv *conv = &cases[i];
    const struct vrt_shape in = { conv->d, conv->h, conv->w, conv->i };
    const struct vrt_shape out = { conv->d, conv->h, conv->w, conv->o };
    const float fan = (float)(conv->i * conv->k * conv->k);
    struct arrays arrays = { 0 };
    struct vrt_op op = {
        .kind = VRT_OP_CONV2D,
        .n_in = 2,
        .in = { [1] = VRT_TENSOR_NONE },
        .conv2d = {
            .kernel = conv->k,
            .bias = -1,
            .activation = conv->activation,
            .slope = 0.1f,
            .slopes = -1,
            .scale = conv->scale,
        },
    };

    /* Weights are such that sums are of the size of 1, whatever their number of terms. */
    conf_replica_dtype(t, types[conv->types].replica);
    op.conv2d.weight = conf_param(t, types[conv->types].use,
                                  (int[4]){ conv->o, conv->i, conv->k, conv->k },
                                  sqrtf(9 / fan), &arrays.weight);
    if (conv->has_bias)
        op.conv2d.bias = conf_param(t, VRT_PARAM_WEIGHT, (int[4]){ conv->o }, 0.5f, &arrays.bias);
    if (conv->activation == VRT_ACTIVATION_PRELU)
        op.conv2d.slopes = conf_param(t, VRT_PARAM_WEIGHT, (int[4]){ conv->o }, 1,
                                      &arrays.slopes);
    op.in[0] = conf_input(t, (struct conf_spec){ types[conv->types].in, in, conv->in_view, 0 },
                          &arrays.x);
    if (conv->has_residual)
        op.in[1] = conf_input(t, (struct conf_spec){ types[conv->types].residual, out,
                                                     conv->residual_view, 0 }, &arrays.residual);
    op.out = conf_output(t, (struct conf_spec){ types[conv->types].out, out, conv->out_view, 0 });

    double *want = conf_array(t, (size_t)vrt_shape_count(out));
    if (conf_is_wanted(t))
        conv2d_reference(want, conv, &arrays, op.conv2d.slope);
    conf_expect(t, &op, (const double *const[]){ want }, conf_tolerance_of(op.out.dtype));
}

/* For each tile that "cuda/kernels/products/product-tiles.h" has for patches, as many as
 * keep its card busy: 12 times 11 of them. */
static void add_large(enum types with)
{
    static const int tiles[][2] = {         /* rows of a patch of 16 columns, outputs */
        { 8, 128 }, { 16, 64 }, { 4, 60 }, { 16, 30 }, { 8, 14 },
    };

    for (size_t s = 0; s < VRT_ARRAY_SIZE(tiles); s++)
        add((struct conv){ .types = with, .k = 3, .i = 16, .o = tiles[s][1], .d = 1,
                           .h = 12 * tiles[s][0] - 1, .w = 11 * 16 - 1, .scale = 1,
                           .activation = s % 2 ? VRT_ACTIVATION_RELU : VRT_ACTIVATION_NONE,
                           .has_bias = true, .has_residual = true });
}

int main(int argc, char **argv)
{
    for (int with = 0; with < TYPES_COUNT && conf_is_large(); with++)
        add_large((enum types)with);
    if (conf_is_large())
        return conf_main(argc, argv, "conv2d", run_conv2d, n_cases);
    add_channels(ALL_F32);
    add_sizes(ALL_F32);
    for (int with = 0; with < TYPES_COUNT; with++) {
        add_epilogues((enum types)with);
        add_views((enum types)with);
    }
    add_channels(ALL_BF16);
    add_sizes(ALL_BF16);
    add_narrow(ALL_BF16);
    add_blocks(ALL_F32);
    add_blocks(ALL_BF16);
    return conf_main(argc, argv, "conv2d", run_conv2d, n_cases);
}
