/* SPDX-License-Identifier: MIT */
#pragma once

/* The colour ops for frames of a format: between their planes, in order, and RGB in f32. Pure. */

#include "engine/graph.h"
#include "frames/format.h"

/* What the samples of `format` mean, in the words of the colour ops. Return: 0; -EINVAL. */
int vrt_colour_op_of(const struct vrt_frame_format *format, struct vrt_op_colour *ret_op);

/* Inputs: the planes; output: RGB [1,H,W,3]. Return: 0; -EINVAL; -ENOMEM. */
int vrt_colour_graph_to_rgb(struct vrt_graph *graph, const struct vrt_frame_format *format);

/* Outputs: the planes of `rgb`, [1,H,W,3]. Return: 0; -EINVAL; -ENOMEM. */
int vrt_colour_graph_to_planes(struct vrt_graph *graph, const struct vrt_frame_format *format,
                               const struct vrt_tensor *rgb);
