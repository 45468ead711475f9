/* SPDX-License-Identifier: MIT */
#pragma once

/* What the environment tells tests of devices, so that one test can be run in several ways. */

#include <stdlib.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cuda/libraries/library.h"

/* Values of options: so many CPU devices, each of so many threads. */
#define TEST_CPUS(n_devices, n_threads) \
    VRT_BACKEND_VALUES({ "cpu", "devices", n_devices }, { "cpu", "threads", n_threads })

/* `auto`, `all` or `off`, as [cuda] libraries of the configuration; whatever else is AUTO. */
static inline enum vrt_cuda_libraries_wanted test_libraries_of(const char *text)
{
    if (strcmp(text, "all") == 0)
        return VRT_CUDA_LIBRARIES_ALL;
    return strcmp(text, "off") == 0 ? VRT_CUDA_LIBRARIES_OFF : VRT_CUDA_LIBRARIES_AUTO;
}

/* A simulated Mac's GPU takes minutes over what a real one does in milliseconds. */
#define TEST_VALUES(libraries) \
    { { "cuda", "libraries", libraries }, { "mps", "patience_s", 86400 } }

/* Values by which CUDA devices use NVIDIA's libraries as VRT_TEST_CUDA_LIBRARIES says, and nothing
 * that a simulation takes is too long. */
static inline const struct vrt_backend_value *test_backend_values(void)
{
    static const struct vrt_backend_value values[][3] = {
        [VRT_CUDA_LIBRARIES_AUTO] = TEST_VALUES(VRT_CUDA_LIBRARIES_AUTO),
        [VRT_CUDA_LIBRARIES_OFF] = TEST_VALUES(VRT_CUDA_LIBRARIES_OFF),
        [VRT_CUDA_LIBRARIES_ALL] = TEST_VALUES(VRT_CUDA_LIBRARIES_ALL),
    };
    const char *text = getenv("VRT_TEST_CUDA_LIBRARIES");

    return values[test_libraries_of(text ? text : "auto")];
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
