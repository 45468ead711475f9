/* SPDX-License-Identifier: MIT */
/*
 * Nodes of a file's graph become ops of ours: what one op does in one go is several nodes there
 *
 * A node that takes over the one before it keeps its own place, so that all that it needs still
 * comes before it; the one taken over is used by nobody any more. Only what has no other use can
 * be taken over.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "engine/dag/dag-impl.h"

#define AFFINE_MAX_CHANNELS 4       /* of the op */

static struct vrt_dag_node *in_of(struct vrt_dag *dag, const struct vrt_dag_node *node, int k)
{
    return &dag->nodes[node->in[k]];
}

/* Whether the node is of this kind, and used once: by whoever asks. */
static bool is_free(const struct vrt_dag_node *node, enum vrt_dag_kind kind)
{
    return node->kind == kind && node->n_uses == 1;
}

/* A convolution that more can be done with: nothing was added to it yet. */
static bool is_open_conv(const struct vrt_dag_node *node)
{
    return is_free(node, VRT_DAG_CONV) && node->n_in == 1;
}

/* One that nothing was done with at all. */
static bool is_bare_conv(const struct vrt_dag_node *node)
{
    return is_open_conv(node) && node->activation == VRT_ACTIVATION_NONE && node->scale == 1;
}

static void take_weights(struct vrt_dag_node *node, struct vrt_dag_node *other)
{
    free(node->weight);
    free(node->bias);
    node->weight = VRT_STEAL(other->weight);
    node->bias = VRT_STEAL(other->bias);
}

/* The node becomes what the convolution before it is, which is used by nobody else. */
static void take_over_conv(struct vrt_dag_node *node, struct vrt_dag_node *conv)
{
    node->kind = VRT_DAG_CONV;
    node->n_in = 1;
    node->in[0] = conv->in[0];
    node->kernel = conv->kernel;
    node->scale = conv->scale;
    take_weights(node, conv);
    if (conv->activation != VRT_ACTIVATION_NONE) {
        node->activation = conv->activation;
        node->slope = conv->slope;
        node->slopes = VRT_STEAL(conv->slopes);
    }
    conv->n_uses = 0;
}

/* The same factor for all channels, and nothing added. */
static bool is_factor(const struct vrt_dag_node *affine)
{
    for (int c = 0; c < affine->channels; c++)
        if (affine->weight[c] != affine->weight[0] || affine->bias[c] != 0)
            return false;
    return true;
}

static bool is_uniform(const struct vrt_dag_node *affine)
{
    for (int c = 1; c < affine->channels; c++)
        if (affine->weight[c] != affine->weight[0] || affine->bias[c] != affine->bias[0])
            return false;
    return true;
}

/* A 1x1 convolution that multiplies each channel by its factor (NULL: 1). */
static int become_diagonal(struct vrt_dag *dag, struct vrt_dag_node *node, const float *factors)
{
    const size_t n = (size_t)node->channels;
    float *weight;

    int r = vrt_dag_alloc(dag, (int64_t)(n * n), &weight);
    if (r < 0)
        return r;
    memset(weight, 0, n * n * sizeof(*weight));
    for (size_t c = 0; c < n; c++)
        weight[c * n + c] = factors ? factors[c] : 1;
    free(node->weight);
    node->weight = weight;
    node->kind = VRT_DAG_CONV;
    node->kernel = 1;
    node->scale = 1;
    return 0;
}

/* An activation is the last that a convolution does before it is scaled, or one of its own. */
static int join_activate(struct vrt_dag *dag, struct vrt_dag_node *node)
{
    struct vrt_dag_node *x = in_of(dag, node, 0);

    if (!is_bare_conv(x))
        return become_diagonal(dag, node, NULL);
    take_over_conv(node, x);
    return 0;
}

/* weight * s + t by each output's own s and t. */
static int fold_affine(struct vrt_dag *dag, struct vrt_dag_node *node, struct vrt_dag_node *conv)
{
    const size_t n = (size_t)node->channels;
    const size_t each = (size_t)in_of(dag, conv, 0)->channels * (size_t)(conv->kernel *
                                                                         conv->kernel);
    float *bias = node->bias;

    for (size_t o = 0; o < n; o++) {
        for (size_t i = 0; i < each; i++)
            conv->weight[o * each + i] *= node->weight[o];
        bias[o] += conv->bias ? conv->bias[o] * node->weight[o] : 0;
    }
    free(conv->bias);
    conv->bias = VRT_STEAL(node->bias);
    take_over_conv(node, conv);
    return 0;
}

static int join_affine(struct vrt_dag *dag, struct vrt_dag_node *node)
{
    struct vrt_dag_node *x = in_of(dag, node, 0);

    if (is_free(x, VRT_DAG_SQUASH) && is_uniform(node)) {
        const float factor = node->weight[0], shift = node->bias[0];

        node->kind = VRT_DAG_SQUASH;
        node->in[0] = x->in[0];
        node->slope = x->slope;
        node->scale = x->scale * factor;
        node->shift = x->shift * factor + shift;
        x->n_uses = 0;
        return 0;
    }
    if (is_free(x, VRT_DAG_AFFINE)) {
        for (int c = 0; c < node->channels; c++) {
            node->bias[c] += x->bias[c] * node->weight[c];
            node->weight[c] *= x->weight[c];
        }
        node->in[0] = x->in[0];
        x->n_uses = 0;
        return join_affine(dag, node);
    }
    if (is_open_conv(x) && is_factor(node)) {
        const float factor = node->weight[0];

        take_over_conv(node, x);
        node->scale *= factor;
        return 0;
    }
    return is_bare_conv(x) ? fold_affine(dag, node, x) : 0;
}

/* Factors of what is added are the sum's own. */
static void take_factor(struct vrt_dag *dag, struct vrt_dag_node *node, int k)
{
    struct vrt_dag_node *x = in_of(dag, node, k);

    if (!is_free(x, VRT_DAG_AFFINE) || !is_factor(x))
        return;
    *(k == 0 ? &node->scale : &node->scale_b) *= x->weight[0];
    node->in[k] = x->in[0];
    x->n_uses = 0;
}

/* A pixel shuffle that the enlarged picture is added to. */
static bool join_base(struct vrt_dag *dag, struct vrt_dag_node *node, int k)
{
    struct vrt_dag_node *x = in_of(dag, node, k), *other = in_of(dag, node, 1 - k);
    int base = node->in[1 - k];

    if (!is_free(x, VRT_DAG_SHUFFLE) || x->n_in != 1 || node->scale != 1 || node->scale_b != 1)
        return false;
    if (is_free(other, VRT_DAG_RESIZE) && other->mode == VRT_RESIZE_NEAREST) {
        const struct vrt_dag_node *small = in_of(dag, other, 0);
        const int up = node->num * small->den, down = node->den * small->num;

        if (up % down == 0) {
            base = other->in[0];
            other->n_uses = 0;
        }
    }
    node->kind = VRT_DAG_SHUFFLE;
    node->r = x->r;
    node->in[0] = x->in[0];
    node->in[1] = base;
    x->n_uses = 0;
    return true;
}

/* What is added to a convolution is its residual. */
static bool join_residual(struct vrt_dag *dag, struct vrt_dag_node *node)
{
    const int later = node->in[1] > node->in[0] ? 1 : 0;

    for (int i = 0; i < 2; i++) {
        const int k = i == 0 ? later : 1 - later, other = node->in[1 - k];
        const float factor = k == 0 ? node->scale : node->scale_b;
        struct vrt_dag_node *conv = in_of(dag, node, k);

        if (!is_open_conv(conv) || (k == 0 ? node->scale_b : node->scale) != 1)
            continue;
        take_over_conv(node, conv);
        node->scale *= factor;
        node->n_in = 2;
        node->in[1] = other;
        return true;
    }
    return false;
}

static int join_add(struct vrt_dag *dag, struct vrt_dag_node *node)
{
    take_factor(dag, node, 0);
    take_factor(dag, node, 1);
    if (join_residual(dag, node) || join_base(dag, node, 0) || join_base(dag, node, 1))
        return 0;
    if (node->scale_b == 1)
        return 0;
    if (node->scale != 1)
        return vrt_dag_refuse(dag, "adds what are both multiplied first, neither by a convolution");
    const int first = node->in[0];
    node->in[0] = node->in[1];
    node->in[1] = first;
    node->scale = node->scale_b;
    node->scale_b = 1;
    return 0;
}

/* sigmoid(slope * g): the factor is that of the convolution before it, or a node of its own. */
static int set_slope(struct vrt_dag *dag, struct vrt_dag_node *gate, int squash)
{
    struct vrt_dag_node *s = &dag->nodes[squash], *g = in_of(dag, s, 0);
    const float slope = s->slope;

    if (slope == 1 || is_open_conv(g)) {
        g->scale *= slope;
        gate->in[0] = s->in[0];
        s->n_uses = 0;
        return 0;
    }
    if (!s->weight) {
        int r = vrt_dag_alloc(dag, s->channels, &s->weight);
        if (r < 0)
            return r;
        r = vrt_dag_alloc(dag, s->channels, &s->bias);
        if (r < 0)
            return r;
    }
    for (int c = 0; c < s->channels; c++) {
        s->weight[c] = slope;
        s->bias[c] = 0;
    }
    s->kind = VRT_DAG_AFFINE;
    gate->in[0] = squash;
    return 0;
}

static int join_mul(struct vrt_dag *dag, struct vrt_dag_node *node)
{
    const int k = is_free(in_of(dag, node, 1), VRT_DAG_SQUASH) ? 1 : 0;
    struct vrt_dag_node *other = in_of(dag, node, 1 - k);
    const int squash = node->in[k];

    if (!is_free(&dag->nodes[squash], VRT_DAG_SQUASH))
        return vrt_dag_refuse(dag, "multiplies two pictures, neither of which is a sigmoid or tanh "
                              "used here alone: vrtd has no op for that");
    node->kind = VRT_DAG_GATE;
    node->in[1] = node->in[1 - k];
    node->n_in = 2;
    node->scale = dag->nodes[squash].scale;
    node->shift = dag->nodes[squash].shift;
    if (is_free(other, VRT_DAG_ADD) && other->scale == 1 && other->scale_b == 1) {
        node->in[1] = other->in[0];
        node->in[2] = other->in[1];
        node->n_in = 3;
        other->n_uses = 0;
    }
    return set_slope(dag, node, squash);
}

/*
 * Channels of squares in planes, (i*r + j)*C + c, to our order, (c*r + i)*r + j: the rows of `n`
 * blocks of r*r*C rows each are moved, where a row has `row` numbers.
 */
static int reorder(struct vrt_dag *dag, float *values, size_t n_blocks, int n_planes, int r,
                   size_t row)
{
    const size_t n = (size_t)(r * r * n_planes);
    VRT_CLEANUP(vrt_freep) float *old = malloc(n * row * sizeof(*old));

    if (!old)
        return vrt_refuse_errno(dag->error, vrt_raise(-ENOMEM), dag->source);
    for (size_t b = 0; b < n_blocks; b++) {
        float *block = values + b * n * row;

        memcpy(old, block, n * row * sizeof(*old));
        for (int c = 0; c < n_planes; c++)
            for (int ij = 0; ij < r * r; ij++)
                memcpy(block + (size_t)(c * r * r + ij) * row,
                       old + (size_t)(ij * n_planes + c) * row, row * sizeof(*old));
    }
    return 0;
}

static int join_shuffle(struct vrt_dag *dag, struct vrt_dag_node *node)
{
    struct vrt_dag_node *x = in_of(dag, node, 0);

    if (!node->is_planar)
        return 0;
    if (!is_open_conv(x))
        return vrt_dag_refuse(dag, "moves pixels that come in planes (DCR) and not from a "
                              "convolution: vrtd has no op for that");
    const size_t row = (size_t)in_of(dag, x, 0)->channels * (size_t)(x->kernel * x->kernel);
    float *const by_channel[] = { x->bias, x->slopes };
    int r = reorder(dag, x->weight, 1, node->channels, node->r, row);
    for (size_t i = 0; i < VRT_ARRAY_SIZE(by_channel) && r == 0; i++)
        r = by_channel[i] ? reorder(dag, by_channel[i], 1, node->channels, node->r, 1) : 0;
    return r;
}

/* A convolution of squares that come in planes. */
static int join_conv(struct vrt_dag *dag, struct vrt_dag_node *node)
{
    struct vrt_dag_node *x = in_of(dag, node, 0);

    if (!is_free(x, VRT_DAG_UNSHUFFLE) || !x->is_planar)
        return 0;
    x->is_planar = false;
    return reorder(dag, node->weight, (size_t)node->channels, in_of(dag, x, 0)->channels, x->r,
                   (size_t)(node->kernel * node->kernel));
}

static int join_node(struct vrt_dag *dag, struct vrt_dag_node *node)
{
    switch (node->kind) {
    case VRT_DAG_ACTIVATE: return join_activate(dag, node);
    case VRT_DAG_AFFINE: return join_affine(dag, node);
    case VRT_DAG_ADD: return join_add(dag, node);
    case VRT_DAG_MUL: return join_mul(dag, node);
    case VRT_DAG_SHUFFLE: return join_shuffle(dag, node);
    case VRT_DAG_CONV: return join_conv(dag, node);
    default: return 0;
    }
}

/* What is left that no op does, once all was joined that could be. */
static int settle(struct vrt_dag *dag, struct vrt_dag_node *node)
{
    if (node->kind == VRT_DAG_SQUASH)
        return vrt_dag_refuse(dag, "isn't multiplied with anything: vrtd has no op for that");
    if (node->kind == VRT_DAG_UNSHUFFLE && node->is_planar)
        return vrt_dag_refuse(dag, "moves pixels into planes for what isn't one convolution: vrtd "
                              "has no op for that");
    if (node->kind != VRT_DAG_AFFINE || node->channels <= AFFINE_MAX_CHANNELS)
        return 0;
    return become_diagonal(dag, node, node->weight);
}

int vrt_dag_join(struct vrt_dag *dag)
{
    int r = 0;

    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < dag->n_nodes && r == 0; i++) {
            struct vrt_dag_node *node = &dag->nodes[i];

            if (!node->n_uses)
                continue;
            memcpy(dag->where, node->where, sizeof(dag->where));
            r = pass == 0 ? join_node(dag, node) : settle(dag, node);
        }
    }
    return r;
}
