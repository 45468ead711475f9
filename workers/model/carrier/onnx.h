/* SPDX-License-Identifier: MIT */
#pragma once

#include "engine/checkpoint.h"
#include "engine/dag/read.h"

/* Reads the checkpoint out of an ONNX file, with `dag` for messages. Return: as
 * vrt_carrier_read(). */
int vrt_carrier_read_onnx(const struct vrt_dag_file *file, struct vrt_dag *dag,
                          struct vrt_checkpoint **ret_checkpoint) VRT_MUST_CHECK;
