/* SPDX-License-Identifier: MIT */
#pragma once

/* What the environment tells tests of devices, so that one test can be run in several ways. */

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"

/* VRT_TEST_CUDA_LIBRARIES is `auto`, `all` or `off`, as [cuda] libraries of the configuration: with
 * NVIDIA's libraries and without. */
static inline enum vrt_cuda_libraries_wanted test_libraries_wanted(void)
{
    const char *text = getenv("VRT_TEST_CUDA_LIBRARIES");

    if (text && strcmp(text, "all") == 0)
        return VRT_CUDA_LIBRARIES_ALL;
    return text && strcmp(text, "off") == 0 ? VRT_CUDA_LIBRARIES_OFF : VRT_CUDA_LIBRARIES_AUTO;
}

/* VRT_TEST_CACHE is the folder where compiled kernels are kept. NULL: nowhere. */
static inline const char *test_cache_dir(void)
{
    const char *folder = getenv("VRT_TEST_CACHE");

    return folder && folder[0] ? folder : NULL;
}

/*
 * Whether what devices give back is looked at. With VRT_TEST_NO_RESULTS it isn't, only what each
 * call returns: for a driver without hardware, which takes everything and computes nothing.
 */
static inline bool test_looks_at_results(void)
{
    return getenv("VRT_TEST_NO_RESULTS") == NULL;
}
