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
struct vrt_dag;
struct vrt_network;

/* error->id of the refusal of a checkpoint that is fine, but of no network that we run. */
#define VRT_NETWORK_E_UNKNOWN "model.unknown_architecture"

/* What users, the tiler and whoever cuts clips need to know of a network. */
struct vrt_network_info {
    const char *architecture;       /* "compact", "esrgan", "vrt" */
    char description[128];          /* "SRVGGNetCompact, 24 features, 8 convolutions, x2" */
    int scale;                      /* output size over input size */
    int in_channels, out_channels;  /* 3, or 1 for gray networks */
    int multiple;                   /* of which a tile's origin must be one (pixel-unshuffle), and
                                     * to which vrt_network_build() extends sizes */
    int min_size;                   /* the least H and W it is defined for: extended to it, too */
    int radius;                     /* input pixels around one that can reach its output; where
                                     * that is all of them (window_frames > 1), what its authors
                                     * let tiles reach beyond each of their edges */
    int tile_size;                  /* input pixels of a tile's edge as its authors cut them; 0:
                                     * they don't say */
    int tile_overlap;               /* input pixels that neighbouring tiles share as its authors
                                     * cut them, or must share; 0: nobody says */
    int window_frames;              /* frames that it looks at together; 1: each by itself */
    bool any_length;                /* of clips: none is extended to whole windows */
    int min_frames;                 /* the fewest frames of a clip */
    int max_frames;                 /* the most; 0: any number */
    int out_frames;                 /* what comes out of a clip; 0: as many frames as go in */
    bool any_times;                 /* or any other number of frames, evenly between those two in
                                     * the midst of the clip: out_frames is one of many */
    int clip_frames, clip_overlap;  /* how its authors cut videos: frames of a clip; those shared
                                     * with the next. 1 and 0: frame by frame */
    bool takes_noise;               /* it is told how strong the noise is that it shall remove */
    int64_t n_parameters;
};

/* Gives a tensor inside the network to somebody who watches it being built. */
struct vrt_network_taps {
    void (*tap)(const struct vrt_network_taps *taps, struct vrt_graph *graph, const char *name,
                const struct vrt_tensor *tensor);
};

/* When the frames are that a network makes between two: frame k at (first + k * every) / of of the
 * time from one to the other; of 0: evenly, as many as it makes. */
struct vrt_network_moments {
    int first, every, of;
};

/* What a network is built for. It needs to live only until the function returns. */
struct vrt_network_use {
    enum vrt_dtype dtype;           /* of activations; the replica's */
    float noise;                    /* standard deviation of the noise, where 1 is white;
                                     * for networks that take it (info.takes_noise) */
    struct vrt_network_moments moments;     /* of info.any_times */
    const struct vrt_network_taps *taps;    /* for tests; NULL: none */
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

/* The same of a file's own graph, which is taken over, whatever the outcome. */
int vrt_network_new_dag(struct vrt_dag *dag, const char *name, struct vrt_network **ret_network,
                        struct vrt_error *error) VRT_MUST_CHECK;

/* Reads the file `fd`, of any kind, and makes its network, as the functions above do; how
 * large it is and how long that took is logged. */
int vrt_network_read(int fd, const char *name, struct vrt_network **ret_network,
                     struct vrt_error *error) VRT_MUST_CHECK;

/* Networks are shared by jobs and workers. Return: network; NULL. */
struct vrt_network *vrt_network_ref(struct vrt_network *network);
struct vrt_network *vrt_network_unref(struct vrt_network *network);

/*
 * What lies between two networks of SRVGGNetCompact that have the same layers: each weight is
 * `share` (0 to 1) of a's, the rest of b's. Both stay the caller's.
 * Return: 0, *ret_network is a reference; -EINVAL: they aren't alike; -ENOMEM. `error` says why.
 */
int vrt_network_blend(const struct vrt_network *a, const struct vrt_network *b, double share,
                      struct vrt_network **ret_network, struct vrt_error *error) VRT_MUST_CHECK;

/* Lives as long as the network. */
const struct vrt_network_info *vrt_network_info(const struct vrt_network *network);

/* The params that the graph's ops refer to by index; for vrt_replica_new(). */
const struct vrt_param *vrt_network_params(const struct vrt_network *network, size_t *ret_n_params);

/* Of how many frames clips are a multiple. */
static inline int vrt_network_clip_step(const struct vrt_network_info *info)
{
    return info->any_length ? 1 : info->window_frames;
}

/* Checksum (FNV-1a 64) over description, names, shapes and values: the network's identity. */
uint64_t vrt_network_checksum(const struct vrt_network *network);

/* The shape of what the network makes of a clip of shape `in`: with out_frames frames. */
struct vrt_shape vrt_network_out_shape(const struct vrt_network *network, struct vrt_shape in);

/*
 * Appends the network to `graph`: from `in` [D,H,W,in_channels] f32 in [0,1] to a result of
 * vrt_network_out_shape(), f32, which is written to `out`; with info.any_times, of as many frames
 * as `out` has. H and W are any size from 1: what is no
 * multiple or too small is extended inside, mirrored, and the result cropped. D is at least
 * info.min_frames (and at most max_frames): how a video shorter than that is extended is for the
 * caller to say. Activations between are of use->dtype; what is added up over the whole depth of
 * the network (the enlarged input, the trunk of residual blocks) stays f32.
 * Return: vrt_graph_status(); -EINVAL if `in` and `out` aren't of these shapes.
 */
int vrt_network_build(const struct vrt_network *network, struct vrt_graph *graph,
                      const struct vrt_tensor *in, const struct vrt_tensor *out,
                      const struct vrt_network_use *use);

VRT_DEFINE_CLEANUP(struct vrt_network, vrt_network_unref)
