/* SPDX-License-Identifier: MIT */
#pragma once

/* The ops as the reference device runs them: a file each, named after it; shapes are in op.h. */

#include <stddef.h>

struct vrt_op;
struct vrt_ref_replica;
struct vrt_ref_run;

/* Each runs `run` to its end. */
void vrt_ref_conv2d(const struct vrt_ref_run *run);
void vrt_ref_depth_to_space(const struct vrt_ref_run *run);
void vrt_ref_space_to_depth(const struct vrt_ref_run *run);
void vrt_ref_resize(const struct vrt_ref_run *run);
void vrt_ref_concat(const struct vrt_ref_run *run);
void vrt_ref_add(const struct vrt_ref_run *run);
void vrt_ref_copy(const struct vrt_ref_run *run);
void vrt_ref_pad(const struct vrt_ref_run *run);
void vrt_ref_yuv_to_rgb(const struct vrt_ref_run *run);
void vrt_ref_rgb_to_yuv(const struct vrt_ref_run *run);
void vrt_ref_range(const struct vrt_ref_run *run);

/* What conv2d needs as scratch: a sum for each output channel. */
size_t vrt_ref_conv2d_workspace_bytes(const struct vrt_op *op);

/* Param `index`; [O,I,K,K] is kept as [K,K,I,O]. */
const float *vrt_ref_param(const struct vrt_ref_replica *replica, int index);
