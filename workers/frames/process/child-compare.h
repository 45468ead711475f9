/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * The functions of compare.h, as asked of a process ("frames/process/child.h"), which compares two
 * videos at a time
 *
 * Thread: the child's.
 */

#include "frames/compare/compare.h"

struct vrt_child;

int vrt_child_compare_open(struct vrt_child *child, const struct vrt_compare_params *params,
                           struct vrt_compare_size *ret_size,
                           struct vrt_error *error) VRT_MUST_CHECK;

/* The pictures outlive what is asked afterwards. */
int vrt_child_compare_show(struct vrt_child *child, const struct vrt_pictures *pictures,
                           struct vrt_error *error) VRT_MUST_CHECK;
int vrt_child_compare_next(struct vrt_child *child, struct vrt_compared *ret_compared,
                           struct vrt_error *error) VRT_MUST_CHECK;
