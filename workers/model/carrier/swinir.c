/* SPDX-License-Identifier: MIT */
/*
 * SwinIR, step by step as model/swinir-build.c has it: what the file computes next has to be what
 * the network would, and its weights are taken as that layer's.
 */

#include "model/carrier/swinir.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define EPSILON 1e-5f
#define CLOSE 6e-4f                 /* relative: as f16 rounds numbers */
#define BOTTLENECK_SLOPE 0.2f
#define NEAREST_SLOPE 0.2f
#define TAIL_SLOPE 0.01f
#define GROUPS_MAX 64
#define UPSCALINGS_MAX 3

/* Of the pictures that it was trained on (DIV2K). */
static const float colour_mean[3] = { 0.4488f, 0.4371f, 0.4040f };

struct walk {
    struct vrt_sketch *sketch;
    struct vrt_carrier_tensors *tensors;
    int channels;
    float range;
    int window;                     /* 0: not known yet */
    char layer[64];                 /* that is looked for */
};

static const struct vrt_sketch_node *node(const struct walk *w, int x)
{
    return &w->sketch->nodes[x];
}

/* Whether a constant of the file is this number. Smaller f16 are rounded more. */
static bool is_close(float value, float wanted)
{
    return fabsf(value - wanted) <= (wanted < 1e-4f ? 10 : 1) * CLOSE * wanted;
}

static int refuse(struct walk *w)
{
    vrt_dag_set_where(w->sketch->dag, "network", "");
    return vrt_sketch_refuse(w->sketch, "has attention, and isn't SwinIR as vrtd runs it: what "
                             "would be its %s isn't there, or computes something else", w->layer);
}

/* What is looked for from now on, for messages. */
static void seek(struct walk *w, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(w->layer, sizeof(w->layer), format, args);
    va_end(args);
}

static void put(struct walk *w, const struct vrt_checkpoint_tensor *like, const char *part)
{
    struct vrt_checkpoint_tensor tensor = *like;
    char name[96];

    snprintf(name, sizeof(name), "%s.%s", w->layer, part);
    tensor.name = name;
    tensor.n_elements = 1;
    for (int d = tensor.n_dims - 1; d >= 0; d--) {
        if (!tensor.strides[d])
            tensor.strides[d] = tensor.n_elements;
        tensor.n_elements *= tensor.dims[d];
    }
    if (w->sketch->r == 0 && vrt_carrier_tensors_put(w->tensors, &tensor) < 0)
        w->sketch->r = vrt_refuse_errno(w->sketch->dag->error, vrt_raise(-ENOMEM),
                                        w->sketch->dag->source);
}

/* A constant of so many numbers, whatever its shape, as a vector. */
static void put_vector(struct walk *w, int constant, int64_t n, const char *part)
{
    const struct vrt_sketch_constant *numbers = constant ?
        vrt_sketch_constant(w->sketch, constant) : NULL;

    if (!numbers || numbers->n != n) {
        refuse(w);
        return;
    }
    put(w, &(struct vrt_checkpoint_tensor){ .n_dims = 1, .dims = { n },
                                            .data = numbers->values }, part);
}

/* The node of that kind that reads x. Return: its number; 0 with the sentence said: none. */
static int next(struct walk *w, enum vrt_sketch_kind kind, int x)
{
    const int found = vrt_sketch_find(w->sketch, kind, x);

    if (found >= 0)
        return found;
    refuse(w);
    return 0;
}

/* x's convolution with that kernel, as w->layer. */
static int conv(struct walk *w, int x, int kernel)
{
    const int y = next(w, VRT_SKETCH_CONV, x);

    if (w->sketch->r < 0)
        return 0;
    const struct vrt_sketch_constant *weight = vrt_sketch_constant(w->sketch, node(w, y)->weight);
    if (weight->dims[2] != kernel || weight->dims[3] != kernel) {
        refuse(w);
        return 0;
    }
    struct vrt_checkpoint_tensor tensor = { .n_dims = 4, .data = weight->values };
    memcpy(tensor.dims, weight->dims, sizeof(tensor.dims));
    put(w, &tensor, "weight");
    put_vector(w, node(w, y)->bias, weight->dims[0], "bias");
    return y;
}

static int leaky(struct walk *w, int x, float slope)
{
    return vrt_sketch_node(w->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_LEAKY, .at = { x }, .by = { slope } });
}

/* Whether x is normed, and what comes of that read by something of this kind. Nothing is taken. */
static bool leads_to(const struct walk *w, int x, enum vrt_sketch_kind kind)
{
    int y = vrt_sketch_find(w->sketch, VRT_SKETCH_NORM, x);

    y = y < 0 ? y : vrt_sketch_find(w->sketch, VRT_SKETCH_SCALE, y);
    y = y < 0 ? y : vrt_sketch_find(w->sketch, VRT_SKETCH_SHIFT, y);
    if (kind == VRT_SKETCH_LINEAR && y >= 0) {
        const int rolled = vrt_sketch_find(w->sketch, VRT_SKETCH_ROLL, y);
        if (rolled >= 0)
            y = rolled;
    }
    return y >= 0 && vrt_sketch_find(w->sketch, kind, y) >= 0;
}

static int norm(struct walk *w, int x)
{
    const int normed = next(w, VRT_SKETCH_NORM, x);
    const int scaled = next(w, VRT_SKETCH_SCALE, normed), y = next(w, VRT_SKETCH_SHIFT, scaled);

    if (w->sketch->r < 0)
        return 0;
    if (!is_close(node(w, normed)->by[0], EPSILON)) {
        refuse(w);
        return 0;
    }
    const int64_t n = vrt_sketch_constant(w->sketch, node(w, scaled)->weight)->n;
    put_vector(w, node(w, scaled)->weight, n, "weight");
    put_vector(w, node(w, y)->weight, n, "bias");
    return y;
}

static int linear(struct walk *w, int x)
{
    const int product = next(w, VRT_SKETCH_LINEAR, x), y = next(w, VRT_SKETCH_SHIFT, product);

    if (w->sketch->r < 0)
        return 0;
    const struct vrt_sketch_constant *weight =
        vrt_sketch_constant(w->sketch, node(w, product)->weight);
    const int turned = node(w, product)->is_turned;
    const int64_t n_out = weight->dims[turned ? 0 : 1], n_in = weight->dims[turned ? 1 : 0];
    struct vrt_checkpoint_tensor tensor = {
        .n_dims = 2, .dims = { n_out, n_in }, .data = weight->values,
    };
    if (!turned) {
        tensor.strides[0] = 1;
        tensor.strides[1] = n_out;
    }
    put(w, &tensor, "weight");
    put_vector(w, node(w, y)->weight, n_out, "bias");
    return y;
}

/* Fills the table, a row for each way to go from one place of a window to another, with what the
 * file adds for each pair of places, [heads,N,N]. Return: whether pairs of one way have one. */
static bool gather_table(const float *pairs, int window, int heads, float *table)
{
    const int n = window * window, side = 2 * window - 1;

    for (int i = 0; i < side * side * heads; i++)
        table[i] = NAN;
    for (int head = 0; head < heads; head++)
    for (int a = 0; a < n; a++)
    for (int b = 0; b < n; b++) {
        const int dy = a / window - b / window + window - 1;
        const int dx = a % window - b % window + window - 1;
        float *entry = &table[(dy * side + dx) * heads + head];
        const float value = pairs[((size_t)head * (size_t)n + (size_t)a) * (size_t)n + (size_t)b];

        if (!isfinite(value) || (!isnan(*entry) && *entry != value))
            return false;
        *entry = value;
    }
    return true;
}

/* The bias of each pair of places as a table. Return: how many heads; 0 with the sentence said. */
static int put_table(struct walk *w, int constant)
{
    const struct vrt_sketch_constant pairs = *vrt_sketch_constant(w->sketch, constant);
    const int d = pairs.n_dims - 3;
    int window = 2;

    while (pairs.n_dims >= 3 && window * window < pairs.dims[d + 1] && window < 32)
        window++;
    const int side = 2 * window - 1;
    if (d < 0 || pairs.dims[d + 1] != window * window || pairs.dims[d + 2] != window * window ||
        pairs.n != pairs.dims[d] * pairs.dims[d + 1] * pairs.dims[d + 2] || pairs.dims[d] > 64 ||
        (w->window && w->window != window)) {
        refuse(w);
        return 0;
    }
    const int heads = (int)pairs.dims[d];
    const int table = vrt_sketch_constant_new(w->sketch, (const int64_t[]){ side * side, heads }, 2,
                                              NULL);
    if (!table)
        return 0;
    w->window = window;
    float *values = vrt_sketch_constant(w->sketch, table)->values;
    if (!gather_table(pairs.values, window, heads, values)) {
        refuse(w);
        return 0;
    }
    put(w, &(struct vrt_checkpoint_tensor){ .n_dims = 2, .dims = { side * side, heads },
                                            .data = values }, "relative_position_bias_table");
    return heads;
}

/* Scores with a mask: that of shifted windows, which others have not. */
static int masked(struct walk *w, int scores, bool is_shifted)
{
    const int mask = vrt_sketch_find(w->sketch, VRT_SKETCH_MASK, scores);

    if (w->sketch->r < 0)
        return 0;
    if ((mask >= 0 && node(w, mask)->by[0] != 0) != is_shifted) {
        refuse(w);
        return 0;
    }
    return mask >= 0 ? mask : scores;
}

static int part(struct walk *w, int x, int number)
{
    return vrt_sketch_node(w->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_PART, .at = { x }, .by = { (float)number } });
}

static int rolled(struct walk *w, int x, float by)
{
    return vrt_sketch_node(w->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_ROLL, .at = { x }, .by = { by } });
}

/* softmax(q k / sqrt(d) + bias + mask) v, of windows that are shifted by half of one if x is. */
static int attention(struct walk *w, int x, const char *block)
{
    const int shifted = vrt_sketch_find(w->sketch, VRT_SKETCH_ROLL, x);

    seek(w, "%s.attn.qkv", block);
    const int qkv = linear(w, shifted >= 0 ? shifted : x);
    seek(w, "%s.attn", block);
    const int product = vrt_sketch_matmul(w->sketch, part(w, qkv, 0), part(w, qkv, 1));
    const int scores = next(w, VRT_SKETCH_AFFINE, product);
    const int biased = next(w, VRT_SKETCH_SHIFT, scores);
    if (w->sketch->r < 0)
        return 0;
    const int heads = put_table(w, node(w, biased)->weight);
    const int64_t features = vrt_sketch_constant(w->sketch, node(w, qkv)->weight)->n / 3;
    const float scale = 1 / sqrtf((float)features / (float)heads), half = (float)(w->window / 2);
    if (heads == 0 || !is_close(node(w, scores)->by[0], scale) || node(w, scores)->by[1] != 0 ||
        (shifted >= 0 && node(w, shifted)->by[0] != half)) {
        refuse(w);
        return 0;
    }
    const int shares = vrt_sketch_node(w->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_SOFTMAX, .at = { masked(w, biased, shifted >= 0) } });
    const int found = vrt_sketch_matmul(w->sketch, shares, part(w, qkv, 2));
    seek(w, "%s.attn.proj", block);
    const int y = linear(w, found);
    return shifted >= 0 ? rolled(w, y, -half) : y;
}

/* x * (1 + erf(x / sqrt(2))) / 2 */
static int gelu(struct walk *w, int x)
{
    for (int i = 0; w->sketch->r == 0 && i < w->sketch->n_nodes; i++) {
        const struct vrt_sketch_node *erf = node(w, i), *in = node(w, erf->at[0]);

        if (erf->kind != VRT_SKETCH_ERF || in->kind != VRT_SKETCH_AFFINE || in->at[0] != x ||
            in->by[1] != 0 || !is_close(in->by[0], sqrtf(0.5f)))
            continue;
        const int gate = vrt_sketch_affine(w->sketch, i, 1, 1);
        return vrt_sketch_affine(w->sketch, vrt_sketch_mul(w->sketch, x, gate), 0.5f, 0);
    }
    refuse(w);
    return 0;
}

static int block(struct walk *w, int x, int group, int i)
{
    char name[56];

    snprintf(name, sizeof(name), "layers.%d.residual_group.blocks.%d", group, i);
    seek(w, "%s.norm1", name);
    const int normed = norm(w, x);
    const int shifted = vrt_sketch_find(w->sketch, VRT_SKETCH_ROLL, normed);
    if (w->sketch->r == 0 && (shifted >= 0) != (i % 2 == 1)) {
        seek(w, "%s", name);
        refuse(w);
    }
    const int y = vrt_sketch_add(w->sketch, x, attention(w, normed, name));
    seek(w, "%s.norm2", name);
    int z = norm(w, y);
    seek(w, "%s.mlp.fc1", name);
    z = gelu(w, linear(w, z));
    seek(w, "%s.mlp.fc2", name);
    return vrt_sketch_add(w->sketch, y, linear(w, z));
}

/* One convolution, or three with fewer channels between. */
static int convs(struct walk *w, int x, const char *layer)
{
    const int first = vrt_sketch_find(w->sketch, VRT_SKETCH_CONV, x);

    seek(w, "%s", layer);
    if (first < 0 || vrt_sketch_find(w->sketch, VRT_SKETCH_LEAKY, first) < 0)
        return conv(w, x, 3);
    seek(w, "%s.0", layer);
    int y = leaky(w, conv(w, x, 3), BOTTLENECK_SLOPE);
    seek(w, "%s.2", layer);
    y = leaky(w, conv(w, y, 1), BOTTLENECK_SLOPE);
    seek(w, "%s.4", layer);
    return conv(w, y, 3);
}

/* Everything between the first convolution and the tail. */
static int body(struct walk *w, int first)
{
    char name[32];
    int x = first;

    if (!leads_to(w, x, VRT_SKETCH_LINEAR)) {
        seek(w, "patch_embed.norm");
        x = norm(w, x);
    }
    for (int group = 0; group < GROUPS_MAX && leads_to(w, x, VRT_SKETCH_LINEAR); group++) {
        int y = x;

        for (int i = 0; w->sketch->r == 0 && leads_to(w, y, VRT_SKETCH_LINEAR); i++)
            y = block(w, y, group, i);
        snprintf(name, sizeof(name), "layers.%d.conv", group);
        x = vrt_sketch_add(w->sketch, x, convs(w, y, name));
    }
    seek(w, "norm");
    x = norm(w, x);
    return vrt_sketch_add(w->sketch, first, convs(w, x, "conv_after_body"));
}

/* With each sample repeated. */
static int enlarged(struct walk *w, int x)
{
    return vrt_sketch_node(w->sketch, &(struct vrt_sketch_node){
        .kind = VRT_SKETCH_NEAREST, .at = { x }, .by = { 2 } });
}

static int nearest_tail(struct walk *w, int x)
{
    for (int i = 1; w->sketch->r == 0 && i <= 2; i++) {
        if (vrt_sketch_find(w->sketch, VRT_SKETCH_NEAREST, x) < 0)
            break;
        seek(w, "conv_up%d", i);
        x = leaky(w, conv(w, enlarged(w, x), 3), NEAREST_SLOPE);
    }
    seek(w, "conv_hr");
    x = leaky(w, conv(w, x, 3), NEAREST_SLOPE);
    seek(w, "conv_last");
    return conv(w, x, 3);
}

/* Convolutions whose channels become pixels. Return: the last convolution. */
static int shuffle_tail(struct walk *w, int x)
{
    for (int i = 0; w->sketch->r == 0 && i <= UPSCALINGS_MAX; i++) {
        const int y = vrt_sketch_find(w->sketch, VRT_SKETCH_CONV, x);

        if (y < 0 || vrt_sketch_find(w->sketch, VRT_SKETCH_CONV, y) < 0)
            break;
        seek(w, "upsample.%d", 2 * i);
        x = conv(w, x, 3);
    }
    seek(w, "conv_last");
    return conv(w, x, 3);
}

/* What the body found -> a picture; `in` is what went in. */
static int tail(struct walk *w, int x, int in)
{
    const int y = vrt_sketch_find(w->sketch, VRT_SKETCH_CONV, x);
    const int sum = y < 0 ? -1 : vrt_sketch_find(w->sketch, VRT_SKETCH_ADD, VRT_MIN(in, y));

    if (sum >= 0 && node(w, sum)->at[1] == VRT_MAX(in, y)) {
        seek(w, "conv_last");
        return vrt_sketch_add(w->sketch, in, conv(w, x, 3));
    }
    if (y < 0 || vrt_sketch_find(w->sketch, VRT_SKETCH_LEAKY, y) < 0) {
        seek(w, "upsample.0");
        return conv(w, x, 3);
    }
    seek(w, "conv_before_upsample.0");
    x = leaky(w, conv(w, x, 3), TAIL_SLOPE);
    return vrt_sketch_find(w->sketch, VRT_SKETCH_NEAREST, x) >= 0 ? nearest_tail(w, x) :
           shuffle_tail(w, x);
}

/* x plus the mean, or less it. Return: the node; -1: the file has none. */
static int shifted(struct walk *w, int x, float sign)
{
    for (int i = 0; w->channels == 3 && w->sketch->r == 0 && i < w->sketch->n_nodes; i++) {
        const struct vrt_sketch_node *found = node(w, i);
        bool is_mean = found->kind == VRT_SKETCH_SHIFT && found->at[0] == x &&
                       vrt_sketch_constant(w->sketch, found->weight)->n == 3;

        for (int c = 0; is_mean && c < 3; c++)
            is_mean = is_close(sign * vrt_sketch_constant(w->sketch, found->weight)->values[c],
                               colour_mean[c]);
        if (is_mean)
            return i;
    }
    return w->channels == 3 ? -1 : x;
}

/* Samples less their mean, in the range that it was trained on. Return: the node; -1: neither. */
static int normalised(struct walk *w)
{
    static const float ranges[] = { 1, 255 };
    const int less = shifted(w, 0, -1);

    for (size_t i = 0; less >= 0 && i < VRT_ARRAY_SIZE(ranges); i++) {
        const int x = vrt_sketch_affine(w->sketch, less, ranges[i], 0);

        w->range = ranges[i];
        if (vrt_sketch_find(w->sketch, VRT_SKETCH_CONV, x) >= 0)
            return x;
    }
    return -1;
}

/* The last convolution's bias less the mean, which the file has put into it. */
static void take_mean(struct walk *w, int last)
{
    const struct vrt_checkpoint_tensor *bias = vrt_carrier_tensors_find(w->tensors,
                                                                        "conv_last.bias");
    const int less = vrt_sketch_constant_new(w->sketch, (const int64_t[]){ 3 }, 1, NULL);

    if (!less)
        return;
    if (!bias || bias->n_elements != 3 || node(w, last)->kind != VRT_SKETCH_CONV) {
        refuse(w);
        return;
    }
    float *values = vrt_sketch_constant(w->sketch, less)->values;
    for (int c = 0; c < 3; c++)
        values[c] = ((const float *)bias->data)[c] - colour_mean[c];
    w->tensors->items[bias - w->tensors->items].data = values;
}

int vrt_carrier_swinir_find(struct vrt_sketch *sketch, int channels, int result,
                            struct vrt_carrier_tensors *tensors)
{
    struct walk w = { .sketch = sketch, .tensors = tensors, .channels = channels };
    const int in = normalised(&w);

    seek(&w, "mean and range of samples");
    if (in < 0)
        return refuse(&w);
    seek(&w, "conv_first");
    const int first = conv(&w, in, 3), found = body(&w, first);
    const int picture = vrt_sketch_affine(sketch, tail(&w, found, in), 1 / w.range, 0);
    seek(&w, "result");
    if (sketch->r < 0)
        return sketch->r;
    if (picture == result && w.channels == 3 && w.range == 1)
        take_mean(&w, result);
    else if (shifted(&w, picture, 1) != result)
        return refuse(&w);
    if (sketch->r < 0)
        return sketch->r;
    snprintf(tensors->metadata[0], sizeof(tensors->metadata[0]), "img_range");
    snprintf(tensors->metadata[1], sizeof(tensors->metadata[1]), w.range == 1 ? "1" : "255");
    return 0;
}
