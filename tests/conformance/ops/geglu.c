/* SPDX-License-Identifier: MIT */
/* geglu: out = (gelu(y * fc11^T) . (y * fc12^T)) * fc2^T + residual, y = norm(x). */

#include "backend/op/op.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/layers.h"
#include "tests/unit/test.h"

struct geglu {
    int with;                       /* types */
    int i, hidden, o, d, h, w;
    bool has_norm, has_bias, has_residual;
    enum conf_view in_view, residual_view, out_view;
};

CONF_CASES(struct geglu, 512)

static void add_widths(int with)
{
    static const int widths[][3] = {
        { 1, 1, 1 },    { 3, 5, 2 },      { 32, 64, 32 },   { 33, 66, 33 },  { 40, 80, 40 },
        { 60, 120, 60 }, { 96, 192, 96 }, { 120, 240, 120 }, { 180, 360, 180 },
        { 96, 96, 32 }, { 288, 288, 96 }, { 7, 130, 130 },
        { 20, 40, 230 }, { 400, 70, 24 },
    };

    for (size_t k = 0; k < VRT_ARRAY_SIZE(widths); k++)
        add((struct geglu){ .with = with, .i = widths[k][0], .hidden = widths[k][1],
                            .o = widths[k][2], .d = 1, .h = 3, .w = 7, .has_norm = k % 2,
                            .has_bias = true, .has_residual = k % 3 == 0 });
}

static void add_sizes(int with)
{
    static const int sizes[][3] = {
        { 1, 1, 1 }, { 1, 1, 9 }, { 1, 9, 1 }, { 2, 3, 5 }, { 3, 17, 11 }, { 1, 2, 130 },
    };

    for (size_t s = 0; s < VRT_ARRAY_SIZE(sizes); s++)
        add((struct geglu){ .with = with, .i = 32, .hidden = 64, .o = 32, .d = sizes[s][0],
                            .h = sizes[s][1], .w = sizes[s][2], .has_norm = true,
                            .has_bias = true, .has_residual = true });
}

static void add_options(int with)
{
    for (int bits = 0; bits < 8; bits++)
        add((struct geglu){ .with = with, .i = 24, .hidden = 48, .o = bits & 1 ? 24 : 37, .d = 2,
                            .h = 4, .w = 9, .has_norm = bits & 1, .has_bias = bits & 2,
                            .has_residual = bits & 4 });
}

static void add_views(int with)
{
    for (int v = 1; v < CONF_VIEW_COUNT; v++)
        for (int where = 0; where < 3; where++)
            add((struct geglu){ .with = with, .i = 32, .hidden = 40, .o = 16, .d = 2, .h = 5,
                                .w = 6, .has_norm = where % 2, .has_bias = true,
                                .has_residual = true,
                                .in_view = where != 1 ? (enum conf_view)v : CONF_DENSE,
                                .residual_view = where ? (enum conf_view)v : CONF_DENSE,
                                .out_view = where != 2 ? (enum conf_view)v : CONF_DENSE });
}

/* x [I] to out [O]. */
struct network {
    struct conf_norm norm;
    struct conf_layer fc11, fc12, fc2;
    double *y, *a, *b;              /* [I], [hidden], [hidden] */
};

static void apply(const struct network *net, const float *x, double *out)
{
    conf_norm_apply(&net->norm, x, net->y);
    conf_layer_apply(&net->fc11, net->y, net->a);
    conf_layer_apply(&net->fc12, net->y, net->b);
    for (int k = 0; k < net->fc11.n_out; k++)
        net->b[k] *= net->a[k] * 0.5 * erfc(-net->a[k] / sqrt(2));
    conf_layer_apply(&net->fc2, net->b, out);
}

static struct network make_network(struct conf *t, const struct geglu *geglu)
{
    const enum vrt_param_use use = conf_types[geglu->with].use;
    struct network net;

    net.norm = conf_norm(t, geglu->has_norm, geglu->i);
    net.fc11 = conf_layer(t, use, (int[4]){ geglu->hidden, geglu->i }, geglu->has_bias);
    net.fc12 = conf_layer(t, use, (int[4]){ geglu->hidden, geglu->i }, geglu->has_bias);
    net.fc2 = conf_layer(t, use, (int[4]){ geglu->o, geglu->hidden }, geglu->has_bias);
    net.y = conf_array(t, (size_t)geglu->i);
    net.a = conf_array(t, (size_t)geglu->hidden);
    net.b = conf_array(t, (size_t)geglu->hidden);
    return net;
}

static void run_geglu(struct conf *t, int i)
{
    const struct geglu *geglu = &cases[i];
    const struct conf_types *types = &conf_types[geglu->with];
    const struct vrt_shape in = { geglu->d, geglu->h, geglu->w, geglu->i };
    const struct vrt_shape out = { geglu->d, geglu->h, geglu->w, geglu->o };
    float *x, *residual = NULL;
    struct vrt_op op = { .kind = VRT_OP_GEGLU, .n_in = 2, .in = { [1] = VRT_TENSOR_NONE } };

    conf_replica_dtype(t, types->replica);
    const struct network net = make_network(t, geglu);
    op.geglu = (struct vrt_op_geglu){
        .norm = net.norm.op,
        .hidden = geglu->hidden,
        .fc11 = net.fc11.weight,
        .fc11_bias = net.fc11.bias,
        .fc12 = net.fc12.weight,
        .fc12_bias = net.fc12.bias,
        .fc2 = net.fc2.weight,
        .fc2_bias = net.fc2.bias,
    };
    op.in[0] = conf_input(t, (struct conf_spec){ types->x, in, geglu->in_view, 0 }, &x);
    if (geglu->has_residual)
        op.in[1] = conf_input(t, (struct conf_spec){ types->residual, out, geglu->residual_view,
                                                     0 }, &residual);
    op.out = conf_output(t, (struct conf_spec){ types->out, out, geglu->out_view, 0 });

    double *want = conf_array(t, (size_t)vrt_shape_count(out));
    for (int p = 0; conf_is_wanted(t) && p < in.d * in.h * in.w; p++) {
        apply(&net, &x[p * in.c], &want[p * out.c]);
        for (int k = p * out.c; residual && k < (p + 1) * out.c; k++)
            want[k] += (double)residual[k];
    }
    conf_expect(t, &op, (const double *const[]){ want }, conf_layers_tolerance(types, 2));
}

int main(int argc, char **argv)
{
    for (int with = 0; with < CONF_N_TYPES; with++) {
        add_widths(with);
        add_sizes(with);
        add_options(with);
        add_views(with);
    }
    return conf_main(argc, argv, "geglu", run_geglu, n_cases);
}
