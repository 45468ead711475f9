/* SPDX-License-Identifier: MIT */
#pragma once

/* RIFE's structure, in planes. */

#include "engine/dag/read.h"
#include "model/carrier/planes.h"
#include "model/carrier/tensors.h"

/* What goes into a graph and comes out of it. */
struct vrt_carrier_rife {
    struct vrt_plane_list frames[2], time;
    struct vrt_plane_list result;
    int64_t size[2], padded[2];     /* a picture's, and what zeros make of it; 0: not known */
};

/* Makes the planes of a graph that warps pictures. Return: 0; -EINVAL, -errno with the sentence
 * said. */
typedef int vrt_carrier_rife_reader(void *source, struct vrt_planes *planes,
                                    struct vrt_carrier_rife *ret_ends);

/*
 * Goes through RIFE by the convolutions of the graph that `read` has of `source`; their weights
 * become a checkpoint, and the sizes that blocks look at pictures in its metadata.
 * Return: 0; -EINVAL where the graph computes anything else, -errno, with the sentence said.
 */
int vrt_carrier_rife_read(const struct vrt_dag_file *file, struct vrt_dag *dag,
                          vrt_carrier_rife_reader *read, void *source,
                          struct vrt_checkpoint **ret_checkpoint) VRT_MUST_CHECK;

/* Of a struct vrt_ncnn_text, which is new; of a struct vrt_carrier_onnx, which is open. */
vrt_carrier_rife_reader vrt_carrier_rife_read_ncnn, vrt_carrier_rife_read_onnx;
