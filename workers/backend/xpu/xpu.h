/* SPDX-License-Identifier: MIT */
#pragma once

/* Intel GPUs, and whatever else has a Level Zero driver: "xpu:0" and on. */

/* What may be set, by the table in kind.c. */
enum vrt_xpu_option {
    VRT_XPU_OPTION_TILES,
    VRT_XPU_OPTION_PATIENCE_S,
};

struct vrt_backend_ops;

extern const struct vrt_backend_ops vrt_xpu_ops;
