/* SPDX-License-Identifier: MIT */
/*
 * RIFE 4.15 to 4.26, step by step as model/rife-build.c has it: each step makes the planes that the
 * network computes, and the file's convolution that reads just those is the network's next.
 */

#include "model/carrier/rife.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"

#define SLOPE 0.2f
#define FLOWS 4
#define BLOCKS_MAX 5
#define RES_CONVS 8
#define SCALE_MAX 32

struct walk {
    struct vrt_planes *planes;
    struct vrt_carrier_tensors *tensors;
    const struct vrt_carrier_rife *ends;
    struct vrt_plane_list features[2];
    int scales[BLOCKS_MAX];
};

/* What a block hands on. */
struct state {
    struct vrt_plane_list flows, made;  /* empty: there are none yet */
};

static int refuse(struct walk *w, const char *name)
{
    vrt_dag_set_where(w->planes->dag, "network", "");
    return vrt_planes_refuse(w->planes, "warps pictures, and isn't RIFE 4.15 to 4.26 as vrtd runs "
                             "it (not an ensemble): what would be its %s isn't there, or reads "
                             "something else", name);
}

static bool same_numbers(const struct vrt_checkpoint_tensor *a,
                         const struct vrt_checkpoint_tensor *b)
{
    return a->n_elements == b->n_elements && memcmp(a->dims, b->dims, sizeof(a->dims)) == 0 &&
           memcmp(a->data, b->data, (size_t)a->n_elements * sizeof(float)) == 0;
}

/* The tensor by its name, or, where the network uses one twice, one that is the same. */
static void put(struct walk *w, const struct vrt_checkpoint_tensor *like, const char *format,
                const char *layer)
{
    struct vrt_checkpoint_tensor tensor = *like;
    char name[64];

    snprintf(name, sizeof(name), format, layer);
    tensor.name = name;
    tensor.n_elements = 1;
    for (int d = tensor.n_dims - 1; d >= 0; d--) {
        if (!tensor.strides[d])
            tensor.strides[d] = tensor.n_elements;
        tensor.n_elements *= tensor.dims[d];
    }
    const struct vrt_checkpoint_tensor *before = vrt_carrier_tensors_find(w->tensors, name);
    if (before && !same_numbers(before, &tensor))
        vrt_planes_refuse(w->planes, "has other weights for the second picture than for the first "
                          "(%s)", name);
    else if (!before && w->planes->r == 0 && vrt_carrier_tensors_put(w->tensors, &tensor) < 0)
        w->planes->r = vrt_refuse_errno(w->planes->dag->error, vrt_raise(-ENOMEM),
                                        w->planes->dag->source);
}

/* The convolution's weights as those of `layer`. Return: what it makes. */
static struct vrt_plane_list take(struct walk *w, const struct vrt_plane_conv *conv,
                                  const char *layer)
{
    const int k = conv->kernel, n_in = conv->in.n, n_out = conv->out.n;
    struct vrt_checkpoint_tensor weight = { .n_dims = 4, .dims = { n_out, n_in, k, k },
                                            .data = conv->weight };

    /* PyTorch has its inputs before its outputs. */
    if (conv->is_transposed) {
        weight.dims[0] = n_in;
        weight.dims[1] = n_out;
        weight.strides[0] = k * k;
        weight.strides[1] = (int64_t)n_in * k * k;
    }
    put(w, &weight, "%s.weight", layer);
    put(w, &(struct vrt_checkpoint_tensor){ .n_dims = 1, .dims = { n_out }, .data = conv->bias },
        "%s.bias", layer);
    return conv->out;
}

/* The convolution that reads x, as `layer`: of that stride, transposed where it is negative. */
static struct vrt_plane_list conv(struct walk *w, struct vrt_plane_list x, int stride,
                                  const char *layer)
{
    const struct vrt_plane_conv *found = vrt_planes_conv_of(w->planes, x);

    if (found && found->is_transposed == (stride < 0) &&
        found->stride == (stride < 0 ? -stride : stride) && found->kernel == (stride < 0 ? 4 : 3))
        return take(w, found, layer);
    refuse(w, layer);
    return (struct vrt_plane_list){ 0 };
}

static struct vrt_plane_list active_conv(struct walk *w, struct vrt_plane_list x, int stride,
                                         const char *layer)
{
    return vrt_planes_leaky(w->planes, conv(w, x, stride, layer), SLOPE);
}

static struct vrt_plane_list encode(struct walk *w, struct vrt_plane_list frame)
{
    struct vrt_plane_list x = active_conv(w, frame, 2, "encode.cnn0");

    x = active_conv(w, x, 1, "encode.cnn1");
    x = active_conv(w, x, 1, "encode.cnn2");
    return conv(w, x, -2, "encode.cnn3");
}

/* x moved by the flow to frame i; as it is where there are no flows yet. */
static struct vrt_plane_list move(struct walk *w, struct vrt_plane_list x,
                                  const struct state *state, int i)
{
    return state->flows.n == 0 ? x :
           vrt_planes_warp(w->planes, x, vrt_planes_cut(state->flows, 2 * i, 2));
}

/* What a block reads, at 1 / scale of the frames' size; `n_hints` of what the one before made. */
static struct vrt_plane_list gather(struct walk *w, const struct state *state, int scale,
                                    int n_hints)
{
    const float by = 1 / (float)scale;
    struct vrt_plane_list all[7], smaller;
    int n = 0;

    for (int k = 0; k < 2; k++)
        all[n++] = move(w, w->ends->frames[k], state, k);
    for (int k = 0; k < 2; k++)
        all[n++] = move(w, w->features[k], state, k);
    all[n++] = w->ends->time;
    if (state->flows.n > 0) {
        all[n++] = vrt_planes_cut(state->made, FLOWS, 1 + n_hints);
        smaller = vrt_planes_affine(w->planes, state->flows, by, 0);
        all[n++] = smaller;
    }
    return vrt_planes_resize(w->planes, vrt_planes_join(w->planes, all, n), by);
}

/* What block i reads, by trying the sizes, with hints and without. Fills in w->scales. */
static struct vrt_plane_list find_input(struct walk *w, const struct state *state, int i)
{
    const int n_hints = VRT_MAX(state->made.n - FLOWS - 1, 0);

    for (int scale = SCALE_MAX; scale >= 1 && w->planes->r == 0; scale /= 2)
        for (int some = n_hints > 0; some >= 0; some--) {
            const struct vrt_plane_list x = gather(w, state, scale, some ? n_hints : 0);

            if (!vrt_planes_conv_of(w->planes, x))
                continue;
            w->scales[i] = scale;
            return x;
        }
    return (struct vrt_plane_list){ 0 };
}

/* A beta of ones, where the file has it in the weights. Return: the constant's number; -1: that
 * failed. */
static int add_ones(struct walk *w, int n)
{
    float *values = malloc((size_t)n * sizeof(*values));

    if (!values) {
        w->planes->r = vrt_refuse_errno(w->planes->dag->error, vrt_raise(-ENOMEM),
                                        w->planes->dag->source);
        return -1;
    }
    for (int i = 0; i < n; i++)
        values[i] = 1;
    vrt_planes_constant(w->planes, values, n);
    return w->planes->r < 0 ? -1 : w->planes->n_constants - 1;
}

/* LeakyReLU(conv(x) * beta + x) */
static struct vrt_plane_list residual(struct walk *w, struct vrt_plane_list x, const char *layer)
{
    char name[48];

    snprintf(name, sizeof(name), "%s.conv", layer);
    const struct vrt_plane_list y = conv(w, x, 1, name);
    const int found = vrt_planes_factor_of(w->planes, y);
    const int factor = w->planes->r < 0 || found >= 0 ? found : add_ones(w, x.n);
    if (w->planes->r < 0 || factor < 0 || w->planes->constants[factor].n != x.n || y.n != x.n) {
        refuse(w, layer);
        return (struct vrt_plane_list){ 0 };
    }
    put(w, &(struct vrt_checkpoint_tensor){
        .n_dims = 4, .dims = { 1, x.n, 1, 1 }, .data = w->planes->constants[factor].values,
    }, "%s.beta", layer);
    const struct vrt_plane_list scaled = found < 0 ? y :
        vrt_planes_mul(w->planes, y, vrt_planes_constants(w->planes, factor));
    return vrt_planes_leaky(w->planes, vrt_planes_add(w->planes, scaled, x), SLOPE);
}

/* Block i: the flows that are there already, corrected, and what else it makes. */
static void block(struct walk *w, struct state *state, int i)
{
    struct vrt_plane_list x = find_input(w, state, i);
    char name[40];

    snprintf(name, sizeof(name), i == 0 ? "block%d" : "result or block%d", i);
    if (x.n == 0)
        refuse(w, name);
    snprintf(name, sizeof(name), "block%d.conv0.0.0", i);
    x = active_conv(w, x, 2, name);
    snprintf(name, sizeof(name), "block%d.conv0.1.0", i);
    x = active_conv(w, x, 2, name);
    for (int k = 0; k < RES_CONVS && w->planes->r == 0; k++) {
        snprintf(name, sizeof(name), "block%d.convblock.%d", i, k);
        x = residual(w, x, name);
    }
    snprintf(name, sizeof(name), "block%d.lastconv.0", i);
    x = vrt_planes_shuffle(w->planes, conv(w, x, -2, name));
    const float scale = (float)w->scales[i];
    state->made = vrt_planes_resize(w->planes, x, scale);
    const struct vrt_plane_list more = vrt_planes_affine(
        w->planes, vrt_planes_cut(state->made, 0, FLOWS), scale, 0);
    state->flows = i == 0 ? more : vrt_planes_add(w->planes, state->flows, more);
}

/* first * m + second * (1 - m), of both frames moved by the flows, m = sigmoid(mask) */
static struct vrt_plane_list mix(struct walk *w, const struct state *state)
{
    const struct vrt_plane_list m = vrt_planes_sigmoid(w->planes,
                                                       vrt_planes_cut(state->made, FLOWS, 1));
    const struct vrt_plane_list rest = vrt_planes_affine(w->planes, m, -1, 1);
    const struct vrt_plane_list first = move(w, w->ends->frames[0], state, 0);
    const struct vrt_plane_list second = move(w, w->ends->frames[1], state, 1);

    if (w->planes->r < 0)
        return (struct vrt_plane_list){ 0 };
    return vrt_planes_add(w->planes, vrt_planes_mul(w->planes, first, m),
                          vrt_planes_mul(w->planes, second, rest));
}

/* Whether the file pads pictures as vrtd does: to what each block's two convolutions halve. */
static int check_edge(struct walk *w)
{
    const int64_t multiple = 4 * w->scales[0];

    for (int k = 0; k < 2; k++) {
        const int64_t size = w->ends->size[k], padded = w->ends->padded[k];

        if (padded != size && padded != (size + multiple - 1) / multiple * multiple) {
            vrt_dag_set_where(w->planes->dag, "network", "");
            return vrt_planes_refuse(w->planes, "pads pictures of %lld to %lld rows or columns, "
                                     "where vrtd goes to a multiple of %lld", (long long)size,
                                     (long long)padded, (long long)multiple);
        }
    }
    return 0;
}

static void tell_scales(struct walk *w, int n_blocks)
{
    char *value = w->tensors->metadata[1];
    int at = 0;

    snprintf(w->tensors->metadata[0], sizeof(w->tensors->metadata[0]), "scales");
    for (int i = 0; i < n_blocks; i++)
        at += snprintf(value + at, sizeof(w->tensors->metadata[1]) - (size_t)at, "%s%d",
                       i ? "," : "", w->scales[i]);
}

/* The tensors' data are those of `planes`. Return: as vrt_carrier_rife_read(). */
static int find(struct vrt_planes *planes, const struct vrt_carrier_rife *ends,
                struct vrt_carrier_tensors *tensors)
{
    struct walk w = { .planes = planes, .tensors = tensors, .ends = ends };
    struct state state = { 0 };

    for (int k = 0; k < 2 && planes->r == 0; k++)
        w.features[k] = encode(&w, ends->frames[k]);
    for (int i = 0; i < BLOCKS_MAX && planes->r == 0; i++) {
        block(&w, &state, i);
        if (planes->r == 0 && state.made.n <= FLOWS)
            return refuse(&w, "mask");
        if (planes->r < 0 || !vrt_planes_same(mix(&w, &state), ends->result))
            continue;
        tell_scales(&w, i + 1);
        return check_edge(&w);
    }
    return refuse(&w, "result");
}

int vrt_carrier_rife_read(const struct vrt_dag_file *file, struct vrt_dag *dag,
                          vrt_carrier_rife_reader *read, void *source,
                          struct vrt_checkpoint **ret_checkpoint)
{
    VRT_CLEANUP(vrt_freep) struct vrt_planes *planes = malloc(sizeof(*planes));
    struct vrt_carrier_tensors tensors = { 0 };
    struct vrt_carrier_rife ends = { 0 };

    if (!planes)
        return vrt_refuse_errno(file->error, vrt_raise(-ENOMEM), file->name);
    vrt_planes_init(planes, dag);
    int r = read(source, planes, &ends);
    if (r == 0)
        r = find(planes, &ends, &tensors);
    if (r == 0)
        r = vrt_carrier_tensors_to_checkpoint(&tensors, file->name, ret_checkpoint, file->error);
    vrt_carrier_tensors_done(&tensors);
    vrt_planes_done(planes);
    return vrt_fold(r);
}
