/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * NVIDIA's libraries on a device: started with it, asked for each op that a program is recorded of
 *
 * A library that is missing, doesn't start, or doesn't know how, breaks nothing: the op is done by
 * our own kernels. Thread: that of the device, but for vrt_cuda_libraries_describe().
 */

#include "backend/cuda/kernels/kernels.h"
#include "backend/cuda/libraries/library.h"
#include "base/cleanup.h"

struct vrt_cuda_libraries;

/* What of them there is, for a class of devices that go by these rules: ", cuBLASLt 13.1.1", say,
 * or "". Notes what is there and what is missing, unless none is wanted. Return: whether one of
 * them compiles what is worth keeping. */
bool vrt_cuda_libraries_describe(const struct vrt_cuda_library_rules *rules,
                                 struct vrt_findings *findings, char *text, size_t size);

/* Starts those that the rules want on the current device, `info`, which lives as long, on which
 * `stream` is. Return: NULL: none is wanted, or none starts, which the log says. */
struct vrt_cuda_libraries *vrt_cuda_libraries_open(const struct vrt_cuda_library_rules *rules,
                                                   const struct vrt_device_info *info,
                                                   cudaStream_t stream);

/* NULL is fine. Programs that were recorded with it must have been freed. Return: NULL. */
struct vrt_cuda_libraries *vrt_cuda_libraries_close(struct vrt_cuda_libraries *libraries);

VRT_DEFINE_CLEANUP(struct vrt_cuda_libraries, vrt_cuda_libraries_close)

/* Starts anew those that were asked for so many shapes that soon they would take no more: what they
 * know, and hold on the device, is forgotten. No program that was recorded with them may be left.
 * NULL is fine. */
void vrt_cuda_libraries_renew(struct vrt_cuda_libraries *libraries);

/* What a launcher's workspace grows by: so much, where the launcher itself wants own_bytes. NULL
 * is fine. */
size_t vrt_cuda_libraries_workspace_bytes(const struct vrt_cuda_libraries *libraries,
                                          const struct vrt_op *op, size_t own_bytes);

/* Whether a library does this op. It is asked, and what it needs is made, the first time that one
 * of this shape comes: that is no part of a recording. NULL is fine: none does. Return: 0;
 * cudaErrorMemoryAllocation: there is no room for what it needs. */
int vrt_cuda_libraries_can(struct vrt_cuda_libraries *libraries, const struct vrt_cuda_call *call,
                           bool *ret_can);

/* Enqueues an op that a library does. Return: 0, cudaError_t. */
int vrt_cuda_libraries_launch(struct vrt_cuda_libraries *libraries,
                              const struct vrt_cuda_call *call);

/* From now on none does anything any more: what was recorded with them failed. The log says so. */
void vrt_cuda_libraries_give_up(struct vrt_cuda_libraries *libraries);
