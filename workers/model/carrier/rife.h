/* SPDX-License-Identifier: MIT */
#pragma once

/* RIFE's structure, in planes. */

#include "model/carrier/planes.h"
#include "model/carrier/tensors.h"

/* What goes into a graph and comes out of it. */
struct vrt_carrier_rife {
    struct vrt_plane_list frames[2], time;
    struct vrt_plane_list result;
};

/*
 * Goes through RIFE by the file's convolutions, whose weights become the tensors: their data are
 * those of `planes`. The sizes that blocks look at pictures in are told as metadata.
 * Return: 0; -EINVAL where the graph computes anything else, -ENOMEM, with the sentence said.
 */
int vrt_carrier_rife_find(struct vrt_planes *planes, const struct vrt_carrier_rife *ends,
                          struct vrt_carrier_tensors *tensors) VRT_MUST_CHECK;

/* Makes the planes of an ncnn network that warps pictures. `text` and `planes` are new. Return: 0;
 * -EINVAL, -errno with the sentence said. */
struct vrt_ncnn_text;
int vrt_carrier_rife_read_ncnn(struct vrt_ncnn_text *text, struct vrt_planes *planes,
                               struct vrt_carrier_rife *ret_ends) VRT_MUST_CHECK;
