/* SPDX-License-Identifier: MIT */
#pragma once

/* The CPU as one or several devices, "cpu:0" and on. */

/* What may be set, by the table in kind.c. */
enum vrt_cpu_option {
    VRT_CPU_OPTION_DEVICES,
    VRT_CPU_OPTION_THREADS,
};

struct vrt_backend_ops;

extern const struct vrt_backend_ops vrt_cpu_ops;
