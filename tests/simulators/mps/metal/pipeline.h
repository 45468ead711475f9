/* SPDX-License-Identifier: MIT */
#pragma once

/* MTLComputePipelineState, and its descriptor: a kernel made ready for a device. */

#include "tests/simulators/mps/foundation/foundation.h"
#include "tests/simulators/mps/metal/library.h"

struct mtl_pipeline {
    struct mtl_base base;
    struct mtl_device *device;
    struct mtl_function *function;      /* retained */
    unsigned max_threads;
};

struct mtl_pipeline_descriptor {
    struct mtl_base base;
    struct mtl_function *function;      /* retained; NULL: not set */
    struct mtl_array *archives;         /* likewise */
};

extern const struct mtl_class mtl_pipeline_class, mtl_pipeline_descriptor_class;

/* A new one; NULL: the device can't run the kernel, or it is made to fail, and *ret_error says
 * why. */
struct mtl_pipeline *mtl_pipeline_new(struct mtl_device *device, struct mtl_function *function,
                                      mtl_object *ret_error);

/* The same, which may have to be in an archive: MTLPipelineOption's bits. */
struct mtl_pipeline *mtl_pipeline_new_by(struct mtl_device *device,
                                         struct mtl_pipeline_descriptor *descriptor,
                                         uint64_t options, mtl_object *ret_error);
