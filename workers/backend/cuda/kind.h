/* SPDX-License-Identifier: MIT */
#pragma once

/* What may be set for CUDA devices: known to the program, which has the table, and the plugin. */

enum vrt_cuda_option {
    VRT_CUDA_OPTION_WORKERS,
    VRT_CUDA_OPTION_TF32,
    VRT_CUDA_OPTION_F32,            /* enum vrt_cuda_f32_wanted */
    VRT_CUDA_OPTION_LIBRARIES,      /* enum vrt_cuda_libraries_wanted of "libraries/library.h" */
};

/* How products of f32 are made that keep all of its bits. */
enum vrt_cuda_f32_wanted {
    VRT_CUDA_F32_WANTED_AUTO,       /* as is fastest on the card */
    VRT_CUDA_F32_WANTED_FMA,        /* by FMA on any card */
};
