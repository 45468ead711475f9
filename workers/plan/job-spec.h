/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * A job, as every device sees it: network, recipe and formats
 *
 * Thread: immutable once made, shared by counting references: any number at a time.
 */

#include <stdatomic.h>

#include "base/cleanup.h"
#include "frames/clips/clip.h"
#include "frames/format.h"
#include "frames/frame.h"
#include "frames/clips/tile.h"
#include "model/network.h"
#include "workers/plan/recipe.h"

/* How much of a video a device computes at once. */
struct vrt_job_spec_size {
    struct vrt_tile_grid grid;
    int frames;                     /* of a clip; 1 where each is computed by itself */
};

struct vrt_job_spec {
    atomic_int n_refs;
    struct vrt_network *network;
    struct vrt_frame_format in, out;
    struct vrt_frame_pool *results; /* of `out` */
    struct vrt_recipe recipe;
    struct vrt_clip_rule rule;      /* from here on: the recipe's, for these frames */
    struct vrt_tile_grid grid;
    struct vrt_tile_needs needs;
    float noise;                    /* as of struct vrt_network_use */
    bool passes;                    /* where frames are made between: the others pass as they are,
                                     * for the output codes samples as the input does */
};

/* Takes a reference to the network. `out` is what is encoded: of any size; devices make what the
 * network makes of the input's. Return: 0; -EINVAL: a format is not valid; -ENOMEM. */
int vrt_job_spec_new(struct vrt_network *network, const struct vrt_frame_format *in,
                 const struct vrt_frame_format *out, struct vrt_job_spec **ret_spec);

/* The recipe's precision, noise, clips and tiles. Before anybody else has it. */
void vrt_job_spec_set_recipe(struct vrt_job_spec *spec, const struct vrt_recipe *recipe);

/* Makes clips and tiles of this size, as devices have room for. Likewise. */
void vrt_job_spec_set_size(struct vrt_job_spec *spec, const struct vrt_job_spec_size *size);

/* The same spec, which nobody else has yet: it may be changed. Return: 0; -ENOMEM. */
int vrt_job_spec_copy(const struct vrt_job_spec *spec, struct vrt_job_spec **ret_spec);

/* The size that its grid and rule say. */
struct vrt_job_spec_size vrt_job_spec_size(const struct vrt_job_spec *spec);

/* Return: spec. */
struct vrt_job_spec *vrt_job_spec_ref(struct vrt_job_spec *spec);

/* Return: NULL. */
struct vrt_job_spec *vrt_job_spec_unref(struct vrt_job_spec *spec);

VRT_DEFINE_CLEANUP(struct vrt_job_spec, vrt_job_spec_unref)
