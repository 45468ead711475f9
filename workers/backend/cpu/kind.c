/* SPDX-License-Identifier: MIT */

/* What the CPU is among devices, and what may be set for it. */

#include "backend/backend-impl.h"
#include "backend/cpu/cpu.h"

static const struct vrt_backend_option options[] = {
    [VRT_CPU_OPTION_DEVICES] = {
        "devices", VRT_BACKEND_OPTION_INT, .min = 1, .max = 64, .fallback = 1,
        .help = "Split the processor into so many devices, each with cores of its own.",
    },
    [VRT_CPU_OPTION_THREADS] = {
        "threads", VRT_BACKEND_OPTION_INT, .min = 0, .max = 1024, .fallback = 0,
        .help = "Threads of each; 0: the cores there are, split evenly.",
    },
    { .name = NULL },
};

const struct vrt_backend vrt_backend_cpu = {
    .kind = { "cpu", VRT_DEVICE_HOST, .has_parts = false },
    .options = options,
    .ops = &vrt_cpu_ops,
};
