/* SPDX-License-Identifier: MIT */
/* The network object: recognition by the table of architectures, and what all of them share. */

#include "model/network.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/log.h"
#include "engine/checkpoint.h"
#include "engine/checkpoint/image.h"
#include "engine/dag/read.h"
#include "model/architecture.h"
#include "model/carrier/carrier.h"
#include "model/parts/layers.h"

#define VRT_LOG_TOPIC "network"

#define N_NAMES_SHOWN 4
#define BYTES_PER_MIB (1 << 20)

static const struct vrt_architecture *const architectures[] = {
    &vrt_architecture_basicvsr,
    &vrt_architecture_compact,
    &vrt_architecture_esrgan,
    &vrt_architecture_rife,
    &vrt_architecture_span,
    &vrt_architecture_swinir,
    &vrt_architecture_vrt,
};

/* "BasicVSR++, SRVGGNetCompact and VRT" */
static int append_known(struct vrt_buf *text)
{
    const size_t n = VRT_ARRAY_SIZE(architectures);
    int r = 0;

    for (size_t i = 0; i < n && r == 0; i++)
        r = vrt_buf_printf(text, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " and ",
                           architectures[i]->network);
    return r;
}

/* "body.0.weight", "body.0.bias", ... */
static int append_names(struct vrt_buf *text, const struct vrt_checkpoint *checkpoint)
{
    int n_tensors = vrt_checkpoint_n_tensors(checkpoint), r = 0;
    char name[56];

    for (int i = 0; i < VRT_MIN(n_tensors, N_NAMES_SHOWN) && r == 0; i++)
        r = vrt_buf_printf(text, "%s\"%s\"", i ? ", " : "",
                           vrt_printable(vrt_checkpoint_tensor(checkpoint, i)->name, name,
                                         sizeof(name)));
    if (r < 0 || n_tensors <= N_NAMES_SHOWN)
        return r;
    return vrt_buf_printf(text, ", ...");
}

static int refuse_unknown(const struct vrt_checkpoint *checkpoint, const char *source,
                          struct vrt_error *error)
{
    const char *foreign = vrt_foreign_name(checkpoint);
    struct vrt_buf known = { 0 }, names = { 0 };
    int r = append_known(&known);

    if (r == 0)
        r = append_names(&names, checkpoint);
    if (r < 0)
        r = vrt_refuse_errno(error, r, source);
    else if (foreign)
        r = vrt_refuse(error, -EINVAL, VRT_NETWORK_E_UNKNOWN,
                       "%s looks like %s, which vrtd doesn't run; it runs %s networks", source,
                       foreign, known.data);
    else
        r = vrt_refuse(error, -EINVAL, VRT_NETWORK_E_UNKNOWN,
                       "%s holds no network that vrtd knows, which are %s: its tensors are %s",
                       source, known.data, names.data);
    vrt_buf_done(&known);
    vrt_buf_done(&names);
    return r;
}

/* FNV-1a: not against forgery, but to tell networks apart and find a replica that was damaged. */
static uint64_t hash(uint64_t h, const void *data, size_t size)
{
    const unsigned char *bytes = data;

    for (size_t i = 0; i < size; i++)
        h = (h ^ bytes[i]) * UINT64_C(0x100000001b3);
    return h;
}

/* What a graph's nodes are, but for their params. */
static uint64_t hash_dag(uint64_t h, const struct vrt_dag *dag)
{
    for (int i = 0; i < dag->n_nodes; i++) {
        const struct vrt_dag_node *node = &dag->nodes[i];
        const int sizes[] = { (int)node->kind, node->n_in, node->channels, node->num, node->den,
                              node->kernel, node->r, node->r_in, (int)node->activation,
                              (int)node->mode };
        const float factors[] = { node->slope, node->scale, node->scale_b, node->shift };

        h = hash(h, sizes, sizeof(sizes));
        h = hash(h, node->in, (size_t)node->n_in * sizeof(*node->in));
        h = hash(h, factors, sizeof(factors));
        if (node->kind != VRT_DAG_AFFINE)
            continue;
        h = hash(h, node->weight, (size_t)node->channels * sizeof(*node->weight));
        h = hash(h, node->bias, (size_t)node->channels * sizeof(*node->bias));
    }
    return dag->edge ? hash(h, &dag->edge, sizeof(dag->edge)) : h;
}

/* The description is hashed too: an activation without params changes nothing else. So is how
 * often the computation itself was changed: what was measured of another isn't this network's. */
uint64_t vrt_network_sum(const struct vrt_network *network)
{
    const char *description = network->info.description;
    const int revision = network->architecture->revision;
    uint64_t h = hash(UINT64_C(0xcbf29ce484222325), description, strlen(description) + 1);

    if (revision)
        h = hash(h, &revision, sizeof(revision));
    for (size_t i = 0; i < network->params.n_items; i++) {
        const struct vrt_param *param = &network->params.items[i];
        size_t n_values = 1;

        for (int k = 0; k < param->n_dims; k++)
            n_values *= (size_t)param->dims[k];
        h = hash(h, param->name, strlen(param->name) + 1);
        h = hash(h, param->dims, (size_t)param->n_dims * sizeof(*param->dims));
        h = hash(h, param->data, n_values * sizeof(*param->data));
    }
    return network->dag ? hash_dag(h, network->dag) : h;
}

/* Fills the network in. The checkpoint (NULL: a graph instead) is borrowed for that long, and
 * nothing of it is kept. */
static int load(struct vrt_network *network, const struct vrt_checkpoint *checkpoint,
                const char *source, struct vrt_error *error)
{
    struct vrt_params *params = &network->params;

    params->checkpoint = checkpoint;
    params->source = source;
    params->network = network->architecture->network;
    params->error = error;

    network->info = (struct vrt_network_info){
        .multiple = 1,
        .min_size = 1,
        .window_frames = 1,
        .min_frames = 1,
        .clip_frames = 1,
    };
    int r = network->architecture->load(network, params);
    if (r == 0 && checkpoint)
        r = vrt_params_finish(params);
    free(params->taken);
    params->taken = NULL;
    params->n_taken = params->capacity_taken = 0;
    params->checkpoint = NULL;
    params->source = NULL;
    params->error = NULL;
    if (r < 0)
        return vrt_fold(r);
    network->info.architecture = network->architecture->name;
    network->info.n_parameters = params->n_values;
    network->checksum = vrt_network_sum(network);
    return 0;
}

/* The first that knows the names: from here on the file is that network, or a broken one. */
static const struct vrt_architecture *recognise(const struct vrt_checkpoint *checkpoint)
{
    for (size_t i = 0; i < VRT_ARRAY_SIZE(architectures); i++)
        if (architectures[i]->recognise(checkpoint))
            return architectures[i];
    return NULL;
}

/* Makes the network of a checkpoint or of a graph, which it owns from then on. */
static int make(const struct vrt_architecture *architecture,
                const struct vrt_checkpoint *checkpoint, struct vrt_dag *dag, const char *name,
                struct vrt_network **ret_network, struct vrt_error *error)
{
    VRT_CLEANUP(vrt_network_unrefp) struct vrt_network *network = calloc(1, sizeof(*network));

    if (!network) {
        vrt_dag_free(dag);
        return vrt_refuse_errno(error, vrt_raise(-ENOMEM), name);
    }
    atomic_init(&network->n_refs, 1);
    network->architecture = architecture;
    network->dag = dag;
    int r = load(network, checkpoint, name, error);
    if (r < 0)
        return vrt_fold(r);
    *ret_network = VRT_STEAL(network);
    return 0;
}

int vrt_network_new(const struct vrt_checkpoint *checkpoint, const char *name,
                    struct vrt_network **ret_network, struct vrt_error *error)
{
    const struct vrt_architecture *architecture = recognise(checkpoint);

    if (!architecture)
        return refuse_unknown(checkpoint, name, error);
    return vrt_fold(make(architecture, checkpoint, NULL, name, ret_network, error));
}

int vrt_network_new_dag(struct vrt_dag *dag, const char *name, struct vrt_network **ret_network,
                        struct vrt_error *error)
{
    return vrt_fold(make(&vrt_architecture_dag, NULL, dag, name, ret_network, error));
}

struct seen {
    const char *name;
};

/* Before anything of the tensors is read: whether they may be a network's. */
static int look(void *ctx, const struct vrt_checkpoint *checkpoint, struct vrt_error *error)
{
    const struct seen *seen = ctx;
    int64_t n_values = 0;

    if (!recognise(checkpoint))
        return refuse_unknown(checkpoint, seen->name, error);
    for (int i = 0; i < vrt_checkpoint_n_tensors(checkpoint); i++)
        n_values += vrt_checkpoint_tensor(checkpoint, i)->n_elements;
    if (n_values <= 2 * VRT_PARAMS_VALUES_MAX)
        return 0;
    return vrt_refuse(error, -EINVAL, VRT_CHECKPOINT_E_INVALID, "%s holds %" PRId64 " numbers, "
                      "which is more than a network may have", seen->name, n_values);
}

/* Of a file without a graph. */
static int read_checkpoint(int fd, const char *name, struct vrt_network **ret_network,
                           struct vrt_error *error)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    struct seen seen = { name };

    int r = vrt_checkpoint_open(fd, name, &(struct vrt_checkpoint_look){ look, &seen },
                                &checkpoint, error);
    if (r < 0)
        return vrt_fold(r);
    return vrt_fold(vrt_network_new(checkpoint, name, ret_network, error));
}

/* Of a file's graph, or of the network that it is that of; *ret_network NULL: it states none. */
static int read_graph(const struct vrt_dag_file *file, struct vrt_network **ret_network)
{
    VRT_CLEANUP(vrt_checkpoint_freep) struct vrt_checkpoint *checkpoint = NULL;
    struct vrt_dag *dag = NULL;
    int r = vrt_dag_read(file, &dag);

    *ret_network = NULL;
    if (r == VRT_DAG_E_CARRIER) {
        r = vrt_carrier_read(file, &checkpoint);
        return r < 0 ? vrt_fold(r) :
               vrt_fold(vrt_network_new(checkpoint, file->name, ret_network, file->error));
    }
    return r < 0 || !dag ? vrt_fold(r) :
           vrt_fold(vrt_network_new_dag(dag, file->name, ret_network, file->error));
}

/* Of a file of any kind. */
static int read_any(int fd, const char *name, struct vrt_network **ret_network,
                    struct vrt_error *error)
{
    struct vrt_image image = { 0 };
    char shown[160];

    int r = vrt_image_init(&image, fd, name, error);
    if (r < 0)
        return vrt_fold(r);
    r = read_graph(&(struct vrt_dag_file){
        .data = image.data,
        .size_bytes = image.size_bytes,
        .image = &image,
        .name = vrt_printable(name, shown, sizeof(shown)),
        .error = error,
    }, ret_network);
    vrt_image_done(&image);
    return r < 0 || *ret_network ? vrt_fold(r) :
           vrt_fold(read_checkpoint(fd, name, ret_network, error));
}

int vrt_network_read(int fd, const char *name, struct vrt_network **ret_network,
                     struct vrt_error *error)
{
    const int64_t start_ns = vrt_clock_now_ns();
    struct stat st;

    int r = read_any(fd, name, ret_network, error);
    if (r < 0)
        return vrt_fold(r);
    const struct vrt_network_info *info = vrt_network_info(*ret_network);
    vrt_log_info("the model %s was read in %.2f s: %s, %.1f million parameters, %.1f MiB", name,
                 (double)(vrt_clock_now_ns() - start_ns) / VRT_NS_PER_S, info->description,
                 (double)info->n_parameters / 1e6,
                 fstat(fd, &st) == 0 ? (double)st.st_size / BYTES_PER_MIB : 0.0);
    return 0;
}

struct vrt_network *vrt_network_ref(struct vrt_network *network)
{
    atomic_fetch_add_explicit(&network->n_refs, 1, memory_order_relaxed);
    return network;
}

struct vrt_network *vrt_network_unref(struct vrt_network *network)
{
    if (!network || atomic_fetch_sub_explicit(&network->n_refs, 1, memory_order_acq_rel) > 1)
        return NULL;
    vrt_params_done(&network->params);
    vrt_dag_free(network->dag);
    free(network);
    return NULL;
}

const struct vrt_network_info *vrt_network_info(const struct vrt_network *network)
{
    return &network->info;
}

const struct vrt_param *vrt_network_params(const struct vrt_network *network, size_t *ret_n_params)
{
    *ret_n_params = network->params.n_items;
    return network->params.items;
}

uint64_t vrt_network_checksum(const struct vrt_network *network)
{
    return network->checksum;
}

struct vrt_shape vrt_network_out_shape(const struct vrt_network *network, struct vrt_shape in)
{
    const struct vrt_network_info *info = &network->info;

    return (struct vrt_shape){
        .d = info->out_frames ? info->out_frames : in.d,
        .h = in.h * info->scale,
        .w = in.w * info->scale,
        .c = info->out_channels,
    };
}

/* Whether `in` is what vrt_network_build() asks for, and the extended sizes fit an int. */
static bool takes(const struct vrt_network_info *info, const struct vrt_tensor *in)
{
    const struct vrt_shape shape = in->shape;
    int limit = INT_MAX / info->scale - info->multiple;

    return vrt_tensor_exists(in) && in->dtype == VRT_DTYPE_F32 && shape.c == info->in_channels &&
           shape.d >= info->min_frames && (!info->max_frames || shape.d <= info->max_frames) &&
           shape.h >= 1 && shape.w >= 1 && shape.h <= limit && shape.w <= limit;
}

/* `size`, or the next that the network is defined for. */
static int extended(const struct vrt_network_info *info, int size)
{
    size = VRT_MAX(size, info->min_size);
    return (size + info->multiple - 1) / info->multiple * info->multiple;
}

/* Appends the ops, within what extends the sizes where that is needed. */
static void append(const struct vrt_network *network, struct vrt_graph *graph,
                   const struct vrt_tensor *in, const struct vrt_tensor *out,
                   const struct vrt_network_use *use)
{
    const struct vrt_architecture *architecture = network->architecture;
    struct vrt_shape shape = in->shape;

    shape.h = extended(&network->info, shape.h);
    shape.w = extended(&network->info, shape.w);
    if (vrt_shape_equal(shape, in->shape)) {
        architecture->build(network, graph, in, out, use);
        return;
    }

    /* Mirrored rather than zero: an edge of black would be seen by the pixels inside. */
    struct vrt_tensor padded_in = vrt_graph_tensor(graph, VRT_DTYPE_F32, shape);
    struct vrt_shape out_shape = vrt_network_out_shape(network, shape);
    out_shape.d = out->shape.d;
    struct vrt_tensor padded_out = vrt_graph_tensor(graph, VRT_DTYPE_F32, out_shape);
    if (vrt_graph_status(graph) < 0)
        return;

    vrt_layer_pad(graph, in, &(struct vrt_op_pad){ .mode = architecture->pad_mode }, &padded_in);
    architecture->build(network, graph, &padded_in, &padded_out, use);
    struct vrt_tensor cropped = vrt_tensor_crop(&padded_out, 0, 0, out->shape.h, out->shape.w);
    vrt_layer_copy(graph, &cropped, out);
}

int vrt_network_build(const struct vrt_network *network, struct vrt_graph *graph,
                      const struct vrt_tensor *in, const struct vrt_tensor *out,
                      const struct vrt_network_use *use)
{
    if (vrt_graph_status(graph) < 0)
        return vrt_fold(vrt_graph_status(graph));
    if (!takes(&network->info, in) || !vrt_tensor_exists(out) || out->dtype != VRT_DTYPE_F32)
        return vrt_raise(-EINVAL);
    struct vrt_shape wanted = vrt_network_out_shape(network, in->shape);
    if (network->info.any_times)
        wanted.d = out->shape.d;
    if (!vrt_shape_equal(out->shape, wanted))
        return vrt_raise(-EINVAL);

    /* What of the network's params is kept in which type is known here, and nowhere after. */
    vrt_graph_set_params(graph, network->params.items, network->params.n_items, use->dtype);
    append(network, graph, in, out, use);
    vrt_graph_set_params(graph, NULL, 0, VRT_DTYPE_F32);
    return vrt_fold(vrt_graph_status(graph));
}
