/* SPDX-License-Identifier: MIT */
#pragma once

/*
 * MTLBinaryArchive: which pipelines were made before, in a file
 *
 * The file has a head that names what it is of (the GPU and the system), a line for each pipeline,
 * and a sum of all that. One that is damaged or of another GPU is refused.
 */

#include "tests/simulators/mps/metal/library.h"

struct mtl_archive;

extern const struct mtl_class mtl_archive_class, mtl_archive_descriptor_class;

struct mtl_archive_descriptor;

/* One that is empty, or has what is in the descriptor's file; NULL: that can't be used, and
 * *ret_error says why. */
struct mtl_archive *mtl_archive_new(struct mtl_device *device,
                                    const struct mtl_archive_descriptor *descriptor,
                                    mtl_object *ret_error);

/* Whether it has the pipeline of this function. */
bool mtl_archive_has(const struct mtl_archive *archive, const struct mtl_function *function);
