/* SPDX-License-Identifier: MIT */
/* deform_conv2d: a 3x3 convolution whose taps are displaced and weighted, place by place. */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/layers.h"
#include "tests/conformance/positions.h"
#include "tests/unit/test.h"

struct deform {
    int with;                       /* types */
    int i, o, groups, offset_groups, d, h, w;
    enum conf_reach reach;
    bool has_no_bias;
    enum conf_view in_view, offsets_view, out_view;
};

CONF_CASES(struct deform, 256)

/* Small ones that no vector divides, and what networks have: one, two and three neighbours. */
static void add_channels(int with)
{
    static const int channels[][4] = {      /* in, out, groups, groups of offsets */
        { 1, 1, 1, 1 },      { 4, 3, 1, 2 },      { 12, 12, 1, 12 },    { 24, 6, 2, 4 },
        { 36, 9, 3, 6 },     { 33, 5, 1, 3 },     { 64, 32, 2, 16 },    { 96, 96, 1, 16 },
        { 120, 120, 1, 12 }, { 240, 120, 2, 16 }, { 360, 120, 3, 24 },
    };

    for (size_t k = 0; k < VRT_ARRAY_SIZE(channels); k++)
        add((struct deform){ .with = with, .i = channels[k][0], .o = channels[k][1],
                             .groups = channels[k][2], .offset_groups = channels[k][3], .d = 1,
                             .h = 4, .w = 5 });
}

static void add_sizes(int with)
{
    static const int sizes[][3] = {
        { 1, 1, 1 }, { 1, 1, 9 }, { 1, 9, 1 }, { 1, 2, 3 }, { 3, 6, 5 }, { 2, 9, 13 }, { 1, 3, 40 },
    };

    for (size_t s = 0; s < VRT_ARRAY_SIZE(sizes); s++)
        for (int reach = 0; reach < CONF_REACH_COUNT; reach++)
            add((struct deform){ .with = with, .i = 16, .o = 12, .groups = 2, .offset_groups = 4,
                                 .d = sizes[s][0], .h = sizes[s][1], .w = sizes[s][2],
                                 .reach = (enum conf_reach)reach, .has_no_bias = s % 2 });
}

/* For each tile that "cuda/kernels/products/product-tiles.h" has for samples, as many as
 * keep its card busy. */
static void add_large(int with)
{
    static const int outputs[] = { 120, 60 };

    for (size_t k = 0; k < VRT_ARRAY_SIZE(outputs); k++)
        add((struct deform){ .with = with, .i = 16, .o = outputs[k], .groups = 1,
                             .offset_groups = 2, .d = 1, .h = 64, .w = 133 });
}

static void add_views(int with)
{
    for (int v = 1; v < CONF_VIEW_COUNT; v++)
        for (int where = 0; where < 3; where++)
            add((struct deform){ .with = with, .i = 32, .o = 16, .groups = 1, .offset_groups = 4,
                                 .d = 2, .h = 5, .w = 6,
                                 .in_view = where != 1 ? (enum conf_view)v : CONF_DENSE,
                                 .offsets_view = where ? (enum conf_view)v : CONF_DENSE,
                                 .out_view = where != 2 ? (enum conf_view)v : CONF_DENSE });
}

/* Fills in offsets [27*G] of each place: displacements, then masks in [0,1]. */
static void displace(struct conf *t, const struct deform *deform, float *offsets)
{
    const int G = deform->offset_groups;

    for (int p = 0; p < deform->d * deform->h * deform->w; p++, offsets += 27 * G)
        for (int k = 0; k < 27 * G; k++)
            offsets[k] = k >= 18 * G ? fabsf(offsets[k])
                         : conf_displacement(t, deform->reach, k % 2 ? deform->w : deform->h);
}

/* out [O] at place (d,h,w). weight [O,I/groups,3,3], offsets [27*G] of this place. */
static void reference(const struct deform *deform, const struct conf_layer *layer,
                      const struct conf_picture *picture, const int at[3], const float *offsets,
                      double *out)
{
    const int I = deform->i, O = deform->o, G = deform->offset_groups;
    const int in_each = I / deform->groups, out_each = O / deform->groups;

    for (int o = 0; o < O; o++)
        out[o] = layer->biases ? (double)layer->biases[o] : 0;
    for (int i = 0; i < I; i++)
    for (int t = 0; t < 9; t++) {
        const int run = i / (I / G), group = i / in_each;
        const double dy = (double)offsets[2 * (9 * run + t)];
        const double dx = (double)offsets[2 * (9 * run + t) + 1];
        const double from[3] = { at[0], at[1] + t / 3 - 1 + dy, at[2] + t % 3 - 1 + dx };
        const double x = (double)offsets[18 * G + 9 * run + t] * conf_sample(picture, from, i);
        for (int o = group * out_each; o < (group + 1) * out_each; o++)
            out[o] += x * (double)layer->weights[(o * in_each + i % in_each) * 9 + t];
    }
}

static void run_deform_conv2d(struct conf *t, int i)
{
    const struct deform *deform = &cases[i];
    const struct conf_types *types = &conf_types[deform->with];
    const struct vrt_shape in = { deform->d, deform->h, deform->w, deform->i };
    struct vrt_shape offsets_shape = in, out = in;
    float *x, *offsets;
    struct vrt_op op = { .kind = VRT_OP_DEFORM_CONV2D, .n_in = 2 };

    offsets_shape.c = 27 * deform->offset_groups;
    out.c = deform->o;
    conf_replica_dtype(t, types->replica);
    const enum vrt_param_use use = types->use == VRT_PARAM_WEIGHT_F32
                                       ? VRT_PARAM_WEIGHT_DEFORM_F32 : VRT_PARAM_WEIGHT_DEFORM;
    const struct conf_layer layer = conf_layer(
        t, use, (int[4]){ deform->o, deform->i / deform->groups, 3, 3 }, !deform->has_no_bias);
    op.deform_conv2d = (struct vrt_op_deform_conv2d){
        .groups = deform->groups,
        .offset_groups = deform->offset_groups,
        .weight = layer.weight,
        .bias = layer.bias,
    };
    op.in[0] = conf_input(t, (struct conf_spec){ types->x, in, deform->in_view, 0 }, &x);
    op.in[1] = conf_input(t, (struct conf_spec){ VRT_DTYPE_F32, offsets_shape,
                                                 deform->offsets_view, 0 }, &offsets);
    op.out = conf_output(t, (struct conf_spec){ types->out, out, deform->out_view, 0 });
    displace(t, deform, offsets);

    const struct conf_picture picture = { x, in };
    double *want = conf_array(t, (size_t)vrt_shape_count(out)), *next = want;
    for (int d = 0; conf_is_wanted(t) && d < in.d; d++)
    for (int h = 0; h < in.h; h++)
    for (int w = 0; w < in.w; w++, offsets += offsets_shape.c, next += out.c)
        reference(deform, &layer, &picture, (int[3]){ d, h, w }, offsets, next);
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
        add_views(with);
        if (with < 2)
            add_sizes(with);
    }
    return conf_main(argc, argv, "deform_conv2d", run_deform_conv2d, n_cases);
}
