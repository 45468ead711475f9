/* SPDX-License-Identifier: MIT */
/*
 * Graphs of every variant against the plainest computation of the same network: planes of
 * doubles, one convolution after the other, nothing shared with the code under test but the
 * weights. Then what the tiler relies on: padding, radius, independence of frames.
 */

#include "tests/unit/test.h"

#include <errno.h>

#include "engine/dag/dag.h"
#include "engine/plan.h"
#include "model/parts/layers.h"
#include "tests/unit/model/model-fixture.h"
#include "tests/unit/model/weight-rule.h"

/* A picture of planes [c][h][w]. */
struct picture {
    int c, h, w;
    double *data;
};

static struct picture picture_new(int c, int h, int w)
{
    struct picture p = { c, h, w, calloc((size_t)c * (size_t)h * (size_t)w, sizeof(double)) };

    expect_true(p.data);
    return p;
}

static double *at(const struct picture *p, int c, int y, int x)
{
    return &p->data[((size_t)c * (size_t)p->h + (size_t)y) * (size_t)p->w + (size_t)x];
}

static const struct vrt_param *find_param(const struct vrt_network *network, const char *layer,
                                          const char *suffix)
{
    size_t n_params;
    const struct vrt_param *params = vrt_network_params(network, &n_params);
    char name[96];

    snprintf(name, sizeof(name), "%s.%s", layer, suffix);
    for (size_t i = 0; i < n_params; i++)
        if (strcmp(params[i].name, name) == 0)
            return &params[i];
    return NULL;
}

/* The convolution `layer` of x, without an activation. */
static struct picture conv(const struct vrt_network *network, const char *layer,
                           const struct picture *x)
{
    const struct vrt_param *weight = find_param(network, layer, "weight");
    const struct vrt_param *bias = find_param(network, layer, "bias");

    if (!weight)
        test_fail("no param of the layer %s", layer);
    int n_out = weight->dims[0], n_in = weight->dims[1], k = weight->dims[2];
    struct picture y = picture_new(n_out, x->h, x->w);

    expect_int(n_in, x->c);
    for (int o = 0; o < n_out; o++)
    for (int h = 0; h < x->h; h++)
    for (int w = 0; w < x->w; w++) {
        double sum = bias ? bias->data[o] : 0;

        for (int i = 0; i < n_in; i++)
        for (int a = 0; a < k; a++)
        for (int b = 0; b < k; b++) {
            int yy = h + a - k / 2, xx = w + b - k / 2;

            if (yy >= 0 && yy < x->h && xx >= 0 && xx < x->w)
                sum += *at(x, i, yy, xx) * weight->data[((o * n_in + i) * k + a) * k + b];
        }
        *at(&y, o, h, w) = sum;
    }
    return y;
}

/* slopes: one a channel, or NULL for `slope`. */
static void activate(struct picture *x, const struct vrt_param *slopes, double slope)
{
    for (int c = 0; c < x->c; c++)
    for (int h = 0; h < x->h; h++)
    for (int w = 0; w < x->w; w++) {
        double *value = at(x, c, h, w);

        if (*value < 0)
            *value *= slopes ? slopes->data[c] : slope;
    }
}

/* Frees x and returns y: for chains. */
static struct picture next(struct picture *x, struct picture y)
{
    free(x->data);
    return y;
}

static struct picture nearest(const struct picture *x, int scale)
{
    struct picture y = picture_new(x->c, x->h * scale, x->w * scale);

    for (int c = 0; c < y.c; c++)
    for (int h = 0; h < y.h; h++)
    for (int w = 0; w < y.w; w++)
        *at(&y, c, h, w) = *at(x, c, h / scale, w / scale);
    return y;
}

/* x's planes c*f*f + i*f + j become the pixels (i,j) of squares; with `fold` the other way. */
static struct picture shuffle(const struct picture *x, int f, bool fold)
{
    struct picture y = fold ? picture_new(x->c * f * f, x->h / f, x->w / f) :
                              picture_new(x->c / f / f, x->h * f, x->w * f);
    const struct picture *wide = fold ? x : &y, *deep = fold ? &y : x;

    for (int c = 0; c < deep->c; c++)
    for (int h = 0; h < deep->h; h++)
    for (int w = 0; w < deep->w; w++) {
        double *a = at(deep, c, h, w);
        double *b = at(wide, c / f / f, h * f + c / f % f, w * f + c % f);

        if (fold)
            *a = *b;
        else
            *b = *a;
    }
    return y;
}

/* a = a * scale + b */
static void add(struct picture *a, double scale, const struct picture *b)
{
    expect_true(a->c == b->c && a->h == b->h && a->w == b->w);
    for (int i = 0; i < a->c * a->h * a->w; i++)
        a->data[i] = a->data[i] * scale + b->data[i];
}

static struct picture stack(const struct picture *a, const struct picture *b)
{
    struct picture y = picture_new(a->c + b->c, a->h, a->w);
    size_t plane = (size_t)a->h * (size_t)a->w;

    memcpy(y.data, a->data, (size_t)a->c * plane * sizeof(double));
    if (b->c)
        memcpy(y.data + (size_t)a->c * plane, b->data, (size_t)b->c * plane * sizeof(double));
    return y;
}

static struct picture compact(const struct vrt_network *network, const struct fixture_compact *c,
                              const struct picture *x, double slope)
{
    struct picture base = nearest(x, c->scale), y = conv(network, "body.0", x);
    char name[32];

    for (int i = 1; i < c->convs + 2; i++) {
        snprintf(name, sizeof(name), "body.%d", 2 * i - 1);
        activate(&y, find_param(network, name, "weight"), slope);
        snprintf(name, sizeof(name), "body.%d", 2 * i);
        y = next(&y, conv(network, name, &y));
    }
    y = next(&y, shuffle(&y, c->scale, false));
    add(&y, 1, &base);
    free(base.data);
    return y;
}

static struct picture dense_block(const struct vrt_network *network,
                                  const struct fixture_esrgan *e, int index,
                                  const struct picture *x)
{
    struct picture all = stack(x, &(struct picture){ 0, x->h, x->w, NULL }), second = { 0 }, y;
    char name[64];

    for (int i = 0; i < 4; i++) {
        fixture_esrgan_name(e, 1 + index * 5 + i, false, name);
        y = conv(network, name, &all);
        activate(&y, NULL, 0.2);
        if (e->plus && i == 1) {
            fixture_esrgan_name(e, index, true, name);
            struct picture past = conv(network, name, x);
            add(&y, 1, &past);
            free(past.data);
            second = stack(&y, &(struct picture){ 0, x->h, x->w, NULL });
        }
        if (e->plus && i == 3)
            add(&y, 1, &second);
        all = next(&all, stack(&all, &y));
        free(y.data);
    }
    fixture_esrgan_name(e, 1 + index * 5 + 4, false, name);
    y = conv(network, name, &all);
    add(&y, 0.2, x);
    free(all.data);
    free(second.data);
    return y;
}

static struct picture esrgan(const struct vrt_network *network, const struct fixture_esrgan *e,
                             const struct picture *x)
{
    int f = 1, n_convs = fixture_esrgan_n_convs(e), tail = 1 + e->blocks * 15;
    char name[64];

    while (e->out * f * f < e->in)
        f++;
    struct picture folded = shuffle(x, f, true);
    fixture_esrgan_name(e, 0, false, name);
    struct picture first = conv(network, name, &folded);
    struct picture y = stack(&first, &(struct picture){ 0, first.h, first.w, NULL });
    for (int block = 0; block < e->blocks; block++) {
        struct picture d = dense_block(network, e, block * 3, &y);

        d = next(&d, dense_block(network, e, block * 3 + 1, &d));
        d = next(&d, dense_block(network, e, block * 3 + 2, &d));
        add(&d, 0.2, &y);
        y = next(&y, d);
    }
    fixture_esrgan_name(e, tail, false, name);
    y = next(&y, conv(network, name, &y));
    add(&y, 1, &first);
    for (int i = tail + 1; i < n_convs; i++) {
        if (i <= tail + e->ups)
            y = next(&y, nearest(&y, 2));
        fixture_esrgan_name(e, i, false, name);
        y = next(&y, conv(network, name, &y));
        if (i + 1 < n_convs)
            activate(&y, NULL, 0.2);
    }
    free(folded.data);
    free(first.data);
    return y;
}

static float *make_input(int d, int c, int h, int w)
{
    size_t n = (size_t)d * (size_t)c * (size_t)h * (size_t)w;
    float *x = malloc(n * sizeof(*x));

    expect_true(x);
    rule_uniform("input", 7, x, n);
    return x;
}

static struct picture to_picture(const float *x, int c, int h, int w)
{
    struct picture p = picture_new(c, h, w);

    for (int i = 0; i < c * h * w; i++)
        p.data[i] = x[i];
    return p;
}

/* Every value is f32 once per layer, so 1e-5 of the largest is far above what rounding makes. */
static void expect_equal(const float *y, const struct picture *wanted)
{
    int n = wanted->c * wanted->h * wanted->w;
    double largest = 0;

    for (int i = 0; i < n; i++)
        largest = fmax(largest, fabs(wanted->data[i]));
    expect_true(largest > 0.01);
    for (int i = 0; i < n; i++)
        expect_near(y[i], wanted->data[i], 1e-5 * largest);
}

static const char *const devices[] = { "ref:0", "cpu:0" };

/* That each device makes `wanted` of `x`. */
static void expect_on_devices(struct vrt_network *network, struct vrt_shape shape, const float *x,
                              const struct picture *wanted)
{
    for (size_t k = 0; k < VRT_ARRAY_SIZE(devices); k++) {
        if (!fixture_has_device(devices[k]))
            continue;
        fprintf(stderr, "  %s: %s\n", devices[k], vrt_network_info(network)->description);
        float *y = fixture_run_network(network, devices[k], VRT_DTYPE_F32, shape, x);
        expect_equal(y, wanted);
        free(y);
    }
}

/* Of one of both. */
struct sizes {
    const struct fixture_compact *compact;
    const struct fixture_esrgan *esrgan;
};

static void add_sizes(struct fixture *f, const struct sizes *of)
{
    if (of->compact)
        fixture_add_compact(f, of->compact);
    else
        fixture_add_esrgan(f, of->esrgan);
}

static void test_variants(void)
{
    const struct {
        struct sizes sizes;
        const char *metadata;
        double slope;
    } cases[] = {
        { { &(struct fixture_compact){ 3, 8, 2, 2, 'p' } }, NULL, 0 },
        { { &(struct fixture_compact){ 3, 24, 1, 4, 'p' } }, NULL, 0 },
        { { &(struct fixture_compact){ 3, 5, 0, 1, 'p' } }, NULL, 0 },
        { { &(struct fixture_compact){ 3, 7, 1, 3, 'l' } }, "{\"activation\":\"leakyrelu\"}", 0.1 },
        { { &(struct fixture_compact){ 3, 8, 2, 2, 'l' } }, "{\"activation\":\"relu\"}", 0 },
        { { &(struct fixture_compact){ 1, 16, 1, 8, 'p' } }, NULL, 0 },
        { { &(struct fixture_compact){ 1, 4, 1, 1, 'p' } }, NULL, 0 },
        { { NULL, &(struct fixture_esrgan){ FIXTURE_NEW, 3, 3, 8, 2, 4, 2, false } }, NULL, 0 },
        { { NULL, &(struct fixture_esrgan){ FIXTURE_NEW, 12, 3, 8, 1, 4, 2, false } }, NULL, 0 },
        { { NULL, &(struct fixture_esrgan){ FIXTURE_NEW, 48, 3, 6, 1, 5, 2, false } }, NULL, 0 },
        { { NULL, &(struct fixture_esrgan){ FIXTURE_TRUNK, 3, 3, 8, 1, 4, 1, false } }, NULL, 0 },
        { { NULL, &(struct fixture_esrgan){ FIXTURE_OLD, 3, 3, 8, 2, 4, 2, false } }, NULL, 0 },
        { { NULL, &(struct fixture_esrgan){ FIXTURE_OLD, 3, 3, 8, 1, 4, 0, false } }, NULL, 0 },
        { { NULL, &(struct fixture_esrgan){ FIXTURE_OLD, 3, 3, 7, 1, 3, 3, false } }, NULL, 0 },
        { { NULL, &(struct fixture_esrgan){ FIXTURE_OLD, 3, 3, 8, 2, 4, 1, true } }, NULL, 0 },
        { { NULL, &(struct fixture_esrgan){ FIXTURE_NEW, 4, 1, 8, 1, 4, 2, false } }, NULL, 0 },
    };
    const int h = 8, w = 12;

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        const struct sizes *of = &cases[i].sizes;
        struct fixture f = { .seed = 5, .metadata = cases[i].metadata };

        add_sizes(&f, of);
        struct vrt_network *network = fixture_network(&f);
        const int channels = vrt_network_info(network)->in_channels;
        float *x = make_input(1, channels, h, w);
        struct picture in = to_picture(x, channels, h, w);
        struct picture wanted = of->compact ? compact(network, of->compact, &in, cases[i].slope) :
                                              esrgan(network, of->esrgan, &in);
        expect_on_devices(network, (struct vrt_shape){ 1, h, w, channels }, x, &wanted);
        free(in.data);
        free(wanted.data);
        free(x);
        vrt_network_unref(network);
    }
}

/* An odd size gives what the mirrored picture of the next even size gives, cut. */
static void test_padding(void)
{
    const int sizes[][2] = { { 9, 14 }, { 5, 8 }, { 1, 3 }, { 2, 1 } };
    struct fixture f = { .seed = 3 };

    fixture_add_esrgan(&f, &(struct fixture_esrgan){ FIXTURE_NEW, 48, 3, 8, 1, 4, 2, false });
    struct vrt_network *network = fixture_network(&f);
    expect_int(vrt_network_info(network)->multiple, 4);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        int h = sizes[i][0], w = sizes[i][1], hp = (h + 3) / 4 * 4, wp = (w + 3) / 4 * 4;
        float *x = make_input(1, 3, h, w), *padded = make_input(1, 3, hp, wp);

        for (int c = 0; c < 3; c++)
        for (int y = 0; y < hp; y++)
        for (int z = 0; z < wp; z++) {
            int fold_y = h > 1 ? y % (2 * h - 2) : 0, fold_z = w > 1 ? z % (2 * w - 2) : 0;

            fold_y = fold_y < h ? fold_y : 2 * h - 2 - fold_y;
            fold_z = fold_z < w ? fold_z : 2 * w - 2 - fold_z;
            padded[(c * hp + y) * wp + z] = x[(c * h + fold_y) * w + fold_z];
        }
        float *y = fixture_run_network(network, "ref:0", VRT_DTYPE_F32,
                                       (struct vrt_shape){ 1, h, w, 3 }, x);
        float *whole = fixture_run_network(network, "ref:0", VRT_DTYPE_F32,
                                           (struct vrt_shape){ 1, hp, wp, 3 }, padded);
        for (int c = 0; c < 3; c++)
        for (int a = 0; a < h; a++)
        for (int b = 0; b < w; b++)
            expect_true(y[(c * h + a) * w + b] == whole[(c * hp + a) * wp + b]);
        free(x);
        free(padded);
        free(y);
        free(whole);
    }
    vrt_network_unref(network);
}

/*
 * How far one input pixel reaches, found by lighting it alone: with positive weights and no
 * biases, what it reaches isn't zero. Every phase of the pixel within a multiple is tried.
 */
static int measure_reach(const struct vrt_network *network, int size)
{
    const struct vrt_network_info *info = vrt_network_info(network);
    int reach = 0, centre = size / 2 / info->multiple * info->multiple;

    for (int phase = 0; phase < info->multiple; phase++) {
        int at_y = centre + phase, at_x = centre + info->multiple - 1 - phase;
        int out = size * info->scale;
        float *x = calloc((size_t)info->in_channels * (size_t)size * (size_t)size, sizeof(*x));

        expect_true(x);
        x[at_y * size + at_x] = 1;
        float *y = fixture_run_network(network, "ref:0", VRT_DTYPE_F32,
                                       (struct vrt_shape){ 1, size, size, info->in_channels }, x);
        for (int i = 0; i < out * out; i++) {
            int dy = abs(i / out / info->scale - at_y), dx = abs(i % out / info->scale - at_x);

            if (y[i] != 0)
                reach = VRT_MAX(reach, VRT_MAX(dy, dx));
        }
        free(x);
        free(y);
    }
    return reach;
}

static void test_radius(void)
{
    const struct sizes cases[] = {
        { NULL, &(struct fixture_esrgan){ FIXTURE_NEW, 3, 3, 1, 1, 1, 2, false } },
        { NULL, &(struct fixture_esrgan){ FIXTURE_NEW, 12, 3, 1, 1, 1, 2, false } },
        { NULL, &(struct fixture_esrgan){ FIXTURE_TRUNK, 3, 3, 1, 1, 1, 1, false } },
        { NULL, &(struct fixture_esrgan){ FIXTURE_OLD, 3, 3, 1, 1, 1, 0, true } },
        { &(struct fixture_compact){ 3, 1, 0, 2, 'p' } },
        { &(struct fixture_compact){ 3, 2, 5, 4, 'p' } },
        { &(struct fixture_compact){ 1, 1, 8, 1, 'l' } },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(cases); i++) {
        struct fixture f = { .weight = 0.05f };

        add_sizes(&f, &cases[i]);
        struct vrt_network *network = fixture_network(&f);
        const struct vrt_network_info *info = vrt_network_info(network);
        fprintf(stderr, "  %s: radius %d\n", info->description, info->radius);
        expect_int(measure_reach(network, 2 * info->radius + 4), info->radius);
        vrt_network_unref(network);
    }
}

/* Frames don't see each other: three at once are three one by one, bit for bit. */
static void test_frames(void)
{
    const int h = 6, w = 10, n_in = 3 * h * w, n_out = 4 * n_in;
    struct fixture f = { .seed = 9 };

    fixture_add_compact(&f, &(struct fixture_compact){ 3, 8, 2, 2, 'p' });
    struct vrt_network *network = fixture_network(&f);
    float *x = make_input(3, 3, h, w);
    for (size_t k = 0; k < VRT_ARRAY_SIZE(devices); k++) {
        if (!fixture_has_device(devices[k]))
            continue;
        float *all = fixture_run_network(network, devices[k], VRT_DTYPE_F32,
                                         (struct vrt_shape){ 3, h, w, 3 }, x);
        for (int d = 0; d < 3; d++) {
            float *one = fixture_run_network(network, devices[k], VRT_DTYPE_F32,
                                             (struct vrt_shape){ 1, h, w, 3 }, x + d * n_in);
            expect_true(memcmp(one, all + d * n_out, (size_t)n_out * sizeof(float)) == 0);
            free(one);
        }
        free(all);
    }
    free(x);
    vrt_network_unref(network);
}

/* How many frames a layer computes at a time, which is memory. */
static void test_chunks(void)
{
    expect_int(vrt_layer_chunk(32, 64), 8);
    expect_int(vrt_layer_chunk(64, 64), 4);
    expect_int(vrt_layer_chunk(128, 128), 1);
    expect_int(vrt_layer_chunk(2160, 3840), 1);
}

/* What doesn't fit the network is refused, not built. */
static void test_wrong_tensors(void)
{
    const struct vrt_shape good_in = { 1, 4, 4, 3 }, good_out = { 1, 8, 8, 3 };
    const struct {
        enum vrt_dtype dtype;
        struct vrt_shape in, out;
    } cases[] = {
        { VRT_DTYPE_F32, { 1, 4, 4, 1 }, good_out }, { VRT_DTYPE_F32, good_in, { 1, 8, 9, 3 } },
        { VRT_DTYPE_F32, good_in, { 2, 8, 8, 3 } }, { VRT_DTYPE_BF16, good_in, good_out },
    };
    struct fixture f = { .seed = 9 };

    fixture_add_compact(&f, &(struct fixture_compact){ 3, 8, 1, 2, 'p' });
    struct vrt_network *network = fixture_network(&f);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct vrt_graph *graph;
        size_t n_ops;

        expect_int(vrt_graph_new(&graph), 0);
        struct vrt_tensor x = vrt_graph_input(graph, cases[i].dtype, cases[i].in);
        struct vrt_tensor y = vrt_graph_output(graph, VRT_DTYPE_F32, cases[i].out);
        expect_int(vrt_network_build(network, graph, &x, &y, &(struct vrt_network_use){ 0 }),
                   -EINVAL);
        vrt_graph_ops(graph, &n_ops);
        expect_int(n_ops, 0);
        vrt_graph_free(graph);
    }
    vrt_network_unref(network);
}

static struct vrt_network *compact_of(struct fixture_compact sizes, uint64_t seed)
{
    struct fixture f = { .seed = seed };

    if (sizes.act == 'l')
        f.metadata = "{\"activation\":\"leakyrelu\"}";
    fixture_add_compact(&f, &sizes);
    return fixture_network(&f);
}

/* Each weight lies between those of two networks that are alike, and nothing between others. */
static void test_between(void)
{
    static const struct fixture_compact others[] = {
        { 3, 8, 2, 4, 'p' }, { 3, 9, 2, 2, 'p' }, { 3, 8, 3, 2, 'p' }, { 3, 8, 2, 2, 'l' },
        { 1, 8, 2, 2, 'p' },
    };
    const struct fixture_compact sizes = { 3, 8, 2, 2, 'p' };
    struct vrt_network *a = compact_of(sizes, 5), *b = compact_of(sizes, 6), *between;
    struct vrt_error error = { .id = NULL };
    size_t n;
    const struct vrt_param *x = vrt_network_params(a, &n), *y = vrt_network_params(b, &n);

    expect_int(vrt_network_blend(a, b, 0.25, &between, &error), 0);
    vrt_network_unref(vrt_network_ref(between));
    const struct vrt_param *z = vrt_network_params(between, &n);
    for (size_t i = 0; i < n; i++) {
        expect_str(z[i].name, x[i].name);
        int n_numbers = 1;
        for (int d = 0; d < z[i].n_dims; d++)
            n_numbers *= z[i].dims[d];
        for (int k = 0; k < n_numbers; k++)
            expect_near(z[i].data[k], 0.25 * x[i].data[k] + 0.75 * y[i].data[k], 1e-7);
    }
    expect_true(vrt_network_checksum(between) != vrt_network_checksum(a) &&
                vrt_network_checksum(between) != vrt_network_checksum(b));
    vrt_network_unref(between);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(others); i++) {
        struct vrt_network *other = compact_of(others[i], 5);

        expect_int(vrt_network_blend(a, other, 0.5, &between, &error), -EINVAL);
        vrt_network_unref(other);
    }
    vrt_network_unref(a);
    vrt_network_unref(b);
}

/* Of a small graph by these numbers. */
static uint64_t sum_of_graph(const float v[12])
{
    const struct vrt_dag_node leaky = { .activation = VRT_ACTIVATION_LEAKY_RELU, .slope = v[2] };
    struct vrt_error error = { 0 };
    struct vrt_network *network;
    struct vrt_dag *dag;

    expect_int(vrt_dag_new("net.onnx", "ONNX", 100, &error, &dag), 0);
    const int x = vrt_dag_input(dag, 3);
    const int y = vrt_dag_activate(dag, vrt_dag_affine(dag, x, &v[0], &v[1], 1), &leaky);
    int z = vrt_dag_add(dag, x, v[3], y, v[4]);
    z = vrt_dag_mul(dag, vrt_dag_squash(dag, z, v[5], v[6], v[7]), v[8] == 0 ? x : y);
    z = vrt_dag_add(dag, z, 1, v[8] == 0 ? y : x, 1);
    z = vrt_dag_resize(dag, z, (enum vrt_resize_mode)v[9], (int)v[10], 1);
    dag->edge = (int)v[11];
    expect_int(vrt_dag_finish(dag, z), 0);
    expect_int(vrt_network_new_dag(dag, "net.onnx", &network, &error), 0);
    const uint64_t sum = vrt_network_checksum(network);
    vrt_network_unref(network);
    return sum;
}

/* Graphs of which any one thing differs are other networks, though they have the same params. */
static void test_graph_sums(void)
{
    uint64_t sums[13];

    for (int i = 0; i < 13; i++) {
        float v[13] = { 0.5f, 0.25f, 0.1f, 1, 1, 1, 1, 0, 0, VRT_RESIZE_NEAREST, 2, 0 };

        v[i] += 1;
        sums[i] = sum_of_graph(v);
        for (int k = 0; k < i; k++)
            expect_true(sums[i] != sums[k]);
    }
}

TEST_MAIN(
    { "between", test_between }, { "graph-sums", test_graph_sums }, { "variants", test_variants },
    { "padding", test_padding }, { "radius", test_radius }, { "frames", test_frames },
    { "chunks", test_chunks }, { "wrong-tensors", test_wrong_tensors },
)
