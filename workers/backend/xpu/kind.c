/* SPDX-License-Identifier: MIT */

/* What XPU devices are among others, and what may be set for them. */

#include "backend/backend-impl.h"
#include "backend/xpu/xpu.h"

static const struct vrt_backend_option options[] = {
    [VRT_XPU_OPTION_TILES] = {
        "tiles", VRT_BACKEND_OPTION_BOOL, .min = 0, .max = 1, .fallback = 0,
        .help = "Whether each tile of an Intel GPU that has several is a device of its own.",
    },
    /* A program of a large network on a small GPU may take minutes. */
    [VRT_XPU_OPTION_PATIENCE_S] = {
        "patience_s", VRT_BACKEND_OPTION_INT, .min = 1, .max = 86400, .fallback = 600,
        .help = "A GPU that takes more seconds over one piece of work is taken for lost.",
    },
    { .name = NULL },
};

const struct vrt_backend vrt_backend_xpu = {
    .kind = { "xpu", VRT_DEVICE_ACCELERATOR, .has_parts = false },
    .options = options,
    .ops = &vrt_xpu_ops,
};
