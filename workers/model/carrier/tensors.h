/* SPDX-License-Identifier: MIT */
#pragma once

/* The tensors of a checkpoint, as they are found. */

#include "engine/checkpoint.h"
#include "engine/dag/dag.h"

/* Embedded by value; zero-filled is empty. */
struct vrt_carrier_tensors {
    struct vrt_checkpoint_tensor *items;    /* names are owned, data are borrowed */
    int n_items, capacity;
    char metadata[2][32];           /* a key and its value; empty: none */
};

void vrt_carrier_tensors_done(struct vrt_carrier_tensors *tensors);

/* The tensor of this name; NULL: none yet. */
const struct vrt_checkpoint_tensor *vrt_carrier_tensors_find(
    const struct vrt_carrier_tensors *tensors, const char *name);

/* A checkpoint of copies of them. Return: as vrt_checkpoint_new(). */
int vrt_carrier_tensors_to_checkpoint(const struct vrt_carrier_tensors *tensors, const char *name,
                                      struct vrt_checkpoint **ret_checkpoint,
                                      struct vrt_error *error) VRT_MUST_CHECK;

/* Appends a copy of `tensor`, whose name isn't there. Return: 0; -ENOMEM. */
int vrt_carrier_tensors_put(struct vrt_carrier_tensors *tensors,
                            const struct vrt_checkpoint_tensor *tensor) VRT_MUST_CHECK;
