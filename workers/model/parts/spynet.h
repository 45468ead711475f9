/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * SpyNet: optical flow between neighbouring frames, for networks that align frames by it (Ranjan,
 * Black 2017, arXiv:1611.00850; as VRT and BasicVSR++ have it)
 *
 * It begins with the coarsest of six pictures, each half as large as the next, and at each level
 * corrects the enlarged flow of the one before. All of it is f32: a flow decides where samples are
 * taken from, and an error in it isn't one of brightness.
 *
 * A clip of D frames has D-1 pairs of neighbours: pair j is frames j and j+1. Pairs of both
 * directions are one tensor of 2*(D-1) frames: "backward" first, what leads from frame j to j+1,
 * then "forward", what leads from frame j+1 to j. Flows are in pixels, x before y.
 */

#include "engine/graph.h"
#include "model/parts/params.h"

#define VRT_SPYNET_LEVELS 6

/* How its tensors are called, and which of them there are. */
struct vrt_spynet_names {
    const char *layer;              /* between a level's name and "weight": "%d", of 0, 2, 4, ... */
    int step;                       /* from one number to the next */
    bool has_buffers;               /* spynet.mean and spynet.std are there, or ought to be */
};

/* Takes its params, of names from "spynet.". Return: 0, and *ret_first is the first of them; as
 * vrt_params_take(). */
int vrt_spynet_take(struct vrt_params *params, const struct vrt_spynet_names *names,
                    int *ret_first) VRT_MUST_CHECK;

/* The clip `rgb`, f32 [D,H,W,3], at every level, the coarsest first, with the network's colours.
 * The finest has sizes that are multiples of 32. */
void vrt_spynet_pictures(struct vrt_graph *graph, const struct vrt_tensor *rgb,
                         struct vrt_tensor pictures[VRT_SPYNET_LEVELS]);

/* A level's flows, f32 [2*(D-1),h,w,2], from its picture and the flows of the coarser level (NULL:
 * there is none). `first` is where its params are. */
struct vrt_tensor vrt_spynet_estimate(struct vrt_graph *graph, int first, int level,
                                      const struct vrt_tensor *picture,
                                      const struct vrt_tensor *coarser);

/* Flows of some pairs as those of pictures of the size of `out`. */
void vrt_spynet_resize(struct vrt_graph *graph, const struct vrt_tensor *flows,
                       const struct vrt_tensor *out);
