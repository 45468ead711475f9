/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * Networks that vrtd has, in files that state a graph (ONNX, ncnn)
 *
 * Such a network's graph isn't run operation by operation: the file is a carrier of weights. It is
 * recognised by all that it computes, whatever its tensors are called: who knows a network goes
 * through it with the file's convolutions in hand, each of which has to read what that network's
 * would. So a network that is nearly a known one is refused, and what comes of it is a checkpoint
 * with the names that the network's authors gave.
 *
 * Thread: any.
 */

#include "engine/checkpoint.h"
#include "engine/dag/read.h"

/*
 * Reads the checkpoint out of a file of which vrt_dag_read() said VRT_DAG_E_CARRIER.
 * Return: 0; -EINVAL where it isn't a network that vrtd has (error->id is "model.invalid");
 * another -errno. The file's error says why.
 */
int vrt_carrier_read(const struct vrt_dag_file *file,
                     struct vrt_checkpoint **ret_checkpoint) VRT_MUST_CHECK;
