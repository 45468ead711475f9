/* SPDX-License-Identifier: MIT */
#pragma once

/* SwinIR's structure, in a sketch. */

#include "model/carrier/sketch.h"
#include "model/carrier/tensors.h"

/*
 * Goes through SwinIR by the file's weights, from node 0, a picture of `channels`, to `result`;
 * they become the tensors, whose data are those of `sketch`. The range of samples is told as
 * metadata.
 * Return: 0; -EINVAL where the graph computes anything else, -ENOMEM, with the sentence said.
 */
int vrt_carrier_swinir_find(struct vrt_sketch *sketch, int channels, int result,
                            struct vrt_carrier_tensors *tensors) VRT_MUST_CHECK;

/* Makes the sketch of an ONNX graph of attention. Return: 0; -EINVAL, -errno with the sentence
 * said. */
struct vrt_carrier_onnx;
int vrt_carrier_swinir_read_onnx(struct vrt_carrier_onnx *onnx, struct vrt_sketch *sketch,
                                 int *ret_channels, int *ret_result) VRT_MUST_CHECK;
