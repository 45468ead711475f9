/* SPDX-License-Identifier: MIT */

/* What CUDA devices are among others, and what may be set for them, plugin or not. */

#include "backend/cuda/kind.h"

#include "backend/backend-impl.h"
#include "backend/cuda/libraries/library.h"
#include "backend/cuda/load.h"

static const char *const f32_words[] = {
    [VRT_CUDA_F32_WANTED_AUTO] = "auto",
    [VRT_CUDA_F32_WANTED_FMA] = "fma",
    NULL,
};

static const char *const libraries_words[] = {
    [VRT_CUDA_LIBRARIES_AUTO] = "auto",
    [VRT_CUDA_LIBRARIES_OFF] = "off",
    [VRT_CUDA_LIBRARIES_ALL] = "all",
    NULL,
};

static const struct vrt_backend_option options[] = {
    [VRT_CUDA_OPTION_WORKERS] = {
        "workers_per_device", VRT_BACKEND_OPTION_INT, .min = 1, .max = 4, .fallback = 1,
        .help = "Each card becomes so many devices, 1 to 4, which compute by turns and share its "
                "memory: a second one can fill what gaps the first leaves, where there is memory "
                "for both.",
    },
    [VRT_CUDA_OPTION_TF32] = {
        "tf32", VRT_BACKEND_OPTION_BOOL, .min = 0, .max = 1, .fallback = 0,
        .help = "Jobs that compute in f32 may have their products done by tensor cores, faster, "
                "but with factors rounded to 10 bits behind the point.",
    },
    [VRT_CUDA_OPTION_F32] = {
        "f32", VRT_BACKEND_OPTION_WORD, .min = 0, .max = VRT_CUDA_F32_WANTED_FMA,
        .fallback = VRT_CUDA_F32_WANTED_AUTO, .words = f32_words,
        .help = "How products of f32 that keep all of its bits are made: auto, by tensor cores, "
                "three for one, where that is faster than to have fma make them; or fma on every "
                "card.",
    },
    [VRT_CUDA_OPTION_LIBRARIES] = {
        "libraries", VRT_BACKEND_OPTION_WORD, .min = 0, .max = VRT_CUDA_LIBRARIES_ALL,
        .fallback = VRT_CUDA_LIBRARIES_AUTO, .words = libraries_words,
        .help = "What NVIDIA's libraries (cuBLASLt, cuDNN) compute, where they are there: auto, "
                "what they are thought to do faster; off, nothing; all, whatever they can.",
    },
    { .name = NULL },
};

const struct vrt_backend vrt_backend_cuda = {
    .kind = { "cuda", VRT_DEVICE_ACCELERATOR, .has_parts = true },
    .options = options,
    .load = vrt_cuda_load,
};
