/* SPDX-License-Identifier: MIT */

/* What MPS devices are among others, and what may be set for them. */

#include "backend/backend-impl.h"
#include "backend/mps/mps.h"

static const struct vrt_backend_option options[] = {
    /* The system ends what takes a GPU more than some ten seconds: this is for GPUs that hang. */
    [VRT_MPS_OPTION_PATIENCE_S] = {
        "patience_s", VRT_BACKEND_OPTION_INT, .min = 1, .max = 86400, .fallback = 300,
        .help = "A GPU that takes more seconds over one piece of work is taken for lost.",
    },
    [VRT_MPS_OPTION_WORK_MFLOP] = {
        "work_mflop", VRT_BACKEND_OPTION_INT, .min = 1, .max = 100000, .fallback = 20000,
        .help = "How many million operations a GPU is given in one piece, which the system, and "
                "whoever else draws, waits for.",
    },
    { .name = NULL },
};

const struct vrt_backend vrt_backend_mps = {
    .kind = { "mps", VRT_DEVICE_ACCELERATOR, .has_parts = false },
    .options = options,
    .ops = &vrt_mps_ops,
};
