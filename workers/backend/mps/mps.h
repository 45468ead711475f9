/* SPDX-License-Identifier: MIT */
#pragma once

/* GPUs that Metal runs: "mps:0" and on. */

/* What may be set, by the table in kind.c. */
enum vrt_mps_option {
    VRT_MPS_OPTION_PATIENCE_S,
    VRT_MPS_OPTION_WORK_MFLOP,
};

struct vrt_backend_ops;

extern const struct vrt_backend_ops vrt_mps_ops;
