/* SPDX-License-Identifier: MIT */
#pragma once

/* What an ONNX graph computes of the picture's size, and the edge that it gives pictures. */

#include "engine/dag/onnx.h"

/* The graph is tried with pictures of the size that it states; 0: of several. */
void vrt_onnx_probe(struct vrt_onnx_reader *reader, int64_t height, int64_t width);

/* How many rows (axis 0) or columns (1) a picture has where size k comes in. */
double vrt_onnx_extent(const struct vrt_onnx_reader *reader, const struct vrt_onnx_value *x,
                       int axis, int k);

/* Inputs of the operation as numbers, n of them from `first` on; those that are left out have none.
 * Return: 0; -EINVAL with the sentence said. */
int vrt_onnx_sizes_in(struct vrt_onnx_reader *reader, size_t first, size_t n,
                      struct vrt_onnx_sizes *ret_sizes) VRT_MUST_CHECK;

/* Whether number `i` is the same for all sizes. */
bool vrt_onnx_same(const struct vrt_onnx_reader *reader, const struct vrt_onnx_sizes *sizes, int i,
                   double *ret_number);

/* Reads an operation of numbers alone. Return: whether it is one; *ret_r is as of
 * vrt_onnx_operate() then. */
bool vrt_onnx_sizes_operate(struct vrt_onnx_reader *reader, struct vrt_onnx_value *ret_value,
                            int *ret_r) VRT_MUST_CHECK;

/* Once all of the graph is read: what its edge means. Return: 0; -EINVAL with the sentence said. */
int vrt_onnx_check_edge(struct vrt_onnx_reader *reader,
                        const struct vrt_onnx_value *result) VRT_MUST_CHECK;
