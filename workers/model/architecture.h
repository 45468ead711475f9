/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Architectures, for those who implement them: one file each, one entry in network.c's table
 *
 * Callers use "model/network.h".
 */

#include <stdatomic.h>

#include "model/basicvsr.h"
#include "model/network.h"
#include "model/parts/params.h"
#include "model/rife.h"
#include "model/swinir.h"
#include "model/vrt.h"

struct vrt_architecture {
    const char *name;               /* "compact": in the API and in logs */
    const char *network;            /* what its authors call it: "SRVGGNetCompact" */
    int revision;                   /* one more whenever the same params are computed otherwise */

    /* Whether the names are those of this architecture; errors in it are for load() to find. NULL:
     * it is none of checkpoints. */
    bool (*recognise)(const struct vrt_checkpoint *checkpoint);

    /* How pictures are extended to sizes that the network is defined for. */
    enum vrt_pad_mode pad_mode;

    /* Takes every param, and fills in the network's sizes and what of its info isn't that of a
     * network that looks at each frame by itself and at any size. Return: 0, -errno. */
    int (*load)(struct vrt_network *network, struct vrt_params *params);

    /* Appends the ops; H and W of `in` are multiples of info.multiple, and at least min_size. */
    void (*build)(const struct vrt_network *network, struct vrt_graph *graph,
                  const struct vrt_tensor *in, const struct vrt_tensor *out,
                  const struct vrt_network_use *use);
};

/* Convolutions one after the other: the params of each are weight, bias and, for PReLU, slopes. */
struct vrt_compact {
    int n_convs;                    /* the first and the last included */
    int features;
    enum vrt_activation activation;
};

/* Params: in the order of computation, the 1x1 convolution of a dense block before its others. */
struct vrt_esrgan {
    int features, growth;           /* channels of the trunk; of each dense convolution */
    int n_blocks;                   /* residual in residual dense blocks */
    int n_up;                       /* doublings at the end */
    int unshuffle;                  /* side of the squares folded into channels first; 1: none */
    bool plus;                      /* ESRGAN+: 1x1 convolutions past the dense ones */
};

/* SPAN and SPANF3. Params, each weight with its bias after it: first; for each block three and,
 * with SPANF3, its attention; SPAN's after the blocks; the one that joins them; the last. */
struct vrt_span {
    int features, n_blocks;
    int unshuffle;                  /* side of the squares folded into channels first; 1: none */
    int up_scale;                   /* of the pixel shuffle at the end */
    bool is_f3;                     /* SPANF3 */
    bool is_normed;                 /* samples less their mean, times 255: SPAN without "no_norm" */
};

struct vrt_network {
    atomic_int n_refs;

    /* immutable */
    const struct vrt_architecture *architecture;
    struct vrt_network_info info;
    struct vrt_params params;
    uint64_t checksum;
    struct vrt_dag *dag;            /* owned: of a file with a graph of its own; NULL: others */
    union {
        struct vrt_basicvsr basicvsr;
        struct vrt_compact compact;
        struct vrt_esrgan esrgan;
        struct vrt_rife rife;
        struct vrt_span span;
        struct vrt_swinir swinir;
        struct vrt_vrt vrt;
    };
};

extern const struct vrt_architecture vrt_architecture_basicvsr;
extern const struct vrt_architecture vrt_architecture_compact;
extern const struct vrt_architecture vrt_architecture_dag;
extern const struct vrt_architecture vrt_architecture_esrgan;
extern const struct vrt_architecture vrt_architecture_rife;
extern const struct vrt_architecture vrt_architecture_span;
extern const struct vrt_architecture vrt_architecture_swinir;
extern const struct vrt_architecture vrt_architecture_vrt;

/* The checksum of its description, params and graph, which is told as the network's. */
uint64_t vrt_network_sum(const struct vrt_network *network);

/* What a checkpoint of an unknown network looks like ("SwinIR"), or NULL. */
const char *vrt_foreign_name(const struct vrt_checkpoint *checkpoint);
