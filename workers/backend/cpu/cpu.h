/* SPDX-License-Identifier: MIT */
#pragma once

/* The CPU as one or several devices, "cpu:0" and on. */

struct vrt_backend_ops;

extern const struct vrt_backend_ops vrt_backend_cpu;
