/* SPDX-License-Identifier: MIT */
#pragma once

/* Intel GPUs, and whatever else has a Level Zero driver: "xpu:0" and on. */

struct vrt_backend_ops;

extern const struct vrt_backend_ops vrt_backend_xpu;
