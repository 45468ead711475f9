/* SPDX-License-Identifier: MIT */
#pragma once

/* So that one test can be run with NVIDIA's libraries and without: VRT_TEST_CUDA_LIBRARIES in the
 * environment is `auto`, `all` or `off`, as [cuda] libraries of the configuration. */

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"

static inline enum vrt_cuda_libraries_wanted test_libraries_wanted(void)
{
    const char *text = getenv("VRT_TEST_CUDA_LIBRARIES");

    if (text && strcmp(text, "all") == 0)
        return VRT_CUDA_LIBRARIES_ALL;
    return text && strcmp(text, "off") == 0 ? VRT_CUDA_LIBRARIES_OFF : VRT_CUDA_LIBRARIES_AUTO;
}
