/* SPDX-License-Identifier: MIT */
#pragma once

/* MTLCompileOptions, MTLLibrary, MTLFunction: a text, what was made of it, and its kernels. */

#include "tests/simulators/mps/metal/device.h"
#include "tests/simulators/mps/msl/include/machine.h"

struct mtl_library {
    struct mtl_base base;
    struct mtl_device *device;
    const struct vrt_msl_library *code;
    char name[17];                      /* of text and options: the cache's */
};

struct mtl_function {
    struct mtl_base base;
    struct mtl_library *library;        /* retained */
    const struct vrt_msl_kernel *kernel;
};

extern const struct mtl_class mtl_compile_options_class, mtl_library_class, mtl_function_class;

/* Compiles a text; NULL: it is wrong, or is made to fail, and *ret_error is why. */
struct mtl_library *mtl_library_new(struct mtl_device *device, mtl_object source,
                                    mtl_object options, mtl_object *ret_error);
