/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A network: what a checkpoint turned out to hold
 *
 * Which architecture it is, and its every size, is read from the tensors' names and shapes alone.
 * The object keeps the weights as host params (f32), which replicas are made from, and builds the
 * graph for any size of work.
 *
 * Thread: immutable once made: any number at a time.
 */

#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "engine/graph.h"

struct vrt_checkpoint;
struct vrt_network;

/* error->id of the refusal of a checkpoint that is fine, but of no network that we run. */
#define VRT_NETWORK_E_UNKNOWN "model.unknown_architecture"

/* What users and the tiler need to know of a network. */
struct vrt_network_info {
    const char *architecture;       /* "compact", "esrgan" */
    char description[128];          /* "SRVGGNetCompact, 24 features, 8 convolutions, x2" */
    int scale;                      /* output size over input size */
    int in_channels, out_channels;  /* 3, or 1 for gray networks */
    int multiple;                   /* of which a tile's origin must be one (pixel-unshuffle) */
    int radius;                     /* input pixels around one that can reach its output */
    int64_t n_parameters;
};

/*
 * Recognises the network in `checkpoint` and takes over its weights; the checkpoint may be freed
 * afterwards. `name` is for messages.
 * Return: 0; -EINVAL if no architecture fits (error->id is VRT_NETWORK_E_UNKNOWN), or a tensor is
 * missing, extra, misshapen or not finite (the error names it; its id is
 * VRT_CHECKPOINT_E_INVALID); -ENOMEM.
 */
int vrt_network_new(const struct vrt_checkpoint *checkpoint, const char *name,
                    struct vrt_network **ret_network, struct vrt_error *error) VRT_MUST_CHECK;

/* Networks are shared by jobs and workers. Return: network; NULL. */
struct vrt_network *vrt_network_ref(struct vrt_network *network);
struct vrt_network *vrt_network_unref(struct vrt_network *network);

/* Lives as long as the network. */
const struct vrt_network_info *vrt_network_info(const struct vrt_network *network);

/* The params that the graph's ops refer to by index; for vrt_replica_new(). */
const struct vrt_param *vrt_network_params(const struct vrt_network *network, size_t *ret_n_params);

/* Checksum (FNV-1a 64) over description, names, shapes and values: the network's identity. */
uint64_t vrt_network_checksum(const struct vrt_network *network);

/*
 * Appends the network to `graph`: from `in` [D,H,W,in_channels] f32 in [0,1] to a result of
 * [D,H*scale,W*scale,out_channels] f32, which is written to `out`. H and W are any size from 1:
 * what isn't a multiple is padded inside. Activations between are of `dtype`; what is added up
 * over the whole depth of the network (the enlarged input, the trunk of residual blocks) stays f32.
 * Return: vrt_graph_status(); -EINVAL if `in` and `out` aren't of these shapes.
 */
int vrt_network_build(const struct vrt_network *network, struct vrt_graph *graph,
                      const struct vrt_tensor *in, const struct vrt_tensor *out,
                      enum vrt_dtype dtype);

VRT_DEFINE_CLEANUP(struct vrt_network, vrt_network_unref)
