/* SPDX-License-Identifier: MIT */
#pragma once

/* What the parts of the graph's form ask of each other. */

#include "engine/dag/dag.h"

/* For those that come with their arrays: appends a node like `in` of `kind`, of num / den of its
 * size, to be filled. Return: as all of them. */
int vrt_dag_append_resized(struct vrt_dag *dag, enum vrt_dag_kind kind, int in, int num,
                           int den) VRT_MUST_CHECK;

/* For vrt_dag_finish(): joins nodes until each is an op. Return: as it. */
int vrt_dag_join(struct vrt_dag *dag) VRT_MUST_CHECK;
