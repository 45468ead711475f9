/* SPDX-License-Identifier: MIT */
/* A graph's nodes as they come. What a file says of one is held against those before it. */

#include "engine/dag/dag.h"
#include "engine/dag/dag-impl.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 65536
#define CHANNELS_MAX 8192
#define RATIO_MAX 64            /* of sizes, either way */
#define KERNEL_MAX 7

int vrt_dag_new(const char *source, const char *format, int64_t n_values, struct vrt_error *error,
                struct vrt_dag **ret_dag)
{
    struct vrt_dag *dag = calloc(1, sizeof(*dag));

    if (!dag)
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), source);
    dag->source = source;
    dag->format = format;
    dag->values_left = n_values;
    dag->error = error;
    dag->result = -1;
    *ret_dag = dag;
    return 0;
}

struct vrt_dag *vrt_dag_free(struct vrt_dag *dag)
{
    if (!dag)
        return NULL;
    for (int i = 0; i < dag->n_nodes; i++) {
        free(dag->nodes[i].weight);
        free(dag->nodes[i].bias);
        free(dag->nodes[i].slopes);
    }
    free(dag->nodes);
    free(dag);
    return NULL;
}

void vrt_dag_set_where(struct vrt_dag *dag, const char *kind, const char *name)
{
    char shown_kind[24], shown_name[36];

    vrt_printable(kind, shown_kind, sizeof(shown_kind));
    vrt_printable(name, shown_name, sizeof(shown_name));
    snprintf(dag->where, sizeof(dag->where), "%s%s%s%s", shown_kind, name[0] ? " \"" : "",
             shown_name, name[0] ? "\"" : "");
}

int vrt_dag_refuse(struct vrt_dag *dag, const char *format, ...)
{
    char why[320];
    va_list args;

    va_start(args, format);
    vsnprintf(why, sizeof(why), format, args);
    va_end(args);
    return vrt_refuse(dag->error, -EINVAL, "model.invalid", "%s holds an %s graph whose %s %s%s",
                      dag->source, dag->format, dag->where[0] ? dag->where : "file", why,
                      dag->instead ? dag->instead : "");
}

void vrt_dag_note_type(struct vrt_dag *dag, const char *type, size_t size)
{
    static const char attention[] = "; it has attention: SwinIR is run from its checkpoint (.pth, "
                                    ".safetensors), or as ONNX";
    static const char warps[] = "; it warps pictures: RIFE is run from its checkpoint "
                                "(flownet.pkl, or .safetensors), or as ONNX";
    static const struct {
        const char *type, *instead;
        const char *carrier;        /* the format of which such files carry weights */
    } types[] = {
        { "Softmax", attention, "ONNX" },
        { "MultiHeadAttention", attention, "" },
        { "GridSample", warps, "ONNX" },
        { "rife.Warp", warps, "ncnn" },
    };

    for (size_t i = 0; i < VRT_ARRAY_SIZE(types) && !dag->instead; i++) {
        if (strlen(types[i].type) != size || memcmp(types[i].type, type, size) != 0)
            continue;
        if (strcmp(types[i].carrier, dag->format) == 0)
            dag->is_carrier = true;
        else
            dag->instead = types[i].instead;
    }
}

static int refuse_memory(struct vrt_dag *dag)
{
    return vrt_refuse_errno(dag->error, vrt_raise(-ENOMEM), dag->source);
}

int vrt_dag_alloc(struct vrt_dag *dag, int64_t n, float **ret_values)
{
    if (n < 1 || n > dag->values_left)
        return vrt_dag_refuse(dag, "has more numbers than such a file can hold");
    float *values = malloc((size_t)n * sizeof(*values));
    if (!values)
        return refuse_memory(dag);
    dag->values_left -= n;
    *ret_values = values;
    return 0;
}

static void drop_arrays(const struct vrt_dag_node *node)
{
    free(node->weight);
    free(node->bias);
    free(node->slopes);
}

static int check_sizes(struct vrt_dag *dag, const struct vrt_dag_node *node)
{
    if (node->channels < 1 || node->channels > CHANNELS_MAX)
        return vrt_dag_refuse(dag, "has %d channels, not 1 to %d", node->channels, CHANNELS_MAX);
    if (node->num < 1 || node->den < 1 || node->num > RATIO_MAX || node->den > RATIO_MAX)
        return vrt_dag_refuse(dag, "changes the size by more than %d times", RATIO_MAX);
    return 0;
}

/* Appends a copy of the node, whose arrays are taken over. Return: its number; -errno. */
static int append(struct vrt_dag *dag, const struct vrt_dag_node *node)
{
    int r = check_sizes(dag, node);

    if (r == 0 && dag->n_nodes == NODES_MAX)
        r = vrt_dag_refuse(dag, "is one of more than %d", NODES_MAX);
    if (r == 0 && dag->n_nodes == dag->capacity) {
        int capacity = dag->capacity ? 2 * dag->capacity : 64;
        struct vrt_dag_node *nodes = reallocarray(dag->nodes, (size_t)capacity, sizeof(*nodes));
        if (nodes) {
            dag->nodes = nodes;
            dag->capacity = capacity;
        } else {
            r = refuse_memory(dag);
        }
    }
    if (r < 0) {
        drop_arrays(node);
        return r;
    }
    dag->nodes[dag->n_nodes] = *node;
    dag->nodes[dag->n_nodes].home = -1;
    memcpy(dag->nodes[dag->n_nodes].where, dag->where, sizeof(dag->where));
    return dag->n_nodes++;
}

/* A node of the same size and width as `in`. */
static struct vrt_dag_node like_in(const struct vrt_dag *dag, enum vrt_dag_kind kind, int in)
{
    const struct vrt_dag_node *x = &dag->nodes[in];

    return (struct vrt_dag_node){
        .kind = kind, .n_in = 1, .in = { in }, .channels = x->channels, .num = x->num,
        .den = x->den, .scale = 1, .scale_b = 1,
    };
}

int vrt_dag_input(struct vrt_dag *dag, int channels)
{
    for (int i = 0; i < dag->n_nodes; i++)
        if (dag->nodes[i].kind == VRT_DAG_INPUT)
            return vrt_dag_refuse(dag, "is a second input; vrtd runs networks with one");
    if (channels != 1 && channels != 3)
        return vrt_dag_refuse(dag, "is an input of %d channels; vrtd runs networks for 3 (red, "
                              "green, blue) and 1 (gray), before height and width", channels);
    return append(dag, &(struct vrt_dag_node){
        .kind = VRT_DAG_INPUT, .channels = channels, .num = 1, .den = 1,
    });
}

static bool all_finite(const float *values, int64_t n)
{
    for (int64_t i = 0; values && i < n; i++)
        if (!isfinite(values[i]))
            return false;
    return true;
}

int vrt_dag_conv(struct vrt_dag *dag, int in, const struct vrt_dag_node *like)
{
    struct vrt_dag_node node = like_in(dag, VRT_DAG_CONV, in);
    const int n_in = node.channels, k = like->kernel;
    int r = 0;

    node.channels = like->channels;
    node.kernel = k;
    node.weight = like->weight;
    node.bias = like->bias;
    node.slopes = NULL;
    if (k < 1 || k > KERNEL_MAX || k % 2 == 0)
        r = vrt_dag_refuse(dag, "has a kernel of %d; vrtd convolves with 1, 3, 5 and 7", k);
    else if (node.channels >= 1 &&
             !(all_finite(node.weight, (int64_t)node.channels * n_in * k * k) &&
               all_finite(node.bias, node.channels)))
        r = vrt_dag_refuse(dag, "has weights that are not finite numbers");
    if (r < 0) {
        drop_arrays(&node);
        return r;
    }
    return append(dag, &node);
}

int vrt_dag_activate(struct vrt_dag *dag, int in, const struct vrt_dag_node *like)
{
    struct vrt_dag_node node = like_in(dag, VRT_DAG_ACTIVATE, in);

    node.activation = like->activation;
    node.slope = like->slope;
    node.slopes = like->slopes;
    if (!isfinite(node.slope) || !all_finite(node.slopes, node.channels)) {
        drop_arrays(&node);
        return vrt_dag_refuse(dag, "has slopes that are not finite numbers");
    }
    return append(dag, &node);
}

int vrt_dag_affine(struct vrt_dag *dag, int in, const float *scale, const float *shift, int n)
{
    struct vrt_dag_node node = like_in(dag, VRT_DAG_AFFINE, in);

    if (n != 1 && n != node.channels)
        return vrt_dag_refuse(dag, "has %d numbers for %d channels", n, node.channels);
    if (!all_finite(scale, n) || !all_finite(shift, n))
        return vrt_dag_refuse(dag, "has numbers that are not finite");
    int r = vrt_dag_alloc(dag, node.channels, &node.weight);
    if (r < 0)
        return r;
    r = vrt_dag_alloc(dag, node.channels, &node.bias);
    if (r < 0) {
        drop_arrays(&node);
        return r;
    }
    for (int c = 0; c < node.channels; c++) {
        node.weight[c] = scale ? scale[n == 1 ? 0 : c] : 1;
        node.bias[c] = shift ? shift[n == 1 ? 0 : c] : 0;
    }
    return append(dag, &node);
}

int vrt_dag_squash(struct vrt_dag *dag, int in, float slope, float scale, float shift)
{
    struct vrt_dag_node node = like_in(dag, VRT_DAG_SQUASH, in);

    node.slope = slope;
    node.scale = scale;
    node.shift = shift;
    return append(dag, &node);
}

/* Two nodes that are combined number by number. */
static int append_pair(struct vrt_dag *dag, struct vrt_dag_node *node, int b)
{
    const struct vrt_dag_node *x = &dag->nodes[node->in[0]], *y = &dag->nodes[b];

    if (x->channels != y->channels || x->num != y->num || x->den != y->den)
        return vrt_dag_refuse(dag, "is of pictures that differ: %d channels at %d/%d of the "
                              "input's size, and %d at %d/%d", x->channels, x->num, x->den,
                              y->channels, y->num, y->den);
    if (!isfinite(node->scale) || !isfinite(node->scale_b))
        return vrt_dag_refuse(dag, "has factors that are not finite numbers");
    node->n_in = 2;
    node->in[1] = b;
    return append(dag, node);
}

int vrt_dag_add(struct vrt_dag *dag, int a, float scale_a, int b, float scale_b)
{
    struct vrt_dag_node node = like_in(dag, VRT_DAG_ADD, a);

    node.scale = scale_a;
    node.scale_b = scale_b;
    return append_pair(dag, &node, b);
}

int vrt_dag_mul(struct vrt_dag *dag, int a, int b)
{
    struct vrt_dag_node node = like_in(dag, VRT_DAG_MUL, a);

    return append_pair(dag, &node, b);
}

int vrt_dag_concat(struct vrt_dag *dag, const int *in, int n)
{
    struct vrt_dag_node node = like_in(dag, VRT_DAG_CONCAT, in[0]);

    if (n > VRT_DAG_IN_MAX)
        return vrt_dag_refuse(dag, "joins %d inputs, more than %d", n, VRT_DAG_IN_MAX);
    node.n_in = n;
    node.channels = 0;
    for (int i = 0; i < n; i++) {
        const struct vrt_dag_node *x = &dag->nodes[in[i]];

        if (x->num != node.num || x->den != node.den)
            return vrt_dag_refuse(dag, "is of pictures of unlike size");
        node.in[i] = in[i];
        node.channels += x->channels;
    }
    return append(dag, &node);
}

/* Multiplies the node's size by num / den, in lowest terms. */
static void scale_size(struct vrt_dag_node *node, int num, int den)
{
    int a = node->num * num, b = node->den * den;

    for (int x = a, y = b; ; ) {
        if (y == 0) {
            node->num = a / x;
            node->den = b / x;
            return;
        }
        int rest = x % y;
        x = y;
        y = rest;
    }
}

int vrt_dag_shuffle(struct vrt_dag *dag, enum vrt_dag_kind kind, int in, int r, bool is_planar)
{
    struct vrt_dag_node node = like_in(dag, kind, in);

    if (r == 1 && kind == VRT_DAG_UNSHUFFLE)
        return in;
    if (r < 1 || r > RATIO_MAX || (kind == VRT_DAG_SHUFFLE && node.channels % (r * r) != 0))
        return vrt_dag_refuse(dag, "is to move pixels by %d of %d channels", r, node.channels);
    node.r = r;
    node.is_planar = is_planar && r > 1;
    if (kind == VRT_DAG_SHUFFLE) {
        node.channels /= r * r;
        scale_size(&node, r, 1);
    } else {
        node.channels *= r * r;
        scale_size(&node, 1, r);
    }
    return append(dag, &node);
}

int vrt_dag_append_resized(struct vrt_dag *dag, enum vrt_dag_kind kind, int in, int num, int den)
{
    struct vrt_dag_node node = like_in(dag, kind, in);

    if (num < 1 || den < 1 || num > RATIO_MAX || den > RATIO_MAX)
        return vrt_dag_refuse(dag, "changes the size by %d/%d", num, den);
    if (num == den)
        return in;
    scale_size(&node, num, den);
    return append(dag, &node);
}

int vrt_dag_resize(struct vrt_dag *dag, int in, enum vrt_resize_mode mode, int num, int den)
{
    const int resized = vrt_dag_append_resized(dag, VRT_DAG_RESIZE, in, num, den);

    if (resized >= 0 && resized != in)
        dag->nodes[resized].mode = mode;
    return resized;
}

/* Counts the uses of what is needed, from the result back. */
static void count_uses(struct vrt_dag *dag, int result)
{
    dag->nodes[result].n_uses = 1;
    for (int i = result; i >= 0; i--)
        for (int k = 0; dag->nodes[i].n_uses && k < dag->nodes[i].n_in; k++)
            dag->nodes[dag->nodes[i].in[k]].n_uses++;
}

/* Leaves out what nobody uses. */
static int compact(struct vrt_dag *dag)
{
    VRT_CLEANUP(vrt_freep) int *places = calloc((size_t)dag->n_nodes, sizeof(*places));
    int n = 0;

    if (!places)
        return refuse_memory(dag);
    for (int i = 0; i < dag->n_nodes; i++) {
        struct vrt_dag_node *node = &dag->nodes[i];

        if (!node->n_uses) {
            drop_arrays(node);
            continue;
        }
        for (int k = 0; k < node->n_in; k++)
            node->in[k] = places[node->in[k]];
        places[i] = n;
        dag->nodes[n++] = *node;
    }
    dag->n_nodes = n;
    dag->result = n - 1;
    return 0;
}

/* What decides the precision: the result, sums that stand for themselves, and what they add. */
static void choose_f32(struct vrt_dag *dag)
{
    struct vrt_dag_node *result = &dag->nodes[dag->result];

    result->keeps_f32 = true;
    if (result->kind == VRT_DAG_SHUFFLE)
        dag->nodes[result->in[0]].keeps_f32 = true;
    for (int i = 0; i < dag->n_nodes; i++) {
        struct vrt_dag_node *node = &dag->nodes[i];

        if (node->kind == VRT_DAG_INPUT)
            node->keeps_f32 = true;
        if (node->kind != VRT_DAG_ADD)
            continue;
        node->keeps_f32 = true;
        for (int k = 0; k < node->n_in; k++)
            dag->nodes[node->in[k]].keeps_f32 |= dag->nodes[node->in[k]].kind != VRT_DAG_CONCAT;
    }
}

static bool begins_with(const struct vrt_dag_node *concat, const struct vrt_dag_node *other)
{
    return other->n_in <= concat->n_in &&
           memcmp(concat->in, other->in, (size_t)other->n_in * sizeof(other->in[0])) == 0;
}

/*
 * Where things are written so that concatenating costs nothing: a concat that another begins with
 * is the first channels of that, and what it joins is written there at once, unless it stays f32.
 */
static void choose_homes(struct vrt_dag *dag)
{
    int later = -1;

    for (int i = dag->n_nodes - 1; i >= 0; i--) {
        struct vrt_dag_node *node = &dag->nodes[i];
        int channel = 0;

        if (node->kind != VRT_DAG_CONCAT || i == dag->result)
            continue;
        if (later >= 0 && begins_with(&dag->nodes[later], node)) {
            node->home = later;
            continue;
        }
        later = i;
        for (int k = 0; k < node->n_in; k++) {
            struct vrt_dag_node *x = &dag->nodes[node->in[k]];

            if (!x->keeps_f32 && x->kind != VRT_DAG_CONCAT && x->home < 0) {
                x->home = i;
                x->home_channel = channel;
            }
            channel += x->channels;
        }
    }
}

int vrt_dag_finish(struct vrt_dag *dag, int result)
{
    const struct vrt_dag_node *node = &dag->nodes[result];

    dag->result = result;
    vrt_dag_set_where(dag, "result", "");
    if (node->channels != dag->nodes[0].channels)
        return vrt_dag_refuse(dag, "has %d channels where its input has %d", node->channels,
                              dag->nodes[0].channels);
    if (node->den != 1 || node->num > 16)
        return vrt_dag_refuse(dag, "has %d/%d of the input's size; vrtd runs networks that make "
                              "it 1 to 16 times as large", node->num, node->den);
    count_uses(dag, result);
    int r = vrt_dag_join(dag);
    if (r < 0)
        return vrt_fold(r);
    r = compact(dag);
    if (r < 0)
        return vrt_fold(r);
    vrt_dag_set_where(dag, "result", "");
    if (vrt_dag_multiple(dag) > RATIO_MAX)
        return vrt_dag_refuse(dag, "needs pictures whose sides are multiples of %d",
                              vrt_dag_multiple(dag));
    choose_f32(dag);
    choose_homes(dag);
    dag->error = NULL;
    dag->source = NULL;
    return 0;
}
