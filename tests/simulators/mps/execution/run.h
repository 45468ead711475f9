/* SPDX-License-Identifier: MIT */
#pragma once

/* Running dispatches: all threads of all threadgroups, on the calling thread. */

#include <stddef.h>
#include <stdint.h>

#include "tests/simulators/mps/msl/include/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A buffer as the kernel sees it, and the pages around it. */
struct mtl_span {
    void *data;                         /* NULL: the kernel has none of this index */
    const char *pages;
    size_t n_page_bytes;
};

struct mtl_grid {
    const struct vrt_msl_kernel *kernel;
    unsigned threadgroups[3], threads[3];
    struct mtl_span buffers[VRT_MSL_BUFFERS];
};

/* MTLCommandBufferError's numbers. */
enum mtl_code {
    MTL_CODE_INTERNAL = 1,
    MTL_CODE_TIMEOUT = 2,
    MTL_CODE_PAGE_FAULT = 3,
    MTL_CODE_ACCESS_REVOKED = 4,
    MTL_CODE_OUT_OF_MEMORY = 8,
    MTL_CODE_INVALID_RESOURCE = 9,
    MTL_CODE_DEVICE_REMOVED = 11,
};

/* How it went: a code, and a sentence that names kernel, threadgroup and thread; "": none. */
struct mtl_outcome {
    int code;
    char why[512];
};

void mtl_grid_run(const struct mtl_grid *grid, struct mtl_outcome *ret_outcome);

/* What compiled kernels ask of the machine. */
extern const struct vrt_msl_machine mtl_machine;

#ifdef __cplusplus
}
#endif
