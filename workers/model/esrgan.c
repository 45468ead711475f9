/* SPDX-License-Identifier: MIT */
/*
 * RRDBNet: a trunk of residual in residual dense blocks at the input's size, then doublings
 *
 *     x -> [unshuffle] -> first -> blocks -> trunk convolution, + first
 *       -> n_up times (nearest x2, convolution) -> hr -> last
 *
 * A block is three dense blocks, scaled by 0.2 and added to what entered it. A dense block has
 * five convolutions, each of which sees what entered and the results of all before it: they are
 * written side by side into one storage of features + 4*growth channels, so that the n-th reads
 * its first channels, and no concatenation is computed.
 *
 * The trunk's sum stays f32 in every precision; the rest is of the activations' type.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/checkpoint.h"
#include "model/architecture.h"
#include "model/parts/layers.h"

#define N_DENSE 5           /* convolutions of a dense block */
#define N_DENSE_BLOCKS 3    /* of a residual block */
#define N_BLOCKS_MAX 256            /* ten times the largest known */
#define N_UP_MAX 4                  /* 16 times as wide */
#define SLOPE 0.2f                  /* of LeakyReLU, as in rrdbnet_arch.py */
#define RESIDUAL_SCALE 0.2f         /* as in rrdbnet_arch.py */

/* Names of one generation of files; each is a format for the numbers that its comment says. */
struct naming {
    const char *first;
    const char *dense;          /* block, dense block from 1, convolution from 1 */
    const char *past;           /* block, dense block from 1: the 1x1 convolution of ESRGAN+ */
    const char *blocks;         /* what stands before the block's number */
    const char *trunk;          /* number of blocks */
    const char *up;             /* up_step * doubling from 1 */
    const char *hr, *last;      /* place in the old list, see list_place() */
    int up_step;
};

static const struct naming namings[] = {
    {   /* Real-ESRGAN, BasicSR */
        .first = "conv_first",
        .dense = "body.%d.rdb%d.conv%d",
        .past = "body.%d.rdb%d.conv1x1",
        .blocks = "body.",
        .trunk = "conv_body",
        .up = "conv_up%d",
        .hr = "conv_hr",
        .last = "conv_last",
        .up_step = 1,
    },
    {   /* BSRGAN, RealSR */
        .first = "conv_first",
        .dense = "RRDB_trunk.%d.RDB%d.conv%d",
        .past = "RRDB_trunk.%d.RDB%d.conv1x1",
        .blocks = "RRDB_trunk.",
        .trunk = "trunk_conv",
        .up = "upconv%d",
        .hr = "HRconv",
        .last = "conv_last",
        .up_step = 1,
    },
    {   /* ESRGAN as first published: places in one list, which counts layers without params too */
        .first = "model.0",
        .dense = "model.1.sub.%d.RDB%d.conv%d.0",
        .past = "model.1.sub.%d.RDB%d.conv1x1",
        .blocks = "model.1.sub.",
        .trunk = "model.1.sub.%d",
        .up = "model.%d",
        .hr = "model.%d",
        .last = "model.%d",
        .up_step = 3,
    },
};

/* In the old list, nearest, convolution and activation of each doubling come after place 1. */
static int list_place(const struct vrt_esrgan *esrgan, int place)
{
    return 2 + 3 * esrgan->n_up + place;
}

static bool is_named(const struct vrt_checkpoint *checkpoint, const struct naming *naming)
{
    char first[64], dense[64], tensor[72];

    snprintf(first, sizeof(first), "%s.weight", naming->first);
    snprintf(dense, sizeof(dense), naming->dense, 0, 1, 1);
    snprintf(tensor, sizeof(tensor), "%s.weight", dense);
    return vrt_params_extent(checkpoint, first, 4, 0) &&
           vrt_params_extent(checkpoint, tensor, 4, 0);
}

static const struct naming *find_naming(const struct vrt_checkpoint *checkpoint)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(namings); i++)
        if (is_named(checkpoint, &namings[i]))
            return &namings[i];
    return NULL;
}

static bool recognise(const struct vrt_checkpoint *checkpoint)
{
    return find_naming(checkpoint) != NULL;
}

static bool has_tensor(const struct vrt_checkpoint *checkpoint, const char *format, int a, int b)
{
    char layer[64], tensor[72];

    snprintf(layer, sizeof(layer), format, a, b);
    snprintf(tensor, sizeof(tensor), "%s.weight", layer);
    return vrt_checkpoint_find(checkpoint, tensor) != NULL;
}

/* Extent `dim` of the weight of a convolution, 0 if there is no sensible one. */
static int conv_extent(const struct vrt_checkpoint *checkpoint, const char *format, int number,
                       int dim)
{
    char layer[64], tensor[72];

    snprintf(layer, sizeof(layer), format, number, 1, 1);
    snprintf(tensor, sizeof(tensor), "%s.weight", layer);
    return vrt_params_extent(checkpoint, tensor, 4, dim);
}

/* The old list ends with the last convolution; elsewhere the doublings have names of their own. */
static int count_ups(const struct vrt_checkpoint *checkpoint, const struct naming *naming)
{
    int n = 0;

    if (naming->up_step > 1) {
        int last = vrt_params_last_index(checkpoint, "model.");
        return last < 4 || (last - 4) % 3 != 0 ? -1 : (last - 4) / 3;
    }
    while (n <= N_UP_MAX && has_tensor(checkpoint, naming->up, n + 1, 0))
        n++;
    return n;
}

/* What is folded into the first convolution's channels: the side f of f*f pixels, or 0. */
static int find_unshuffle(int n_in, int n_out)
{
    for (int f = 1; f <= 1 << N_UP_MAX; f++)
        if (n_in == n_out * f * f)
            return f;
    return 0;
}

/*
 * Input pixels around one that reach its output, by going backwards from each place of the square
 * that one pixel of the trunk becomes: a 3x3 convolution adds a pixel of its own size to each
 * side, a doubling halves the coordinates, and folded pixels come together.
 */
static int find_radius(const struct vrt_esrgan *esrgan)
{
    const int start = 2 * N_BLOCKS_MAX * N_DENSE_BLOCKS * N_DENSE;  /* keeps coordinates above 0 */
    const int trunk = esrgan->n_blocks * N_DENSE_BLOCKS * N_DENSE + 2;
    const int f = esrgan->unshuffle, side = 1 << esrgan->n_up;
    int radius = 0;

    for (int place = 0; place < side; place++) {
        int pixel = start * f + place * f / side;
        int low = start * side + place - 2, high = start * side + place + 2;

        for (int i = 0; i < esrgan->n_up; i++) {
            low = (low - 1) / 2;
            high = (high + 1) / 2;
        }
        low = (low - trunk) * f;
        high = (high + trunk) * f + f - 1;
        radius = VRT_MAX(radius, VRT_MAX(pixel - low, high - pixel));
    }
    return radius;
}

static int take_conv(struct vrt_params *params, const char *name, int n_out, int n_in)
{
    int r = vrt_params_take(params, (int[]){ n_out, n_in, 3, 3 }, 4, "%s.weight", name);

    return r < 0 ? r : vrt_params_take(params, &n_out, 1, "%s.bias", name);
}

static int take_dense_block(struct vrt_params *params, const struct vrt_esrgan *esrgan,
                            const struct naming *naming, int block, int dense_block)
{
    int features = esrgan->features, growth = esrgan->growth, r = 0;
    char name[64];

    if (esrgan->plus) {
        snprintf(name, sizeof(name), naming->past, block, dense_block);
        r = vrt_params_take(params, (int[]){ growth, features, 1, 1 }, 4, "%s.weight", name);
    }
    for (int i = 0; i < N_DENSE && r == 0; i++) {
        snprintf(name, sizeof(name), naming->dense, block, dense_block, i + 1);
        r = take_conv(params, name, i + 1 < N_DENSE ? growth : features, features + i * growth);
    }
    return r;
}

static int take_convs(struct vrt_params *params, const struct vrt_network *network,
                      const struct naming *naming)
{
    const struct vrt_esrgan *esrgan = &network->esrgan;
    int features = esrgan->features, f = esrgan->unshuffle;
    char name[64];

    int r = take_conv(params, naming->first, features, network->info.in_channels * f * f);
    for (int i = 0; i < esrgan->n_blocks * N_DENSE_BLOCKS && r == 0; i++)
        r = take_dense_block(params, esrgan, naming, i / N_DENSE_BLOCKS, i % N_DENSE_BLOCKS + 1);
    snprintf(name, sizeof(name), naming->trunk, esrgan->n_blocks);
    r = r < 0 ? r : take_conv(params, name, features, features);
    for (int i = 0; i < esrgan->n_up && r == 0; i++) {
        snprintf(name, sizeof(name), naming->up, (i + 1) * naming->up_step);
        r = take_conv(params, name, features, features);
    }
    snprintf(name, sizeof(name), naming->hr, list_place(esrgan, 0));
    r = r < 0 ? r : take_conv(params, name, features, features);
    snprintf(name, sizeof(name), naming->last, list_place(esrgan, 2));
    return r < 0 ? r : take_conv(params, name, network->info.out_channels, features);
}

/* Reads the sizes off the shapes of a few tensors; take_convs() holds every tensor to them. */
static int find_sizes(struct vrt_network *network, struct vrt_params *params,
                      const struct naming *naming)
{
    const struct vrt_checkpoint *checkpoint = params->checkpoint;
    struct vrt_esrgan *esrgan = &network->esrgan;
    struct vrt_network_info *info = &network->info;
    int last_block = vrt_params_last_index(checkpoint, naming->blocks);

    /* In the old list the trunk's convolution stands behind the blocks, and counts as one. */
    esrgan->n_blocks = naming->up_step > 1 ? last_block : last_block + 1;
    esrgan->n_up = count_ups(checkpoint, naming);
    esrgan->features = conv_extent(checkpoint, naming->first, 0, 0);
    esrgan->growth = conv_extent(checkpoint, naming->dense, 0, 0);
    esrgan->plus = has_tensor(checkpoint, naming->past, 0, 1);
    if (esrgan->n_blocks < 1 || esrgan->n_blocks > N_BLOCKS_MAX)
        return vrt_params_refuse(params, "network of %d blocks; vrtd runs those of 1 to %d",
                                 esrgan->n_blocks, N_BLOCKS_MAX);
    if (esrgan->n_up < 0 || esrgan->n_up > N_UP_MAX)
        return vrt_params_refuse(params, "network whose layers after the trunk aren't up to %d "
                                 "doublings and two convolutions", N_UP_MAX);

    int n_in = conv_extent(checkpoint, naming->first, 0, 1);
    info->out_channels = conv_extent(checkpoint, naming->last, list_place(esrgan, 2), 0);
    info->in_channels = info->out_channels;
    if (info->out_channels != 3 && info->out_channels != 1)
        return vrt_params_refuse(params, "network for pictures of %d channels; vrtd runs those "
                                 "for 3 (colour) and 1 (gray)", info->out_channels);
    esrgan->unshuffle = find_unshuffle(n_in, info->out_channels);
    if (!esrgan->unshuffle || (1 << esrgan->n_up) % esrgan->unshuffle != 0)
        return vrt_params_refuse(params, "network whose first convolution has %d inputs, which "
                                 "doesn't fit %d channels and an enlargement by %d", n_in,
                                 info->out_channels, 1 << esrgan->n_up);
    return 0;
}

static int load(struct vrt_network *network, struct vrt_params *params)
{
    const struct naming *naming = find_naming(params->checkpoint);
    struct vrt_esrgan *esrgan = &network->esrgan;
    struct vrt_network_info *info = &network->info;

    int r = find_sizes(network, params, naming);
    if (r < 0)
        return vrt_fold(r);
    info->scale = (1 << esrgan->n_up) / esrgan->unshuffle;
    info->multiple = esrgan->unshuffle;
    info->radius = find_radius(esrgan);
    snprintf(info->description, sizeof(info->description),
             "RRDBNet%s, %d features, %d blocks, growth %d, %s%sx%d", esrgan->plus ? "+" : "",
             esrgan->features, esrgan->n_blocks, esrgan->growth,
             esrgan->unshuffle > 1 ? "pixel-unshuffle, " : "",
             info->in_channels == 1 ? "gray, " : "", info->scale);
    return vrt_fold(take_convs(params, network, naming));
}

/* While the graph is built: what doesn't change, and the next param to be used. */
struct builder {
    const struct vrt_esrgan *esrgan;
    struct vrt_graph *graph;
    enum vrt_dtype dtype;
    struct vrt_shape shape;     /* of the trunk */
    int param;
};

/* The next 3x3 convolution in the order of the params. */
static struct vrt_op_conv2d next_conv(struct builder *b, enum vrt_activation activation,
                                      float scale)
{
    struct vrt_op_conv2d conv = {
        .kernel = 3,
        .weight = b->param,
        .bias = b->param + 1,
        .activation = activation,
        .slope = SLOPE,
        .slopes = -1,
        .scale = scale,
    };

    b->param += 2;
    return conv;
}

/* ESRGAN+: the 1x1 convolution of what enters, added to the second result. */
static struct vrt_tensor build_past(struct builder *b, const struct vrt_tensor *entered)
{
    struct vrt_op_conv2d conv = {
        .kernel = 1, .weight = b->param++, .bias = -1, .slopes = -1, .scale = 1,
    };
    struct vrt_shape shape = b->shape;

    shape.c = b->esrgan->growth;
    struct vrt_tensor past = vrt_graph_tensor(b->graph, b->dtype, shape);
    vrt_layer_conv(b->graph, entered, &conv, NULL, &past);
    return past;
}

/*
 * One dense block over `dense`, whose first channels hold what enters. Its result, with the
 * residual `entered` (the same in f32, or those channels) added, goes to `out`.
 */
static void build_dense_block(struct builder *b, const struct vrt_tensor *dense,
                              const struct vrt_tensor *entered, const struct vrt_tensor *out)
{
    int features = b->esrgan->features, growth = b->esrgan->growth;
    struct vrt_tensor x = vrt_tensor_channels(dense, 0, features);
    struct vrt_tensor past = VRT_TENSOR_NONE, second = VRT_TENSOR_NONE;

    if (b->esrgan->plus)
        past = build_past(b, &x);
    for (int i = 0; i + 1 < N_DENSE; i++) {
        struct vrt_op_conv2d conv = next_conv(b, VRT_ACTIVATION_LEAKY_RELU, 1);
        struct vrt_tensor in = vrt_tensor_channels(dense, 0, features + i * growth);
        struct vrt_tensor y = vrt_tensor_channels(dense, features + i * growth, growth);

        vrt_layer_conv(b->graph, &in, &conv, i == 1 ? &past : i == 3 ? &second : NULL, &y);
        if (i == 1 && b->esrgan->plus)
            second = y;
    }

    struct vrt_op_conv2d conv = next_conv(b, VRT_ACTIVATION_NONE, RESIDUAL_SCALE);
    vrt_layer_conv(b->graph, dense, &conv, entered, out);
}

/* One residual block: from the trunk to the trunk, both f32. */
static struct vrt_tensor build_block(struct builder *b, const struct vrt_tensor *trunk)
{
    struct vrt_shape wide = b->shape;
    struct vrt_tensor dense[N_DENSE_BLOCKS], head[N_DENSE_BLOCKS];

    wide.c = b->esrgan->features + (N_DENSE - 1) * b->esrgan->growth;
    for (int i = 0; i < N_DENSE_BLOCKS; i++) {
        dense[i] = vrt_graph_tensor(b->graph, b->dtype, wide);
        if (vrt_graph_status(b->graph) < 0)
            return VRT_TENSOR_NONE;
        head[i] = vrt_tensor_channels(&dense[i], 0, b->esrgan->features);
    }

    struct vrt_tensor last = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, b->shape);
    struct vrt_tensor next = vrt_graph_tensor(b->graph, VRT_DTYPE_F32, b->shape);
    vrt_layer_copy(b->graph, trunk, &head[0]);
    build_dense_block(b, &dense[0], trunk, &head[1]);
    build_dense_block(b, &dense[1], &head[1], &head[2]);
    build_dense_block(b, &dense[2], &head[2], &last);
    vrt_layer_add(b->graph, &last, RESIDUAL_SCALE, trunk, &next);
    return next;
}

/* The doublings and the last two convolutions. */
static void build_tail(struct builder *b, struct vrt_tensor x, const struct vrt_tensor *out)
{
    struct vrt_shape shape = b->shape;

    for (int i = 0; i < b->esrgan->n_up; i++) {
        struct vrt_op_conv2d conv = next_conv(b, VRT_ACTIVATION_LEAKY_RELU, 1);

        shape.h *= 2;
        shape.w *= 2;
        struct vrt_tensor wide = vrt_graph_tensor(b->graph, b->dtype, shape);
        struct vrt_tensor y = vrt_graph_tensor(b->graph, b->dtype, shape);
        vrt_layer_resize(b->graph, &x, VRT_RESIZE_NEAREST, &wide);
        vrt_layer_conv(b->graph, &wide, &conv, NULL, &y);
        x = y;
    }

    struct vrt_op_conv2d hr = next_conv(b, VRT_ACTIVATION_LEAKY_RELU, 1);
    struct vrt_op_conv2d last = next_conv(b, VRT_ACTIVATION_NONE, 1);
    struct vrt_tensor y = vrt_graph_tensor(b->graph, b->dtype, shape);
    vrt_layer_conv(b->graph, &x, &hr, NULL, &y);
    vrt_layer_conv(b->graph, &y, &last, NULL, out);
}

static void build(const struct vrt_network *network, struct vrt_graph *graph,
                  const struct vrt_tensor *in, const struct vrt_tensor *out,
                  const struct vrt_network_use *use)
{
    const enum vrt_dtype dtype = use->dtype;
    const struct vrt_esrgan *esrgan = &network->esrgan;
    int f = esrgan->unshuffle;
    struct vrt_shape shape = { in->shape.d, in->shape.h / f, in->shape.w / f, in->shape.c * f * f };
    struct builder b = { .esrgan = esrgan, .graph = graph, .dtype = dtype, .shape = shape };
    struct vrt_tensor x = *in;

    if (f > 1) {
        x = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
        vrt_layer_unshuffle(graph, in, f, &x);
    }
    x = vrt_layer_convert(graph, &x, dtype);

    b.shape.c = esrgan->features;
    struct vrt_op_conv2d first = next_conv(&b, VRT_ACTIVATION_NONE, 1);
    struct vrt_tensor head = vrt_graph_tensor(graph, VRT_DTYPE_F32, b.shape);
    vrt_layer_conv(graph, &x, &first, NULL, &head);

    struct vrt_tensor trunk = head;
    for (int i = 0; i < esrgan->n_blocks && vrt_graph_status(graph) == 0; i++)
        trunk = build_block(&b, &trunk);

    struct vrt_op_conv2d body = next_conv(&b, VRT_ACTIVATION_NONE, 1);
    struct vrt_tensor y = vrt_graph_tensor(graph, dtype, b.shape);
    x = vrt_layer_convert(graph, &trunk, dtype);
    vrt_layer_conv(graph, &x, &body, &head, &y);
    build_tail(&b, y, out);
}

const struct vrt_architecture vrt_architecture_esrgan = {
    .name = "esrgan",
    .network = "RRDBNet",
    .recognise = recognise,
    .pad_mode = VRT_PAD_REFLECT,
    .load = load,
    .build = build,
};
