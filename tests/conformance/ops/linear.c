/* SPDX-License-Identifier: MIT */
/* linear: out = activation(norm(x) * weight^T + bias) + residual. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/layers.h"
#include "tests/unit/test.h"

struct linear {
    int with;                       /* types */
    int i, o, d, h, w;
    bool has_norm, has_bias, has_gelu, has_residual;
    enum conf_view in_view, residual_view, out_view;
};

CONF_CASES(struct linear, 512)

/* What vectors and blocks don't divide, and what networks have. */
static void add_channels(int with)
{
    static const int channels[][2] = {
        { 1, 1 },   { 3, 5 },    { 33, 7 },   { 7, 33 },    { 32, 96 },  { 40, 40 },
        { 96, 32 }, { 60, 180 }, { 120, 60 }, { 180, 120 }, { 360, 24 }, { 24, 130 },
    };

    for (size_t c = 0; c < VRT_ARRAY_SIZE(channels); c++)
        add((struct linear){ .with = with, .i = channels[c][0], .o = channels[c][1], .d = 1,
                             .h = 5, .w = 7, .has_norm = c % 2, .has_bias = true });
}

static void add_sizes(int with)
{
    static const int sizes[][3] = {
        { 1, 1, 1 }, { 1, 1, 9 }, { 1, 9, 1 }, { 2, 3, 5 }, { 3, 17, 11 }, { 1, 2, 130 },
    };

    for (size_t s = 0; s < VRT_ARRAY_SIZE(sizes); s++)
        add((struct linear){ .with = with, .i = 32, .o = 48, .d = sizes[s][0], .h = sizes[s][1],
                             .w = sizes[s][2], .has_norm = true, .has_residual = true });
}

static void add_options(int with)
{
    for (int bits = 0; bits < 16; bits++)
        add((struct linear){ .with = with, .i = 24, .o = bits & 1 ? 24 : 37, .d = 2, .h = 4,
                             .w = 9, .has_norm = bits & 1, .has_bias = bits & 2,
                             .has_gelu = bits & 4, .has_residual = bits & 8 });
}

static void add_views(int with)
{
    for (int v = 1; v < CONF_VIEW_COUNT; v++)
        for (int where = 0; where < 3; where++)
            add((struct linear){ .with = with, .i = 32, .o = 16, .d = 2, .h = 5, .w = 6,
                                 .has_norm = where % 2, .has_bias = true, .has_residual = true,
                                 .in_view = where != 1 ? (enum conf_view)v : CONF_DENSE,
                                 .residual_view = where ? (enum conf_view)v : CONF_DENSE,
                                 .out_view = where != 2 ? (enum conf_view)v : CONF_DENSE });
}

/* For each tile that "cuda/kernels/products/product-tiles.h" has for rows, as many as keep
 * its card busy. */
static void add_large(int with)
{
    static const int sizes[][2] = {         /* rows, outputs */
        { 132 * 128 + 5, 128 }, { 132 * 128 + 5, 64 }, { 132 * 64 + 5, 60 }, { 132 * 128 + 5, 30 },
        { 132 * 128 + 5, 14 },
    };

    for (size_t s = 0; s < VRT_ARRAY_SIZE(sizes); s++)
        add((struct linear){ .with = with, .i = 40, .o = sizes[s][1], .d = 1, .h = 1,
                             .w = sizes[s][0], .has_norm = s % 2, .has_bias = true,
                             .has_gelu = s % 2, .has_residual = true });
}

static void run_linear(struct conf *t, int i)
{
    const struct linear *linear = &cases[i];
    const struct conf_types *types = &conf_types[linear->with];
    const struct vrt_shape in = { linear->d, linear->h, linear->w, linear->i };
    const struct vrt_shape out = { linear->d, linear->h, linear->w, linear->o };
    float *x, *residual = NULL;
    struct vrt_op op = { .kind = VRT_OP_LINEAR, .n_in = 2, .in = { [1] = VRT_TENSOR_NONE } };

    conf_replica_dtype(t, types->replica);
    const struct conf_norm norm = conf_norm(t, linear->has_norm, in.c);
    const struct conf_layer layer = conf_layer(t, types->use, (int[4]){ out.c, in.c },
                                               linear->has_bias);
    op.linear = (struct vrt_op_linear){
        .norm = norm.op,
        .weight = layer.weight,
        .bias = layer.bias,
        .activation = linear->has_gelu ? VRT_ACTIVATION_GELU : VRT_ACTIVATION_NONE,
    };
    op.in[0] = conf_input(t, (struct conf_spec){ types->x, in, linear->in_view, 0 }, &x);
    if (linear->has_residual)
        op.in[1] = conf_input(t, (struct conf_spec){ types->residual, out, linear->residual_view,
                                                     0 }, &residual);
    op.out = conf_output(t, (struct conf_spec){ types->out, out, linear->out_view, 0 });

    double *want = conf_array(t, (size_t)vrt_shape_count(out)), *y = conf_array(t, (size_t)in.c);
    for (int p = 0; conf_is_wanted(t) && p < in.d * in.h * in.w; p++) {
        conf_norm_apply(&norm, &x[p * in.c], y);
        conf_layer_apply(&layer, y, &want[p * out.c]);
        for (int k = p * out.c; k < (p + 1) * out.c; k++) {
            if (linear->has_gelu)
                want[k] *= 0.5 * erfc(-want[k] / sqrt(2));
            if (residual)
                want[k] += (double)residual[k];
        }
    }
    conf_expect(t, &op, (const double *const[]){ want }, conf_layers_tolerance(types, 1));
}

int main(int argc, char **argv)
{
    for (int with = 0; with < CONF_N_TYPES; with++) {
        if (conf_is_large()) {
            add_large(with);
            continue;
        }
        add_channels(with);
        add_sizes(with);
        add_options(with);
        add_views(with);
    }
    return conf_main(argc, argv, "linear", run_linear, n_cases);
}
